"""Matrix Market coordinate files, streamed in whole rows or columns."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
from scipy.sparse import csr_array

from sfs_cli.errors import COPY_AGAIN, InputError
from sfs_cli.io.casting import cast_values
from sfs_cli.io.lines import Chunk, LineStream
from sfs_cli.io.sparse_rows import csr_block

_LOOK_BYTES = 1 << 18
_ENTRY_BYTES = 24  # two indices and a value, as they are parsed


@dataclass(frozen=True)
class Header:
    """The first lines of a Matrix Market file.

    Attributes
    ----------
    n_rows, n_columns, n_entries : int
        What the size line declares.
    by_column : bool
        Whether the entries are sorted by column (else by row), as far as a look can tell.
    """

    n_rows: int
    n_columns: int
    n_entries: int
    by_column: bool


@dataclass(frozen=True)
class Entries:
    """Some consecutive entries, their indices counted from 0.

    Attributes
    ----------
    major, minor : ndarray of int64, shape (k,)
        The index they are sorted by, and the other.
    values : ndarray of float64, shape (k,)
    """

    major: np.ndarray
    minor: np.ndarray
    values: np.ndarray


def read_header(path: Path) -> Header:
    """Read the sizes of a Matrix Market file, and look at how it is sorted.

    Parameters
    ----------
    path : Path
        May be compressed.

    Raises
    ------
    InputError
        It is no general coordinate matrix of numbers, or its first lines are damaged.
    """
    lines = LineStream(path)
    try:
        sizes = _sizes(lines, path)
        chunk = lines.peek_chunk(_LOOK_BYTES)
        by_column = chunk is None or _sorted_by_column(_parse(chunk, path))
    finally:
        lines.close()
    return Header(*sizes, by_column)


def stream_major(
    path: Path, header: Header, dtype: str, block_bytes: int
) -> Iterator[tuple[int, int, csr_array]]:
    """Yield whole columns (or rows, where the file is sorted by row) as sparse rows.

    Parameters
    ----------
    path : Path
        The file.
    header : Header
        Its header.
    dtype : {"float32", "float64"}
        Type of the values.
    block_bytes : int
        Size of a block; one with a single row may be larger.

    Yields
    ------
    start, stop : int
        Which columns (or rows) of the file these are.
    block : csr_array, shape (stop - start, other size)

    Raises
    ------
    InputError
        Entries are not sorted, out of bounds, repeated, or not as many as declared.
    """
    sizes = (header.n_rows, header.n_columns)
    n_major, n_minor = sizes[::-1] if header.by_column else sizes
    pending: list[Entries] = []
    start, waiting = 0, 0
    for entries in _checked(path, header, n_major, n_minor, block_bytes):
        pending.append(entries)
        waiting += len(entries.values)
        last = int(entries.major[-1])
        # the last one may go on in the next lines
        if waiting * _ENTRY_BYTES >= block_bytes and last > int(pending[0].major[0]):
            joined = _joined(pending)
            cut = int(np.searchsorted(joined.major, last))
            yield start, last, _block(_part(joined, 0, cut), start, last, n_minor, dtype, path)
            start, pending = last, [_part(joined, cut, waiting)]
            waiting -= cut
    yield start, n_major, _block(_joined(pending), start, n_major, n_minor, dtype, path)


def _checked(
    path: Path, header: Header, n_major: int, n_minor: int, block_bytes: int
) -> Iterator[Entries]:
    lines = LineStream(path)
    try:
        _sizes(lines, path)
        found, before = 0, 0
        while (chunk := lines.read_chunk(max(block_bytes // 4, 1 << 12))) is not None:
            rows, columns, values = _parse(chunk, path)
            major, minor = (columns, rows) if header.by_column else (rows, columns)
            _check_bounds(major, n_major, minor, n_minor, chunk, path)
            _check_order(major, before, header.by_column, chunk, path)
            found, before = found + len(major), int(major[-1])
            yield Entries(major, minor, values)
    finally:
        lines.close()
    if found != header.n_entries:
        raise InputError(
            f"the matrix has {found:,} entries, but its header declares {header.n_entries:,}",
            where=str(path),
            hint="the file is cut off or was changed: copy or download it again",
        )


def _sizes(lines: LineStream, path: Path) -> tuple[int, int, int]:
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
    if len(sizes) != 3 or not all(size.isdigit() for size in sizes):
        raise InputError(
            "the line with the numbers of rows, columns and entries is missing or damaged",
            where=f"{path}, line {lines.line - 1}",
            hint=COPY_AGAIN,
        )
    n_rows, n_columns, n_entries = (int(size) for size in sizes)
    return n_rows, n_columns, n_entries


def _parse(chunk: Chunk, path: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
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


def _sorted_by_column(entries: tuple[np.ndarray, np.ndarray, np.ndarray]) -> bool:
    rows, columns, _ = entries
    by_row, by_column = bool((np.diff(rows) >= 0).all()), bool((np.diff(columns) >= 0).all())
    if by_row and by_column:  # both hold within one row or one column
        return len(np.unique(columns)) <= len(np.unique(rows))
    return by_column or not by_row


def _check_bounds(
    major: np.ndarray, n_major: int, minor: np.ndarray, n_minor: int, chunk: Chunk, path: Path
) -> None:
    outside = (major < 0) | (major >= n_major) | (minor < 0) | (minor >= n_minor)
    if outside.any():
        raise InputError(
            f"{int(outside.sum()):,} entries are out of the bounds that the header declares",
            where=f"{path}, line {chunk.first_line + int(outside.argmax())}",
            hint="the file is damaged, or not the one that belongs to these names",
        )


def _check_order(major: np.ndarray, before: int, by_column: bool, chunk: Chunk, path: Path) -> None:
    back = np.diff(major, prepend=before) < 0
    if back.any():
        raise InputError(
            f"the entries are sorted neither by column nor by row: here "
            f"{'a column' if by_column else 'a row'} goes back",
            where=f"{path}, line {chunk.first_line + int(back.argmax())}",
            hint="write it again with Cell Ranger, scipy.io.mmwrite or Matrix::writeMM",
        )


def _joined(parts: list[Entries]) -> Entries:
    if not parts:
        nothing = np.empty(0, np.int64)
        return Entries(nothing, nothing, np.empty(0))
    return Entries(
        np.concatenate([part.major for part in parts]),
        np.concatenate([part.minor for part in parts]),
        np.concatenate([part.values for part in parts]),
    )


def _part(entries: Entries, start: int, stop: int) -> Entries:
    span = slice(start, stop)
    return Entries(entries.major[span], entries.minor[span], entries.values[span])


def _block(
    entries: Entries, start: int, stop: int, n_minor: int, dtype: str, path: Path
) -> csr_array:
    values = cast_values(entries.values, dtype, str(path))
    indptr = np.searchsorted(entries.major, np.arange(start, stop + 1))
    return csr_block(values, entries.minor, indptr, n_minor, str(path))
