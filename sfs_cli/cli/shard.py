"""``sfs shard``: a ranking in shares, for Slurm, Snakemake, Nextflow or any other scheduler."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from sfs_cli.cli import options, rank
from sfs_cli.cli.sections import SectionCommand, option, section
from sfs_cli.cli.streams import write_stdout
from sfs_cli.config import FORMATS
from sfs_cli.errors import ExitCode

_THREADS = option(
    "--threads", type=int, metavar="N", help="Threads.  [default: all that are allowed]"
)
_MEMORY, _SCRATCH, _FORCE = options.RUNNING


@click.group(short_help="Rank in shares.", invoke_without_command=True)
@click.pass_context
def command(ctx: click.Context) -> None:
    """Rank in shares, which many machines with a common folder compute.

    The result is that of `sfs rank`, to the byte, whatever the number of shards. Run all shards
    of a pass, then those of the next; `init` tells how many passes there are.

    \b
    sfs shard init PLAN expression.h5ad --method spec --shards 8
    sfs shard run PLAN 1        # ... to 8, anywhere, at any time; again for the next pass
    sfs shard merge PLAN --out results
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help(), err=True)
        ctx.exit(ExitCode.USAGE)


@command.command(cls=SectionCommand, short_help="Read everything once, and make the plan.")
@click.argument("plan", metavar="PLAN")
@click.argument("matrix", metavar="[MATRIX]", required=False)
@section(
    "Shards", option("--shards", type=int, required=True, metavar="N", help="How many shares.")
)
@rank.INPUT
@rank.METHOD
@rank.GRAPH
@rank.SOURCES
@section(
    "Output",
    option(
        "--format",
        "format",
        default="tsv",
        show_default=True,
        metavar=f"[{'|'.join(FORMATS)}]",
        help="Of the ranking.",
    ),
    option("--digits", type=int, default=10, show_default=True, help="Significant digits."),
)
@section(
    "Running",
    _THREADS,
    *options.RUNNING,
    option("--block-size", type=int, metavar="N", help="Features per block.  [default: by shape]"),
    *options.TALKING,
)
@click.pass_context
def init(
    ctx: click.Context,
    plan: str,
    shards: int,
    config_file: str | None,
    force: bool,
    quiet: bool,
    verbose: bool,
    log_file: str | None,
    **given: Any,
) -> None:
    """Read MATRIX and all else that `sfs rank` would, and make the folder PLAN for the shards.

    It takes the options of `sfs rank`. PLAN has to be where every shard can read and write it.

    \b
    sfs shard init plan expression.csv --method spec --shards 8
    sfs shard init plan --config run.yaml --shards 8
    """
    from sfs_cli.jobs.shard_init import init as make

    messages = options.messages(quiet, verbose, log_file)
    make(plan, options.configured(ctx, given, config_file), shards, messages, force=force)


@command.command(cls=SectionCommand, short_help="Make the parts of one shard.")
@click.argument("plan", metavar="PLAN")
@click.argument("shard", metavar="I")
@section(
    "Running",
    option(
        "--pass", "only", type=int, metavar="P", help="Make this pass alone.  [default: all it can]"
    ),
    _THREADS,
    _MEMORY,
    _SCRATCH,
    options.TIME_LIMIT,
    *options.TALKING,
)
def run(
    plan: str,
    shard: str,
    only: int | None,
    time_limit: str | None,
    scratch: str | None,
    quiet: bool,
    verbose: bool,
    log_file: str | None,
    **given: Any,
) -> None:
    """Make the parts of shard I (1 to N, or 1-of-N) of PLAN that are missing.

    It goes on to the next pass when the parts of all shards are there, and else ends with exit
    code 0 and says whom it waits for. A run that was stopped is run again.

    \b
    sfs shard run plan 3
    sfs shard run plan $SLURM_ARRAY_TASK_ID --pass 1
    """
    from sfs_cli.jobs.shard_run import run_shard

    messages = options.messages(quiet, verbose, _from_here(log_file))
    given["scratch"] = _from_here(scratch)
    run_shard(plan, shard, messages, only=only, limit=time_limit, **given)


@command.command(cls=SectionCommand, short_help="Gather the parts and write the ranking.")
@click.argument("plan", metavar="PLAN")
@section(
    "Output",
    option("--out", required=True, metavar="DIR", help="Write ranking, report and provenance."),
    option("--write-h5ad", metavar="FILE", help="Copy the h5ad input with the scores in var."),
    option("--weights-out", metavar="FILE", help="mrsf, l21: write coefficients as Parquet."),
    option("--json", "as_json", is_flag=True, help="Print run.json on stdout."),
)
@section(
    "Running",
    option("--finish", is_flag=True, help="Make the parts that are missing here."),
    _THREADS,
    _MEMORY,
    _SCRATCH,
    options.TIME_LIMIT,
    _FORCE,
    *options.TALKING,
)
def merge(
    plan: str,
    finish: bool,
    as_json: bool,
    quiet: bool,
    verbose: bool,
    log_file: str | None,
    **given: Any,
) -> None:
    """Write what `sfs rank` would have written, from the parts of all shards of PLAN.

    Solvers, which make no parts, run here.

    \b
    sfs shard merge plan --out results
    """
    from sfs_cli.jobs.shard_merge import merge as gather

    messages = options.messages(quiet, verbose, _from_here(log_file))
    content = gather(plan, messages, finish=finish, as_json=as_json, **given)
    if content:
        write_stdout(content)


@command.command(short_help="Tell which shards are done.")
@click.argument("plan", metavar="PLAN")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def status(plan: str, as_json: bool) -> None:
    """Tell which shards of PLAN are done, pass by pass."""
    from sfs_cli.jobs.shard_merge import status as tell

    write_stdout(tell(plan, as_json=as_json))


def _from_here(path: str | None) -> str | None:
    """Return a path that means the same in any folder."""
    return None if path is None else str(Path(path).absolute())
