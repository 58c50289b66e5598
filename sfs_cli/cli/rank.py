"""``sfs rank``."""

from __future__ import annotations

import click

from sfs_cli.cli.options import Command
from sfs_cli.cli.streams import write_result
from sfs_cli.logs import Messages
from sfs_cli.options import RankConfig


@click.command(cls=Command, verb="rank", file=True)
@click.argument("matrix", metavar="[MATRIX]", required=False)
def command(config: RankConfig, messages: Messages) -> None:
    """Rank the features of MATRIX by their consistency with a sample graph.

    MATRIX is CSV, TSV or TXT (also .gz, .zst), FILE.xlsx:SHEET, Parquet, Feather, GCT, a series
    matrix of GEO, an .rds or .RData of R, h5ad, FILE.h5mu:MODALITY, AnnData zarr, a 10x folder or
    .h5, or a store; several files have other samples of the same features. A --config file can name
    it instead. Without --out the ranking goes to stdout.

    \b
    sfs rank expression.csv --out results
    sfs rank samples/*.h5ad --batch file --out results
    sfs rank cells.h5ad --similarity obsp:connectivities --out results
    sfs rank tissue.h5ad --spatial --out results
    sfs rank expression.csv --method fisher --labels labels.tsv:tissue > fisher.tsv
    sfs rank --config run.yaml
    """
    from sfs_cli.workflow.rank import run

    write_result(run(config, messages), config, messages)
