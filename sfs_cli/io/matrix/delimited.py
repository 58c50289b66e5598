"""Matrices as delimited text of any size, tall or wide, in bounded memory.

Chunks of whole lines are parsed by several threads, since pyarrow releases the interpreter's lock,
and come out in order. In a chunk the leading fields of the rows are cut off and the delimiters
turned into line ends. What remains is one tall column of numbers, which pyarrow parses at full
speed; its cost per column would be ruinous for a wide file read as it is.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv

from sfs_cli.errors import COPY_AGAIN, InputError, counted, listed
from sfs_cli.io.files.names import BLANKS
from sfs_cli.io.files.table import (
    DELIMITERS,
    NULL_TOKENS,
    count_fields,
    is_decimal,
    other_annotations,
    read_header,
    series_matrix_hint,
    split_fields,
)
from sfs_cli.io.files.text import Chunk, LineStream, decode
from sfs_cli.io.matrix.arrow import column_values
from sfs_cli.io.matrix.base import (
    Annotations,
    Axis,
    MatrixReader,
    ReadOptions,
    RowBlock,
    cast_values,
    releasing,
)

_MAX_WORKERS = 4
_NEWLINE, _QUOTE = ord("\n"), ord('"')
_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+(?:[eE][+-]?\d+)?")
_THOUSANDS = re.compile(r"[+-]?\d{1,3}(?:,\d{3})+\.\d*|[+-]?\d{1,3}(?:,\d{3}){2,}")
_PLAIN_FIELDS = (
    "take quotes, line ends and carriage returns out of names and values; quotes may stand around "
    'a whole field, and one within it is written twice ("5"" end")'
)
_QUOTED_COMMA = re.compile(r'"[+-]?\d+(?:,\d+)+(?:\.\d*)?"')


def open_text(path: Path, options: ReadOptions) -> MatrixReader:
    """Open a delimited text file; gzip and zstd are decompressed.

    The delimiter (tab, comma, semicolon or space) is found from the first lines. The ids of rows
    and columns may be quoted; a header without a name for the row ids, as R's ``write.table``
    writes it, is accepted.
    """
    stream = LineStream(path)
    with releasing(stream.close):
        header = read_header(stream)
        layout = Layout(path, header.delimiter, (header.names[0],), header.names[1:])
        reader = DelimitedReader(stream, layout, options, format="text")
        ids = reader.first_row_ids()
        if all(map(is_decimal, ids)):
            raise InputError(
                f"the first column holds values ({listed(list(ids), 3)}) in place of row ids",
                where=path,
                hint="the first column must hold the ids of the rows: add it",
            )
    return reader


@dataclass(frozen=True)
class Layout:
    """How the rows of a file are built."""

    path: Path
    delimiter: str  # one ASCII character
    lead: tuple[str, ...]  # names of the fields before the values, the row id first
    column_ids: Sequence[str]  # ids of the columns of values
    quoting: bool = True  # whether fields may stand in double quotes

    def place(self, line: int, column: int) -> str:
        """Name the place of a value."""
        return f"{self.path}, line {line}, column {self.column_ids[column]!r}"


class DelimitedReader:
    """A `MatrixReader` of a delimited file.

    `stream` is at the first row, which must be there; `fixed_rows`, `n_rows` and `annotations` are
    what the lines before it say.
    """

    sparse = False
    notes: Sequence[str] = ()

    def __init__(
        self,
        stream: LineStream,
        layout: Layout,
        options: ReadOptions,
        *,
        format: str,
        fixed_rows: Axis | None = None,
        n_rows: int | None = None,
        annotations: Annotations | None = None,
    ) -> None:
        self.path = layout.path
        self.format = format
        self.fixed_rows = fixed_rows
        self.column_ids: Sequence[str] = layout.column_ids
        self.n_rows = n_rows
        self.annotations = annotations or Annotations()
        self._stream = stream
        self._layout = layout
        self._options = options
        # the numbers take up to ten times the room of their text, in several chunks at once
        self._chunk_bytes = max(options.block_bytes // 16, 1)
        chunk = stream.peek_chunk(self._chunk_bytes)
        self._first_ids = _row_ids(_cut_leads(chunk, layout)[0], chunk, layout) if chunk else []

    def first_row_ids(self) -> Sequence[str]:
        """Return the ids of the first rows, as many as are parsed at a time."""
        return self._first_ids

    def blocks(self) -> Iterator[RowBlock]:
        """Yield all rows in order."""
        found = 0
        for block in self._parsed():
            found += len(block.ids)
            yield block
        if self.n_rows is not None and found != self.n_rows:
            raise InputError(
                f"the file says it has {self.n_rows:,} rows, but it has {found:,}",
                where=self.path,
                hint="the file may be cut off: copy or download it again",
            )

    def close(self) -> None:
        """Release the file."""
        self._stream.close()

    def _parsed(self) -> Iterator[RowBlock]:
        workers = min(pa.cpu_count(), _MAX_WORKERS)
        budget = self._options.block_bytes // 2
        dtype = self._options.dtype
        pending: deque[tuple[int, Future[RowBlock]]] = deque()
        in_flight = 0
        with ThreadPoolExecutor(workers, thread_name_prefix="sfs-text") as pool:
            try:
                while chunk := self._stream.read_chunk(self._chunk_bytes):
                    size = len(chunk.text)
                    # results are taken in the order of the file; waiting for the oldest bounds
                    # what is held by parsed blocks that nobody has asked for yet
                    while pending and (len(pending) > workers or in_flight + size > budget):
                        done, parsed = pending.popleft()
                        in_flight -= done
                        yield parsed.result()
                    pending.append((size, pool.submit(_parse_chunk, chunk, self._layout, dtype)))
                    in_flight += size
                while pending:
                    yield pending.popleft()[1].result()
            finally:
                pool.shutdown(cancel_futures=True)


def _parse_chunk(chunk: Chunk, layout: Layout, dtype: str) -> RowBlock:
    leads, firsts, ends = _cut_leads(chunk, layout)
    _check_counts(chunk, layout, firsts, ends)
    ids = _row_ids(leads, chunk, layout)
    view = memoryview(chunk.text)
    rows = zip(firsts, ends, strict=True)
    # one tall column instead of a wide table: the delimiters become line ends
    table = bytes.maketrans(layout.delimiter.encode(), b"\n")
    column = b"".join([view[first : end + 1] for first, end in rows]).translate(table)
    return RowBlock(ids, _numbers(column, chunk, layout, dtype))


def _cut_leads(chunk: Chunk, layout: Layout) -> tuple[list[bytes], list[int], list[int]]:
    """Return the raw id of each line, where its values begin, and where it ends.

    Bytes are searched, and nothing is decoded: the values of a line are looked at by Arrow alone.
    """
    text, delimiter = chunk.text, layout.delimiter.encode()
    ends = np.flatnonzero(np.frombuffer(text, np.uint8) == _NEWLINE).tolist()
    leads, firsts = [], []
    start = 0
    for row, end in enumerate(ends):
        if layout.quoting and text[start] == _QUOTE:
            stop = _closing_quote(text, start, end) + 1
            if text[stop : stop + 1] != delimiter:
                raise _bad_quotes(chunk, row, layout.path)
        else:
            stop = text.find(delimiter, start, end)
        leads.append(text[start:stop])
        for _ in layout.lead[1:]:
            stop = text.find(delimiter, stop + 1, end) if stop >= 0 else stop
        if stop < 0:
            raise _wrong_count(chunk, row, layout)
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
        raise _wrong_count(chunk, int(wrong[0]), layout)


def _row_ids(leads: list[bytes], chunk: Chunk, layout: Layout) -> list[str]:
    try:
        ids = b"\n".join(leads).decode("utf-8").split("\n")
    except UnicodeDecodeError:
        ids = [decode(raw, layout.path, chunk.first_line + i) for i, raw in enumerate(leads)]
    if layout.quoting and '"' in "".join(ids):
        ids = [i[1:-1].replace('""', '"') if i.startswith('"') else i for i in ids]
    ids = [i.strip(BLANKS) for i in ids]
    if "" in ids:
        where = f"{layout.path}, line {chunk.first_line + ids.index('')}"
        raise InputError("a row has no id", where=where, hint="give the row an id or remove it")
    return ids


def _numbers(column: bytes, chunk: Chunk, layout: Layout, dtype: str) -> np.ndarray:
    """Parse the values of a chunk, one in a line, to an array of shape (rows, columns)."""
    if b"\0" in column:
        line = chunk.first_line + chunk.text.count(b"\n", 0, chunk.text.index(b"\0"))
        raise InputError(
            "the text holds a NUL byte: this is binary data, or the file is damaged",
            where=f"{layout.path}, line {line}",
            hint=COPY_AGAIN,
        )
    try:
        parsed = _parse_column(column)
    except pa.ArrowInvalid as error:
        raise _not_a_number(column, chunk, layout) from error
    n_columns = len(layout.column_ids)
    if parsed.size % n_columns or parsed.size // n_columns != chunk.text.count(b"\n"):
        rows = chunk.text.split(b"\n")
        odd = (i for i, r in enumerate(rows) if b"\r" in r.rstrip(b"\r") or r.count(b'"') % 2)
        raise InputError(
            "there is a carriage return or an unpaired quote within a row",
            where=f"{layout.path}, line {chunk.first_line + next(odd, 0)}",
            hint=_PLAIN_FIELDS,
        )

    def where(position: int) -> str:
        row, column = divmod(position, n_columns)
        return layout.place(chunk.first_line + row, column)

    return cast_values(parsed.reshape(-1, n_columns), dtype, where)


def _parse_column(column: bytes) -> np.ndarray:
    """Parse numbers, one in a line, as float64; missing values become NaN."""
    table = pacsv.read_csv(
        pa.BufferReader(column),
        read_options=pacsv.ReadOptions(
            column_names=["value"], use_threads=False, block_size=len(column)
        ),
        parse_options=pacsv.ParseOptions(
            delimiter="\x01", quote_char='"' if b'"' in column else False, ignore_empty_lines=False
        ),
        convert_options=pacsv.ConvertOptions(
            column_types={"value": pa.float64()}, null_values=NULL_TOKENS
        ),
    )
    return column_values(pa.concat_arrays(table.column(0).chunks))


# What follows describes the first thing that is wrong in a chunk. It runs once, after parsing has
# failed, so it may be slow.


def _wrong_count(chunk: Chunk, row: int, layout: Layout) -> InputError:
    line = chunk.first_line + row
    text = decode(chunk.text.split(b"\n", row + 1)[row].rstrip(b"\r"), layout.path, line)
    where = f"{layout.path}, line {line}"
    if not text:
        return InputError("there is a blank line between the rows", where=where, hint="remove it")
    if text.startswith("!"):
        what = f"a line between the rows begins with !: {text[:40]!r}"
        return InputError(what, where=where, hint=series_matrix_hint(layout.path))
    found = count_fields(text, layout.delimiter)
    expected = len(layout.lead) + len(layout.column_ids)
    if comma := _QUOTED_COMMA.search(text):
        return InputError(
            f"{comma[0]} has a comma in it",
            where=where,
            hint="write decimals with a point, and no thousands marks (1234.5)",
        )
    if found == expected:  # the quotes fit together, so one field holds what divides the others
        divides = DELIMITERS[layout.delimiter]
        field = next(
            f for f in split_fields(text, layout.delimiter, where) if layout.delimiter in f
        )
        hint = f"take the {divides} out"
        if len(layout.lead) == 1:
            hint += ", or remove its column if it is text: all but the first are values"
        return InputError(f"the field {field!r} holds a {divides}", where=where, hint=hint)
    return InputError(
        f"a row has {counted(found, 'field')}, but {expected:,} are expected",
        where=where,
        hint="every row needs an id and one value for each column; is the file cut off?",
    )


def _bad_quotes(chunk: Chunk, row: int, path: Path) -> InputError:
    return InputError(
        "a double quote is unpaired in its line, or within a field",
        where=f"{path}, line {chunk.first_line + row}",
        hint=_PLAIN_FIELDS,
    )


def _not_a_number(column: bytes, chunk: Chunk, layout: Layout) -> InputError:
    values, n_columns = column.split(b"\n")[:-1], len(layout.column_ids)
    low, high = 0, len(values)
    while high - low > 1:  # values[:low] parse, values[low:high] do not
        middle = (low + high) // 2
        low, high = (middle, high) if _parses(values[low:middle]) else (low, middle)
    row, at = divmod(low, n_columns)
    if values[low].count(b'"') % 2:
        return _bad_quotes(chunk, row, layout.path)
    text = values[low].decode("utf-8", "replace").strip().strip('"')
    same_column = values[at::n_columns]
    is_text = not any(_parses([value]) for value in same_column[:20] if value.strip())
    if _THOUSANDS.fullmatch(text):
        hint = "thousands marks are not supported: write 1234.5, not 1,234.5"
    elif _DECIMAL_COMMA.fullmatch(text):
        hint = "decimal commas are not supported: write the numbers with a point (1.5, not 1,5)"
    elif is_text and len(same_column) > 1:
        name = layout.column_ids[at]
        hint = (
            f"column {name!r} holds text: remove it{other_annotations(layout.column_ids, [name])}, "
            "or write the matrix as GCT, which has room for descriptions"
        )
    else:
        hint = "write missing values as NA or leave them empty"
    return InputError(
        f"{text!r} is not a number", where=layout.place(chunk.first_line + row, at), hint=hint
    )


def _parses(values: list[bytes]) -> bool:
    try:
        _parse_column(b"".join(value + b"\n" for value in values))
    except pa.ArrowInvalid:
        return False
    return True
