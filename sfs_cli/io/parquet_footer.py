"""The footer of a Parquet file, for files of more columns than can be decoded side by side.

pyarrow takes a few kilobytes for each column of each row group before it has read a value, and
cannot be told to take them for some columns alone. Here only the places of the columns in the
footer are kept, and pyarrow is given a footer of the columns that are to be read next.

The layout is that of ``parquet.thrift`` (Apache Parquet format, version 2).
"""

from __future__ import annotations

import json
import mmap
import struct
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from sfs_cli.io import thrift

_MAGIC = b"PAR1"
_TAIL = struct.Struct("<I4s")
_STEP = 1024
_PANDAS_INDEX = b'"index_columns":'

# numbers of fields in parquet.thrift
_VERSION, _SCHEMA, _N_ROWS, _ROW_GROUPS, _KEY_VALUES, _CREATED_BY = 1, 2, 3, 4, 5, 6
_NAME, _N_CHILDREN = 4, 5
_COLUMNS, _GROUP_BYTES, _GROUP_ROWS = 1, 2, 3
_CHUNK_METADATA, _UNPACKED_BYTES = 3, 6
_KEY, _VALUE = 1, 2


def footer_size(path: Path) -> int:
    """Return the bytes of a Parquet footer, 0 where the file does not end like one."""
    with path.open("rb") as file:
        if file.seek(0, 2) < _TAIL.size + len(_MAGIC):
            return 0
        file.seek(-_TAIL.size, 2)
        size, magic = _TAIL.unpack(file.read(_TAIL.size))
    return size if magic == _MAGIC else 0


@dataclass(frozen=True)
class RowGroup:
    """Where the columns of a row group are described.

    Attributes
    ----------
    n_rows : int
        Its rows.
    starts : array of int, length n_columns + 1
        Where the description of each column begins, and where the last ends.
    sizes : array of int, length n_columns
        Bytes of each column when unpacked.
    """

    n_rows: int
    starts: array[int]
    sizes: array[int]


