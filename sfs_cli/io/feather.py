"""Feather version 2, which is the Arrow IPC file format, through a memory map."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.ipc

from sfs_cli.errors import InputError
from sfs_cli.io.arrow_groups import GroupedReader, group_columns
from sfs_cli.io.arrow_rows import ArrowReader, arrow_errors
from sfs_cli.io.base import MatrixReader, ReadOptions

_MAGIC_V1 = b"FEA1"
_UNPACKED_TIMES = 2
"""Values, and what else is needed to unpack them."""
_COLUMN_BYTES = 4 << 10
"""What unpacking a column takes, however short it is."""


def open_feather(path: Path, options: ReadOptions) -> MatrixReader:
    """Open an Arrow IPC file (Feather version 2), compressed or not.

    A record batch (65,536 rows as pyarrow and R write them) is mapped, or where it is compressed
    unpacked as a whole. Where that may be more than ``options.decode_bytes``, the columns are
    read in groups.

    Parameters
    ----------
    path : Path
        The file.
    options : ReadOptions
        Type and size of the blocks.

    Returns
    -------
    MatrixReader

    Raises
    ------
    InputError
        The file is damaged, of version 1, has no names or a column that is not numeric.
    """
    with arrow_errors(path, "feather"):
        with path.open("rb") as file:
            old = file.read(4) == _MAGIC_V1
        source = None if old else FeatherSource(path, options.decode_bytes)
    if source is None:
        raise InputError(
            "this is Feather version 1, which is no longer read",
            where=str(path),
            hint="write it again with a current pyarrow, or R's arrow::write_feather",
        )
    try:
        if len(source.groups(range(len(source.schema)))) > 1:
            return GroupedReader(path, "feather", source, options)
        return ArrowReader(path, "feather", source, options)
    except BaseException:
        source.close()
        raise


class FeatherSource:
    """Record batches of an Arrow IPC file.

    Parameters
    ----------
    path : Path
        The file.
    budget : int, optional
        What columns that are unpacked side by side may take, in bytes.
    """

    def __init__(self, path: Path, budget: int | None) -> None:
        self._budget = budget
        self._map = pa.memory_map(str(path))
        try:
            self._file = pa.ipc.open_file(self._map)
            self.schema = self._file.schema
            self.n_parts: int = self._file.num_record_batches
            heights = [batch.num_rows for batch in self._one_column(0)]
            self.n_rows = sum(heights)
            self._height = max(heights, default=0)
        except BaseException:
            self._map.close()
            raise

    def batches(self, n_rows: int) -> Iterator[pa.RecordBatch]:
        """Yield the whole table, at most `n_rows` rows at a time."""
        for number in range(self._file.num_record_batches):
            batch = self._file.get_batch(number)
            batch.validate()
            for start in range(0, batch.num_rows, n_rows):
                yield batch.slice(start, n_rows)

    def groups(self, columns: Sequence[int]) -> list[Sequence[int]]:
        """Return columns in groups that may be unpacked side by side."""
        if self._budget is None:
            return [columns]
        types = (self.schema.field(i).type for i in columns)
        costs = (_COLUMN_BYTES + _UNPACKED_TIMES * self._height * _width(kind) for kind in types)
        return group_columns(columns, costs, self._budget)

    def part(self, number: int, columns: Sequence[int], n_rows: int) -> Iterator[pa.RecordBatch]:
        """Yield one record batch of some columns, at most `n_rows` rows at a time."""
        batch = self._columns(columns).get_batch(number)
        batch.validate()
        for start in range(0, batch.num_rows, n_rows):
            yield batch.slice(start, n_rows)

    def first_ids(self, position: int) -> pa.Array:
        """Return the first values of one column."""
        for batch in self._one_column(position):
            if batch.num_rows:
                return batch.column(0).slice(0, 1024)
        return pa.nulls(0, self.schema.field(position).type)

    def close(self) -> None:
        """Release the file."""
        self._map.close()

    def _one_column(self, position: int) -> Iterator[pa.RecordBatch]:
        file = self._columns([position])
        for number in range(file.num_record_batches):
            batch = file.get_batch(number)
            batch.validate()
            yield batch

    def _columns(self, positions: Sequence[int]) -> pa.ipc.RecordBatchFileReader:
        options = pa.ipc.IpcReadOptions(included_fields=list(positions), use_threads=False)
        return pa.ipc.open_file(self._map, options=options)


def _width(kind: pa.DataType) -> int:
    """Return the bytes of a value, as far as its type tells."""
    try:
        return max(1, kind.bit_width // 8)
    except ValueError:  # a string, say
        return 16
