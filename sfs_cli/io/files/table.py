"""Tables of text: the delimiter, the column names, the fields; small tables as a whole."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from sfs_cli.errors import COPY_AGAIN, InputError, counted, listed
from sfs_cli.io.files.names import BLANKS, nfc
from sfs_cli.io.files.series import SeriesStream, read_series
from sfs_cli.io.files.sniff import Kind, examine
from sfs_cli.io.files.text import (
    LineStream,
    arrow_file,
    decode,
    first_lines,
    read_rest,
    repeated,
    string_array,
    text_suffix,
)

if TYPE_CHECKING:
    import pyarrow as pa

NULL_TOKENS = (
    *("", "NA", "NaN", "nan", "NAN", "N/A", "n/a", "null", "NULL", "None", "na"),
    *("#N/A", "#DIV/0!", "#VALUE!", "#REF!", "#NUM!", "#NAME?", "#NULL!"),  # of spreadsheets
    # of the clinical tables of TCGA
    *("[Not Available]", "[Not Applicable]", "[Not Evaluated]", "[Unknown]", "[Discrepancy]"),
    "'--",  # of those of the GDC
)
"""Fields that stand for a missing value."""

DELIMITERS = {"\t": "tab", ",": "comma", ";": "semicolon", " ": "space"}
_CSV_ORDER, _TSV_ORDER = ",;\t ", "\t,; "
_SOFT = re.compile(r"!platform_|\^(?:database|series|sample|platform)\b", re.I)
ABOVE = 50
"""Lines of text that may stand above the first row of numbers, besides comments."""
_LIKE_MISSING = re.compile(
    r"(?!\+$)[\W_]*|<?\W*(?:n\W?[adfq]\W?|l?lo[dq]|b[dq]l|missing|unknown|not (?:detected|found))",
    re.I,
)
_LIST = re.compile(r"\d+(?:;\d+)*")
DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+(?:[eE][+-]?\d+)?")
ONE_COLUMN = "there is only one column: no tab, comma, semicolon or space divides the lines"
_OF_A_MATRIX = "a matrix has row ids in its first column and values in the others"
_OF_A_TABLE = "a table has the sample ids in its first column, and classes or values in others"
"""What to do about it."""


def split_fields(line: str, delimiter: str, where: object) -> list[str]:
    """Split a line, which is at `where`, into its fields, without quotes and blanks around them."""
    fields = line.split(delimiter) if '"' not in line else quoted_fields(line, delimiter, where)
    return [field.strip(BLANKS) for field in fields]


def quoted_fields(line: str, delimiter: str, where: object) -> list[str]:
    """Split a line, which is at `where`, into its fields, without the quotes around them.

    Raises
    ------
    InputError
        For a carriage return outside of the quotes, or a field of more than 128 KiB.
    """
    try:
        return next(csv.reader([line], delimiter=delimiter))
    except csv.Error as error:
        reason = "it holds a carriage return" if "\r" in line else str(error)
        raise InputError(
            f"a line with quotes cannot be divided into fields: {reason}",
            where=where,
            hint="take carriage returns out of the fields, and close every quote in its line",
        ) from error


def count_fields(line: str, delimiter: str) -> int:
    """Count the fields of a line; a delimiter in quotes does not count, if they fit together."""
    with suppress(csv.Error):
        if '"' in line and delimiter in line:
            return len(next(csv.reader([line], delimiter=delimiter)))
    return line.count(delimiter) + 1


def is_number(text: str) -> bool:
    """Say whether a text is a number as text files write them."""
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text


def is_decimal(text: str) -> bool:
    """Say whether a text is a number that is not written as an integer."""
    return is_number(text) and not text.lstrip("+-").isdigit()


def is_value(text: str) -> bool:
    """Say whether a text is a number, with a decimal point or a decimal comma."""
    return is_number(text) or DECIMAL_COMMA.fullmatch(text) is not None


def is_like_number(text: str) -> bool:
    """Say whether a text is a number, or is meant as one: ``1,5``, ``1.234,5``, ``<0.5``."""
    digits, letters = any(map(str.isdigit, text)), any(map(str.isalpha, text))
    return is_value(text) or (digits and not letters)


def are_texts(values: Iterable[str]) -> bool:
    """Say whether values are texts: none is meant as a number, and not all as missing."""
    known = {value for value in values if value not in NULL_TOKENS}
    return not any(map(is_like_number, known)) and not all(map(_LIKE_MISSING.fullmatch, known))


def are_lists(values: Iterable[str]) -> bool:
    """Say whether several values are lists of whole numbers, and the others such numbers.

    MaxQuant lists the numbers of peptides, and the ids of other tables, of the proteins of a group.
    """
    known = [value for value in values if value not in NULL_TOKENS]
    lists = sum(";" in value for value in known)
    return lists > 1 and all(map(_LIST.fullmatch, known))


def sniff_delimiter(header: str, row: str, suffix: str) -> str | None:
    """Return the delimiter of a line of names and the row after it; None if there is none.

    Preferred is one that gives both lines the same number of fields, then one that gives the row
    one more (R's ``write.table`` leaves the row ids unnamed). ``.csv`` puts the comma first.
    """
    order = _CSV_ORDER if suffix == ".csv" else _TSV_ORDER
    counts = {d: (count_fields(header, d), count_fields(row, d)) for d in order}
    equal = [d for d, (n, m) in counts.items() if n == m > 1]
    shifted = [d for d, (n, m) in counts.items() if m == n + 1]
    ragged = [d for d, (n, m) in counts.items() if n > 1]
    return next(iter(equal + shifted + ragged), None)


def first_rows(path: Path, count: int = 50) -> tuple[list[str], str | None]:
    """Return those of the first lines that are no comments, and the delimiter of the first two."""
    lines = [text for _, text in first_lines(path, count) if not text.startswith("#")]
    delimiter = sniff_delimiter(lines[0], lines[:2][-1], text_suffix(path)) if lines else None
    return lines, delimiter


@dataclass(frozen=True)
class Header:
    """The names of all columns (the first, of the row ids, may be ""), the delimiter, the line.

    `skipped` are the lines of text above the rows that are neither, with their numbers.
    """

    names: list[str]
    delimiter: str
    line: int
    skipped: Sequence[tuple[int, str]] = ()

    def __str__(self) -> str:
        """Say which lines were skipped, and what they hold."""
        words = [
            (at, " ".join(text.replace(self.delimiter, " ").split())) for at, text in self.skipped
        ]
        held = [f"line {at} ({text[:60]!r})" for at, text in words]
        return f"skipped, since they are no rows: {listed(held)}"


def read_header(stream: LineStream, *, of_table: bool = False) -> Header:
    """Read up to and including the line of column names: as many as the first row has fields.

    Comment lines that begin with ``#`` are skipped, unless the last of them holds the names. A
    header with one name fewer than the rows have fields (R's ``write.table``) has none for the row
    ids. Other lines of text above the first row of numbers may be skipped, as `_find_names` finds
    them; what lies between the names and that row is read too. `of_table` says that the values may
    be text: then a line above the names is one of a single field.
    """
    path = stream.path
    skipped: list[tuple[int, str]] = []
    while (raw := stream.peek_line()) is not None and (raw.startswith(b"#") or not raw.strip()):
        if raw.strip():
            skipped.append((stream.line, decode(raw, path, stream.line)))
        stream.read_line()
    line = stream.line
    if raw is None:
        raise InputError("the file is empty", where=path, hint=COPY_AGAIN)
    row = decode(raw, path, line)
    if _SOFT.match(row):
        raise InputError(
            "this is a SOFT file of GEO, whose table lies between other lines",
            where=f"{path}, line {line}",
            hint="download the series matrix in its place (*_series_matrix.txt.gz)",
        )
    if skipped and _is_header(skipped[-1][1], row, text_suffix(path), of_table):
        line, header = skipped.pop()
    else:
        found = None
        with suppress(InputError):  # raised again where the line is parsed
            found = _below_titles(stream) if of_table else _find_names(stream)
        names, rows = found or (0, 1)
        lines = [decode(stream.read_line() or b"", path, line + i) for i in range(rows)]
        header = lines[names]
        skipped += [(line + i, text) for i, text in enumerate(lines) if i != names and text.strip()]
        line += names
        while (raw := stream.peek_line()) is not None and not raw.strip():
            stream.read_line()
        row = decode(raw or b"", path, stream.line)
        if raw is None:
            raise InputError(
                "the file has a line of column names, but no rows", where=path, hint=COPY_AGAIN
            )
    where = f"{path}, line {line}"
    delimiter = sniff_delimiter(header, row, text_suffix(path))
    if delimiter is None:
        raise InputError(ONE_COLUMN, where=where, hint=_OF_A_TABLE if of_table else _OF_A_MATRIX)
    fields = split_fields(header, delimiter, where)
    if count_fields(row, delimiter) == len(fields) + 1:
        if row.endswith(delimiter):
            name = DELIMITERS[delimiter]
            raise InputError(
                f"the rows end in a {name}, but the line of column names does not",
                where=f"{path}, line {line + 1}",
                hint=f"remove the {name} at the end of each row",
            )
        fields = ["", *fields]
    _check_names(fields, where)
    return Header(fields, delimiter, line, skipped)


def _find_names(stream: LineStream) -> tuple[int, int] | None:
    """Return which of the next lines holds the names, and which the first row of numbers.

    None where nothing but the names is above the rows, or it is not clear what is. The names are
    the only line of as many fields as that row, no two of them the same. What is above them has no
    more fields; what is below them, such as units, has texts in the columns of numbers.
    """
    suffix = text_suffix(stream.path)
    for count in (2, 8, 2 * ABOVE):  # lines may be long: the usual second one is looked at first
        raws = stream.peek_lines(count)
        lines = {
            at: decode(raw, stream.path, stream.line + at)
            for at, raw in enumerate(raws)
            if raw.strip() and not raw.startswith((b"#", b"%"))
        }
        rows = (at for above, at in pairwise(lines) if _numbers(lines[above], lines[at], suffix)[1])
        row = next(rows, 0)
        if row or len(raws) < count:
            break
    above = [at for at in lines if at < row]
    if not 1 < len(above) <= ABOVE:
        return None
    delimiter, numbers = _numbers(lines[above[-1]], lines[row], suffix)
    width = count_fields(lines[row], delimiter)
    fields = {at: _fields(lines[at], delimiter, lines[row]) for at in above}
    full = {at: each for at, each in fields.items() if len(each) == width}
    names = [at for at, each in full.items() if all(each[1:]) and not repeated(each[1:])]
    if len(names) > 1:  # a title may have as many commas, with blanks after them
        names = [at for at in names if f"{delimiter} " not in lines[at]]
    if len(names) != 1:
        return None
    others = [each for at, each in fields.items() if at != names[0]]
    below = [full.get(at, []) for at in above if at > names[0]]
    units = all(each and are_texts(each[i] for i in numbers) for each in below)
    values = any(is_value(text) for each in others for text in each)
    fits = units and not values and all(len(each) <= width for each in others)
    return (names[0], row) if fits else None


def _fields(line: str, delimiter: str, row: str) -> list[str]:
    """Split a line above a row into its fields; one of another number may be a title.

    It may have commas: blanks follow these, unlike those of the row.
    """
    after = f"{delimiter} "
    is_title = line.count(after) == line.count(delimiter) != row.count(delimiter)
    return [line] if is_title and after not in row else split_fields(line, delimiter, "")


def _numbers(above: str, line: str, suffix: str) -> tuple[str, list[int]]:
    """Return what divides a line, by the one above it, and which of its fields are numbers."""
    delimiter = sniff_delimiter(above, line, suffix) or ""
    fields = split_fields(line, delimiter, "") if delimiter else []
    return delimiter, [at for at, text in enumerate(fields) if at and is_value(text)]


def _below_titles(stream: LineStream) -> tuple[int, int] | None:
    """Return which of the next lines holds the names of a table, and its first row.

    None where it is the first. Titles are lines of one field, above lines of several. Above lines
    of two, one field of one or two words is the name of the values, as R writes it.
    """
    lines = [decode(raw, stream.path, stream.line) for raw in stream.peek_lines(ABOVE)]
    *others, above, last = ["", "", *(text for text in lines if text.strip())]
    delimiter = sniff_delimiter(above, last, text_suffix(stream.path))
    if len(others) < 3 or delimiter is None or delimiter == " ":  # a title has blanks
        return None
    fields = [len([*filter(None, _fields(text, delimiter, last))]) for text in lines]
    at = next((at for at, count in enumerate(fields) if count > 1), 0)
    words = min((len(text.split()) for text in lines[:at] if text.strip()), default=0)
    # of one field less than the rows, it may be their names, with blanks after its commas
    shorter = any(0 < line.count(delimiter) == last.count(delimiter) - 1 for line in lines[:at])
    if shorter and not _are_names(split_fields(lines[at], delimiter, ""), last, delimiter):
        return None
    return (at, at + 1) if at and (fields[at] > 2 or words > 2) else None


def _are_names(fields: Sequence[str], row: str, delimiter: str) -> bool:
    """Tell whether fields are the names above a row: by the first one, or texts above numbers."""
    above = [name for name, text in zip(fields, split_fields(row, delimiter, "")) if is_value(text)]
    return is_id_name(fields[0]) or (bool(above) and are_texts(above))


def _is_header(comment: str, first: str, suffix: str, of_table: bool) -> bool:
    """Tell whether a comment holds the names: above numbers, or as the ``#SampleID`` of QIIME."""
    delimiter = sniff_delimiter(comment, first, suffix)
    if delimiter is None or count_fields(comment, delimiter) != count_fields(first, delimiter):
        return False
    if all(is_number(f) or f in NULL_TOKENS for f in split_fields(first, delimiter, "")[1:]):
        return True
    named = comment[1:2].isalnum() and names_samples(split_fields(comment, delimiter, "")[0])
    return of_table and delimiter != " " and named


def _check_names(names: list[str], where: str) -> None:
    values = [name for name in names[1:] if name not in NULL_TOKENS]
    numeric = bool(values) and all(map(is_number, values))
    # integers may be ids (Entrez), but not if one is repeated
    if numeric and (len(set(values)) < len(values) or any(map(is_decimal, values))):
        raise InputError(
            f"the first line holds values ({listed(values, 3)}) in place of column ids",
            where=where,
            hint="the first line must hold the ids of the columns: add it",
        )
    refuse_unnamed(names[: max(count_named(names), 2)], 1, where)


def count_named(names: Sequence[str]) -> int:
    """Return the number of columns up to the last with a name: empty ones may follow it."""
    return max((at for at, name in enumerate(names, 1) if name), default=1)


def refuse_unnamed(names: list[str], first: int, where: str) -> None:
    """Raise an `InputError` for a column without a name, from the `first` on."""
    if "" in names[first:]:
        raise InputError(
            f"column {names.index('', first) + 1} has no id",
            where=where,
            hint="give the column an id or remove it",
        )


class Texts(Mapping[str, list[str]]):
    """The columns of a table as text, each made when it is asked for; missing values are "".

    A table of a million rows would be large as text. Names that are repeated are those of the first
    such column.
    """

    def __init__(self, names: Sequence[str], arrays: Iterable[pa.ChunkedArray]) -> None:
        self._arrays: dict[str, pa.ChunkedArray] = {}
        for name, array in zip(names, arrays):
            self._arrays.setdefault(name, array)

    def __getitem__(self, name: str) -> list[str]:
        return texts_of(self._arrays[name].to_pylist())

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrays)

    def __len__(self) -> int:
        return len(self._arrays)

    def with_column(self, name: str, texts: list[str]) -> Texts:
        """Return these columns, and one more."""
        return Texts([*self, name], [*self._arrays.values(), string_array(texts)])

    def coded(self, name: str) -> tuple[np.ndarray, list[str]]:
        """Return the number of the text of each row, and the texts."""
        import pyarrow as pa
        import pyarrow.compute as pc

        array = self._arrays[name]
        if pa.types.is_nested(array.type):
            array = pa.chunked_array([string_array(self[name])])
        array = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
        if pa.types.is_dictionary(array.type):
            array = array.dictionary_decode()
        array = pc.dictionary_encode(array, null_encoding="encode")
        # by DLPack, since `to_numpy` would import pandas
        return np.from_dlpack(array.indices), texts_of(array.dictionary.to_pylist())


@dataclass(frozen=True)
class TextTable:
    """A small table as a file has it, or the annotations of a matrix; missing values are ""."""

    path: Path
    columns: Mapping[str, list[str]]  # in order, the row ids first (their name may be "")
    rows: Sequence[int]  # the number of each row in the file, for messages
    unit: str  # what `rows` counts: line, row or record
    categories: frozenset[str] = frozenset()  # columns whose type says so, whatever their texts
    titles: str = ""  # which lines above the names were skipped
    inside: bool = False  # whether these are annotations of a matrix, whose samples are known

    @property
    def ids_name(self) -> str:
        """The name of the first column."""
        return next(iter(self.columns))

    def coded(self, name: str) -> tuple[np.ndarray, list[str]]:
        """Return the number of the text of each row, and the texts."""
        assert isinstance(self.columns, Texts), "a list of features is asked for no samples"
        return self.columns.coded(name)

    @cached_property
    def id_columns(self) -> list[str]:
        """The columns that may hold the ids of the rows.

        These are the first, and others in which the texts of all rows differ. Of numbers, such as
        ages, only a column with a usual name of ids may.
        """
        first, *others = self.columns
        return [first, *filter(self._may_be_ids, [] if self.inside else others)]

    def _may_be_ids(self, name: str) -> bool:
        codes, texts = self.coded(name)
        differ = len(set(texts)) == len(codes) and "" not in texts
        return differ and (names_samples(name) or not all(map(is_number, texts)))

    def ids_among(self, known: Iterable[str]) -> str:
        """Return the column that holds the ids, some of which are known.

        It is the first if that has one of them and does not count the rows; else the one that has
        most, of equal ones the first, if that is half of them or half of the rows.
        """
        first, *others = self.id_columns
        if not others:
            return first
        among = frozenset(known)
        found = {name: len(among.intersection(self.columns[name])) for name in self.id_columns}
        most = max(found, key=found.__getitem__)
        ids = self.columns[first]
        counts_rows = is_index_name(first) and all(map(str.isdigit, ids))
        enough = 2 * found[most] >= min(len(among), len(ids))
        return most if enough and (counts_rows or not found[first]) else first

    def place(self, column: str) -> str:
        """Name the place of a column."""
        return f"{self.path}: obs {column!r}" if self.inside else f"{self.path}, column {column!r}"

    def where(self, row: int, column: str) -> str:
        """Name the place of a value."""
        if self.inside:
            return f"{self.path}: obs:{column} of sample {self.columns[''][row]!r}"
        return f"{self.path}, {self.unit} {self.rows[row]}, column {column!r}"


def read_table(path: str | Path) -> TextTable:
    """Read a small table with column names: text (perhaps compressed), a sheet, or Parquet.

    Of a series matrix of GEO it is that of the samples.

    Raises
    ------
    InputError
        If the file is neither, has no rows or only one column, a row has another number of
        fields than the first, or two columns have one name.
    """
    path = Path(path)
    content = examine(path)
    if content.kind is Kind.OBJECT:
        return _table_of_frame(path, content.held)
    if content.kind is Kind.PARQUET:
        return _read_parquet(path)
    if content.kind is Kind.SERIES:
        return _table_of_series(path)
    if content.kind is Kind.R_DATA:
        from sfs_cli.io.matrix.r_data import read_frame

        return _table_of_frame(path, read_frame(path))
    if not content.is_text:
        raise InputError(
            f"{path.name} holds {content.kind.value}, not a table of text or Parquet",
            where=path,
            hint="write the table as TSV or CSV with a line of column names",
        )
    if text_suffix(path) == ".cls":
        raise InputError(
            "a .cls file of GSEA has classes, but no sample ids",
            where=path,
            hint="give a table with two columns, sample and class",
        )
    with LineStream(path) as stream:
        header = read_header(stream, of_table=True)
        _refuse_repeated(header.names[: count_named(header.names)], path)
        table = read_rows(stream, header.names, header.delimiter)
        comments = all(text.startswith("#") for _, text in header.skipped)
        return table if comments else replace(table, titles=str(header))


def _table_of_series(path: Path) -> TextTable:
    """Return what a series matrix says of its samples, by title and by accession."""
    with SeriesStream(path) as stream:
        series = read_series(stream)
    ids = series.titles or series.accessions
    columns = {"": ids, "geo_accession": series.accessions, **series.columns}
    texts = Texts([*columns], map(string_array, columns.values()))
    return TextTable(path, texts, range(1, len(ids) + 1), "sample")


def _table_of_frame(path: Path, frame: Any) -> TextTable:
    """Return a data frame as text, with its index as the ids; missing values are ""."""
    import pandas as pd

    names = [nfc(str(name)) for name in frame.columns]
    ids = "" if frame.index.name is None else str(frame.index.name)
    names.insert(0, "" if ids in names else ids)
    _refuse_repeated(names, path)
    series = [frame.index.to_series(), *(each for _, each in frame.items())]
    contents = [each.astype(object).where(each.notna(), None).tolist() for each in series]
    categories = {
        name
        for name, each, values in zip(names[1:], series[1:], contents[1:])
        if isinstance(each.dtype, pd.CategoricalDtype) or any(isinstance(v, str) for v in values)
    }
    columns = Texts(names, [string_array(texts_of(each)) for each in contents])
    return TextTable(path, columns, range(1, len(frame) + 1), "row", frozenset(categories))


def texts_of(values: Iterable[Any]) -> list[str]:
    """Return values as a table has them: text, and "" for None."""
    return ["" if value is None else nfc(str(value)) for value in values]


def null_table(columns: Mapping[str, Sequence[str]]) -> pa.Table:
    """Return columns of texts as an Arrow table, in which missing values are null."""
    import pyarrow as pa

    known = {k: [None if v in NULL_TOKENS else v for v in each] for k, each in columns.items()}
    return pa.table({name: pa.array(each, pa.string()) for name, each in known.items()})


def read_rows(
    stream: LineStream,
    names: Sequence[str],
    delimiter: str,
    hint: str = "every row needs a value for each column; write missing ones as NA",
    *,
    comments: bool = False,
) -> TextTable:
    """Read the rest of a file as a table, without blank lines; rows have as many fields as names.

    `hint` says what to do about a row that has another number; `comments` are lines that begin
    with ``#``, which are skipped. Empty columns without names at the end are left out.
    """
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.csv as pacsv

    wrong, blank = list[tuple[int, int]](), list[int]()

    def skip(row: pacsv.InvalidRow) -> str:
        blank.append(row.number - 1)
        if row.text.strip():
            wrong.append((first + row.number - 1, row.actual_columns))
        return "skip"

    first, text = stream.line, read_rest(stream)
    if comments:  # before quotes are looked for; a line stays, so that the others keep their number
        text = re.sub(r"(?m)^#.*", "", text)
    raw = text.encode() or b"\n"
    keys = [str(i) for i in range(len(names))]
    try:
        table = pacsv.read_csv(
            pa.BufferReader(raw),
            read_options=pacsv.ReadOptions(
                column_names=keys, use_threads=False, block_size=min(len(raw), 1 << 30)
            ),
            parse_options=pacsv.ParseOptions(
                delimiter=delimiter, ignore_empty_lines=False, invalid_row_handler=skip
            ),
            convert_options=pacsv.ConvertOptions(column_types=dict.fromkeys(keys, pa.string())),
        )
    except pa.ArrowInvalid as error:
        raise InputError(
            f"the rows cannot be divided into fields: {error}",
            where=stream.path,
            hint="close every quote in its line",
        ) from error
    lines = np.delete(np.arange(first, first + len(table) + len(blank)), blank)
    columns = table.columns if len(table) else []  # of no rows Arrow 21 crashes
    for column in columns if b'"' in raw else []:
        if unclosed := pc.indices_nonzero(pc.match_substring(column, "\n")).to_pylist():
            raise InputError(
                "a double quote is not closed in its line",
                where=f"{stream.path}, line {lines[unclosed[0]]}",
                hint="close every quote in its line; a quote within a field is written twice",
            )
    for line, found in wrong:
        raise InputError(
            f"a row has {counted(found, 'field')}, but {len(names):,} are expected",
            where=f"{stream.path}, line {line}",
            hint=hint,
        )
    if not columns:
        return TextTable(stream.path, Texts(names, table.columns), [], "line")
    columns = [pc.utf8_trim(column, BLANKS) for column in columns]
    # a comparison with a text would import pandas first
    filled = reduce(pc.or_, [pc.binary_length(column).cast("bool") for column in columns])
    named = count_named(names)
    for column in columns[named:]:
        if used := pc.indices_nonzero(pc.binary_length(column)).to_pylist():
            refuse_unnamed([*names], named, f"{stream.path}, line {lines[used[0]]}")
    rows: Sequence[int] = range(first, first + len(table))
    if blank or not pc.all(filled).as_py():
        columns = [column.filter(filled) for column in columns]
        rows = lines[np.from_dlpack(pc.indices_nonzero(filled))].tolist()
    return TextTable(stream.path, Texts(names[:named], columns), rows, "line")


def read_unnamed(
    path: Path,
    names: Sequence[str],
    hint: str,
    is_header: Callable[[list[str]], bool],
) -> TextTable:
    """Read lines of the columns `names`, with tabs; a first line that `is_header` is skipped.

    Blank lines and those that begin with ``#`` are skipped too; `hint` is as in `read_rows`.
    """
    with LineStream(path) as stream:
        table = read_rows(stream, names, "\t", hint, comments=True)
    if table.rows and is_header([values[0] for values in table.columns.values()]):
        columns = {name: values[1:] for name, values in table.columns.items()}
        table = TextTable(path, columns, table.rows[1:], "line")
    return table


def _refuse_repeated(names: list[str], path: Path) -> None:
    if found := repeated(names):
        raise InputError(
            f"several columns are named {listed(sorted(found))}",
            where=path,
            hint="give every column a different name",
        )


def _read_parquet(path: Path) -> TextTable:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with arrow_file(path) as raw, pq.ParquetFile(raw) as file:
            table = file.read()
            names = [nfc(name) for name in table.column_names]
    except (OSError, pa.ArrowException) as error:
        raise InputError(
            f"the Parquet file cannot be read ({error})", where=path, hint=COPY_AGAIN
        ) from error
    # the ids are the index of pandas, else the first text, else the first column
    named = [name for name in map(nfc, pandas_index(table.schema)) if name in names]
    kinds = dict(zip(names, table.schema.types))
    texts = [n for n, t in kinds.items() if pa.types.is_string(t) or pa.types.is_large_string(t)]
    coded = filter(lambda name: pa.types.is_dictionary(kinds[name]), kinds)
    ids = (named or texts or names)[0]
    _refuse_repeated(names, path)
    columns = dict(zip(names, table.columns))
    columns = {ids: columns.pop(ids), **columns}
    rows = range(1, len(table) + 1)
    held = Texts([*columns], columns.values())
    return TextTable(path, held, rows, "row", frozenset([*texts, *coded]))


def pandas_index(schema: pa.Schema) -> list[str]:
    """Return the columns that pandas wrote as the index, by what it has noted in the file.

    An index of consecutive numbers is no column.
    """
    noted = json.loads((schema.metadata or {}).get(b"pandas", b"{}"))
    return [name for name in noted.get("index_columns", []) if isinstance(name, str)]


_INDEX_NAME = re.compile(r"(|_*index(_level_\d+_*)?|unnamed: \d+)", re.I)


def is_index_name(name: str) -> bool:
    """Say whether a column is named as pandas and R name one that numbers the rows."""
    return _INDEX_NAME.fullmatch(name.strip()) is not None


_OF_SAMPLES = re.compile(
    r"(?:^|[\W_])(?:sample\w*|ids?|names?|barcodes?|accessions?)(?:[\W_]|$)", re.I
)


def names_samples(name: str) -> bool:
    """Say whether a column is named as those of sample ids are."""
    return _OF_SAMPLES.search(name) is not None


_THINGS = ("gene", "genes", "feature", "features", "protein", "proteins", "transcript", "mirna")
_PROBES = ("probe", "probes", "probeset", "probesets", "target")
_DATABASES = ("ensembl", "entrez", "entrezgene", "hgnc", "ncbi", "refseq", "uniprot", "uniprotkb")
_IDS = ("id", "ids", "identifier", "identifiers", "accession", "symbol", "symbols", "name", "names")
_ID_WORDS = frozenset((*_THINGS, *_PROBES, *_DATABASES, *_IDS))
_QUALIFIERS = ("approved", "common", "external", "hugo", "human", "official", "set", "stable")
_ID_ENDING = re.compile(r"(id|ids|name|symbol)$")
_WORD = re.compile(r"[a-z0-9]+")


def name_words(text: str) -> list[str]:
    """Split a name into its words, in lower case: ``Gene-Symbol`` is gene and symbol."""
    return _WORD.findall(text.lower())


def is_id_name(text: str) -> bool:
    """Say whether a text is a usual name of a column of ids, such as ``hgnc_symbol``.

    All its words must be usual in such names, so that no gene id is taken for one.
    """
    words = name_words(text)
    usual = [w in _ID_WORDS or _ID_ENDING.sub("", w) in _ID_WORDS for w in words]  # geneid
    return any(usual) and all(u or word in _QUALIFIERS for u, word in zip(usual, words))


_OF_GENES = (
    "length genelength transcriptlength exonlength effectivelength efflength lengthbp entrezid "
    "entrezgene entrezgeneid ncbigeneid geneid hgncid genename genesymbol genetype genebiotype "
    "biotype description chromosome chromosomename seqname seqnames strand genestart geneend "
    "probeid startposition endposition gccontent percentagegccontent percentagegenegccontent"
)
_OF_TESTS = (
    "logfc log2fc log2foldchange foldchange avglogfc avglog2fc lfcse basemean aveexpr logcpm "
    "logconc padj"
)
_OF_CELLS = (
    "ncells ncellsbycounts totalcounts meancounts pctdropoutbycounts log1ptotalcounts "
    "log1pmeancounts dispersions dispersionsnorm highlyvariable"
)
_ANNOTATIONS = frozenset(f"{_OF_GENES} {_OF_TESTS} {_OF_CELLS}".split())
_MAYBE_SAMPLES = (
    "t b f p q z lr fc fdr fwer lods chr start end stop begin pos position width size gc score "
    "rank stat statistic mean means median average sum total sd se var variance cv pct1 pct2 "
    "entrez ncounts nsamples"
)
_LIKE_ANNOTATIONS = frozenset(_MAYBE_SAMPLES.split())
_OF_CHROMOSOMES = frozenset(
    ("chr", "chrom", "chromosome", "chromosomename", "seqname", "seqnames", "strand")
)
_POSITIONS = frozenset(
    ("chr", "chrom", "start", "end", "stop", "begin", "pos", "position", "width", "size")
)


def annotation_of(name: str) -> Literal["sure", "maybe", ""]:
    """Say how surely a column is an annotation of genes or a result, by its name, and no sample.

    Upper and lower case, points, blanks and the like do not count.
    """
    # a number may be that of a sample, such as P_val_1
    of_test = "val" in name.lower() and not re.search(r"\d", name)
    of_table = name.endswith((" IDs", " site positions"))  # of MaxQuant
    if _plain(name) in _ANNOTATIONS or of_table or (of_test and names_p_values(name)):
        return "sure"
    return "maybe" if _plain(name) in _LIKE_ANNOTATIONS else ""


def annotations_among(names: Sequence[str]) -> list[str]:
    """Say of each of the columns of a table how surely it is an annotation, as `annotation_of`.

    P-Val is not surely one beside P-Leu: both may be samples.
    """
    found: list[str] = [annotation_of(name) for name in names]
    starts = {re.sub("[A-Za-z]+$", "", name) for name, each in zip(names, found) if not each} - {""}
    return [
        "maybe" if each == "sure" and re.sub("(?i)val$", "", name) in starts else each
        for name, each in zip(names, found)
    ]


def _plain(name: str) -> str:
    return "".join(name_words(name))


def words_of_column(name: str) -> str:
    """Return the words of a name in lower case, without numbers: ``avg_log2FC`` is avg_log_fc."""
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    return "_".join(re.findall("[a-z]+", apart.lower()))


_TESTED = r"(?:(?:adj|nom|raw|emp|perm|corr)[a-z]*_?)?"
_CORRECTION = r"(?:(?:a|ts)?bh|bonf[a-z]*|holm|hochberg|hommel|sidak(?:_s[sd])?)"
_TESTS = (  # what a lone p or q is of: p_wald, q_bh, but not p_auc or p_selected
    r"(?:wald|l?rt?|[ftz]|[ftz]_?test|chi[a-z]*|wilcox[a-z]*|mwu|mann|welch|students?|kruskal|ks"
    r"|anova|fishers?|ols|lm|cox|logrank|pearson|spearman|kendall|perm[a-z]*|emp[a-z]*|raw|nom[a-z]*"
    rf"|corr[a-z]*|unadj[a-z]*|combined|moderated|stouffer|simes|storey|{_CORRECTION}|by|fdr|fwer)"
)
_P_VALUE = (
    # P.Value, adj.P.Val, pval_norm, NOM p-val, svalue, pvaladj, but neither S-value nor E-Val
    rf"(?:{_TESTED}(?:[pq]_?val(?:ue)?s?(?:_?adj[a-z]*)?|svalues?|e_?values?)"
    rf"|p_?adj[a-z]*|(?:adj|emp|min|nom|raw)?[pq](?=$|_{_TESTS}(?:_|$))"  # p.adjust, rawp, p_wald
    rf"|[a-z]*fdrs?|fwer|l?fsr|{_CORRECTION}(?:adj[a-z]*)?(?=$|_adj)"  # FDR, lfsr, holm, SidakSS
    r"|pep|error_prob[a-z]*|(?:pr_|prob_?)(?:[ftz]|chi[a-z]*))"  # Pr(>Chisq), Prob > F, ProbF
)
_P_VALUES = re.compile(rf"(?:^|_){_P_VALUE}(?:_|$)|[pq]val(?:ue)?s?(?:_|$)|^by$")
_LOG = r"(?:neg|minus|n|m)?(?:log|ln)"
_LOG_P_VALUES = re.compile(
    rf"(?:log|ln)_?{_TESTED}(?:{_P_VALUE}|[pq])(?:_|$)"
    # -Log Student's T-test p-value, log10_combined_p, but not log_rank_p or logFC_padj
    rf"|(?:^|_){_LOG}_(?!rank|l?fc|fold|odds|ratio)(?:\w+_)?{_P_VALUE}(?:_|$)"
    rf"|(?:^|_){_P_VALUE}_(?:(?:neg|minus)_)?{_LOG}(?:_|$)"  # pval.log10
)
_OF_P_VALUES = re.compile(  # numbers or scores of them, 1-p, and other things called p or q
    r"(?:^|_)(?:n|num|number|one_?minus|complement|cochrans?(?:_s)?|sel[a-z]*|incl[a-z]*)_(?:sig_)?"
    r"[pq](?:_|[a-z]*val|adj|$)|_(?:score|count|gain|weight|importance|rank)s?$"
)
_RANK_TESTS = re.compile(r"(?<![a-z])(?:(?:log|signed)_?rank|rank_?sum)(?![a-z])")  # no ranks
_NO_P = re.compile(r"log1p|(?<![a-z])[pq]\d+", re.I)  # P1, Q2, Q2cum


def names_p_values(name: str, *, logarithms: bool = False) -> bool:
    """Say whether a column is named as p- and q-values are, or as their `logarithms` are."""
    words = _RANK_TESTS.sub("wilcox", words_of_column(_NO_P.sub("_", name)))
    if logarithms:
        return _LOG_P_VALUES.search(words) is not None
    if name.lower() in ("pos|score", "neg|score"):  # of MAGeCK
        return True
    if re.match(r"\W*X?1\s*[-\u2212\u2013]", name) or _OF_P_VALUES.search(words):  # 1-FDR
        return False
    return _P_VALUES.search(words) is not None


def _is_place(name: str) -> bool:
    return _plain(name) in _OF_CHROMOSOMES


def sure_annotations(names: Sequence[str], beside: Collection[str] = ()) -> list[str]:
    """Return the columns that are annotations of genes or results by their names.

    Those of positions are, where a chromosome or a strand stands with them or is among what is
    known to be `beside` the values. None are, where no column has a name that is no annotation's,
    or one and no positions are there: then this may be a table of results.
    """
    positions = _POSITIONS if any(map(_is_place, (*names, *beside))) else frozenset()
    found = annotations_among(names)
    surely = [n for n, each in zip(names, found) if each == "sure" or _plain(n) in positions]
    return surely if found.count("") > (not positions) else []


def may_be_numbers(name: str) -> bool:
    """Say whether a column with such a name may be numbers and no values: chromosomes, ids."""
    return _is_place(name) or annotation_of(name) != "" or is_id_name(name)
