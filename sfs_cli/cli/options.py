"""Options that several verbs share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from sfs_cli.cli.sections import option

if TYPE_CHECKING:
    from sfs_cli.config import RankConfig

READING = (
    option(
        "--rows",
        default="auto",
        show_default=True,
        metavar="[features|samples|auto]",
        help="What a row of a text or Parquet file is.",
    ),
    option("--layer", metavar="NAME", help="Layer of an h5ad to read in place of X."),
    option("--use-raw", is_flag=True, help="Read raw/X of an h5ad."),
    option(
        "--dtype",
        metavar="[float32|float64]",
        help="Type in which values are stored.  [default: float32]",
    ),
)
"""How the matrix is read."""

PREPARING = (
    option("--transform", metavar="STEPS", help="Steps in order, such as cpm,log1p,zscore."),
    option(
        "--missing",
        default="error",
        show_default=True,
        metavar="[error|drop|mean]",
        help="Refuse missing values, leave such features out, or fill by their mean.",
    ),
    option("--labels", metavar="FILE[:COLUMN] or obs:KEY", help="Class of each sample."),
    option(
        "--samples",
        default="error",
        show_default=True,
        metavar="[error|intersect|union]",
        help="Samples that labels or a source lack: refuse, leave them out, or average over the "
        "sources that have them.",
    ),
)
"""How values and samples are prepared."""

RUNNING = (
    option(
        "--memory",
        metavar="SIZE",
        help="Memory to use, such as 512M or 4G.  [default: half of what is free]",
    ),
    option("--scratch", metavar="DIR", help="Where temporary files go.  [default: the system's]"),
    option("--force", is_flag=True, help="Replace an output of another run."),
)
"""How the work is run."""

TIME_LIMIT = option(
    "--time-limit",
    metavar="TIME",
    help="Stop cleanly after so long: 90m, 2h, 1:30:00 or 3600 (seconds).",
)
"""How long it may take."""

CONFIG = option(
    "--config",
    "config_file",
    metavar="FILE",
    help="Take options from a YAML, TOML or JSON file, or from the run.json of a run; flags win.",
)
"""Where other options are."""

TALKING = (
    option("-q", "--quiet", is_flag=True, help="Say nothing but errors."),
    option("-v", "--verbose", is_flag=True, help="Say more, and show tracebacks."),
    option("--log-file", metavar="FILE", help="Append all messages to this file."),
)
"""How much is said."""


def parse_sources(_ctx: click.Context, _param: click.Parameter, given: tuple[str, ...]) -> Any:
    """Turn the texts of ``--source`` into sources."""
    from sfs_cli.config import parse_source

    return tuple(parse_source(text) for text in given)


def split_words(_ctx: click.Context, _param: click.Parameter, given: str | None) -> Any:
    """Split a list of words at its commas."""
    return tuple(word.strip() for word in given.split(",") if word.strip()) if given else ()


SOURCES = (
    option(
        "--source",
        multiple=True,
        metavar="NAME=KIND:PATH[@WEIGHT][,OPTION=VALUE...]",
        callback=parse_sources,
        help="What is known of samples or genes (repeatable). KIND: profile, target, labels, "
        "hierarchy, genes, interactions, feature-similarity, terms, similarity.",
    ),
    option(
        "--weights",
        metavar="NAME or W1,W2,...",
        help="given, uniform, alignf, rkda, statis, sparse-umkl, naml, snf, or one number for each "
        "source.  [default: given where sources have weights, else uniform]",
    ),
    option(
        "--normalize",
        metavar="frobenius",
        help="Divide similarities by their norm too, besides their mean diagonal.",
    ),
    option(
        "--fusion-lambda",
        type=float,
        metavar="L",
        help="rkda, naml: regularization.  [default: 1 / samples]",
    ),
    option(
        "--fusion-neighbors",
        type=int,
        metavar="K",
        help="snf, sparse-umkl: nearest neighbours.  [default: 20; 5]",
    ),
    option("--fusion-clusters", type=int, metavar="K", help="naml.  [default: by eigengap]"),
    option("--id-map", metavar="FILE", help="Two columns: ids of the matrix, ids of the sources."),
    option(
        "--allow-unmatched",
        is_flag=True,
        help="Warn, and go on, where fewer than a tenth of the genes of a source are found.",
    ),
)
"""What is known of samples and genes, and how it is put together."""


def messages(quiet: bool, verbose: bool, log_file: str | None) -> Any:
    """Return where a verb says things, from the options of `TALKING`.

    It is left in the context too, so that the error that ends a run is said there as well.
    """
    from pathlib import Path

    from sfs_cli.logs import NORMAL, QUIET, VERBOSE, Messages

    level = QUIET if quiet else VERBOSE if verbose else NORMAL
    made = Messages(level, Path(log_file) if log_file else None)
    click.get_current_context().ensure_object(dict)["messages"] = made
    return made


def configured(
    ctx: click.Context, given: dict[str, Any], config_file: str | None, **fixed: Any
) -> RankConfig:
    """Return the configuration of a run, from the command line and the file of `CONFIG`.

    Parameters
    ----------
    ctx : click.Context
        Of the verb, which knows the options that were really given: they win over the file.
    given : dict
        The options of `RankConfig` that the verb takes. Others that the file has are left aside.
    config_file : str, optional
        The file.
    **fixed
        Options that the verb decides about.

    Raises
    ------
    InputError
        For a file that cannot be used.
    UsageError
        Where there is no matrix, and for options that contradict each other.
    """
    from sfs_cli.config.files import ConfigFile, load
    from sfs_cli.errors import UsageError

    file = ConfigFile() if config_file is None else load(config_file)
    if given["matrix"] is None and "matrix" not in file.options:
        raise UsageError(
            "missing argument 'MATRIX'",
            where=ctx.command_path,
            hint="give a matrix, or --config FILE with one; "
            f"`{ctx.command_path} --help` lists the arguments and options",
        )
    by_default = (ParameterSource.DEFAULT, ParameterSource.DEFAULT_MAP)
    flags = {name for name in given if ctx.get_parameter_source(name) not in by_default}
    return file.config(given | fixed, flags | set(fixed))
