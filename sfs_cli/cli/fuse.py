"""``sfs fuse``."""

from __future__ import annotations

import click

from sfs_cli.cli.options import Command, own
from sfs_cli.logs import Messages
from sfs_cli.options import RankConfig
from sfs_cli.options.fields import WRITTEN
from sfs_cli.options.paths import WRITES


@click.command(cls=Command, verb="fuse", file=True, fixed={"method": "msfs"})
@click.argument("matrix", metavar="[MATRIX]", required=False)
@own(
    "--out",
    "target",
    section="Output",
    first=WRITTEN,
    required=True,
    metavar="FILE",
    path=WRITES,
    help="A .npz, .parquet, .tsv or .csv file, or an h5ad (a copy of the h5ad input).",
)
@own(
    "--key",
    section="Output",
    first=WRITTEN,
    default="sfs",
    show_default=True,
    help="Name of the similarity in obsp of an h5ad.",
)
def command(config: RankConfig, messages: Messages, target: str, key: str) -> None:
    """Fuse knowledge sources about the samples of MATRIX into one similarity between them.

    The output can be the graph of any ranking; the ranking then has the same bytes as with the
    sources. With --config, matrix and sources come from the file of a ranking.

    \b
    sfs fuse expression.csv --source mirna=profile:mirna.csv --source all=target: --out fused.npz
    sfs rank expression.csv --similarity file:fused.npz --out results
    """
    from sfs_cli.workflow.fuse import run

    run(config, target, key, messages)
