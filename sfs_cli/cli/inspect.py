"""``sfs inspect``."""

from __future__ import annotations

import click

from sfs_cli.cli.options import Command, own
from sfs_cli.cli.streams import write_stdout
from sfs_cli.logs import Messages
from sfs_cli.options import RankConfig


@click.command(cls=Command, verb="inspect")
@click.argument("matrix", metavar="MATRIX")
@own("--json", "as_json", section="Output", is_flag=True, help="Print JSON.")
def command(config: RankConfig, messages: Messages, as_json: bool) -> None:
    """Describe MATRIX and how `sfs rank` would read it. Nothing is written.

    The whole file is read once: format, orientation, shape, ids, missing values, constant
    features, range of the values, and the classes of --labels. The last line is the command to
    run next, with what the file needs.

    \b
    sfs inspect expression.csv --labels labels.tsv:tissue
    sfs inspect cells.h5ad --json > cells.json
    """
    from sfs_cli.workflow.inspect import inspect

    write_stdout(inspect(config, messages, as_json))
