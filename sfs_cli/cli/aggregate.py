"""``sfs aggregate``."""

from __future__ import annotations

from typing import Any

import click

from sfs_cli.cli import options
from sfs_cli.cli.sections import SectionCommand, option, section
from sfs_cli.cli.streams import write_stdout
from sfs_cli.config import FORMATS


@click.command(cls=SectionCommand, short_help="Make one ranking of several.")
@click.argument("rankings", metavar="RANKING...", nargs=-1, required=True)
@section(
    "Aggregation",
    option(
        "--how",
        default="borda",
        show_default=True,
        metavar="[borda|median|geometric|rra|mc4]",
        help="Mean, median or geometric mean of ranks, robust rank aggregation (with p-values), "
        "or a Markov chain.",
    ),
    option("--list-weights", metavar="W,W,...", help="Weight of each list.  [default: 1 each]"),
    option("--top", type=int, metavar="K", help="Take the K best of each list alone."),
)
@section(
    "Input",
    option("--feature-column", metavar="NAME", help="Names the features.  [default: by its name]"),
    option("--rank-column", metavar="NAME", help="Ranks them, 1 the best.  [default: rank]"),
    option("--score-column", metavar="NAME", help="Scores them.  [default: score, where no rank]"),
    option(
        "--order",
        metavar="[largest-first|smallest-first]",
        help="Which scores are the best.  [default: largest, of p-values smallest]",
    ),
)
@section(
    "Output",
    option("--out", metavar="DIR", help="Write ranking, report and provenance into this folder."),
    option(
        "--format", "format", default="tsv", show_default=True, metavar=f"[{'|'.join(FORMATS)}]"
    ),
    option("--digits", type=int, default=10, show_default=True, help="Significant digits."),
    option("--force", is_flag=True, help="Replace an output of another run."),
    option("--json", "as_json", is_flag=True, help="Print run.json on stdout."),
    *options.TALKING,
)
def command(as_json: bool, quiet: bool, verbose: bool, log_file: str | None, **given: Any) -> None:
    """Make one ranking of several RANKINGs of the same features.

    A RANKING is what `sfs rank` writes in any format, or any delimited text, Parquet or rnk file
    with a column of features and one of ranks or scores. Lists may be partial. Without --out the
    table goes to stdout.

    \b
    sfs aggregate mirna/ranking.tsv mrna/ranking.tsv --out both
    sfs aggregate *.tsv --how rra --top 500 --out robust
    sfs aggregate tumor.csv blood.csv --score-column padj --how geometric
    """
    from sfs_cli.config.aggregate import AggregateConfig
    from sfs_cli.jobs import aggregate

    messages = options.messages(quiet, verbose, log_file)
    content = aggregate.run(AggregateConfig(**given), messages, as_json=as_json)
    if content:
        write_stdout(content)
