"""``sfs robustness``."""

from __future__ import annotations

import click

from sfs_cli.cli.options import Command, json_option
from sfs_cli.cli.streams import write_result
from sfs_cli.logs import Messages
from sfs_cli.options.robustness import RobustnessConfig


@click.command(cls=Command, verb="robustness", config=RobustnessConfig)
@click.argument("matrix", metavar="[MATRIX]", required=False)
@json_option("Print run.json on stdout.")
def command(config: RobustnessConfig, messages: Messages, as_json: bool) -> None:
    """Measure how far noise changes the scores of SPEC, beside how far it can.

    Noise is mixed into the graph (that of noise features, made as the graph of MATRIX), added to
    every feature, or both. For each level and draw: the change of the scores, the bound of
    Theorems 5 and 6 of the dissertation (mended), the smallest bound that holds for all features,
    and how far the order of the features changes. Without --out the table goes to stdout.

    \b
    sfs robustness expression.csv --similarity rbf --ranking phi3 --clusters 3
    sfs robustness expression.csv --noise 0.1,0.3 --draws 20 --out robust
    sfs robustness --example
    """
    from sfs_cli.run.robustness import run

    write_result(run, config, messages, as_json)
