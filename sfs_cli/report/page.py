"""The HTML page: one self-contained file, the same bytes for the same ranking."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from numbers import Integral
from typing import NamedTuple
from urllib.parse import quote

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

from sfs_cli.errors import counted
from sfs_cli.report import figures, words
from sfs_cli.report.drawing import COLORS, Figure, inline
from sfs_cli.report.model import ReportData, Table
from sfs_cli.report.words import is_number, significant

LARGEST_WHOLE = 1e9
"""Whole numbers up to it are shown as such."""
DOI = re.compile(r"(?:https?://(?:dx\.)?doi\.org/|doi:\s*)?(10\.\d{4,9}/[^\s\"<>]*\w)", re.I)

ALWAYS = ("rank", "feature", "score")
"""Columns of the best features that are shown whatever is in them."""
GENE_PAGES = {
    "symbol": "https://www.genecards.org/Search/Keyword?queryString=",
    "ensembl": "https://www.ensembl.org/Multi/Search/Results?site=ensembl_all&q=",
}
"""What the names of features link to, by the kind of ids."""


class Cell(NamedTuple):
    """A table cell: what is shown, the number to sort by, and how it is shaded, from -1 to 1."""

    shown: str
    key: str
    shade: float | None
    hint: str = ""
    link: str = ""


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
    table, same = best_features(data)
    return TEMPLATE.render(
        data=data,
        summary=words.summary(data),
        left_over=words.left_over(data),
        how=words.how_to_read(data),
        genes=gene_figures(data),
        evidence=evidence_figures(data),
        samples=sample_figures(data),
        sources=source_figures(data),
        scores=score_figures(data),
        table=table,
        same=same,
        results=grids(table for table in data.tables if table.of_best),
        tables=grids(table for table in data.tables if not table.of_best),
    )


def figures_of(data: ReportData) -> list[Figure]:
    """Return all figures of a page, in its order, each with one chart."""
    makers = evidence_figures, sample_figures, source_figures, score_figures
    genes = gene_figures(data, together=True)
    return [*genes, *(figure for make in makers for figure in make(data))]


def grids(tables: Iterable[Table]) -> list[tuple[Table, Grid]]:
    """Return tables, and how each is shown."""
    return [(t, arranged(t.columns, t.rows, t.digits, t.shade)) for t in tables]


def gene_figures(data: ReportData, *, together: bool = False) -> list[Figure]:
    """Draw the best features in the samples, together and one by one.

    These are charts of their own, which a page arranges, or else `together` one chart.
    """
    pictures = data.pictures
    if pictures is None or not pictures.strips:
        return []
    notes, found = pictures.notes, pictures.heatmap
    heading = f"The best {counted(len(found.features), 'feature')} in the samples"
    drawn = []
    if len(found.sizes) > 1 and len(found.features) > 1:
        caption = words.heatmap_caption(found, notes)
        drawn.append(Figure(heading, caption, [figures.heatmap(found, notes)], "wide"))
    strips = pictures.strips
    heading = "The best features, one by one" if len(strips) > 1 else "The best feature"
    parts = [strips] if together else [[strip] for strip in strips]
    charts = [figures.features(part, notes) for part in parts]
    drawn.append(Figure(heading, words.strips_caption(strips, notes), charts, "grid"))
    return drawn


def evidence_figures(data: ReportData) -> list[Figure]:
    """Draw the p-values of the ranking, where they are known."""
    drawn, evidence, p = stability_figures(data), data.evidence, data.evidence.p_values
    if p is None:
        return drawn
    known = np.isfinite(p)
    if known.any():
        chart = figures.p_values(p[known])
        drawn.append(Figure("P-values", words.p_value_caption(p[known]), [chart]))
    if evidence.changes is None:
        return drawn
    both = known & (np.abs(evidence.changes) <= figures.LARGEST)
    if both.any():
        first = [str(row["feature"]) for row, kept in zip(data.top, both) if kept]
        title = "log2 fold change" if evidence.log2 else "difference of the means"
        title += f" ({evidence.change})" if evidence.change else ""
        chart = figures.volcano(evidence.changes[both], p[both], first, title)
        caption = words.volcano_caption(evidence.change, len(first), log2=evidence.log2)
        drawn.append(Figure("Change and p-value", caption, [chart]))
    return drawn


def sample_figures(data: ReportData) -> list[Figure]:
    """Draw the samples."""
    pictures = data.pictures
    if pictures is None or pictures.plane is None:
        return []
    chart = figures.plane(pictures.plane, pictures.plane.notes or pictures.notes)
    return [Figure("The samples", words.plane_caption(pictures.plane, pictures.notes), [chart])]


def stability_figures(data: ReportData) -> list[Figure]:
    """Draw how often the best features are selected, where the ranking was made on subsets."""
    axis, rows = "share of the subsets of samples that select it", data.top[: figures.BARS]
    shares = {str(row["feature"]): row.get("frequency") for row in rows}
    return _bars("How often the best are found again", words.STABILITY, "stability", axis, shares)


def source_figures(data: ReportData) -> list[Figure]:
    """Draw the weights of the sources."""
    rows = [dict(zip(table.columns, row)) for table in data.tables for row in table.rows]
    weights = {str(row["source"]): row.get("weight") for row in rows if "source" in row}
    return _bars("Weights of the sources", words.WEIGHTS, "sources", "weight", weights)


def _bars(
    heading: str, caption: str, name: str, axis: str, shares: Mapping[str, object]
) -> list[Figure]:
    """Draw shares, two or more of them, where they are known."""
    known = {each: share for each, share in shares.items() if _number(share) is not None}
    if len(known) < 2:
        return []
    chart = figures.bars(name, axis, [*known], np.array([*known.values()], float))
    return [Figure(heading, caption, [chart])]


def score_figures(data: ReportData) -> list[Figure]:
    """Draw the scores of all features."""
    scores = data.scores[np.abs(data.scores) <= figures.LARGEST]
    if not len(scores):
        return []
    curve = figures.score_curve(scores, larger_is_better=data.larger_is_better)
    return [Figure("Score against rank", words.curve_caption(data), [curve])]


def best_features(data: ReportData) -> tuple[Grid, list[tuple[str, str]]]:
    """Arrange the table of the best features; return also columns that are the same in every row.

    These are shown once. Features with the same score are marked at their ranks.
    """
    columns = {
        name: _whole([row[name] for row in data.top]) for name in (data.top[0] if data.top else ())
    }
    tied = [_number(size) or 0 for size in columns.pop("tied", [None] * len(data.top))]
    same = {}
    for name, values in columns.items() if len(data.top) > 1 else ():
        shown = set(map(significant, values))
        if len(shown) == 1 and name not in ALWAYS:
            same[name] = shown.pop()
    names = [name for name in columns if name not in same]
    grid = arranged(names, list(zip(*(columns[name] for name in names))))
    for cells, size in zip(grid.rows, tied):
        for i, name in enumerate(names):
            if name == "rank" and size > 1:
                hint = f"{size:,.0f} features have this score: their order is arbitrary"
                cells[i] = cells[i]._replace(shown=f"{cells[i].shown} =", hint=hint)
            if name == "feature" and data.gene_links in GENE_PAGES:
                page = GENE_PAGES[data.gene_links] + quote(cells[i].shown, safe="")
                cells[i] = cells[i]._replace(link=page)
    return grid, [(name, value) for name, value in same.items() if value]


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


def _number(value: object) -> float | None:
    """Return a number that is there; None for text, NaN and what is missing."""
    number = float(str(value)) if is_number(value) else math.nan
    return None if math.isnan(number) else number


def _whole(values: list[object]) -> list[object]:
    """Return the values of a column as integers, if they are whole numbers, none of them large."""
    numbers = [_number(value) for value in values]
    known = [number for number in numbers if number is not None]
    if not known or not all(each.is_integer() and abs(each) < LARGEST_WHOLE for each in known):
        return values
    return [v if number is None else int(number) for v, number in zip(values, numbers)]


def _cell(value: object, numeric: bool, digits: int, full: float | None) -> Cell:
    """Return a cell; a number is shaded by its size, completely at `full`."""
    number = _number(value)
    key, shade = "", None
    if numeric and number is not None:  # as the script reads it; what has none comes last
        shown = str(value) if isinstance(value, Integral) else repr(number)
        key = shown.replace("inf", "Infinity")
    if full is not None and number is not None:
        shade = round(max(-1.0, min(1.0, number / full)), 3)
    return Cell(significant(value, digits), key, shade)


def linked(reference: str) -> Markup:
    """Turn the DOIs of a reference into links, and escape the rest."""
    link = Markup('<a href="https://doi.org/{0}">doi:{0}</a>')
    parts = DOI.split(reference)  # text and DOIs in turn
    return Markup("").join(link.format(p) if i % 2 else p for i, p in enumerate(parts))


def broken(name: str) -> Markup:
    """Escape a name of a column, and let it break after underscores."""
    return Markup("_<wbr>").join(name.split("_"))


def compiled(name: str) -> Template:
    """Return a template of the folder beside this module."""
    environment = Environment(
        loader=PackageLoader("sfs_cli.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["linked"] = linked
    environment.filters["broken"] = broken
    environment.filters["address"] = partial(quote, errors="surrogateescape")
    environment.filters["inline"] = inline
    environment.globals.update(counted=counted, colors=COLORS)
    return environment.get_template(name)


# Compiling takes 0.1 s: once in a process.
TEMPLATE = compiled("report.html.j2")
