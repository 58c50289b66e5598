"""``sfs rank``."""

from __future__ import annotations

from typing import Any

import click

from sfs_cli.cli import options
from sfs_cli.config import FORMATS, METHODS, SIMILARITIES

_METHODS = "|".join(METHODS)


@click.command(short_help="Rank the features of a matrix.")
@click.argument("matrix", metavar="MATRIX")
@click.option("--method", default="spec", show_default=True, metavar=f"[{_METHODS}]")
@click.option("--out", metavar="DIR", help="Write ranking, report and provenance into this folder.")
@options.reading
@click.option("--transform", metavar="STEPS", help="Steps in order, such as cpm,log1p,zscore.")
@click.option(
    "--missing",
    default="error",
    show_default=True,
    metavar="[error|drop|mean]",
    help="Refuse missing values, leave such features out, or fill by their mean.",
)
@click.option("--labels", metavar="FILE[:COLUMN] or obs:KEY", help="Class of each sample.")
@click.option(
    "--samples",
    default="error",
    show_default=True,
    metavar="[error|intersect]",
    help="Refuse samples without a label, or leave them out.",
)
@click.option(
    "--ranking", metavar="[phi1|phi2|phi3]", help="SPEC's ranking.  [default: phi2]"
)
@click.option(
    "--gamma", metavar="[power|exp]", help="Spectral function.  [default: power]"
)
@click.option(
    "--gamma-power", type=int, metavar="R", help="Power of the eigenvalues.  [default: 1]"
)
@click.option("--clusters", type=int, metavar="K", help="Clusters of phi3.  [default: by eigengap]")
@click.option(
    "--similarity",
    metavar="NAME or obsp:KEY",
    help=f"Sample graph: {', '.join(SIMILARITIES)}.  [default: rbf up to 2,000 samples, above "
    "that the connectivities of an h5ad, else knn]",
)
@click.option("--similarity-file", metavar="FILE", help="Sample graph from a matrix file.")
@click.option("--neighbors", type=int, metavar="K", help="Nearest neighbours.  [default: 10]")
@click.option(
    "--bandwidth", metavar="median, self-tuning or NUMBER", help="Of the rbf.  [default: median]"
)
@click.option("--edge-weights", metavar="[rbf|binary]", help="Of knn edges.  [default: rbf]")
@click.option("--beta", type=float, metavar="B", help="Time of the diffusion.  [default: 1]")
@click.option(
    "--format", "format", default="tsv", show_default=True, metavar=f"[{'|'.join(FORMATS)}]"
)
@click.option("--digits", type=int, default=10, show_default=True, help="Significant digits.")
@click.option("--write-h5ad", metavar="FILE", help="Copy the h5ad input with the scores in var.")
@click.option("--threads", type=int, metavar="N", help="Threads.  [default: all that are allowed]")
@options.running
@click.option(
    "--block-size", type=int, metavar="N", help="Features per block.  [default: by shape]"
)
@click.option("--seed", type=int, default=0, show_default=True, help="Of approximate searches.")
@click.option(
    "--on-no-convergence",
    default="warn",
    show_default=True,
    metavar="[warn|error]",
    help="What to do when a solver has not converged.",
)
@click.option("--json", "as_json", is_flag=True, help="Print run.json on stdout.")
@click.option("--dry-run", is_flag=True, help="Print the plan and stop.")
@options.talking
def command(
    as_json: bool,
    dry_run: bool,
    quiet: bool,
    verbose: bool,
    log_file: str | None,
    **given: Any,
) -> None:
    """Rank the features of MATRIX by their consistency with a sample graph.

    MATRIX is CSV, TSV or TXT (also .gz, .zst), Parquet, Feather, GCT, h5ad, AnnData zarr, a 10x
    folder or .h5, or a store. Without --out the table goes to stdout.

    \b
    sfs rank expression.csv --out results
    sfs rank cells.h5ad --similarity obsp:connectivities --out results
    sfs rank expression.csv --method fisher --labels labels.tsv:tissue > fisher.tsv
    """
    from sfs_cli.config import RankConfig
    from sfs_cli.errors import UsageError
    from sfs_cli.jobs import rank_run

    messages = options.messages(quiet, verbose, log_file)
    config = RankConfig(**given)
    if dry_run and as_json:
        raise UsageError("--json has no effect on --dry-run", hint="leave one of them out")
    if dry_run:
        click.echo(rank_run.describe_plan(config, messages), nl=False)
        return
    content = rank_run.run(config, messages, as_json=as_json)
    if content:
        with click.open_file("-", "wb") as stdout:
            stdout.write(content)
