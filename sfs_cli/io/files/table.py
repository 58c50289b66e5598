"""Tables of text: the delimiter, the column names, the fields; small tables as a whole."""

from __future__ import annotations

import csv
import json
import re
import shlex
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfs_cli.errors import COPY_AGAIN, InputError, counted, listed
from sfs_cli.io.files.names import BLANKS, nfc
from sfs_cli.io.files.read_limits import FIELD_BYTES, MemoryCounter, check_room
from sfs_cli.io.files.sniff import Kind, examine
from sfs_cli.io.files.text import (
    LineStream,
    arrow_file,
    decode,
    first_lines,
    old_mac_lines,
    repeated,
    text_suffix,
)

if TYPE_CHECKING:
    import pyarrow as pa

NULL_TOKENS = (
    *("", "NA", "NaN", "nan", "NAN", "N/A", "n/a", "null", "NULL", "#N/A", "None", "na"),
    # of the clinical tables of TCGA
    *("[Not Available]", "[Not Applicable]", "[Not Evaluated]", "[Unknown]", "[Discrepancy]"),
)
"""Fields that stand for a missing value."""

DELIMITERS = {"\t": "tab", ",": "comma", ";": "semicolon", " ": "space"}
_CSV_ORDER, _TSV_ORDER = ",;\t ", "\t,; "
_GEO = re.compile(r"!(?:series|sample|platform)_|\^(?:database|series|sample|platform)\b", re.I)
_TRAITS = (
    '{k="";for(i=2;i<=NF&&k=="";i++){split($i,n,/"|: /);k=n[2]}$1=NR>1?k:"sample";q="\\""k": ";'
    'for(i=1;i<=NF;i++){if(NR>1&&index($i,q)==1)$i="\\""substr($i,length(q)+1);'
    't[i]=t[i](NR>1?FS:"")$i}}END{for(i=1;i<=NF;i++)print t[i]}'
)
"""A program of awk: of lines, each ``trait: value`` of all samples, it makes a column of each."""
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
        if '"' in line:
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
    """The names of all columns (the first, of the row ids, may be ""), the delimiter, the line."""

    names: list[str]
    delimiter: str
    line: int


def read_header(stream: LineStream, hint: str = _OF_A_MATRIX) -> Header:
    """Read up to and including the line of column names: as many as the first row has fields.

    Comment lines that begin with ``#`` are skipped, unless the last of them holds the names. A
    header with one name fewer than the rows have fields (R's ``write.table``) has none for the row
    ids. `hint` says what to do about a file of one column.
    """
    path, comment = stream.path, None
    while (raw := stream.peek_line()) is not None and (raw.startswith(b"#") or not raw.strip()):
        if raw.strip():
            comment = decode(raw, path, stream.line)
        stream.read_line()
    line = stream.line
    first = _peek_text(stream)
    if first is None:
        raise InputError("the file is empty", where=path, hint=COPY_AGAIN)
    where = f"{path}, line {line}"
    if _GEO.match(first):
        what, hint = "series matrix", series_matrix_hint(path)
        if first[0] == "^":
            what, hint = (
                "SOFT file",
                "download the series matrix in its place (*_series_matrix.txt.gz)",
            )
        raise InputError(
            f"this is a {what} of GEO, whose table lies between other lines", where=where, hint=hint
        )
    if comment is not None and _is_commented_header(comment, first, text_suffix(path), where):
        return _header(comment, first, path, line - 1, hint)
    stream.read_line()
    row = _peek_text(stream)
    if not row and "\r" in first:
        raise old_mac_lines(path)
    if not row:
        raise InputError(
            "the file has a line of column names, but no rows", where=path, hint=COPY_AGAIN
        )
    return _header(first, row, path, line, hint)


def series_matrix_hint(path: Path) -> str:
    """Return the shell commands that take the values, and what is said of the samples, out."""
    name = shlex.quote(str(path))
    return (
        f"take out the values: zgrep -v '^!' {name} > matrix.tsv; and the traits of the samples: "
        f"zgrep -E '^!Sample_(geo|char)' {name} | awk -F'\\t' '{_TRAITS}' > samples.tsv"
    )


def _peek_text(stream: LineStream) -> str | None:
    raw = stream.peek_line()
    return None if raw is None else decode(raw, stream.path, stream.line)


def _is_commented_header(comment: str, first: str, suffix: str, where: str) -> bool:
    delimiter = sniff_delimiter(comment, first, suffix)
    if delimiter is None or count_fields(comment, delimiter) != count_fields(first, delimiter):
        return False
    return all(is_number(f) or f in NULL_TOKENS for f in split_fields(first, delimiter, where)[1:])


