"""``sfs aggregate``."""

from __future__ import annotations

import click

from sfs_cli.cli.options import Command
from sfs_cli.cli.streams import write_result
from sfs_cli.logs import Messages
from sfs_cli.options.aggregate import AggregateConfig


@click.command(cls=Command, verb="aggregate", config=AggregateConfig)
@click.argument("rankings", metavar="RANKING...", nargs=-1, required=True)
def command(config: AggregateConfig, messages: Messages) -> None:
    """Aggregate several RANKINGs of the same features into one.

    A RANKING is an output of `sfs rank` in any format or its folder, any delimited text, Parquet or
    rnk file with a column of features and a column of ranks or scores, or a list of ids, one in
    each line, the best first. Lists may be partial. Without --out the result goes to stdout.

    \b
    sfs aggregate mirna/ranking.tsv mrna/ranking.tsv --out both
    sfs aggregate *.tsv --how rra --top 500 --out robust
    sfs aggregate results deseq2.csv:padj --how geometric --out both
    """
    from sfs_cli.workflow.aggregate import run

    write_result(run(config, messages), config, messages)
