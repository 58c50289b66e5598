"""``sfs report``."""

from __future__ import annotations

import click

from sfs_cli.cli.options import Command
from sfs_cli.logs import Messages
from sfs_cli.options.report import ReportConfig


@click.command(cls=Command, verb="report", config=ReportConfig, pipes=False)
@click.argument("result", metavar="RESULT", required=True)
def command(config: ReportConfig, messages: Messages) -> None:
    """Make the page of a ranking again, from what is there: nothing is ranked.

    RESULT is the output folder of `sfs rank`, `sfs shard merge` or `sfs aggregate`, or the ranking
    in it. No other file is read: the matrix may be gone. With no other option the page is the one
    that was written with the ranking, to the byte.

    \b
    sfs report results --out page.html
    sfs report results --title "Colon, tumor or normal" --gene-links symbol --force
    sfs report results --sets pathways.gmt --out page.html
    sfs report results --figures figures --figure-format pdf,svg
    """
    from sfs_cli.workflow.report import run

    run(config, messages)
