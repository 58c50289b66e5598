"""Matrices as delimited text of any size, tall or wide, in bounded memory.

Chunks of whole lines are parsed by several threads, since pyarrow releases the interpreter's lock,
and come out in order. In a chunk the leading fields of the rows are cut off and the delimiters
turned into line ends. What remains is one tall column of numbers, which pyarrow parses at full
speed; its cost per column would be ruinous for a wide file read as it is.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections import deque
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv

from sfs_cli.errors import InputError, counted, listed
from sfs_cli.io.files.names import BLANKS
from sfs_cli.io.files.table import (
    DECIMAL_COMMA,
    DELIMITERS,
    NULL_TOKENS,
    are_lists,
    are_texts,
    count_named,
    is_decimal,
    is_id_name,
    is_index_name,
    is_like_number,
    is_number,
    may_be_numbers,
    read_header,
    refuse_unnamed,
    split_fields,
)
from sfs_cli.io.files.text import Chunk, LineStream, decode, number_array, repeated
from sfs_cli.io.matrix.base import (
    CONVERT,
    Annotations,
    MatrixReader,
    ReadOptions,
    RowBlock,
    cast_values,
    releasing,
)
from sfs_cli.io.matrix.quantifiers import cleaned, counts_of

_MAX_WORKERS = 4
_NEWLINE, _QUOTE = ord("\n"), ord('"')
_LOOK_ROWS, _LOOK_BYTES = 100, 1 << 18
"""Rows by which columns of text are known; where they are longer so many bytes, but two rows."""
_LIKE_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}")
_THOUSANDS = re.compile(
    r"[+-]?\d{1,3}(?:(?:,\d{3})+\.\d*|(?:,\d{3}){2,}|(?:\.\d{3})+,\d*|(?:\.\d{3}){2,})"
)
_PLAIN_FIELDS = (
    "take quotes, line ends and carriage returns out of names and values; quotes may stand around "
    'a whole field, and one within it is written twice ("5"" end")'
)
_QUOTED = re.compile(r'"(?:[^"]|"")*"')
_NULLS = frozenset(NULL_TOKENS)
_EITHER = ",."  # sheets: their numbers have points, and texts that are numbers commas
_OF_STAR = b"N_unmapped\t"  # the first line of its ReadsPerGene.out.tab, without a header
_QUOTED_COMMA = re.compile(r'"[+-]?\d+(?:,\d+)+(?:\.\d*)?"')


def open_text(path: Path, options: ReadOptions) -> DelimitedReader:
    """Open a delimited text file, or a sheet of a workbook, by default the first.

    gzip and zstd are decompressed.

    The delimiter (tab, comma, semicolon or space) is found from the first lines. The ids of rows
    and columns may be quoted; a header without a name for the row ids, as R's ``write.table``
    writes it, is accepted. Lines of text above the values are skipped, and columns of text are no
    values.
    """
    stream = LineStream(path, first=True)
    with releasing(stream.close), _naming_sheets(stream):
        if stream.has_formulas_alone():
            raise InputError(
                "the formulas of the sheet have no values, as no program has computed them",
                where=path,
                hint="open the workbook in a spreadsheet program and save it there",
            )
        first = stream.peek_line() or b""
        header = None if first.startswith(_OF_STAR) else read_header(stream)
        if header is None or counts_of(header.names) is not None:
            raise InputError("these are the counts of one sample", where=path, hint=CONVERT)
        names, renamed = cleaned(header.names, options.known_samples)
        layout = Layout(path, header.delimiter, names)
        notes = [str(header)] if header.skipped else []
        notes += renamed
        if without := len(names) - layout.named:
            notes.append(f"left out: {counted(without, 'empty column')} without a name at the end")
        if len(stream.sheets) > 1:
            name, *others = stream.sheets
            notes.append(f"sheet {name} of {path.name} is read, and not {listed(others, 20)}")
        layout = _look_at(stream, layout, options, notes)
        reader = DelimitedReader(stream, layout, options)
        reader.format, reader.notes = "excel" if stream.sheets else "text", notes
        below = [f"line {at}" for at, _ in header.skipped if at > header.line]
        reader.left_out = [*reader.beside, *below]
        ids = reader.first_row_ids()
        later = any(map(is_id_name, reader.beside)) and not may_be_numbers(names[0] or "id")
        measured = later or (reader.beside and repeated(ids))
        if all(map(is_number if measured else is_decimal, ids)):
            raise InputError(
                f"the first column holds values ({listed(list(ids), 3)}) in place of row ids",
                where=path,
                hint="the first column must hold the ids of the rows: add it",
            )
    return reader


@contextmanager
def _naming_sheets(stream: LineStream) -> Iterator[None]:
    """Name the other sheets where the first of a workbook, such as notes, is no matrix."""
    try:
        yield
    except InputError as error:
        name, *others = stream.sheets or [""]
        if others:
            error.where = f"sheet {name} of {error.where}"
            sheets = listed([f"{stream.path.name}:{other}" for other in others], 20)
            error.hint = f"name the sheet that has the matrix: {sheets}"
        raise


@dataclass(frozen=True)
class Layout:
    """How the rows of a file are built."""

    path: Path
    delimiter: str  # one ASCII character
    names: Sequence[str]  # of all fields
    beside: tuple[int, ...] = ()  # positions of fields that are annotations of the rows
    ids: int = 0  # position of the row ids; if not the first, the first field numbers the rows
    quoting: bool = True  # whether fields may stand in double quotes
    decimal: str = "."  # before the digits of a fraction: a point, a comma, or `_EITHER`
    unused: tuple[int, ...] = ()  # columns of values that are left out, which are 0 beside text

    @cached_property
    def values(self) -> Sequence[int]:
        """Positions of the values."""
        others = {0, self.ids, *self.beside}
        return [at for at in range(self.named) if at not in others]

    @cached_property
    def named(self) -> int:
        """How many fields there are up to the last with a name; those after it are empty."""
        return count_named(self.names)

    @cached_property
    def runs(self) -> tuple[np.ndarray, np.ndarray]:
        """The first and the last position of each run of neighboring values."""
        at = np.array(self.values)
        ends = np.flatnonzero(np.diff(at, append=-1) != 1)
        return at[np.append(0, ends[:-1] + 1)], at[ends]

    @cached_property
    def column_ids(self) -> Sequence[str]:
        """Ids of the columns of values."""
        return [self.names[at] for at in self.values]

    def place(self, line: int, column: int) -> str:
        """Name the place of a value."""
        return f"{self.path}, line {line}, column {self.column_ids[column]!r}"


def _look_at(stream: LineStream, layout: Layout, options: ReadOptions, notes: list[str]) -> Layout:
    """Return how the rows are built, by the first of them: where texts and what decimals are."""
    comma = _EITHER if stream.sheets else ","
    layout = replace(layout, decimal=comma if options.decimal == "comma" else ".")
    length = len(stream.peek_line() or b"") + 1
    lines = stream.peek_lines(min(_LOOK_ROWS, max(2, _LOOK_BYTES // length)))
    sign, width = layout.delimiter.encode(), len(layout.names)
    values = b"".join(line.partition(sign)[2].replace(sign, b"\n") + b"\n" for line in lines)
    with suppress(pa.ArrowInvalid):
        parsed = _parse_column(values, layout.decimal)
        if not np.isnan(parsed[: width - 1]).any():
            return layout
    # what follows is slow, and needed only where some value is no number
    rows: list[list[str]] = []
    for raw in lines:
        with suppress(InputError):  # raised again where the line is parsed
            text = decode(raw, layout.path, 0)
            rows.append(split_fields(text, layout.delimiter, layout.path))
    rows = [row for row in rows if len(row) == width]
    if options.decimal == "auto" and layout.delimiter != ",":
        numbers = [text for row in rows for text in row[1:] if is_like_number(text)]
        if commas := list(filter(DECIMAL_COMMA.fullmatch, numbers)):
            # the numbers of a sheet have points, whatever the texts beside them are written with
            points = [v for v in numbers if is_decimal(v) and "." in v and not stream.sheets]
            if points or all(map(_LIKE_THOUSANDS.fullmatch, commas)):
                raise InputError(
                    "it is not clear whether commas are decimal commas or thousands marks: "
                    f"{listed([commas[0], *points[:1]])}",
                    where=f"{layout.path}, line {stream.line}",
                    hint="give --decimal comma if 1,234 is between 1 and 2; else write the numbers "
                    "without thousands marks",
                    option="decimal",
                )
            layout = replace(layout, decimal=comma)
            notes.append(f"decimal commas: {commas[0]} is read as {commas[0].replace(',', '.')}")
    columns = [*enumerate(zip(*rows))][: layout.named]
    texts = [at for at, column in columns if at and are_texts(column)]
    lists = [at for at, column in columns if at and are_lists(column)]
    empty = [at for at, column in columns if at and _NULLS.issuperset(column)]
    known = texts + lists
    beside = sorted(known + _texts_below(replace(layout, beside=(*known, *empty)), empty))
    if not beside or len(rows) < 2:
        return layout
    if len(beside) == layout.named - 1:
        raise InputError(
            f"no column has numbers: {listed([layout.names[at] for at in beside], 8)}",
            where=layout.path,
            hint="a matrix has row ids in its first column and values in the others",
        )
    counts = ([str(i + k) for i in range(len(rows))] for k in (0, 1))
    if texts and is_index_name(layout.names[0]) and [row[0] for row in rows] in counts:
        named = layout.names[texts[0]]
        notes.append(f"the first column numbers the rows: ids are those of {named!r}")
        layout = replace(layout, ids=texts[0])
        beside.remove(texts[0])
    return replace(layout, beside=tuple(beside))


def _texts_below(layout: Layout, empty: list[int]) -> list[int]:
    """Return which columns that are `empty` in the first rows are texts: their first values are.

    Such are flags, as the + of MaxQuant's contaminants.
    """
    texts = list[int]()
    with LineStream(layout.path, first=True) as stream:
        if empty:
            read_header(stream)
        while empty and (chunk := stream.read_chunk(_LOOK_BYTES)):
            stops = _stops(chunk, layout)
            known = {at: _texts(chunk, layout, stops, at) for at in empty}
            begun = {at: found for at, found in known.items() if not _NULLS.issuperset(found)}
            texts += [at for at, found in begun.items() if are_texts(found) or are_lists(found)]
            empty = [at for at in empty if at not in begun]
    return texts


class DelimitedReader(MatrixReader):
    """A reader of a delimited file, whose `stream` is at the first row."""

    format = "text"
    left_out: Sequence[str] = ()
    unused: Collection[str] = ()

    def __init__(self, stream: LineStream, layout: Layout, options: ReadOptions) -> None:
        self.path = layout.path
        self.column_ids = layout.column_ids
        self.annotations = Annotations()
        self._stream = stream
        self.layout = layout
        self.names = layout.names
        self._options = options
        # the numbers take up to ten times the room of their text, in several chunks at once
        self._chunk_bytes = max(options.block_bytes // 16, 1)

    def first_row_ids(self) -> Sequence[str]:
        """Return the ids of the first rows, as many as are parsed at a time."""
        chunk = self._stream.peek_chunk(self._chunk_bytes)
        return _row_ids(chunk, self.layout, _stops(chunk, self.layout)) if chunk else []

    @property
    def beside(self) -> Sequence[str]:
        """The names of the annotations."""
        return [self.layout.names[at] for at in self.layout.beside]

    def leave_out(self, names: Sequence[str]) -> None:
        """Take columns for annotations of the rows, before the first block."""
        layout, chosen = self.layout, {*names}
        more = (at for at in layout.values if layout.names[at] in chosen)
        self.layout = replace(layout, beside=tuple(sorted((*layout.beside, *more))))
        self.column_ids = self.layout.column_ids

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
        unused = (at for at, name in enumerate(self.column_ids) if name in self.unused)
        layout = replace(self.layout, unused=tuple(unused))
        pending: deque[Future[RowBlock]] = deque()
        with ThreadPoolExecutor(workers, thread_name_prefix="sfs-text") as pool:
            try:
                while chunk := self._stream.read_chunk(self._chunk_bytes):
                    # results are taken in the order of the file; waiting for the oldest bounds
                    # what is held by parsed blocks that nobody has asked for yet
                    ahead = min(workers, self._options.block_bytes // 2 // len(chunk.text))
                    while len(pending) > ahead:
                        yield pending.popleft().result()
                    dtype = self._options.dtype
                    pending.append(pool.submit(_parse_chunk, chunk, layout, dtype))
                while pending:
                    yield pending.popleft().result()
            finally:
                pool.shutdown(cancel_futures=True)


def _parse_chunk(chunk: Chunk, layout: Layout, dtype: str) -> RowBlock:
    stops = _stops(chunk, layout)
    if layout.named < len(layout.names):
        ends = zip(stops[:, layout.named - 1].tolist(), stops[:, -1].tolist())
        blank = f'{layout.delimiter}{BLANKS}"'.encode()
        for row, (before, stop) in enumerate(ends):
            if chunk.text[before:stop].strip(blank):
                where = f"{layout.path}, line {chunk.first_line + row}"
                refuse_unnamed([*layout.names], layout.named, where)
    lows, highs = layout.runs  # of which each begins after another field
    pairs = zip(stops[:, lows - 1].ravel().tolist(), stops[:, highs].ravel().tolist())
    pieces = [chunk.text[before + 1 : stop + 1] for before, stop in pairs]
    # one tall column instead of a wide table: the delimiters become line ends
    column = b"".join(pieces).translate(bytes.maketrans(layout.delimiter.encode(), b"\n"))
    beside = layout.beside
    texts = [(layout.names[at], _texts(chunk, layout, stops, at)) for at in beside]
    ids = _row_ids(chunk, layout, stops)
    return RowBlock(ids, _numbers(column, chunk, layout, dtype), texts)


def _stops(chunk: Chunk, layout: Layout) -> np.ndarray:
    """Return where each field ends, shape (rows, fields).

    Bytes are searched, and nothing is decoded: the values of a line are looked at by Arrow alone.
    """
    raw = np.frombuffer(chunk.text, np.uint8)
    is_end = raw == _NEWLINE
    is_mark = raw == ord(layout.delimiter)
    is_mark |= is_end
    marks = np.flatnonzero(is_mark)
    hidden = marks[:0]
    if layout.quoting and b'"' in chunk.text:
        inside = np.searchsorted(np.flatnonzero(raw == _QUOTE), marks) % 2 == 1
        hidden, marks = marks[inside], marks[~inside]
        if (lines := hidden[is_end[hidden]]).size:
            raise _bad_quotes(chunk, chunk.text.count(b"\n", 0, int(lines[0])), layout.path)
    counts = np.diff(np.searchsorted(marks, np.flatnonzero(is_end)), prepend=-1)
    wrong = np.flatnonzero(counts != len(layout.names))
    if wrong.size:
        raise _wrong_count(chunk, int(wrong[0]), layout)
    of_values = np.isin(np.searchsorted(marks, hidden) % len(layout.names), layout.values)
    if of_values.any():
        row = chunk.text.count(b"\n", 0, int(hidden[of_values][0]))
        raise _wrong_count(chunk, row, layout)
    return marks.reshape(len(counts), -1)


def _row_ids(chunk: Chunk, layout: Layout, stops: np.ndarray) -> list[str]:
    ids = _texts(chunk, layout, stops, layout.ids)
    if "" in ids:
        raise InputError(
            "a row has no id",
            where=f"{layout.path}, line {chunk.first_line + ids.index('')}",
            hint="give each row an id, or remove those without",
        )
    return ids


def _texts(chunk: Chunk, layout: Layout, stops: np.ndarray, at: int) -> list[str]:
    """Return a field of each line of a chunk as text, without quotes and blanks around it."""
    before = stops[:, at - 1] if at else np.append(-1, stops[:-1, -1])
    pairs = zip(before.tolist(), stops[:, at].tolist())
    fields = [chunk.text[start + 1 : stop] for start, stop in pairs]
    try:
        texts = b"\n".join(fields).decode("utf-8").split("\n")
    except UnicodeDecodeError:
        texts = [decode(raw, layout.path, chunk.first_line + i) for i, raw in enumerate(fields)]
    if layout.quoting and b'"' in chunk.text:
        texts = [text.removesuffix("\r") for text in texts]
        for row, text in enumerate(texts):
            if text.startswith('"'):
                if not _QUOTED.fullmatch(text):
                    raise _bad_quotes(chunk, row, layout.path)
                texts[row] = text[1:-1].replace('""', '"')
    return [text.strip(BLANKS) for text in texts]


def _numbers(column: bytes, chunk: Chunk, layout: Layout, dtype: str) -> np.ndarray:
    """Parse the values of a chunk, one in a line, to an array of shape (rows, columns)."""
    n_columns = len(layout.column_ids)
    try:
        try:
            parsed = _parse_column(column, layout.decimal)
        except pa.ArrowInvalid:
            if not layout.unused:
                raise
            fields = column.split(b"\n")
            for at in layout.unused:
                fields[at::n_columns] = [b""] * len(fields[at::n_columns])
            column = b"\n".join(fields)
            parsed = _parse_column(column, layout.decimal)
    except pa.ArrowInvalid as error:
        raise _not_a_number(column, chunk, layout) from error
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

    values = parsed.reshape(-1, n_columns)
    if layout.unused:  # else what no sample that is used lacks would be missing
        values, unused = values.copy(), [*layout.unused]
        values[:, unused] = np.nan_to_num(values[:, unused], posinf=0, neginf=0)
    return cast_values(values, dtype, where)


def _parse_column(column: bytes, decimal: str) -> np.ndarray:
    """Parse numbers, one in a line, as float64; missing values become NaN."""
    if decimal == _EITHER:
        column, decimal = column.replace(b",", b"."), "."
    table = pacsv.read_csv(
        pa.BufferReader(column),
        read_options=pacsv.ReadOptions(
            column_names=["value"], use_threads=False, block_size=len(column)
        ),
        parse_options=pacsv.ParseOptions(
            delimiter="\x01", quote_char='"' if b'"' in column else False, ignore_empty_lines=False
        ),
        convert_options=pacsv.ConvertOptions(
            column_types={"value": pa.float64()}, null_values=NULL_TOKENS, decimal_point=decimal
        ),
    )
    values = pa.concat_arrays(table.column(0).chunks)
    missing = number_array(np.array([math.nan]))[0]  # of a plain number Arrow imports pandas first
    return np.from_dlpack(pc.fill_null(values, missing))  # without a copy, if none is missing


# What follows describes the first thing that is wrong in a chunk. It runs once, after parsing has
# failed, so it may be slow.


def _wrong_count(chunk: Chunk, row: int, layout: Layout) -> InputError:
    line = chunk.first_line + row
    text = decode(chunk.text.split(b"\n", row + 1)[row].rstrip(b"\r"), layout.path, line)
    where = f"{layout.path}, line {line}"
    if not text:
        return InputError("there is a blank line between the rows", where=where, hint="remove it")
    if comma := _QUOTED_COMMA.search(text):
        return InputError(
            f"{comma[0]} has a comma in it",
            where=where,
            hint="write decimals with a point, and no thousands marks (1234.5)",
        )
    fields, expected = split_fields(text, layout.delimiter, where), len(layout.names)
    if len(fields) == expected:  # the quotes fit together
        divides = DELIMITERS[layout.delimiter]
        held = [field for field in fields if layout.delimiter in field]
        if not held:
            return _bad_quotes(chunk, row, layout.path)
        hint = f"take the {divides} out, or remove its column if it is text"
        return InputError(f"the field {held[0]!r} holds a {divides}", where=where, hint=hint)
    hint = (
        "every row needs an id and a value for each column; is a title above, or the file cut off?"
    )
    if text.startswith("!"):
        hint = "remove such lines, or give the series matrix of GEO with all that it had"
    return InputError(
        f"a row has {counted(len(fields), 'field')}, but {expected:,} are expected",
        where=where,
        hint=hint,
    )


def _bad_quotes(chunk: Chunk, row: int, path: Path) -> InputError:
    return InputError(
        "a double quote is unpaired in its line, or within a field",
        where=f"{path}, line {chunk.first_line + row}",
        hint=_PLAIN_FIELDS,
    )


def _not_a_number(column: bytes, chunk: Chunk, layout: Layout) -> InputError:
    values, n_columns = column.split(b"\n")[:-1], len(layout.column_ids)

    def fails(count: int) -> bool:
        try:
            _parse_column(b"\n".join(values[:count]) + b"\n", layout.decimal)
        except pa.ArrowInvalid:
            return True
        return False

    low = bisect_left(range(1, len(values)), True, key=fails)
    row, at = divmod(low, n_columns)
    if values[low].count(b'"') % 2:
        return _bad_quotes(chunk, row, layout.path)
    text = values[low].decode("utf-8", "replace").strip().strip('"')
    if _THOUSANDS.fullmatch(text):
        hint = "thousands marks are not supported: write 1234.5 or 1234,5 (not 1,234.5 or 1.234,5)"
    elif _LIKE_THOUSANDS.fullmatch(text):
        hint = "write the numbers without thousands marks; give --decimal comma if 1,234 is "
        hint += "between 1 and 2"
    elif DECIMAL_COMMA.fullmatch(text):
        hint = (
            "these are decimal commas: give --decimal comma, or where there is no such option "
            "write the numbers with a point (1.5, not 1,5)"
        )
    elif layout.decimal == ",":
        hint = "the file has decimal commas: write all numbers with them, and missing ones as NA"
    else:
        hint = "write missing values as NA or leave them empty; remove a column that is no sample, "
        hint += "or rank with --labels FILE:COLUMN of the samples and --samples intersect"
    return InputError(
        f"{text!r} is not a number", where=layout.place(chunk.first_line + row, at), hint=hint
    )