def _header(header: str, row: str, path: Path, line: int, hint: str) -> Header:
    delimiter = sniff_delimiter(header, row, text_suffix(path))
    where = f"{path}, line {line}"
    if delimiter is None:
        raise InputError(ONE_COLUMN, where=where, hint=hint)
    names = split_fields(header, delimiter, where)
    if count_fields(row, delimiter) == len(names) + 1:
        if row.endswith(delimiter):
            name = DELIMITERS[delimiter]
            raise InputError(
                f"the rows end in a {name}, but the line of column names does not",
                where=f"{path}, line {line + 1}",
                hint=f"remove the {name} at the end of each row",
            )
        names = ["", *names]
    _check_names(names, where)
    return Header(names, delimiter, line)


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
    refuse_unnamed(names, 1, where)


def refuse_unnamed(names: list[str], first: int, where: str) -> None:
    """Raise an `InputError` for a column without a name, from the `first` on."""
    if "" in names[first:]:
        raise InputError(
            f"column {names.index('', first) + 1} has no id",
            where=where,
            hint="give the column an id or remove it",
        )


@dataclass(frozen=True)
class TextTable:
    """A small table as a file has it; missing values are ""."""

    path: Path
    columns: Mapping[str, list[str]]  # in order, the row ids first (their name may be "")
    rows: Sequence[int]  # the number of each row in the file, for messages
    unit: str  # what `rows` counts: line, row or record
    categories: frozenset[str] = frozenset()  # columns whose type says so, whatever their texts

    def place(self, column: str) -> str:
        """Name the place of a column."""
        return f"{self.path}, column {column!r}"

    def where(self, row: int, column: str) -> str:
        """Name the place of a value."""
        return f"{self.path}, {self.unit} {self.rows[row]}, column {column!r}"


def read_table(path: str | Path) -> TextTable:
    """Read a small table with column names: delimited text (perhaps compressed) or Parquet.

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
    if content.kind is not Kind.TEXT:
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
        header = read_header(stream, _OF_A_TABLE)
        _refuse_repeated(header.names, path)
        return read_rows(stream, header.names, header.delimiter)


def _table_of_frame(path: Path, frame: Any) -> TextTable:
    """Return a data frame as text, with its index as the ids; missing values are ""."""
    import pandas as pd

    names = [nfc(str(name)) for name in frame.columns]
    series = [frame.index, *(frame.iloc[:, i] for i in range(len(names)))]
    contents = [[None if n else v for v, n in zip(s.tolist(), s.isna())] for s in series]
    categories = {
        name
        for name, each, values in zip(names, series[1:], contents[1:])
        if isinstance(each.dtype, pd.CategoricalDtype) or any(isinstance(v, str) for v in values)
    }
    ids = "" if frame.index.name is None else str(frame.index.name)
    return _typed_table(path, ["" if ids in names else ids, *names], contents, categories)


def _typed_table(
    path: Path, names: list[str], contents: Sequence[list[Any]], categories: Iterable[str]
) -> TextTable:
    """Return columns of values as text; the ids are the first column."""
    _refuse_repeated(names, path)
    columns = dict(zip(names, map(texts_of, contents)))
    rows = range(1, len(contents[0]) + 1)
    return TextTable(path, columns, rows, "row", frozenset(categories))


def texts_of(values: Iterable[Any]) -> list[str]:
    """Return values as a table has them: text, and "" for None."""
    return ["" if value is None else nfc(str(value)) for value in values]


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
    with ``#``, which are skipped.
    """
    lines, rows = [], []
    held = MemoryCounter(stream.path)
    while (raw := stream.read_line()) is not None:
        if not raw.strip() or (comments and raw.startswith(b"#")):
            continue
        line = stream.line - 1
        where = f"{stream.path}, line {line}"
        fields = split_fields(decode(raw, stream.path, line), delimiter, where)
        if len(fields) != len(names):
            raise InputError(
                f"a row has {counted(len(fields), 'field')}, but {len(names):,} are expected",
                where=where,
                hint=hint,
            )
        held.add(len(raw) + FIELD_BYTES * (1 + len(fields)))
        lines.append(line)
        rows.append(fields)
    columns = {name: [row[i] for row in rows] for i, name in enumerate(names)}
    return TextTable(stream.path, columns, lines, "line")


