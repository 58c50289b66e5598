"""The first lines of a delimited file: its delimiter and the names of its columns."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sfs_cli.errors import COPY_AGAIN, InputError, listed
from sfs_cli.io.lines import LineStream

NULL_TOKENS = ("", "NA", "NaN", "nan", "N/A", "null", "NULL", "#N/A", "None", "na")

_NAMES = {"\t": "tab", ",": "comma", ";": "semicolon", " ": "space"}
_LIKELIEST = {".csv": ",;\t ", ".tsv": "\t,; ", ".txt": "\t,; "}


@dataclass(frozen=True)
class Header:
    """What the first lines of a file say.

    Attributes
    ----------
    names : list of str
        Names of all columns, the one of the row ids (possibly "") first.
    delimiter : str
        One character.
    line : int
        Number of the line that the names stand in, from 1.
    """

    names: list[str]
    delimiter: str
    line: int


def decode(raw: bytes, path: Path, line: int) -> str:
    """Return a line as text.

    Raises
    ------
    InputError
        If it holds a NUL byte or is not UTF-8.
    """
    if b"\0" in raw:
        raise InputError(
            "a NUL byte: this is binary data or UTF-16 text",
            where=f"{path}, line {line}",
            hint="save the table as UTF-8 text",
        )
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        shown = raw[max(error.start - 20, 0) : error.end + 20].decode("latin-1")
        raise InputError(
            f"the text is not UTF-8, near {shown!r}",
            where=f"{path}, line {line}",
            hint="convert the file with 'iconv -f LATIN1 -t UTF-8'",
        ) from error


def split_fields(line: str, delimiter: str) -> list[str]:
    """Split a line into its fields, without the quotes and blanks around them."""
    fields = (
        line.split(delimiter) if '"' not in line else next(csv.reader([line], delimiter=delimiter))
    )
    return [field.strip() for field in fields]


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


def read_header(stream: LineStream, suffix: str) -> Header:
    """Read up to and including the line of column names.

    Lines of comment that begin with ``#`` are skipped, unless the last of them turns out to be
    the names. A header with one name fewer than the rows have fields (R's ``write.table``) has
    none for the row ids.

    Parameters
    ----------
    stream : LineStream
        At its beginning; afterwards at the first row.
    suffix : str
        The last suffix of the name, without the compression, such as ``.csv``.

    Returns
    -------
    Header
        As many names as the first row has fields.

    Raises
    ------
    InputError
        If the file is empty, holds no rows, only one column, or values in place of names.
    """
    comment = _skip_comments(stream)
    line = stream.line
    first = _peek_text(stream)
    if first is None:
        raise InputError("the file is empty", where=str(stream.path), hint=COPY_AGAIN)
    if comment is not None and _names_of_commented(comment, first, suffix):
        return _names_of(comment, first, suffix, stream.path, line - 1)
    stream.read_line()
    row = _peek_text(stream)
    if not row:
        raise InputError(
            "the file holds a line of column names, but no rows",
            where=str(stream.path),
            hint=COPY_AGAIN,
        )
    return _names_of(first, row, suffix, stream.path, line)


def _skip_comments(stream: LineStream) -> str | None:
    comment = None
    while (raw := stream.peek_line()) is not None and (raw.startswith(b"#") or not raw.strip()):
        if raw.strip():
            comment = decode(raw, stream.path, stream.line)
        stream.read_line()
    return comment


def _peek_text(stream: LineStream) -> str | None:
    raw = stream.peek_line()
    return None if raw is None else decode(raw, stream.path, stream.line)


def _names_of_commented(comment: str, first: str, suffix: str) -> bool:
    delimiter = sniff_delimiter(comment, first, suffix)
    if delimiter is None or count_fields(comment, delimiter) != count_fields(first, delimiter):
        return False
    return all(is_number(f) or f in NULL_TOKENS for f in split_fields(first, delimiter)[1:])


def _names_of(header: str, row: str, suffix: str, path: Path, line: int) -> Header:
    delimiter = sniff_delimiter(header, row, suffix)
    where = f"{path}, line {line}"
    if delimiter is None:
        raise InputError(
            "there is only one column: no tab, comma, semicolon or space divides the lines",
            where=where,
            hint="a matrix has row ids in its first column and values in the others",
        )
    names = split_fields(header, delimiter)
    n_fields = count_fields(row, delimiter)
    if n_fields == len(names) + 1:
        if row.endswith(delimiter):
            raise InputError(
                f"the rows end in a {_NAMES[delimiter]} that the line of column names lacks",
                where=f"{path}, line {line + 1}",
                hint=f"remove the {_NAMES[delimiter]} at the end of each row",
            )
        names = ["", *names]
    _check_names(names, where)
    return Header(names, delimiter, line)


def _check_names(names: Sequence[str], where: str) -> None:
    values = [name for name in names[1:] if name not in NULL_TOKENS]
    if values and all(map(is_number, values)):
        repeated = len(set(values)) < len(values)
        if repeated or any(map(is_decimal, values)):
            raise InputError(
                f"the first line holds values ({listed(values, 3)}) in place of column ids",
                where=where,
                hint="the first line must hold the ids of the columns: add it",
            )
    if "" in names[1:]:
        empty = list(names).index("", 1)
        raise InputError(
            f"column {empty + 1} has no id", where=where, hint="give the column an id or remove it"
        )


def count_fields(line: str, delimiter: str) -> int:
    """Count the fields of a line, heeding quotes."""
    return len(split_fields(line, delimiter)) if '"' in line else line.count(delimiter) + 1


def sniff_delimiter(header: str, row: str, suffix: str) -> str | None:
    """Find what divides the fields.

    Parameters
    ----------
    header, row : str
        The line of column names, and the first row.
    suffix : str
        ``.csv`` puts the comma first, anything else the tab.

    Returns
    -------
    str or None
        Tab, comma, semicolon or space; None if none of them divides the lines.
    """
    order = _LIKELIEST.get(suffix, _LIKELIEST[".txt"])
    counts = {d: (count_fields(header, d), count_fields(row, d)) for d in order}
    agreeing = [d for d, (n, m) in counts.items() if n == m > 1]
    shifted = [d for d, (n, m) in counts.items() if m == n + 1]
    ragged = [d for d, (n, m) in counts.items() if n > 1]
    return next(iter(agreeing + shifted + ragged), None)