class Footer:
    """The footer of a Parquet file whose columns are not nested.

    Parameters
    ----------
    path : Path
        The file.

    Raises
    ------
    pyarrow.ArrowInvalid
        The footer is damaged.
    """

    def __init__(self, path: Path) -> None:
        size = footer_size(path)
        with path.open("rb") as file:
            self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        whole = memoryview(self._map)
        end = len(whole) - _TAIL.size
        self._data = whole[end - size : end]
        try:
            self._read()
        except (IndexError, ValueError, KeyError, OverflowError, RecursionError) as error:
            raise pa.ArrowInvalid(f"the footer is damaged: {error}") from error

    def _read(self) -> None:
        data = self._data
        parts = (_VERSION, _SCHEMA, _N_ROWS, _ROW_GROUPS, _KEY_VALUES, _CREATED_BY)
        found, _ = thrift.find_fields(data, 0, parts)
        self._version = thrift.read_integer(data, found[_VERSION])
        self.n_rows = thrift.read_integer(data, found[_N_ROWS])
        self._created_by = b""
        if _CREATED_BY in found:
            self._created_by = bytes(thrift.read_binary(data, found[_CREATED_BY]))
        self.nested = False
        self._elements = self._read_elements(found[_SCHEMA])
        self.row_groups = [] if self.nested else list(self._read_groups(found[_ROW_GROUPS]))
        self._index = self._read_index(found[_KEY_VALUES]) if _KEY_VALUES in found else None

    def _items(self, at: int) -> Iterator[int]:
        """Yield where each struct of a list begins, and at last where the list ends."""
        count, _, at = thrift.read_list(self._data, at)
        for _ in range(count):
            yield at
            at = thrift.find_fields(self._data, at)[1]
        yield at

    def _read_elements(self, at: int) -> array[int]:
        # the first is the root; one with children is nested
        starts = array("q", list(self._items(at))[1:])
        self.nested = any(
            _N_CHILDREN in thrift.find_fields(self._data, start, (_N_CHILDREN,))[0]
            for start in starts[:-1]
        )
        return starts

    def _read_groups(self, at: int) -> Iterator[RowGroup]:
        data = self._data
        for start in list(self._items(at))[:-1]:
            found, _ = thrift.find_fields(data, start, (_COLUMNS, _GROUP_ROWS))
            starts = array("q", self._items(found[_COLUMNS]))
            sizes = array("q", (self._unpacked(place) for place in starts[:-1]))
            if len(starts) != len(self._elements):
                raise ValueError(f"a row group has {len(sizes):,} columns")
            yield RowGroup(thrift.read_integer(data, found[_GROUP_ROWS]), starts, sizes)

    def _unpacked(self, at: int) -> int:
        chunk, _ = thrift.find_fields(self._data, at, (_CHUNK_METADATA,), to_end=False)
        place = chunk[_CHUNK_METADATA]
        found, _ = thrift.find_fields(self._data, place, (_UNPACKED_BYTES,), to_end=False)
        return thrift.read_integer(self._data, found[_UNPACKED_BYTES])

    def _read_index(self, at: int) -> list[object] | None:
        """Return what pandas noted as the index; its notes on every column stay unread."""
        for start in list(self._items(at))[:-1]:
            found, _ = thrift.find_fields(self._data, start, (_KEY, _VALUE))
            if thrift.read_binary(self._data, found[_KEY]) == b"pandas" and _VALUE in found:
                value = thrift.read_binary(self._data, found[_VALUE])
                return _pandas_index(value)
        return None

    def schema(self) -> pa.Schema:
        """Return names and types of the columns, and of what pandas noted the index."""
        fields: list[pa.Field] = []
        for lo in range(0, len(self._elements) - 1, _STEP):
            positions = range(lo, min(lo + _STEP, len(self._elements) - 1))
            with pq.ParquetFile(pa.BufferReader(self._file(positions, []))) as part:
                fields += [field.remove_metadata() for field in part.schema_arrow]
        if self._index is None:
            return pa.schema(fields)
        return pa.schema(fields, {"pandas": json.dumps({"index_columns": self._index})})

    def subset(self, group: int, positions: Sequence[int]) -> pq.FileMetaData:
        """Return the metadata of a file that has one row group and some columns.

        Parameters
        ----------
        group : int
            Number of the row group.
        positions : sequence of int
            Columns, in the order wanted.
        """
        found = self.row_groups[group]
        chunks = [bytes(self._data[found.starts[i] : found.starts[i + 1]]) for i in positions]
        described = thrift.struct(
            (_COLUMNS, thrift.LIST, thrift.structs(chunks)),
            (_GROUP_BYTES, thrift.I64, thrift.integer(sum(found.sizes[i] for i in positions))),
            (_GROUP_ROWS, thrift.I64, thrift.integer(found.n_rows)),
        )
        file = self._file(positions, [described], found.n_rows)
        return pq.read_metadata(pa.BufferReader(file))

    def _file(self, positions: Sequence[int], groups: list[bytes], n_rows: int = 0) -> bytes:
        """Return a Parquet file that is a footer alone."""
        root = thrift.struct(
            (_NAME, thrift.BINARY, thrift.binary(b"schema")),
            (_N_CHILDREN, thrift.I32, thrift.integer(len(positions))),
        )
        starts = self._elements
        elements = [bytes(self._data[starts[i] : starts[i + 1]]) for i in positions]
        # which bugs of its writer a reader works around
        creator = [(_CREATED_BY, thrift.BINARY, thrift.binary(self._created_by))]
        footer = thrift.struct(
            (_VERSION, thrift.I32, thrift.integer(self._version)),
            (_SCHEMA, thrift.LIST, thrift.structs([root, *elements])),
            (_N_ROWS, thrift.I64, thrift.integer(n_rows)),
            (_ROW_GROUPS, thrift.LIST, thrift.structs(groups)),
            *(creator if self._created_by else []),
        )
        return _MAGIC + footer + _TAIL.pack(len(footer), _MAGIC)

    def close(self) -> None:
        """Release the file."""
        self._data.release()
        self._map.close()


def _pandas_index(notes: memoryview) -> list[object] | None:
    text = bytes(notes)
    at = text.find(_PANDAS_INDEX)
    if at < 0:
        return None
    # the notes on the columns follow, which are many
    rest = text[at + len(_PANDAS_INDEX) :].partition(b'"column_indexes":')[0].lstrip()
    return json.JSONDecoder().raw_decode(rest.decode())[0]
