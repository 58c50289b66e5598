"""``sfs convert``."""

from __future__ import annotations

import click

from sfs_cli.cli.options import Command, own, path_argument
from sfs_cli.logs import Messages
from sfs_cli.options import RankConfig
from sfs_cli.options.paths import REPLACES


@click.command(cls=Command, verb="convert")
@click.argument("matrix", metavar="MATRIX")
@path_argument("store", REPLACES, metavar="OUTPUT")
@own(
    "--column",
    section="Input",
    metavar="NAME",
    help="Column of the counts in files of a sample each, such as TPM of Salmon or reverse of STAR "
    "(unstranded, forward, reverse). Default: the counts; of STAR the column with the largest "
    "total.",
)
def command(config: RankConfig, messages: Messages, store: str, column: str | None) -> None:
    """Convert MATRIX to a store: a folder that every command reads block by block.

    The sample ids of --labels show whether rows are features or samples. Several files have other
    samples of the same features; those of text are what Salmon, kallisto, RSEM, HTSeq, STAR or
    featureCounts write for each sample. A folder of the first three or of STAR stands for the files
    in it, and in the folders in it.

    An OUTPUT that ends in .parquet, .csv or .tsv (also .csv.gz, .tsv.gz) is a table, a row for
    each feature and a column for each sample, and one in .h5ad is AnnData.

    \b
    sfs convert expression.csv expression.store
    sfs convert quant/*/quant.sf counts.parquet
    sfs rank expression.store --out results
    """
    from sfs_cli.workflow.convert import convert

    convert(config, store, messages, column)
