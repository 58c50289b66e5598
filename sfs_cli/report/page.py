"""The HTML page: one self-contained file, the same bytes for the same ``page.json``."""

from __future__ import annotations

import json
import re
from functools import partial
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from sfs_cli.report.drawing import COLORS, inline
from sfs_cli.report.figures import draw
from sfs_cli.report.model import Cell, Grid, Page, Part

DOI = re.compile(r"(?:https?://(?:dx\.)?doi\.org/|doi:\s*)?(10\.\d{4,9}/[^\s\"<>]*\w)", re.I)
GENE_PAGES = {
    "": "",
    "symbol": "https://www.genecards.org/Search/Keyword?queryString=",
    "ensembl": "https://www.ensembl.org/Multi/Search/Results?site=ensembl_all&q=",
}
"""What the names of features link to, by the kind of ids."""


def from_json(text: str | bytes) -> Page:
    """Return the page of a ``page.json``; KeyError, TypeError or ValueError for anything else."""

    def part(grid: list[Any] | None, **fields: Any) -> Part:
        if grid is None:
            return Part(**fields)
        columns, rows = grid
        return Part(grid=Grid(columns, [[Cell(*cell) for cell in row] for row in rows]), **fields)

    fields = json.loads(text)
    return Page(**fields | {"parts": [part(**each) for each in fields["parts"]]})


def render(page: Page, gene_links: str = "") -> str:
    """Write a page as an HTML document without external resources and without dates.

    All text is escaped. With `gene_links` of `GENE_PAGES` the best features are links.
    """
    return TEMPLATE.render(page=page, gene_page=GENE_PAGES[gene_links])


def linked(reference: str) -> Markup:
    """Turn the DOIs of a reference into links, and escape the rest."""
    link = Markup('<a href="https://doi.org/{0}">doi:{0}</a>')
    parts = DOI.split(reference)  # text and DOIs in turn
    return Markup("").join(link.format(p) if i % 2 else p for i, p in enumerate(parts))


def broken(name: str) -> Markup:
    """Escape a name of a column, and let it break after underscores."""
    return Markup("_<wbr>").join(name.split("_"))


ENVIRONMENT = Environment(
    loader=PackageLoader("sfs_cli.report"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
)
ENVIRONMENT.filters |= {
    "linked": linked,
    "broken": broken,
    "address": partial(quote, safe="", errors="surrogateescape"),
    "drawn": lambda part: inline(draw(part)),
}
ENVIRONMENT.globals["colors"] = COLORS
# Compiling takes 0.1 s: once in a process.
TEMPLATE = ENVIRONMENT.get_template("page.html.j2")
