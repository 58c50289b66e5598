"""``sfs fuse``."""

from __future__ import annotations

from typing import Any

import click

from sfs_cli.cli import options
from sfs_cli.cli.sections import SectionCommand, option, section
from sfs_cli.cli.streams import write_stdout


@click.command(cls=SectionCommand, short_help="Fuse knowledge sources to one similarity.")
@click.argument("matrix", metavar="[MATRIX]", required=False)
@section("Input", options.CONFIG, *options.READING, *options.PREPARING)
@section("Knowledge sources", *options.SOURCES)
@section(
    "Output",
    option(
        "--out",
        "target",
        required=True,
        metavar="FILE",
        help=".npz, .parquet, .tsv, .csv, or an h5ad (a copy of the h5ad input).",
    ),
    option("--key", default="sfs", show_default=True, help="Name in obsp of an h5ad."),
    option("--json", "as_json", is_flag=True, help="Print what was done on stdout, as JSON."),
)
@section(
    "Running",
    option("--threads", type=int, metavar="N", help="Threads.  [default: all that are allowed]"),
    option("--seed", type=int, default=0, show_default=True, help="Of what is random."),
    *options.RUNNING,
    *options.TALKING,
)
@click.pass_context
def command(
    ctx: click.Context,
    config_file: str | None,
    target: str,
    key: str,
    as_json: bool,
    quiet: bool,
    verbose: bool,
    log_file: str | None,
    **given: Any,
) -> None:
    """Fuse what is known of the samples of MATRIX to one similarity between them.

    The file can be the graph of any ranking, which then has the same bytes as with the sources.
    --config takes the matrix and the sources from the file of a ranking run.

    \b
    sfs fuse expression.csv --source mirna=profile:mirna.csv --source all=target: --out fused.npz
    sfs rank expression.csv --similarity-file fused.npz --out results
    """
    from sfs_cli.jobs.fuse import run

    messages = options.messages(quiet, verbose, log_file)
    config = options.configured(ctx, given, config_file, method="msfs")
    content = run(config, target, key, messages, as_json=as_json)
    if content:
        write_stdout(content)
