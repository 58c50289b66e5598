"""Tables of mostly zeros, read block by block into a sparse matrix."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sfs_cli.errors import InputError, listed
from sfs_cli.io.base import MatrixReader, ReadOptions, RowBlock
from sfs_cli.io.registry import open_matrix

if TYPE_CHECKING:
    from scipy.sparse import csr_array


def read_sparse_table(
    path: Path, checked: Callable[[RowBlock, MatrixReader], csr_array]
) -> tuple[list[str], list[str], csr_array]:
    """Read a matrix file without ever holding it dense.

    Parameters
    ----------
    path : Path
        The file, in any matrix format.
    checked : callable
        Checks a block of rows and returns it as a sparse one.

    Returns
    -------
    rows, columns : list of str
        The ids, each once.
    matrix : csr_array, shape (len(rows), len(columns))

    Raises
    ------
    InputError
        When it cannot be read, or rows or columns have the same id.
    """
    from scipy.sparse import csr_array, vstack

    reader = open_matrix(path, ReadOptions(dtype="float64"))
    try:
        columns = list(reader.column_ids)
        rows: list[str] = []
        blocks = []
        for block in reader.blocks():
            rows.extend(block.ids)
            blocks.append(checked(block, reader))
    finally:
        reader.close()
    _refuse_repeated(rows, "rows", path)
    _refuse_repeated(columns, "columns", path)
    empty = csr_array((0, len(columns)))
    return rows, columns, csr_array(vstack(blocks, format="csr")) if blocks else empty


def _refuse_repeated(ids: Sequence[str], what: str, path: Path) -> None:
    """Raise if an id is there twice among the rows or the columns of a matrix.

    Raises
    ------
    InputError
        Naming the first few.
    """
    if len(set(ids)) < len(ids):
        repeated = [name for name, count in Counter(ids).items() if count > 1]
        raise InputError(
            f"{what} have the same id: {listed(repeated)}",
            where=str(path),
            hint=f"leave one of the {what} for each id",
        )
