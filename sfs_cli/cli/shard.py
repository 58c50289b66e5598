"""``sfs shard``: a ranking in shards, for Slurm, Snakemake, Nextflow or any other scheduler."""

from __future__ import annotations

from typing import Any

import click

from sfs_cli.cli.app import Group
from sfs_cli.cli.options import Command, own, path_argument
from sfs_cli.cli.streams import write_stdout
from sfs_cli.logs import Messages
from sfs_cli.options.fields import ASKED
from sfs_cli.options.paths import OPENS, REPLACES
from sfs_cli.options.rank import RankConfig


@click.group(cls=Group)
def command() -> None:
    """Rank in shards, on many machines with a common folder.

    The result has the order and the numbers of `sfs rank`, to ten digits, with any number of
    shards. Run all shards of a pass, then those of the next; `status` says which a pass lacks.

    \b
    sfs shard init PLAN expression.h5ad --method spec --shards 8
    sfs shard run PLAN 1        # ... to 8, anywhere, at any time; again for the next pass
    sfs shard merge PLAN --out results
    """


@command.command(
    cls=Command,
    verb="shard init",
    file=True,
    pipes=False,
    short_help="Read the inputs once, and make the plan.",
)
@path_argument("plan", REPLACES)
@click.argument("matrix", metavar="[MATRIX]", required=False)
@own(
    "--shards",
    section="Running",
    first=ASKED,
    type=click.IntRange(1, 10_000),
    required=True,
    metavar="N",
    help="Number of shards.",
)
def init(config: RankConfig, messages: Messages, plan: str, shards: int) -> None:
    """Read MATRIX and the other inputs of `sfs rank`, and make the folder PLAN for the shards.

    It takes the options of `sfs rank`. Every shard must be able to read and write PLAN.

    \b
    sfs shard init plan expression.csv --method spec --shards 8
    sfs shard init plan --config run.yaml --shards 8
    """
    from sfs_cli.workflow.shards import init as make

    make(plan, config, shards, messages, force=config.force)


@command.command(cls=Command, verb="shard run", config=None, short_help="Compute one shard.")
@path_argument("plan", OPENS)
@click.argument("shard", metavar="I")
def run(
    messages: Messages,
    plan: str,
    shard: str,
    **given: Any,
) -> None:
    """Compute what is missing of shard I (1 to N, or 1-of-N) of PLAN.

    It continues with the next pass if all shards of this one are complete. Otherwise it ends with
    exit code 0 and prints which shards it waits for. Repeat a run that was interrupted.

    \b
    sfs shard run plan 3
    sfs shard run plan $SLURM_ARRAY_TASK_ID
    """
    from sfs_cli.workflow.shards import run_shard

    run_shard(plan, shard, messages, **given)


@command.command(
    cls=Command,
    verb="shard merge",
    config=None,
    short_help="Merge the shards and write the ranking.",
)
@path_argument("plan", OPENS)
def merge(messages: Messages, plan: str, **given: Any) -> None:
    """Write the output of `sfs rank` from all shards of PLAN.

    Solvers cannot be split into shards; they run here.

    \b
    sfs shard merge plan --out results
    """
    from sfs_cli.workflow.shards import merge as gather

    gather(plan, messages, **given)


@command.command(short_help="Print which shards are complete.")
@path_argument("plan", OPENS)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def status(plan: str, as_json: bool) -> None:
    """Print which shards of PLAN are complete, for each pass."""
    from sfs_cli.workflow.shards import status as describe

    write_stdout(describe(plan, as_json=as_json))
