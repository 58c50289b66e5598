"""The contents of a page: what parts of a run say of themselves, and the form of ``page.json``."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any, NamedTuple

Pairs = list[tuple[str, str]]
"""Names, and what is said of each."""
TURNING = ("R", "AL", "AN", "RLE", "RLO", "LRE", "LRO", "PDF", "RLI", "LRI", "FSI", "PDI")
"""Kinds of characters (Unicode Annex 9) that change the order of the text around them."""


def as_pairs(facts: Mapping[str, Any]) -> Pairs:
    """Return facts as words: numbers are rounded or grouped, None is left out."""
    pairs = []
    for name, value in facts.items():
        if isinstance(value, float):
            value = f"{value:.6g}"
        elif isinstance(value, bool):
            value = "yes" if value else "no"
        elif isinstance(value, int):
            value = f"{value:,}"
        elif isinstance(value, list):
            value = ", ".join(map(str, value))
        elif isinstance(value, dict):
            value = ", ".join(f"{key}: {number:.3g}" for key, number in value.items())
        if value is not None:
            pairs.append((name.replace("_", " ").capitalize(), str(value)))
    return pairs


@dataclass(frozen=True, kw_only=True)
class Table:
    """A small table about the inputs of a ranking."""

    heading: str
    columns: Sequence[str]  # the first names the rows
    rows: Sequence[Sequence[object]]  # text, numbers, and NaN or None for what is missing
    note: str = ""  # how to read it
    digits: int = 6  # significant ones, of numbers that are not integers
    shade: float | None = None  # shade numbers by their size, completely at this value
    # whether it is about the best features, and not about what the ranking was made from
    of_best: bool = False


@dataclass(frozen=True, kw_only=True)
class Section:
    """What the page says of an optional part of a run."""

    heading: str = ""
    pairs: Pairs = field(default_factory=list)
    tables: Sequence[Table] = ()
    sentences: Sequence[str] = ()  # said first
    input: Pairs = field(default_factory=list)  # for the section of the input
    how: str = ""  # how to read the scores, if not as those of the method
    reference: str = ""  # what to cite in place of the method
    files: Sequence[tuple[str, str]] = ()  # beside the page: name, description


def agreement_table(names: Sequence[str], taus: Sequence[Sequence[float]]) -> Table:
    """Return a table of how far rankings agree."""
    return Table(
        heading="Agreement of the rankings",
        columns=("ranking", *names),
        rows=[(name, *row) for name, row in zip(names, taus)],
        note="Kendall's tau-b: 1 for the same order, 0 for no relation, -1 for the reverse order.",
        digits=3,
        shade=1.0,
    )


class Cell(NamedTuple):
    """A table cell: what is shown, the number to sort by, its shade from -1 to 1, and a hint."""

    shown: str
    key: str = ""
    shade: float | None = None
    hint: str = ""


class Grid(NamedTuple):
    """A table, ready to be shown."""

    columns: Sequence[tuple[str, bool, str]]  # name, whether it holds numbers, meaning
    rows: list[list[Cell]]


@dataclass(frozen=True, kw_only=True)
class Part:
    """A section of a page, and what is in it: words, a figure, or a table."""

    heading: str
    text: str = ""
    figure: str = ""  # its name, as of its files: what draws it is in `sfs_cli.report.figures`
    facts: Mapping[str, Any] = field(default_factory=dict)  # the arguments of that
    # ``side``, with the words beside the figure, ``wide``, or a ``grid`` of its axes
    shape: str = "side"
    grid: Grid | None = None
    of_best: bool = False  # whether it is the table of the best features


@dataclass(frozen=True, kw_only=True)
class Page:
    """All that a page shows, in its order."""

    kicker: str  # what kind of page
    title: str  # what was asked, such as the file and the classes
    method: str = ""
    summary: Sequence[str] = ()  # a paragraph, or the points of a list
    warnings: Sequence[str] = ()
    parts: Sequence[Part] = ()
    facts: Sequence[tuple[str, Pairs]] = ()  # heading, names and values
    command: str  # the command line that makes the result again
    reference: str = ""  # what to cite; a DOI in it becomes a link
    files: Sequence[tuple[str, str]] = ()  # beside the page: name, description
    n_scored: int = 0  # features with a score, which gene sets are tested among
    version: str  # of the program


def table_part(table: Table) -> Part:
    """Return a table as a section."""
    grid = arranged(table.columns, table.rows, table.digits, table.shade)
    return Part(heading=table.heading, text=table.note, grid=grid)


def arranged(
    names: Sequence[str],
    rows: Sequence[Sequence[object]],
    digits: int = 6,
    full: float | None = None,
    meanings: Mapping[str, str] = {},
) -> Grid:
    """Arrange values; a column is numeric if it has nothing but numbers and missing values.

    Numbers have significant `digits`, and are shaded by their size, completely at `full`.
    """
    columns = []
    for i, name in enumerate(names):
        present = [row[i] for row in rows if row[i] is not None]
        numeric = bool(present) and all(map(is_number, present))
        columns.append((name, numeric, meanings.get(name, "")))
    cells = [
        [_cell(value, digits, full, numeric=of[1]) for value, of in zip(row, columns)]
        for row in rows
    ]
    return Grid(columns, cells)


def _cell(value: object, digits: int, full: float | None, *, numeric: bool) -> Cell:
    number = float(str(value)) if is_number(value) else math.nan
    shown = significant(value, digits)
    if not numeric or math.isnan(number):  # what has no key comes last
        return Cell(shown)
    shade = None if full is None else round(max(-1.0, min(1.0, number / full)), 3)
    key = str(value) if isinstance(value, Integral) else f"{number:.10g}"  # as in tables
    return Cell(shown, key.replace("inf", "Infinity"), shade)  # as the script reads it


def significant(value: object, digits: int = 6) -> str:
    """Format a table cell: numbers with significant digits, a dash for a missing value."""
    if value is None or (isinstance(value, Real) and math.isnan(value)):
        return "–"
    if not is_number(value):
        return str(value)
    if isinstance(value, Integral):
        return f"{int(value):,}"
    return f"{value:#.{digits}g}".removesuffix(".") if value else "0"


def is_number(value: object) -> bool:
    """Tell whether a value is a number; True and False are not."""
    return isinstance(value, Real) and not isinstance(value, bool)


def isolated(name: object) -> str:
    """Return a name for a sentence, whose order letters from right to left cannot change."""
    text = " ".join(str(name).split())
    turns = any(unicodedata.bidirectional(letter) in TURNING for letter in text)
    return f"\u2068{text}\u2069" if turns else text
