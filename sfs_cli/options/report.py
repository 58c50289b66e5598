"""The configuration of ``sfs report``."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from sfs_cli.features.enrichment import EnrichmentFields
from sfs_cli.options.fields import option, split_words
from sfs_cli.options.paths import OPENS, READS, WRITES
from sfs_cli.options.rank import OutputFields, PageFields, ResourceFields

FIGURE_FORMATS, DEFAULT_FORMATS = ("pdf", "svg", "png"), ("pdf", "png")
_input = partial(option, section="Input", verbs=("report",), in_result=False)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ReportConfig(PageFields, EnrichmentFields, OutputFields, ResourceFields):
    """The options of `sfs report`; None stands for what the record of the ranking says."""

    VERB: ClassVar[str] = "report"

    result: str = _input(
        "The output folder of sfs rank, or the ranking in it.",
        default=...,
        metavar="RESULT",
        argument=True,
        path=OPENS,
    )
    matrix: str | None = _input(
        "The ranked matrix, where it has moved.",
        metavar="FILE",
        path=READS,
        default_text="the one that run.json of the result names",
    )
    out: str | None = option(
        "Write the page to this file.",
        section="Output",
        verbs=("report",),
        metavar="FILE",
        path=WRITES,
        default_text="report.html beside the ranking",
        in_result=False,
    )

    figures: str | None = option(
        "Draw the charts of the page for publications, as files in this folder; the page is then "
        "written only with --out. It needs the extra plots.",
        section="Output",
        verbs=("report",),
        metavar="DIR",
        path=WRITES,
        in_result=False,
    )
    figure_format: tuple[str, ...] = option(
        "Formats of the figures: letters stay letters in pdf and svg, png has 300 dots per inch.",
        section="Output",
        verbs=("report",),
        metavar="FORMAT,...",
        words=FIGURE_FORMATS,
        items=str,
        parse=split_words,
        default=(),
        default_text=",".join(DEFAULT_FORMATS),
        needs=("figures",),
        in_result=False,
    )

    def __post_init__(self) -> None:
        self.check_values()
