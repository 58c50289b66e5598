"""``sfs report``."""

from __future__ import annotations

import click

from sfs_cli.cli.options import Command
from sfs_cli.logs import Messages
from sfs_cli.options.report import ReportConfig


@click.command(cls=Command, verb="report", config=ReportConfig, pipes=False)
@click.argument("result", metavar="RESULT", required=True)
def command(config: ReportConfig, messages: Messages) -> None:
    """Make the page of a result again, from what is there: nothing is ranked.

    RESULT is the output folder of `sfs rank`, `sfs shard merge`, `sfs aggregate`, `sfs compare` or
    `sfs evaluate`, or a file in it. Only the page.json there is read, and with --sets the ranking:
    the matrix may be gone. With no other option the page is the one that was written with the
    result, to the byte.

    \b
    sfs report results --out page.html
    sfs report results --title "Colon, tumor or normal" --gene-links symbol --force
    sfs report results --sets pathways.gmt --out page.html
    sfs report results --figures figures --figure-format pdf,svg
    """
    from sfs_cli.workflow.report import run

    run(config, messages)
