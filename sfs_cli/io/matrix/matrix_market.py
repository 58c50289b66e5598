"""Matrix Market coordinate files, streamed in whole rows or columns."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
from scipy.sparse import csr_array

from sfs_cli.errors import COPY_AGAIN, InputError
from sfs_cli.io.files.text import Chunk, LineStream
from sfs_cli.io.matrix.base import ReadOptions, cast_values
from sfs_cli.io.matrix.stored import csr_block

LOOK_BYTES = 1 << 18
_ENTRY_BYTES = 24  # two indices and a value, as they are parsed


@dataclass(frozen=True)
class Header:
    """The declared sizes, and whether the entries are sorted by column (else by row)."""

    n_rows: int
    n_columns: int
    n_entries: int
    by_column: bool


class Entries(NamedTuple):
    """Consecutive entries, shape (k,) each: the index they are sorted by, the other, the values.

    Indices count from 0.
    """

    major: np.ndarray
    minor: np.ndarray
    values: np.ndarray

    def span(self, start: int, stop: int) -> Entries:
        """Return entries ``start`` to ``stop``."""
        return Entries(*(column[start:stop] for column in self))


def read_header(path: Path, look_bytes: int = LOOK_BYTES) -> Header:
    """Read the sizes of a file, and how its first entries are sorted."""
    with LineStream(path) as lines:
        sizes = _sizes(lines, path)
        chunk = lines.peek_chunk(look_bytes)
    by_column = True
    if chunk is not None:
        rows, columns, _ = _parse(chunk, path)
        # where it is sorted neither way, the first entry out of order says so
        if (np.diff(rows) >= 0).all():
            both = bool((np.diff(columns) >= 0).all())  # as within one row or one column
            by_column = both and len(np.unique(columns)) <= len(np.unique(rows))
    return Header(*sizes, by_column)


class MatrixMarketRows:
    """The columns of a file (or its rows, where it is sorted by row) as a `StoredMatrix`."""

    sparse = True

    def __init__(self, path: Path, header: Header) -> None:
        self.path = path
        self.header = header
        shape = (header.n_rows, header.n_columns)
        self.shape = shape[::-1] if header.by_column else shape

    def blocks(self, options: ReadOptions) -> Iterator[tuple[int, int, csr_array]]:
        """Yield whole columns (or rows), which are rows of the blocks.

        Entries that are not sorted, out of bounds, repeated, or not as many as declared, are an
        `InputError`.
        """
        pending: list[Entries] = []
        start, waiting = 0, 0
        for entries in self._entries(max(options.block_bytes // 4, 1 << 12)):
            pending.append(entries)
            waiting += len(entries.values)
            last = int(entries.major[-1])
            # the last one may go on in the next lines
            if waiting * _ENTRY_BYTES >= options.block_bytes and last > int(pending[0].major[0]):
                joined = _joined(pending)
                cut = int(np.searchsorted(joined.major, last))
                yield start, last, self._block(joined.span(0, cut), start, last, options)
                start, pending = last, [joined.span(cut, waiting)]
                waiting -= cut
        yield start, self.shape[0], self._block(_joined(pending), start, self.shape[0], options)

    def _block(self, entries: Entries, start: int, stop: int, options: ReadOptions) -> csr_array:
        values = cast_values(entries.values, options.dtype, self.path)
        indptr = np.searchsorted(entries.major, np.arange(start, stop + 1))
        shape = stop - start, self.shape[1]
        return csr_block(values, entries.minor, indptr, shape, self.path)

    def _entries(self, chunk_bytes: int) -> Iterator[Entries]:
        path, by_column = self.path, self.header.by_column
        found, before = 0, 0
        with LineStream(path) as lines:
            _sizes(lines, path)
            while (chunk := lines.read_chunk(chunk_bytes)) is not None:
                rows, columns, values = _parse(chunk, path)
                major, minor = (columns, rows) if by_column else (rows, columns)
                outside = (major < 0) | (major >= self.shape[0])
                outside |= (minor < 0) | (minor >= self.shape[1])
                if outside.any():
                    raise InputError(
                        f"{int(outside.sum()):,} entries are outside the bounds that the header "
                        "declares",
                        where=f"{path}, line {chunk.first_line + int(outside.argmax())}",
                        hint="the file is damaged, or not the one that belongs to these names",
                    )
                back = np.diff(major, prepend=before) < 0
                if back.any():
                    raise InputError(
                        "the entries are sorted neither by column nor by row: here "
                        f"{'a column' if by_column else 'a row'} is smaller than the one before",
                        where=f"{path}, line {chunk.first_line + int(back.argmax())}",
                        hint="write it again with Cell Ranger, scipy.io.mmwrite or Matrix::writeMM",
                    )
                found, before = found + len(major), int(major[-1])
                yield Entries(major, minor, values)
        if found != self.header.n_entries:
            raise InputError(
                f"the matrix has {found:,} entries, but its header declares "
                f"{self.header.n_entries:,}",
                where=path,
                hint="the file is cut off or was changed: copy or download it again",
            )


def _joined(chunks: list[Entries]) -> Entries:
    if not chunks:
        return Entries(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))
    return Entries(*(np.concatenate(columns) for columns in zip(*chunks)))


def _sizes(lines: LineStream, path: Path) -> tuple[int, int, int]:
    """Read the banner, the comments and the line of sizes."""
    banner = (lines.read_line() or b"").lower().split()
    wanted = [b"%%matrixmarket", b"matrix", b"coordinate"]
    general = len(banner) == 5 and banner[3] in (b"real", b"integer") and banner[4] == b"general"
    if banner[:3] != wanted or not general:
        raise InputError(
            "this is not a general Matrix Market matrix in coordinates, real or integer: "
            f"it begins with {b' '.join(banner)[:80].decode(errors='replace')!r}",
            where=f"{path}, line 1",
            hint="write the matrix as coordinates, for example with scipy.io.mmwrite",
        )
    while (line := lines.read_line()) is not None and (line.startswith(b"%") or not line.strip()):
        pass
    sizes = (line or b"").split()
    if len(sizes) != 3 or not all(map(bytes.isdigit, sizes)):
        raise InputError(
            "the line with the numbers of rows, columns and entries is missing or damaged",
            where=f"{path}, line {lines.line - 1}",
            hint=COPY_AGAIN,
        )
    n_rows, n_columns, n_entries = (int(size) for size in sizes)
    return n_rows, n_columns, n_entries


def _parse(chunk: Chunk, path: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows and columns (from 0) and values of a chunk."""
    types = {"row": pa.int64(), "column": pa.int64(), "value": pa.float64()}
    try:
        table = pacsv.read_csv(
            pa.BufferReader(chunk.text),
            pacsv.ReadOptions(column_names=list(types), use_threads=False),
            pacsv.ParseOptions(delimiter=" ", quote_char=False),
            pacsv.ConvertOptions(column_types=types, null_values=[]),
        )
    except pa.ArrowInvalid as error:
        row = re.search(r"Row #(\d+)", str(error))
        line = chunk.first_line + (int(row[1]) - 1 if row else 0)
        raise InputError(
            f"an entry is not a row, a column and a value with one space between: {error}",
            where=f"{path}, line {line}{'' if row else ' or after it'}",
            hint=COPY_AGAIN,
        ) from error
    columns = table.combine_chunks().columns
    rows, columns, values = (np.from_dlpack(column.chunk(0)) for column in columns)
    return rows - 1, columns - 1, values
