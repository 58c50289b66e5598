"""``sfs rank``."""

from __future__ import annotations

from typing import Any

import click

from sfs_cli.cli import options
from sfs_cli.cli.sections import SectionCommand, option, section
from sfs_cli.cli.streams import write_stdout
from sfs_cli.config import FORMATS, METHODS
from sfs_cli.graph.options import SIMILARITIES

INPUT = section("Input", options.CONFIG, *options.READING, *options.PREPARING)

METHOD = section(
    "Method",
    option(
        "--method",
        default="spec",
        show_default=True,
        metavar="NAME",
        help=f"{', '.join(METHODS)}; `sfs methods` tells what each needs and takes.",
    ),
    option("--ranking", metavar="[phi1|phi2|phi3]", help="spec: the score.  [default: phi2]"),
    option(
        "--gamma",
        metavar="VALUE",
        help="spec: power or exp. gdcov: one-minus, inverse or heat:T. rfs: a number.  [default: "
        "the first; rfs: 1]",
    ),
    option("--gamma-power", type=int, metavar="R", help="spec: of the eigenvalues.  [default: 1]"),
    option(
        "--clusters",
        type=int,
        metavar="K",
        help="spec phi3, qalpha: number of clusters.  [default: phi3: by eigengap; qalpha: the "
        "classes, or 6]",
    ),
    option("--select", type=int, metavar="N", help="Features to select.  [default: 50]"),
    option("--variant", metavar="NAME", help="Of trace-ratio, qalpha and mrmr: see `sfs methods`."),
    option("--definition", type=int, metavar="[1|3]", help="gdcov: of paper.  [default: 3]"),
    option(
        "--power",
        type=int,
        metavar="P",
        help="qalpha: orthogonal iterations of power and ritz, degree of kernel.",
    ),
    option(
        "--response",
        metavar="[similarity|lda|svm|pca]",
        help="mrsf, l21: what the features are to predict.  [default: similarity]",
    ),
    option("--rank", type=int, metavar="R", help="mrsf, l21: leading columns of the response."),
    option(
        "--lambda",
        "lambda_",
        type=float,
        metavar="L",
        help="l21: the penalty. sselect: weight of the graph, 0 to 1.",
    ),
    option("--then", metavar="[spec|gdcov|mrsf]", help="msfs, kogs: what scores.  [default: spec]"),
    option(
        "--members",
        metavar="METHODS",
        callback=options.split_words,
        help="kogs: methods such as spec,fisher whose rankings are aggregated.",
    ),
    option(
        "--how",
        metavar="[borda|median|geometric|rra|mc4]",
        help="kogs: how rankings are aggregated.  [default: borda]",
    ),
    option("--budget", type=float, metavar="T", help="l21: sum of the norms of coefficients."),
    option(
        "--on-no-convergence",
        default="warn",
        show_default=True,
        metavar="[warn|error]",
        help="What to do when a solver has not converged.",
    ),
    option("--seed", type=int, default=0, show_default=True, help="Of what is random."),
)

GRAPH = section(
    "Sample graph",
    option(
        "--similarity",
        metavar="NAME or obsp:KEY",
        help=f"{', '.join(SIMILARITIES)}.  [default: rbf up to 2,000 samples, above that the "
        "connectivities of an h5ad, else knn]",
    ),
    option("--similarity-file", metavar="FILE", help="From a matrix file."),
    option("--neighbors", type=int, metavar="K", help="Nearest neighbours.  [default: 10]"),
    option(
        "--bandwidth",
        metavar="median, self-tuning or NUMBER",
        help="Of the rbf.  [default: median]",
    ),
    option("--edge-weights", metavar="[rbf|binary]", help="Of knn edges.  [default: rbf]"),
    option("--beta", type=float, metavar="B", help="Time of the diffusion.  [default: 1]"),
    option(
        "--components",
        metavar="K or none",
        help="knn, geodesic, diffusion: search neighbours among the first K principal components, "
        "or among all features.  [default: none; 50 above 50,000 samples]",
    ),
    option(
        "--variable-genes",
        metavar="G or all",
        help="Make the components of the G genes that vary most for their mean.  [default: 2000]",
    ),
)

SOURCES = section(
    "Knowledge sources",
    *options.SOURCES,
    option(
        "--leave-one-out/--no-leave-one-out",
        default=True,
        show_default=True,
        help="Rank without each source too, to tell what it changed.",
    ),
)

_output = section(
    "Output",
    option("--out", metavar="DIR", help="Write ranking, report and provenance into this folder."),
    option(
        "--format",
        "format",
        default="tsv",
        show_default=True,
        metavar=f"[{'|'.join(FORMATS)}]",
        help="Of the ranking.",
    ),
    option("--digits", type=int, default=10, show_default=True, help="Significant digits."),
    option("--write-h5ad", metavar="FILE", help="Copy the h5ad input with the scores in var."),
    option("--weights-out", metavar="FILE", help="mrsf, l21: write coefficients as Parquet."),
    option("--json", "as_json", is_flag=True, help="Print run.json on stdout."),
)

_running = section(
    "Running",
    option(
        "--threads",
        type=int,
        metavar="N",
        help="Threads, or processes of --executor dask.  [default: all that are allowed]",
    ),
    *options.RUNNING,
    option(
        "--executor",
        default="local",
        show_default=True,
        metavar="[local|dask|dask:ADDRESS]",
        help="Threads, processes of Dask on this machine, or a Dask cluster that runs already: "
        "dask:tcp://HOST:PORT.",
    ),
    option("--block-size", type=int, metavar="N", help="Features per block.  [default: by shape]"),
    option(
        "--resume",
        is_flag=True,
        help="Keep what is done beside --out until all is, and go on where a run was stopped.",
    ),
    options.TIME_LIMIT,
    option("--dry-run", is_flag=True, help="Print the plan and stop."),
    *options.TALKING,
)


@click.command(cls=SectionCommand, short_help="Rank the features of a matrix.")
@click.argument("matrix", metavar="[MATRIX]", required=False)
@INPUT
@METHOD
@GRAPH
@SOURCES
@_output
@_running
@click.pass_context
def command(
    ctx: click.Context,
    config_file: str | None,
    as_json: bool,
    dry_run: bool,
    quiet: bool,
    verbose: bool,
    log_file: str | None,
    **given: Any,
) -> None:
    """Rank the features of MATRIX by their consistency with a sample graph.

    MATRIX is CSV, TSV or TXT (also .gz, .zst), Parquet, Feather, GCT, h5ad, FILE.h5mu:MODALITY,
    AnnData zarr, a 10x folder or .h5, or a store; a file of --config can name it. Without --out the
    table goes to stdout.

    \b
    sfs rank expression.csv --out results
    sfs rank cells.h5ad --similarity obsp:connectivities --out results
    sfs rank expression.csv --method fisher --labels labels.tsv:tissue > fisher.tsv
    sfs rank --config run.yaml
    """
    from sfs_cli.errors import UsageError

    messages = options.messages(quiet, verbose, log_file)
    config = options.configured(ctx, given, config_file)
    if dry_run and as_json:
        raise UsageError("--json has no effect on --dry-run", hint="leave one of them out")
    if dry_run:
        from sfs_cli.jobs import plan_run

        write_stdout(plan_run.plan(config, messages, None, as_json=False))
        return
    from sfs_cli.jobs import rank_run

    content = rank_run.run(config, messages, as_json=as_json)
    if content:
        write_stdout(content)
