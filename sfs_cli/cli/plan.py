"""``sfs plan``."""

from __future__ import annotations

from typing import Any

import click

from sfs_cli.cli import options, rank
from sfs_cli.cli.sections import SectionCommand, option, section
from sfs_cli.cli.streams import write_stdout


@click.command(cls=SectionCommand, short_help="Tell what a ranking will take.")
@click.argument("matrix", metavar="[MATRIX]", required=False)
@rank.INPUT
@rank.METHOD
@rank.GRAPH
@rank.SOURCES
@section(
    "Running",
    option(
        "--wall-time",
        metavar="DURATION",
        help="What one job may take, as 2h or 90m: tells how many shards that needs.",
    ),
    option("--threads", type=int, metavar="N", help="Threads.  [default: all that are allowed]"),
    *options.RUNNING,
    option("--block-size", type=int, metavar="N", help="Features per block.  [default: by shape]"),
    option("--json", "as_json", is_flag=True, help="Print JSON."),
    *options.TALKING,
)
@click.pass_context
def command(
    ctx: click.Context,
    config_file: str | None,
    wall_time: str | None,
    as_json: bool,
    quiet: bool,
    verbose: bool,
    log_file: str | None,
    **given: Any,
) -> None:
    """Tell what `sfs rank` with these options will take: passes, bytes, memory and time.

    The work is timed on a sample of its own blocks, here and now: a busy machine, or a file that
    is in memory while it is planned and not when it is ranked, changes it.

    \b
    sfs plan expression.csv
    sfs plan cells.store --similarity knn --wall-time 2h
    """
    from sfs_cli.jobs.plan_run import plan

    messages = options.messages(quiet, verbose, log_file)
    config = options.configured(ctx, given, config_file)
    write_stdout(plan(config, messages, wall_time, as_json))
