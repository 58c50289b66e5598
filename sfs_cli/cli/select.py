"""``sfs select``."""

from __future__ import annotations

import click

from sfs_cli.cli.options import Command
from sfs_cli.cli.streams import write_stdout
from sfs_cli.logs import Messages
from sfs_cli.options.select import SelectConfig


@click.command(cls=Command, verb="select", config=SelectConfig)
@click.argument("result", metavar="RESULT", required=True)
def command(config: SelectConfig, messages: Messages) -> None:
    """Choose how many features of a ranking to take, and write the list.

    RESULT is the output folder of `sfs rank`, or a table of features with ranks or scores. Exactly
    one rule says how many: --top, --fdr, --stable or --cv. Without --out the list goes to stdout,
    an id in each line, the best first.

    \b
    sfs select results --fdr 0.05
    sfs select results --cv --labels labels.tsv:tissue --write-matrix chosen.csv --out chosen
    """
    from sfs_cli.workflow import select

    write_stdout(select.run(config, messages))