def read_unnamed(
    path: Path,
    names: Sequence[str],
    delimiter: str,
    hint: str,
    is_header: Callable[[list[str]], bool],
) -> TextTable:
    """Read a text whose lines hold the columns `names`; a first line that `is_header` is skipped.

    Blank lines and those that begin with ``#`` are skipped too; `hint` is as in `read_rows`.
    """
    with LineStream(path) as stream:
        first = stream.peek_line() or b""
        if b"\r" in first and not first.startswith(b"#"):
            raise old_mac_lines(path)
        table = read_rows(stream, names, delimiter, hint, comments=True)
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
            size = file.metadata.num_rows * file.metadata.num_columns
            check_room("as a table it takes", FIELD_BYTES * size, path)
            table = file.read()
            # names and texts are UTF-8, and dates within those of Python, unless it is damaged
            names = [nfc(name) for name in table.column_names]
            contents = [column.to_pylist() for column in table.columns]
    except (OSError, ValueError, TypeError, ArithmeticError, pa.ArrowException) as error:
        raise InputError(
            f"the Parquet file cannot be read ({error})", where=path, hint=COPY_AGAIN
        ) from error
    if not names:
        raise InputError("the table has no columns", where=path, hint=COPY_AGAIN)
    # the ids are the index of pandas, else the first text, else the first column
    named = [name for name in map(nfc, pandas_index(table.schema, path)) if name in names]
    kinds = list(zip(names, table.schema.types))
    texts = [n for n, t in kinds if pa.types.is_string(t) or pa.types.is_large_string(t)]
    coded = [name for name, kind in kinds if pa.types.is_dictionary(kind)]
    ids = names.index((named or texts or names)[0])
    names.insert(0, names.pop(ids))
    contents.insert(0, contents.pop(ids))
    return _typed_table(path, names, contents, [*texts, *coded])


def pandas_index(schema: pa.Schema, path: Path) -> list[str]:
    """Return the columns that pandas wrote as the index, by what it has noted in the file.

    An index of consecutive numbers is no column. A note that is not as pandas writes it is an
    `InputError`: the ids may be others than were written.
    """
    noted = (schema.metadata or {}).get(b"pandas")
    if noted is None:
        return []
    try:
        index = json.loads(noted)["index_columns"]
        if not all(isinstance(name, str | dict) for name in [*index]):
            raise TypeError
        names = [name for name in index if isinstance(name, str)]
        "".join(names).encode()  # halves of surrogate pairs name no column
    except (ValueError, KeyError, TypeError, RecursionError):
        raise InputError(
            "what pandas has noted of the table is damaged", where=path, hint=COPY_AGAIN
        ) from None
    return names


_THINGS = ("gene", "genes", "feature", "features", "protein", "proteins", "transcript", "mirna")
_PROBES = ("probe", "probes", "probeset", "probesets", "target")
_DATABASES = ("ensembl", "entrez", "entrezgene", "hgnc", "ncbi", "refseq", "uniprot", "uniprotkb")
_IDS = ("id", "ids", "identifier", "identifiers", "accession", "symbol", "symbols", "name", "names")
_ID_WORDS = frozenset((*_THINGS, *_PROBES, *_DATABASES, *_IDS))
_QUALIFIERS = ("approved", "common", "external", "hugo", "human", "official", "set", "stable")
_ID_ENDING = re.compile(r"(id|ids|name|symbol)$")
_NOT_WORD = re.compile(r"[^a-z0-9]+")


def name_words(text: str) -> list[str]:
    """Split a name into its words, in lower case: ``Gene-Symbol`` is gene and symbol."""
    return [word for word in _NOT_WORD.split(text.lower()) if word]


def is_id_name(text: str) -> bool:
    """Say whether a text is a usual name of a column of ids, such as ``hgnc_symbol``.

    All its words must be usual in such names, so that no gene id is taken for one.
    """
    words = name_words(text)
    usual = [w in _ID_WORDS or _ID_ENDING.sub("", w) in _ID_WORDS for w in words]  # geneid
    return any(usual) and all(u or word in _QUALIFIERS for u, word in zip(usual, words))


class Annotation(Enum):
    """How surely a name is that of an annotation of genes or of a result, and of no sample."""

    SURE = "sure"
    MAYBE = "maybe"


_OF_GENES = (
    "length genelength transcriptlength exonlength effectivelength efflength lengthbp entrezid "
    "entrezgene entrezgeneid ncbigeneid geneid hgncid genename genesymbol genetype genebiotype "
    "biotype description chromosome chromosomename seqname seqnames strand genestart geneend "
    "startposition endposition gccontent percentagegccontent percentagegenegccontent"
)
_OF_TESTS = (
    "logfc log2fc log2foldchange foldchange avglogfc avglog2fc lfcse basemean aveexpr logcpm "
    "logconc pvalue pval pvaladj adjpval adjpvalue padj qvalue qval"
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
_NOT_LETTERS = re.compile(r"[^a-z0-9]+")


def annotation_of(name: str) -> Annotation | None:
    """Tell whether a column is named like an annotation of genes, or a result; None: it is not.

    Upper and lower case, points, blanks and the like do not count.
    """
    plain = _NOT_LETTERS.sub("", name.lower())
    if plain in _ANNOTATIONS:
        return Annotation.SURE
    return Annotation.MAYBE if plain in _LIKE_ANNOTATIONS else None


def other_annotations(names: Iterable[str], known: Collection[str]) -> str:
    """Return, for a message, which other columns are named like annotations; may be empty."""
    others = [name for name in names if name not in known and annotation_of(name) is not None]
    return f", and {listed(others, 8)}, which seem to be no samples either" if others else ""
