"""The configuration of ``sfs report``."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from sfs_cli.options.fields import option, split_words
from sfs_cli.options.parts import EnrichmentFields
from sfs_cli.options.paths import OPENS, WRITES
from sfs_cli.options.rank import OutputFields

FIGURE_FORMATS, DEFAULT_FORMATS = ("pdf", "svg", "png"), ("pdf", "png")
_input = partial(option, section="Input", verbs=("report",), in_result=False)
_page = partial(option, section="Output", verbs=("report",), in_result=False)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ReportConfig(EnrichmentFields, OutputFields):
    """The options of `sfs report`; None stands for what the page has."""

    VERB: ClassVar[str] = "report"

    result: str = _input(
        "The output folder of sfs rank, aggregate, compare or evaluate, or a file in it.",
        default=...,
        metavar="RESULT",
        argument=True,
        path=OPENS,
    )
    title: str | None = _page(
        "Title of the page, in place of the file and what was asked of it.", metavar="TEXT"
    )
    gene_links: str | None = _page(
        "Make the names in the page links: gene symbols to GeneCards, Ensembl ids to Ensembl. "
        "Nothing is looked up before they are followed.",
        words=("symbol", "ensembl"),
    )
    out: str | None = _page(
        "Write the page to this file.",
        metavar="FILE",
        path=WRITES,
        default_text="report.html in the folder of the result",
    )
    figures: str | None = _page(
        "Draw the charts of the page for publications, as files in this folder; the page is then "
        "written only with --out.",
        metavar="DIR",
        path=WRITES,
    )
    figure_format: tuple[str, ...] = _page(
        "Formats of the figures: letters stay letters in pdf and svg, png has 300 dots per inch.",
        metavar="FORMAT,...",
        words=FIGURE_FORMATS,
        items=str,
        parse=split_words,
        default=(),
        default_text=",".join(DEFAULT_FORMATS),
        needs=("figures",),
    )

    def __post_init__(self) -> None:
        self.check_values()
