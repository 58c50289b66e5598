"""``sfs convert``."""

from __future__ import annotations

import click

from sfs_cli.cli.options import Command, path_argument
from sfs_cli.logs import Messages
from sfs_cli.options import RankConfig
from sfs_cli.options.paths import REPLACES


@click.command(cls=Command, verb="convert")
@click.argument("matrix", metavar="MATRIX")
@path_argument("store", REPLACES)
def command(config: RankConfig, messages: Messages, store: str) -> None:
    """Convert MATRIX to a store: a folder that every command reads block by block.

    The sample ids of --labels show whether rows are features or samples.

    \b
    sfs convert expression.csv expression.store
    sfs rank expression.store --out results
    """
    from sfs_cli.run.convert import convert

    convert(config, store, messages)
