"""Feather version 2, which is the Arrow IPC file format, through a memory map."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.ipc

from sfs_cli.errors import InputError
from sfs_cli.io.files.names import check_total
from sfs_cli.io.matrix.arrow import group_columns, open_table
from sfs_cli.io.matrix.base import MatrixReader, ReadOptions, read_errors

_MAGIC_V1 = b"FEA1"
_FIRST_MESSAGE = 8  # after the mark of the format
_UNPACKED_TIMES = 2  # values, and what else is needed to unpack them
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
        source = None if is_v1 else FeatherSource(path, options.decode_bytes)
    if source is None:
        raise InputError(
            "this is Feather version 1, which is not supported",
            where=str(path),
            hint="write it again with a current pyarrow, or R's arrow::write_feather",
        )
    return open_table(path, "feather", source, options)


class FeatherSource:
    """An Arrow IPC file as a `TableSource`; its parts are record batches."""

    def __init__(self, path: Path, budget: int | None) -> None:
        self._path, self._budget = path, budget
        self._map = pa.memory_map(os.fsencode(path))
        try:
            file = pa.ipc.open_file(self._map)
            self.schema = file.schema
            self.n_parts: int = file.num_record_batches
            heights = self._heights()
            self.n_rows = sum(heights)
            self._height = max(heights, default=0)
        except BaseException:
            self._map.close()
            raise

    def _heights(self) -> list[int]:
        """Return the rows of each record batch, by a column of numbers: texts may be large."""
        self._check_sizes([])
        t = pa.types
        kinds = (field.type for field in self.schema)
        numeric = (i for i, kind in enumerate(kinds) if t.is_primitive(kind) or t.is_decimal(kind))
        if (first := next(numeric, None)) is None:  # such a table is refused
            return []
        column = self._columns([first])
        return [column.get_batch(part).num_rows for part in range(self.n_parts)]

    def check_names(self, column: int) -> None:
        """Refuse names by the sizes that their buffers have, unpacked."""
        self._check_sizes([self.schema.field(i).type for i in range(column + 1)])

    def _check_sizes(self, types: Sequence[pa.DataType]) -> None:
        """Look at every dictionary, and at the last of the first columns, of these types."""
        with pa.memory_map(os.fsencode(self._path)) as file:
            file.seek(_FIRST_MESSAGE)
            number = 0
            for message in pa.ipc.MessageReader.open_stream(file):
                number += message.type == "record batch"
                where = f"{self._path}, record batch {max(number, 1):,}"
                if message.type == "record batch" and types:
                    check_total(*_unpacked(message, types), where)
                elif message.type == "dictionary":
                    check_total(*_unpacked(message, None), where)

    def groups(self, columns: Sequence[int]) -> list[Sequence[int]]:
        """Return columns in groups that may be unpacked together."""
        if self._budget is None:
            return [columns]
        types = (self.schema.field(i).type for i in columns)
        costs = (_COLUMN_BYTES + _UNPACKED_TIMES * self._height * _width(kind) for kind in types)
        return group_columns(columns, costs, self._budget)

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


def _unpacked(message: pa.ipc.Message, types: Sequence[pa.DataType] | None) -> tuple[int, int]:
    """Return the bytes that the last of the first columns takes, unpacked, and the number of rows.

    Without types, as of a dictionary, all of it is meant. The numbers of the fields are those of
    the declarations of Arrow (format/Message.fbs).
    """
    held = message.metadata.to_pybytes()
    record = _field(held, _field(held, 0, None), 2)
    if message.type == "dictionary":
        record = _field(held, record, 1)
    n_rows = struct.unpack_from("<q", held, at)[0] if (at := _place(held, record, 0)) else 0
    packed = _place(held, record, 3)
    views = _field(held, record, 4) if _place(held, record, 4) else 0
    more = iter(struct.unpack_from(f"<{_int(held, views)}q", held, views + 4) if views else ())
    buffers = _field(held, record, 2)
    counts = [_int(held, buffers)]
    if types is not None:
        counts = [_n_buffers(kind, more) for kind in types]
    size = 0
    for i in range(sum(counts[:-1]), sum(counts)):
        offset, length = struct.unpack_from("<2q", held, buffers + 4 + 16 * i)
        if packed and length:  # -1 of a buffer that would not become smaller
            (unpacked,) = struct.unpack("<q", message.body.slice(offset, 8))
            size += max(unpacked, length)
        else:
            size += length  # columns are copied out of the map
    return size, n_rows


def _n_buffers(kind: pa.DataType, more: Iterator[int]) -> int:
    if pa.types.is_null(kind):
        return 0
    if pa.types.is_string_view(kind) or pa.types.is_binary_view(kind):
        return 2 + next(more)
    t = pa.types
    texts = (t.is_string, t.is_large_string, t.is_binary, t.is_large_binary)
    return 3 if any(test(kind) for test in texts) else 2


def _int(held: bytes, at: int) -> int:
    return struct.unpack_from("<I", held, at)[0]


def _place(held: bytes, table: int, number: int) -> int:
    """Return where a table of FlatBuffers has a field; 0 where it lacks it."""
    known = table - struct.unpack_from("<i", held, table)[0]
    at = 4 + 2 * number
    offset = 0
    if at < struct.unpack_from("<H", held, known)[0]:
        offset = struct.unpack_from("<H", held, known + at)[0]
    return table + offset if offset else 0


def _field(held: bytes, table: int, number: int | None) -> int:
    """Return where a field refers to: a table or a list; without a number, the first table."""
    at = table if number is None else _place(held, table, number)
    return at + _int(held, at)


def _width(kind: pa.DataType) -> int:
    """Return the bytes of a value, as far as its type tells."""
    try:
        return max(1, kind.bit_width // 8)
    except ValueError:  # a string, for example
        return 16
