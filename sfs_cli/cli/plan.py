"""``sfs plan``."""

from __future__ import annotations

import click

from sfs_cli.cli.options import Command, json_option, own
from sfs_cli.cli.streams import write_stdout
from sfs_cli.logs import Messages
from sfs_cli.options import RankConfig
from sfs_cli.options.fields import ASKED


@click.command(cls=Command, verb="plan", file=True)
@click.argument("matrix", metavar="[MATRIX]", required=False)
@own(
    "--wall-time",
    section="Running",
    first=ASKED,
    metavar="TIME",
    help="Time limit of one job, such as 2h or 90m: prints how many shards that needs.",
)
@json_option("Print JSON.")
def command(config: RankConfig, messages: Messages, wall_time: str | None, as_json: bool) -> None:
    """Estimate what `sfs rank` needs with these options: passes, bytes, memory and time.

    The time is estimated from how fast this machine reads and multiplies a few blocks now. On a
    busy machine, or if the file is in the disk cache only now, the ranking itself can take longer.

    \b
    sfs plan expression.csv
    sfs plan cells.store --similarity knn --wall-time 2h
    """
    from sfs_cli.run.estimate import estimate

    write_stdout(estimate(config, messages, wall_time, as_json))
