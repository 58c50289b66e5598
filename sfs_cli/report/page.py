"""The HTML page: one self-contained file, the same bytes for the same ranking."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from sfs_cli.report import svg, words
from sfs_cli.report.formatting import counted, is_number, significant
from sfs_cli.report.model import ReportData, Table

DOI = re.compile(r"(?:https?://(?:dx\.)?doi\.org/|doi:\s*)?(10\.\d{4,9}/[^\s\"<>]*\w)", re.I)


@dataclass(frozen=True)
class Figure:
    """A chart with its heading and explanation."""

    heading: str
    chart: Markup
    caption: str


@dataclass(frozen=True)
class Cell:
    """A table cell: what is shown, the number to sort by, and how it is shaded.

    `shade` is the share of the full shade, negative for the colour of negative numbers.
    """

    shown: str
    key: str
    shade: float | None = None


@dataclass(frozen=True)
class Grid:
    """A table, ready to be shown.

    Attributes
    ----------
    columns : list of (name, whether it holds numbers)
        The columns, in order.
    rows : list of list of Cell
        The cells of each row.
    """

    columns: list[tuple[str, bool]]
    rows: list[list[Cell]]


def render(data: ReportData) -> str:
    """Write the page of a report.

    Parameters
    ----------
    data : ReportData
        What is to be shown. All text in it is escaped.

    Returns
    -------
    str
        An HTML document without external resources, dates or anything else that differs from one
        run to the next.
    """
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
    template = environment.get_template("report.html.j2")
    return template.render(
        data=data,
        summary=words.summary(data),
        figures=figures(data),
        table=best(data),
        tables=[(table, grid(table)) for table in data.tables],
    )


def figures(data: ReportData) -> list[Figure]:
    """Draw the charts there is something to draw for."""
    drawn = []
    scores = svg.drawable(data.scores)
    if len(scores):
        elbow = data.elbow if len(scores) == len(data.scores) else None
        curve = svg.score_curve(scores, larger_is_better=data.larger_is_better, elbow=elbow)
        bars = svg.distribution(scores)
        drawn.append(Figure("Score against rank", Markup(curve), words.curve_caption(data)))
        drawn.append(Figure("Distribution of scores", Markup(bars), words.distribution_caption()))
    if data.eigenvalues is not None and len(data.eigenvalues):
        stems = svg.spectrum(np.asarray(data.eigenvalues), clusters=data.clusters)
        drawn.append(Figure("Groups of samples", Markup(stems), words.spectrum_caption(data)))
    return drawn


def best(data: ReportData) -> Grid:
    """Arrange the top features."""
    names = list(data.top[0]) if data.top else []
    return _arranged(names, [[row[name] for name in names] for row in data.top])


def grid(table: Table) -> Grid:
    """Arrange a table, shaded where it asks for it."""
    arranged = _arranged(table.columns, table.rows, table.digits)
    if table.shade is None:
        return arranged
    shaded = [
        [_shaded(cell, value, table.shade) for cell, value in zip(cells, row)]
        for cells, row in zip(arranged.rows, table.rows)
    ]
    return Grid(arranged.columns, shaded)


def _arranged(names: Sequence[str], rows: Sequence[Sequence[object]], digits: int = 6) -> Grid:
    """Arrange values; a column of numbers is one where nothing else occurs."""
    columns = [(name, _numeric([row[i] for row in rows])) for i, name in enumerate(names)]
    cells = [[_cell(v, numeric, digits) for v, (_, numeric) in zip(row, columns)] for row in rows]
    return Grid(columns, cells)


def _shaded(cell: Cell, value: object, full: float) -> Cell:
    """Shade a number by its size."""
    if not is_number(value) or value != value:
        return cell
    share = max(-1.0, min(1.0, float(str(value)) / full))
    return replace(cell, shade=round(share, 3))


def linked(reference: str) -> Markup:
    """Turn the DOIs of a reference into links, and escape the rest."""
    parts, end = [], 0
    for match in DOI.finditer(reference):
        parts.append(Markup("{}").format(reference[end : match.start()]))
        target = match.group(1)
        parts.append(Markup('<a href="https://doi.org/{}">doi:{}</a>').format(target, target))
        end = match.end()
    parts.append(Markup("{}").format(reference[end:]))
    return Markup("").join(parts)


def _numeric(values: list[object]) -> bool:
    present = [value for value in values if value is not None]
    return bool(present) and all(map(is_number, present))


def _cell(value: object, numeric: bool, digits: int) -> Cell:
    shown = significant(value, digits)
    return Cell(shown, repr(float(str(value))) if numeric and value is not None else "")
