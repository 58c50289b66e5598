"""Tables of Arrow columns as blocks of rows: what Parquet and Feather share.

pandas stays out: `pyarrow.Array.to_numpy` imports it, so columns reach NumPy through DLPack.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

import numpy as np
import pyarrow as pa

from sfs_cli.errors import InputError
from sfs_cli.io.arrow_columns import choose_columns
from sfs_cli.io.base import Annotations, Axis, ReadOptions, RowBlock
from sfs_cli.io.casting import cast_values

_TILE_ROWS = 128


class ArrowTable(Protocol):
    """A table in a file: what is known of it before its values are read."""

    schema: pa.Schema
    n_rows: int

    def first_ids(self, position: int) -> pa.Array:
        """Return the first values of one column."""
        ...

    def close(self) -> None:
        """Release the file."""
        ...


class ArrowSource(ArrowTable, Protocol):
    """A table whose columns are all decoded side by side."""

    def batches(self, n_rows: int) -> Iterator[pa.RecordBatch]:
        """Yield the whole table, at most about `n_rows` rows at a time."""
        ...


class TableReader:
    """A table with one row per line of the matrix and one numeric column per column of it.

    Parameters
    ----------
    path : Path
        The file.
    name : str
        Name of the format.
    table : ArrowTable
        The table, opened.
    options : ReadOptions
        Type and size of the blocks.

    Raises
    ------
    InputError
        No column can be the ids, or another column is not numeric.
    """

    fixed_rows: Axis | None = None
    sparse = False

    def __init__(self, path: Path, name: str, table: ArrowTable, options: ReadOptions) -> None:
        self.path = path
        self.format = name
        self.n_rows: int | None = table.n_rows
        self.annotations = Annotations()
        self.options = options
        self.columns = choose_columns(table.schema, path)
        names = table.schema.names
        self.column_ids: Sequence[str] = [names[i] for i in self.columns.values]
        self.notes: list[str] = list(self.columns.notes)
        self._table = table

    def first_row_ids(self) -> Sequence[str]:
        """Return the ids of the first rows; only the id column is read."""
        with arrow_errors(self.path, self.format):
            return id_strings(self._table.first_ids(self.columns.ids), self.path)

    def close(self) -> None:
        """Release the file."""
        self._table.close()

    def block_rows(self, n_columns: int) -> int:
        """Return the rows of so many columns that make a block."""
        width = n_columns * np.dtype(self.options.dtype).itemsize
        # a block and its transposed twin are held together
        return max(1, self.options.block_bytes // (2 * width))

    def values(
        self, batch: pa.RecordBatch, positions: Sequence[int], names: Sequence[str]
    ) -> np.ndarray:
        """Return some columns of a batch as rows of the matrix.

        Parameters
        ----------
        batch : RecordBatch
            The columns.
        positions : sequence of int
            Which of them.
        names : sequence of str
            Their names, for messages.

        Returns
        -------
        ndarray, shape (batch.num_rows, len(positions))
            C-ordered.
        """
        columns = np.empty((len(positions), batch.num_rows), self.options.dtype)
        for row, (position, name) in enumerate(zip(positions, names, strict=True)):
            column = column_values(batch.column(position))
            where = f"{self.path}, column {name!r}"
            columns[row] = cast_values(column, self.options.dtype, where)
        return _transposed(columns)


class ArrowReader(TableReader):
    """A table that is read as it lies, all columns side by side; see `TableReader`."""

    def __init__(self, path: Path, name: str, source: ArrowSource, options: ReadOptions) -> None:
        super().__init__(path, name, source, options)
        self._source = source

    def blocks(self) -> Iterator[RowBlock]:
        """Yield the rows in order."""
        n_rows = self.block_rows(len(self.columns.values))
        with arrow_errors(self.path, self.format):
            for batch in self._source.batches(n_rows):
                ids = id_strings(batch.column(self.columns.ids), self.path)
                yield RowBlock(ids, self.values(batch, self.columns.values, self.column_ids))


def column_values(column: pa.Array) -> np.ndarray:
    """Return a numeric Arrow column as a NumPy array, nulls as NaN.

    Parameters
    ----------
    column : pyarrow.Array
        Integers, floats, booleans, decimals, or nulls only.

    Returns
    -------
    ndarray, shape (len(column),)
    """
    if pa.types.is_null(column.type):
        return np.full(len(column), np.nan)
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.uint8())
    elif pa.types.is_decimal(column.type):
        column = column.cast(pa.float64())
    if column.null_count == 0:
        return np.from_dlpack(column)
    valid = np.from_dlpack(column.is_valid().cast(pa.uint8())).astype(bool)
    data = [None, column.buffers()[1]]
    raw = pa.Array.from_buffers(column.type, len(column), data, offset=column.offset)
    return np.where(valid, np.from_dlpack(raw), np.nan)


@contextmanager
def arrow_errors(path: Path, name: str) -> Iterator[None]:
    """Turn what Arrow raises on a damaged file into an `InputError`."""
    try:
        yield
    except MemoryError:
        raise
    except (pa.ArrowException, OSError, EOFError) as error:
        reason = str(error).partition("\n")[0] or type(error).__name__
        raise InputError(
            f"cannot be read as {name}: {reason}",
            where=str(path),
            hint="the file is truncated, damaged or of another kind: copy or write it again",
        ) from error


def id_strings(column: pa.Array, path: Path) -> list[str]:
    """Return the names of rows, refusing rows without one."""
    if column.null_count:
        raise InputError(
            f"at least {column.null_count:,} rows have no name",
            where=str(path),
            hint="name every row",
        )
    names = column.to_pylist()
    return names if not names or isinstance(names[0], str) else [str(name) for name in names]


def _transposed(columns: np.ndarray) -> np.ndarray:
    # strips of rows stay in cache, which a plain transposed copy does not
    rows = np.empty(columns.shape[::-1], columns.dtype)
    for start in range(0, len(rows), _TILE_ROWS):
        rows[start : start + _TILE_ROWS] = columns[:, start : start + _TILE_ROWS].T
    return rows
