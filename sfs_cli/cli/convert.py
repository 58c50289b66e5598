"""``sfs convert``."""

from __future__ import annotations

from typing import Any

import click

from sfs_cli.cli import options
from sfs_cli.cli.sections import SectionCommand, option, section


@click.command(cls=SectionCommand, short_help="Build a store.")
@click.argument("matrix", metavar="MATRIX")
@click.argument("store", metavar="STORE")
@section(
    "Input",
    *options.READING,
    option("--labels", metavar="FILE", help="Known sample ids, to tell the orientation by."),
)
@section("Running", *options.RUNNING, *options.TALKING)
def command(store: str, quiet: bool, verbose: bool, log_file: str | None, **given: Any) -> None:
    """Build a store from MATRIX: a folder that every verb reads block by block.

    \b
    sfs convert expression.csv expression.store
    sfs rank expression.store --out results
    """
    from sfs_cli.config import RankConfig
    from sfs_cli.jobs.convert import convert

    messages = options.messages(quiet, verbose, log_file)
    convert(RankConfig(**given), store, messages)
