"""A similarity between samples from a file, brought to the order of the samples."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sfs_cli.errors import CHECK_PATH, InputError, listed
from sfs_cli.io.base import ReadOptions
from sfs_cli.io.casting import cast_values

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    Similarity = np.ndarray | csr_array


@dataclass(frozen=True)
class SimilarityFile:
    """A similarity as a file has it.

    Attributes
    ----------
    path : Path
        The file.
    matrix : ndarray or csr_array of float64
        Its values; symmetry, NaN and degrees are not looked at.
    rows, columns : sequence of str, optional
        Sample ids; None where the file has none.
    """

    path: Path
    matrix: Similarity
    rows: Sequence[str] | None = None
    columns: Sequence[str] | None = None

    @property
    def samples(self) -> list[str] | None:
        """The samples that have a row and a column; None where the file has no ids."""
        if self.rows is None or self.columns is None:
            return None
        both = set(self.columns)
        return [sample for sample in self.rows if sample in both]

    def aligned(self, sample_ids: Sequence[str]) -> Similarity:
        """Return the similarity of the samples wanted, in their order.

        Parameters
        ----------
        sample_ids : sequence of str, length n
            The order wanted.

        Returns
        -------
        ndarray or csr_array of float64, shape (n, n)
            Other samples of the file are left out.

        Raises
        ------
        InputError
            It is not square, samples are missing from it or repeated, or, where it has no ids,
            its size is another.
        """
        if self.rows is None or self.columns is None:
            return _in_given_order(self.matrix, sample_ids, self.path)
        return _aligned(self.matrix, self.rows, self.columns, sample_ids, self.path)


def open_similarity(spec: str) -> SimilarityFile:
    """Read an n x n similarity between samples.

    Parameters
    ----------
    spec : str
        A table with the ids in its first column and its header (any matrix format that is read),
        ``.npy`` (no ids), or ``.npz`` as `scipy.sparse.save_npz` writes it, to which an array
        ``samples`` of ids may have been added; an array ``dense`` in place of the sparse ones is
        a full matrix.

    Raises
    ------
    InputError
        The file cannot be read.
    """
    path = Path(spec)
    if path.suffix.lower() == ".npy":
        return SimilarityFile(path, _read_npy(path))
    if path.suffix.lower() == ".npz":
        matrix, ids = _read_npz(path)
        return SimilarityFile(path, matrix, ids, ids)
    return SimilarityFile(path, *_read_table(path))


def read_similarity(spec: str, sample_ids: Sequence[str]) -> Similarity:
    """Read the similarity of some samples; see `open_similarity` and `SimilarityFile.aligned`."""
    return open_similarity(spec).aligned(sample_ids)


def _read_table(path: Path) -> tuple[np.ndarray, Sequence[str], Sequence[str]]:
    from sfs_cli.io.registry import open_matrix

    reader = open_matrix(path, ReadOptions(dtype="float64"))
    try:
        blocks = list(reader.blocks())
    finally:
        reader.close()
    if not blocks or reader.sparse:
        raise InputError(
            "this is not a table of similarities",
            where=str(path),
            hint="give a table with the sample ids in its first line and column, .npy or .npz",
        )
    row_ids = [name for block in blocks for name in block.ids]
    return np.concatenate([block.values for block in blocks]), row_ids, list(reader.column_ids)


def _read_npy(path: Path) -> np.ndarray:
    with _numpy_errors(path):
        stored = np.load(path, allow_pickle=False)
    return cast_values(stored, "float64", str(path))


def _read_npz(path: Path) -> tuple[Similarity, list[str] | None]:
    from scipy.sparse import csr_array, load_npz

    with _numpy_errors(path):
        with np.load(path, allow_pickle=False) as arrays:
            ids, dense = arrays.get("samples"), arrays.get("dense")
        if dense is not None:
            matrix: Similarity = cast_values(dense, "float64", str(path))
        else:
            stored: Any = load_npz(path)
            matrix = csr_array(stored.tocsr())
            matrix.data = cast_values(matrix.data, "float64", str(path))
    if ids is None:
        return matrix, None
    return matrix, [i.decode() if isinstance(i, bytes) else str(i) for i in ids.tolist()]


@contextmanager
def _numpy_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError as error:
        raise InputError("there is no such file", where=str(path), hint=CHECK_PATH) from error
    except (OSError, ValueError, TypeError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise InputError(
            f"cannot be read as an array of numbers: {error}",
            where=str(path),
            hint="write it with numpy.save or scipy.sparse.save_npz; ids as text, not objects",
        ) from error


def _in_given_order(matrix: Similarity, sample_ids: Sequence[str], path: Path) -> Similarity:
    n = len(sample_ids)
    if matrix.shape != (n, n):
        raise InputError(
            f"the similarity has shape {matrix.shape}, but there are {n:,} samples",
            where=str(path),
            hint="give a table with ids, of which those needed are taken",
        )
    return matrix


def _aligned(
    matrix: Similarity,
    row_ids: Sequence[str],
    column_ids: Sequence[str],
    sample_ids: Sequence[str],
    path: Path,
) -> Similarity:
    if matrix.shape != (len(row_ids), len(column_ids)):
        raise InputError(
            f"the similarity has shape {matrix.shape}, but {len(row_ids):,} ids",
            where=str(path),
            hint="give one row and one column for each sample",
        )
    rows = _positions(row_ids, sample_ids, f"{path}, rows")
    columns = _positions(column_ids, sample_ids, f"{path}, columns")
    return matrix[rows][:, columns]


def _positions(ids: Sequence[str], wanted: Sequence[str], where: str) -> np.ndarray:
    places = {name: i for i, name in enumerate(ids)}
    missing = [name for name in wanted if name not in places]
    if missing:
        raise InputError(
            f"{len(missing):,} of {len(wanted):,} samples are not in the similarity: "
            f"{listed(missing)}",
            where=f"{where}, such as {listed(list(ids), 3)}",
            hint="ids must be spelled as in the expression matrix",
        )
    if len(places) < len(ids):
        repeated = sorted({name for i, name in enumerate(ids) if places[name] != i})
        raise InputError(
            f"samples are repeated: {listed(repeated)}",
            where=where,
            hint="give one row and one column for each sample",
        )
    return np.fromiter((places[name] for name in wanted), np.intp, len(wanted))
