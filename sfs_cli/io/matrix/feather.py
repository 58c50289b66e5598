"""Feather version 2, which is the Arrow IPC file format, through a memory map."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.ipc

from sfs_cli.errors import InputError
from sfs_cli.io.matrix.arrow import TableReader
from sfs_cli.io.matrix.base import MatrixReader, ReadOptions, read_errors, releasing

_MAGIC_V1 = b"FEA1"
_UNPACKED_TIMES = 2  # values (of 8 bytes at most), and what else is needed to unpack them
_COLUMN_BYTES = 4 << 10  # unpacking a column takes at least this, however short it is


def open_feather(path: Path, options: ReadOptions) -> MatrixReader:
    """Open an Arrow IPC file (Feather version 2), compressed or not.

    A record batch (65,536 rows as pyarrow and R write them) is mapped, or unpacked as a whole
    where it is compressed. Where that may be more than ``options.decode_bytes``, the columns are
    read in groups.
    """
    with read_errors(path, "feather"):
        with path.open("rb") as file:
            is_v1 = file.read(4) == _MAGIC_V1
        source = None if is_v1 else FeatherSource(path)
    if source is None:
        raise InputError(
            "this is Feather version 1, which is not supported",
            where=path,
            hint="write it again with a current pyarrow, or R's arrow::write_feather",
        )
    return TableReader(path, "feather", source, options)


class FeatherSource:
    """An Arrow IPC file as a `TableSource`; its parts are record batches."""

    def __init__(self, path: Path) -> None:
        self._map = pa.memory_map(os.fsencode(path))
        with releasing(self._map.close):
            file = pa.ipc.open_file(self._map)
            self.schema = file.schema
            self.n_parts = file.num_record_batches
            first = self._columns(range(len(self.schema))[:1])
            heights = [first.get_batch(part).num_rows for part in range(self.n_parts)]
        self.n_rows = sum(heights)
        cost = _COLUMN_BYTES + _UNPACKED_TIMES * 8 * max(heights, default=0)
        self.costs = [cost] * len(self.schema)

    def batches(
        self, columns: Sequence[int], n_rows: int, part: int | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Yield columns (rising) of one record batch or all, at most `n_rows` rows at a time."""
        file = self._columns(columns, use_threads=part is None)
        for number in range(self.n_parts) if part is None else (part,):
            batch = file.get_batch(number)
            batch.validate(full=True)  # offsets that lie would crash whoever makes texts of them
            for start in range(0, batch.num_rows, n_rows):
                yield batch.slice(start, n_rows)

    def close(self) -> None:
        """Release the file."""
        self._map.close()

    def _columns(
        self, positions: Sequence[int], *, use_threads: bool = False
    ) -> pa.ipc.RecordBatchFileReader:
        options = pa.ipc.IpcReadOptions(included_fields=list(positions), use_threads=use_threads)
        return pa.ipc.open_file(self._map, options=options)
