"""Options that several verbs share."""

from __future__ import annotations

from typing import Any

import click

from sfs_cli.cli.sections import option

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

TALKING = (
    option("-q", "--quiet", is_flag=True, help="Say nothing but errors."),
    option("-v", "--verbose", is_flag=True, help="Say more, and show tracebacks."),
    option("--log-file", metavar="FILE", help="Append all messages to this file."),
)
"""How much is said."""


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
