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


class ArrowSource(Protocol):
    """Where the record batches of a table come from."""

    schema: pa.Schema
    n_rows: int

    def batches(self, n_rows: int) -> Iterator[pa.RecordBatch]:
        """Yield the whole table, at most about `n_rows` rows at a time."""
        ...

    def first_ids(self, position: int) -> pa.Array:
        """Return the first values of one column."""
        ...

    def close(self) -> None:
        """Release the file."""
        ...


class ArrowReader:
    """A table with one row per line of the matrix and one numeric column per column of it.

    Parameters
    ----------
    path : Path
        The file.
    name : str
        Name of the format.
    source : ArrowSource
        Gives the record batches.
    options : ReadOptions
        Type and size of the blocks.

    Raises
    ------
    InputError
        No column can be the ids, or another column is not numeric.
    """

    fixed_rows: Axis | None = None
    sparse = False

    def __init__(self, path: Path, name: str, source: ArrowSource, options: ReadOptions) -> None:
        self.path = path
        self.format = name
        self.n_rows: int | None = source.n_rows
        self.annotations = Annotations()
        self._source = source
        self._options = options
        self._columns = choose_columns(source.schema, path)
        names = source.schema.names
        self.column_ids: Sequence[str] = [names[i] for i in self._columns.values]
        self.notes: list[str] = list(self._columns.notes)

    def first_row_ids(self) -> Sequence[str]:
        """Return the ids of the first rows; only the id column is read."""
        with arrow_errors(self.path, self.format):
            return _id_strings(self._source.first_ids(self._columns.ids), self.path)

    def blocks(self) -> Iterator[RowBlock]:
        """Yield the rows in order."""
        width = len(self._columns.values) * np.dtype(self._options.dtype).itemsize
        # a block and its transposed twin are held together
        n_rows = max(1, self._options.block_bytes // (2 * width))
        with arrow_errors(self.path, self.format):
            for batch in self._source.batches(n_rows):
                ids = _id_strings(batch.column(self._columns.ids), self.path)
                yield RowBlock(ids, self._values(batch))

    def close(self) -> None:
        """Release the file."""
        self._source.close()

    def _values(self, batch: pa.RecordBatch) -> np.ndarray:
        columns = np.empty((len(self._columns.values), batch.num_rows), self._options.dtype)
        for row, position in enumerate(self._columns.values):
            values = column_values(batch.column(position))
            where = f"{self.path}, column {self.column_ids[row]!r}"
            columns[row] = cast_values(values, self._options.dtype, where)
        return _transposed(columns)


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
    except (pa.ArrowException, OSError) as error:
        reason = str(error).partition("\n")[0] or type(error).__name__
        raise InputError(
            f"cannot be read as {name}: {reason}",
            where=str(path),
            hint="the file is truncated, damaged or of another kind: copy or write it again",
        ) from error


def _id_strings(column: pa.Array, path: Path) -> list[str]:
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
