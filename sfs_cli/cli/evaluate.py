"""``sfs evaluate``."""

from __future__ import annotations

import click

from sfs_cli.cli.options import Command
from sfs_cli.cli.streams import write_result
from sfs_cli.logs import Messages
from sfs_cli.options.evaluate import EvaluateConfig


@click.command(cls=Command, verb="evaluate", config=EvaluateConfig, file=True)
@click.argument("matrix", metavar="[MATRIX]", required=False)
def command(config: EvaluateConfig, messages: Messages) -> None:
    """Measure what a ranking of the features of MATRIX is worth.

    With --labels: the accuracy of classifiers on samples that they have not seen, by repeated
    splits; of numbers (--label-type continuous) R2 and the rank correlation of their predictions,
    of times (--event) the concordance. The features are ranked again inside each fold, by the
    method and the options of `sfs rank`; a ranking that is there already is given by --list.
    Random, most variable and all features stand beside it. Without --labels: redundancy, and how
    well the first features keep the neighbors of the samples. Without --out the table goes to
    stdout.

    \b
    sfs evaluate expression.csv --labels labels.tsv:tissue --method f-test
    sfs evaluate expression.csv --labels labels.tsv:tissue --list results/ranking.tsv
    sfs evaluate expression.csv --list deseq2.csv:padj --sets pathways.gmt --out worth
    sfs evaluate --config run.yaml --out worth
    """
    from sfs_cli.workflow.judge import run

    write_result(run(config, messages), config, messages)
