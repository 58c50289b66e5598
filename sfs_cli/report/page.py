"""The HTML page: one self-contained file, the same bytes for the same ranking."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from sfs_cli.report import svg, words
from sfs_cli.report.formatting import counted, is_number, significant
from sfs_cli.report.model import ReportData

DOI = re.compile(r"(?:https?://(?:dx\.)?doi\.org/|doi:\s*)?(10\.\d{4,9}/[^\s\"<>]*\w)", re.I)


@dataclass(frozen=True)
class Figure:
    """A chart with its heading and explanation."""

    heading: str
    chart: Markup
    caption: str


@dataclass(frozen=True)
class Cell:
    """A table cell: what is shown, and the number to sort by."""

    shown: str
    key: str


@dataclass(frozen=True)
class Table:
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
        data=data, summary=words.summary(data), figures=figures(data), table=table(data)
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


def table(data: ReportData) -> Table:
    """Arrange the top features: a column of numbers is one where nothing else occurs."""
    names = list(data.top[0]) if data.top else []
    columns = [(name, _numeric([row[name] for row in data.top])) for name in names]
    rows = [[_cell(row[name], numeric) for name, numeric in columns] for row in data.top]
    return Table(columns, rows)


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


def _cell(value: object, numeric: bool) -> Cell:
    shown = significant(value)
    return Cell(shown, repr(float(str(value))) if numeric and value is not None else "")
