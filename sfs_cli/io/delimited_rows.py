"""Turning whole lines of delimited numbers into a block of a matrix.

The leading fields of the rows are cut off and their delimiters turned into line ends; what remains
is one tall column of numbers that pyarrow parses at full speed. Its cost per column would be
ruinous for a wide file read as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from sfs_cli.errors import InputError
from sfs_cli.io import delimited_errors as errors
from sfs_cli.io.base import RowBlock
from sfs_cli.io.casting import cast_values
from sfs_cli.io.header import decode
from sfs_cli.io.lines import Chunk
from sfs_cli.io.number_column import parse_column

_NEWLINE, _QUOTE = ord("\n"), ord('"')


@dataclass(frozen=True)
class Layout:
    """How the rows of a file are built.

    Attributes
    ----------
    path : Path
        The file, for messages.
    delimiter : str
        One ASCII character.
    lead : tuple of str
        Names of the fields before the values; the first of them is the row id.
    column_ids : sequence of str
        Ids of the columns of values.
    quoting : bool
        Whether fields may stand in double quotes.
    """

    path: Path
    delimiter: str
    lead: tuple[str, ...]
    column_ids: Sequence[str]
    quoting: bool = True


def parse_chunk(chunk: Chunk, layout: Layout, dtype: str) -> RowBlock:
    """Parse some whole lines.

    Parameters
    ----------
    chunk : Chunk
        The lines.
    layout : Layout
        How a row is built.
    dtype : {"float32", "float64"}
        Type of the values.

    Returns
    -------
    RowBlock
        ``values`` has shape (lines, columns); what is missing is NaN.

    Raises
    ------
    InputError
        See `parse_blocks`.
    """
    leads, firsts, ends = _cut_leads(chunk, layout)
    _check_counts(chunk, layout, firsts, ends)
    ids = _row_ids(leads, chunk, layout)
    view = memoryview(chunk.text)
    rows = zip(firsts, ends, strict=True)
    table = bytes.maketrans(layout.delimiter.encode(), b"\n")
    column = b"".join([view[first : end + 1] for first, end in rows]).translate(table)
    return RowBlock(ids, _numbers(column, chunk, layout, dtype))


def first_ids(chunk: Chunk, layout: Layout) -> list[str]:
    """Return the row ids of some whole lines without parsing their values."""
    leads, _, _ = _cut_leads(chunk, layout)
    return _row_ids(leads, chunk, layout)


def _cut_leads(chunk: Chunk, layout: Layout) -> tuple[list[bytes], list[int], list[int]]:
    """Return the raw id of each line, where its values begin, and where it ends."""
    text, delimiter = chunk.text, layout.delimiter.encode()
    ends = np.flatnonzero(np.frombuffer(text, np.uint8) == _NEWLINE).tolist()
    leads, firsts = [], []
    start = 0
    for row, end in enumerate(ends):
        if layout.quoting and text[start] == _QUOTE:
            stop = _closing_quote(text, start, end) + 1
            if text[stop : stop + 1] != delimiter:
                raise errors.bad_quotes(chunk, row, layout.path)
        else:
            stop = text.find(delimiter, start, end)
        leads.append(text[start:stop])
        for _ in layout.lead[1:]:
            stop = text.find(delimiter, stop + 1, end) if stop >= 0 else stop
        if stop < 0:
            raise _ragged(chunk, layout, row)
        firsts.append(stop + 1)
        start = end + 1
    return leads, firsts, ends


def _closing_quote(text: bytes, start: int, end: int) -> int:
    at = text.find(b'"', start + 1, end)
    while at >= 0 and text[at + 1] == _QUOTE:  # a doubled quote stands for one
        at = text.find(b'"', at + 2, end)
    return at


def _check_counts(chunk: Chunk, layout: Layout, firsts: list[int], ends: list[int]) -> None:
    is_delimiter = np.frombuffer(chunk.text, np.uint8) == ord(layout.delimiter)
    bounds = np.column_stack([firsts, ends]).ravel()
    counts = np.add.reduceat(is_delimiter.view(np.uint8), bounds, dtype=np.int64)[::2]
    wrong = np.flatnonzero(counts != len(layout.column_ids) - 1)
    if wrong.size:
        raise _ragged(chunk, layout, int(wrong[0]))


def _ragged(chunk: Chunk, layout: Layout, row: int) -> InputError:
    expected = len(layout.lead) + len(layout.column_ids)
    return errors.ragged(chunk, row, layout.path, layout.delimiter, expected)


def _row_ids(leads: list[bytes], chunk: Chunk, layout: Layout) -> list[str]:
    try:
        ids = b"\n".join(leads).decode("utf-8").split("\n")
    except UnicodeDecodeError:
        ids = [decode(raw, layout.path, chunk.first_line + i) for i, raw in enumerate(leads)]
    if layout.quoting and '"' in "".join(ids):
        ids = [i[1:-1].replace('""', '"') if i.startswith('"') else i for i in ids]
    ids = [i.strip() for i in ids]
    if "" in ids:
        where = f"{layout.path}, line {chunk.first_line + ids.index('')}"
        raise InputError("a row has no id", where=where, hint="give the row an id or remove it")
    return ids


def _numbers(column: bytes, chunk: Chunk, layout: Layout, dtype: str) -> np.ndarray:
    if b"\0" in column:
        raise errors.binary(chunk, layout.path)
    try:
        parsed = parse_column(column)
    except pa.ArrowInvalid as error:
        raise errors.not_a_number(column, chunk, layout.path, layout.column_ids) from error
    n_columns = len(layout.column_ids)
    if parsed.size % n_columns or parsed.size // n_columns != chunk.text.count(b"\n"):
        raise errors.stray_line_end(chunk, layout.path)

    def where(position: int) -> str:
        row, column = divmod(position, n_columns)
        return errors.place(layout.path, chunk.first_line + row, layout.column_ids[column])

    return cast_values(parsed, dtype, where).reshape(-1, n_columns)
