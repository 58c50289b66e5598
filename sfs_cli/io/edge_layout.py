"""How a file of interactions is laid out, told from its first lines."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from sfs_cli.errors import InputError, counted, listed
from sfs_cli.io.header import NULL_TOKENS, is_number, sniff_delimiter, split_fields
from sfs_cli.io.id_names import is_id_name, name_parts
from sfs_cli.io.plain_text import text_lines
from sfs_cli.io.text import text_suffix

_SCORES = ("combined score", "score", "weight", "similarity", "confidence")
_PAIRS = (("source", "target"), ("from", "to"), ("mirna", "target"), ("tf", "target"))
_ENDS = (("a", "b"), ("1", "2"))
_THINGS = ("interactor", "node", "item", "entity", "vertex", "partner", "biogrid", "systematic")
_STEMS = (*_THINGS, "official", "string", "stringid", "preferredname")
_BIOGRID = "#biogrid interaction id"
_BIOGRID_NAMES = ("official symbol interactor a", "official symbol interactor b")
_STRING_NAMES = ("preferredname a", "preferredname b")
_FORM = "name the columns in the first line, as in gene_a, gene_b, score"


@dataclass(frozen=True)
class EdgeLayout:
    """How the lines of a file hold edges.

    Attributes
    ----------
    path : Path
        The file.
    format : {"BioGRID", "STRING", "table"}
        Whose layout it is.
    delimiter : str
        One character; for a space any run of blanks divides fields.
    names : list of str
        Of the columns; numbers from 1 where the file has none.
    a, b : int
        Columns of the two ends.
    score : int or None
        Column of the score.
    first_line : int
        The line of the first edge, from 1.
    quoting : bool
        Whether fields may stand in double quotes.
    """

    path: Path
    format: str
    delimiter: str
    names: list[str]
    a: int
    b: int
    score: int | None
    first_line: int
    quoting: bool = True


def split_line(text: str, delimiter: str, quoting: bool = True) -> list[str]:
    """Split a line into fields; several blanks divide as one does."""
    if not quoting:
        return [field.strip() for field in text.split(delimiter)]
    if delimiter == " " and '"' not in text:
        return text.split()
    return split_fields(text.strip(" ") if delimiter == " " else text, delimiter)


def edge_layout(path: Path) -> EdgeLayout:
    """Tell how the edges of a file are laid out.

    Parameters
    ----------
    path : Path
        BioGRID (TAB 2 or 3), STRING, or a table of two or three columns, or of more whose names
        say what they hold; divided by tabs, commas, semicolons or blanks.

    Returns
    -------
    EdgeLayout
        A first line is one of names when it names ends or a score as files usually do, or when it
        has text where the next line has a score.

    Raises
    ------
    InputError
        If the file has no edges, or which columns hold them cannot be told.
    """
    comment, lines = _first_lines(path)
    if not lines:
        raise InputError(
            "the file has no edges", where=str(path), hint="write two ids in each line"
        )
    delimiter = sniff_delimiter(lines[0][1], lines[-1][1], text_suffix(path))
    if delimiter is None:
        raise InputError(
            "there is only one column: no tab, comma, semicolon or space divides the lines",
            where=f"{path}, line {lines[0][0]}",
            hint="an edge has two ids, and perhaps a score",
        )
    is_biogrid = comment is not None and comment.lower().startswith(_BIOGRID)
    rows = [split_line(text, delimiter, not is_biogrid) for _, text in lines]
    if comment is not None and _is_header(named := split_line(comment, delimiter), rows[0]):
        return _named(named, rows[0], path, delimiter, lines[0][0])
    if _is_header(rows[0], rows[-1]):
        if len(rows) == 1:
            raise InputError(
                "the file has a line of column names, but no edges",
                where=str(path),
                hint="write two ids in each line",
            )
        return _named(rows[0], rows[1], path, delimiter, lines[1][0])
    return _unnamed(rows[0], path, delimiter, lines[0][0])


def _first_lines(path: Path) -> tuple[str | None, list[tuple[int, str]]]:
    """Return the last line of comment at the beginning, and the first two after it."""
    comment: str | None = None
    lines: list[tuple[int, str]] = []
    for number, text in text_lines(path):
        if text.startswith("#"):
            comment = text if not lines else comment
        else:
            lines.append((number, text))
        if len(lines) == 2:
            break
    return comment, lines


def _is_header(names: list[str], row: list[str]) -> bool:
    if not 0 <= len(row) - len(names) <= 1:
        return False
    if names_an_edge(names) or any(map(is_id_name, names)):
        return True
    has_word = len(names) >= 3 and names[2] not in (*NULL_TOKENS, "-") and not is_number(names[2])
    return has_word and is_number(row[2])


def names_an_edge(names: list[str]) -> bool:
    """Tell whether the names of columns include those of two ends, or of a score."""
    plain = [_plain(name) for name in names]
    return _ends_of(plain) is not None or any(score in plain for score in _SCORES)


def _plain(name: str) -> str:
    return " ".join(name_parts(name))


def _named(
    names: list[str], row: list[str], path: Path, delimiter: str, first_line: int
) -> EdgeLayout:
    is_biogrid = names[0].lower() == _BIOGRID
    names = [names[0].lstrip("#").strip(), *names[1:]]
    if len(row) == len(names) + 1:  # R's write.table leaves the row ids without a name
        names = ["", *names]
    plain = [_plain(name) for name in names]
    score = next((plain.index(s) for s in _SCORES if s in plain), None)
    ends = _BIOGRID_NAMES if is_biogrid else _STRING_NAMES
    found = _ends_of(plain)
    if all(end in plain for end in ends):
        a, b = plain.index(ends[0]), plain.index(ends[1])
    elif found is not None:
        a, b = found
    else:
        a, b = _first_two(names, score, path, first_line)
    others = [i for i, name in enumerate(names) if name and i not in (a, b)]
    if score is None and len(others) == 1 and is_number(row[others[0]]):
        score = others[0]
    is_string = "combined score" in plain or _STRING_NAMES[0] in plain
    format = "BioGRID" if is_biogrid else "STRING" if is_string else "table"
    return EdgeLayout(path, format, delimiter, names, a, b, score, first_line, not is_biogrid)


def _ends_of(plain: list[str]) -> tuple[int, int] | None:
    """Return the columns of two names that differ in being the first and the second of a pair."""
    for a, name in enumerate(plain):
        if name:
            for b in (plain.index(p) for p in _partners(name) if p in plain):
                return a, b
    return None


def _partners(name: str) -> list[str]:
    pairs = (pair for pair in _PAIRS if pair[0] == name)
    ends = ((name, name[: -len(a)] + b) for a, b in _ENDS if _ends_with(name, a))
    return [second for _, second in chain(pairs, ends)]


def _ends_with(name: str, end: str) -> bool:
    # "gene a", "genea" and "gene1", but not a symbol such as "HLA-A", which HLA-B may follow
    words = name.removesuffix(end).split()
    known = [word in _STEMS or is_id_name(word) for word in words]
    return name.endswith(end) and bool(known) and all(known)


def _first_two(names: list[str], score: int | None, path: Path, line: int) -> tuple[int, int]:
    ends = [i for i, name in enumerate(names) if i != score and name]
    if len(ends) >= 2:
        return ends[0], ends[1]
    raise InputError(
        f"which of the columns {listed(names, 8)} hold the two ends cannot be told",
        where=f"{path}, line {line - 1}",
        hint=_FORM,
    )


def _unnamed(row: list[str], path: Path, delimiter: str, line: int) -> EdgeLayout:
    where = f"{path}, line {line}"
    if len(row) not in (2, 3):
        raise InputError(
            f"the line has {counted(len(row), 'field')}, and no line before it says what they hold",
            where=where,
            hint=f"give two ids and perhaps a score, or {_FORM}",
        )
    if len(row) == 3 and not is_number(row[2]):
        raise InputError(
            f"{row[2]!r} in the third column is not a number",
            where=where,
            hint=f"give two ids and a score, or {_FORM}",
        )
    names = [f"column {i}" for i in range(1, len(row) + 1)]
    return EdgeLayout(path, "table", delimiter, names, 0, 1, 2 if len(row) == 3 else None, line)
