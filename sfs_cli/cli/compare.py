"""``sfs compare``."""

from __future__ import annotations

import click

from sfs_cli.cli.options import Command
from sfs_cli.cli.streams import write_result
from sfs_cli.logs import Messages
from sfs_cli.options.compare import CompareConfig


@click.command(cls=Command, verb="compare", config=CompareConfig)
@click.argument("matrix", metavar="MATRIX", required=True)
def command(config: CompareConfig, messages: Messages) -> None:
    """Compare rankings of the features of MATRIX.

    Each is a method (--method), a ranking with options of its own (--ranking-of), or a table that
    is there already (--list). They are judged as `sfs evaluate` does, on the same samples and
    folds, beside random, most variable and all features: accuracy (with --labels), clusters and
    redundancy by the length of the list; how many features any two lists share; time and memory.
    Without --out the first of these tables goes to stdout.

    \b
    sfs compare expression.csv --method spec --method mrsf-rounds --out compared
    sfs compare expression.csv --labels labels.tsv:tissue --method f-test \\
        --ranking-of "rbf=--method spec --similarity rbf" --list published=genes.tsv
    """
    from sfs_cli.workflow.judge import run

    write_result(run(config, messages), config, messages)
