"""The HTML page: one self-contained file, the same bytes for the same ranking."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

from sfs_cli.errors import counted
from sfs_cli.report import charts, words
from sfs_cli.report.model import ReportData
from sfs_cli.report.words import is_number, significant

DOI = re.compile(r"(?:https?://(?:dx\.)?doi\.org/|doi:\s*)?(10\.\d{4,9}/[^\s\"<>]*\w)", re.I)


class Figure(NamedTuple):
    """A chart with its heading and explanation."""

    heading: str
    chart: Markup
    caption: str


class Cell(NamedTuple):
    """A table cell: what is shown, the number to sort by, and how it is shaded, from -1 to 1."""

    shown: str
    key: str
    shade: float | None


class Grid(NamedTuple):
    """A table, ready to be shown: the columns, with whether they hold numbers, and the rows."""

    columns: list[tuple[str, bool]]
    rows: list[list[Cell]]


def render(data: ReportData) -> str:
    """Write the page of a report.

    Parameters
    ----------
    data : ReportData
        The contents. All text is escaped.

    Returns
    -------
    str
        An HTML document without external resources, and without dates, so that equal rankings have
        equal pages.
    """
    names = list(data.top[0]) if data.top else []
    return TEMPLATE.render(
        data=data,
        summary=words.summary(data),
        figures=figures(data),
        table=arranged(names, [[row[name] for name in names] for row in data.top]),
        tables=[(t, arranged(t.columns, t.rows, t.digits, t.shade)) for t in data.tables],
    )


def figures(data: ReportData) -> list[Figure]:
    """Draw the charts that have data."""
    drawn = []
    scores = charts.drawable(data.scores)
    if len(scores):
        elbow = data.elbow if len(scores) == len(data.scores) else None
        curve = charts.score_curve(scores, larger_is_better=data.larger_is_better, elbow=elbow)
        bars = charts.distribution(scores)
        drawn.append(Figure("Score against rank", Markup(curve), words.curve_caption(data)))
        drawn.append(
            Figure("Distribution of scores", Markup(bars), words.distribution_caption(data))
        )
    if data.eigenvalues is not None and len(data.eigenvalues):
        stems = charts.spectrum(np.asarray(data.eigenvalues), clusters=data.clusters)
        drawn.append(Figure("Groups of samples", Markup(stems), words.spectrum_caption(data)))
    return drawn


def arranged(
    names: Sequence[str],
    rows: Sequence[Sequence[object]],
    digits: int = 6,
    full: float | None = None,
) -> Grid:
    """Arrange values; a column is numeric if it has nothing but numbers and missing values."""
    columns = []
    for i, name in enumerate(names):
        present = [row[i] for row in rows if row[i] is not None]
        columns.append((name, bool(present) and all(map(is_number, present))))
    cells = [
        [_cell(v, numeric, digits, full) for v, (_, numeric) in zip(row, columns)] for row in rows
    ]
    return Grid(columns, cells)


def _cell(value: object, numeric: bool, digits: int, full: float | None) -> Cell:
    """Return a cell; a number is shaded by its size, completely at `full`."""
    key = repr(float(str(value))) if numeric and value is not None else ""
    shade = None
    if full is not None and is_number(value) and value == value:
        shade = round(max(-1.0, min(1.0, float(str(value)) / full)), 3)
    return Cell(significant(value, digits), key, shade)


def linked(reference: str) -> Markup:
    """Turn the DOIs of a reference into links, and escape the rest."""
    link = Markup('<a href="https://doi.org/{0}">doi:{0}</a>')
    parts = DOI.split(reference)  # text and DOIs in turn
    return Markup("").join(link.format(p) if i % 2 else p for i, p in enumerate(parts))


def _compiled() -> Template:
    environment = Environment(
        loader=PackageLoader("sfs_cli.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["linked"] = linked
    environment.globals["counted"] = counted
    return environment.get_template("report.html.j2")


# Compiling takes 0.1 s. Long runs import this module during their first pass.
TEMPLATE = _compiled()
