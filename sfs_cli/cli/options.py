"""Options that several verbs share, as decorators by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


def _apply(function: F, options: list[Callable[[F], F]]) -> F:
    for option in reversed(options):
        function = option(function)
    return function


def reading(function: F) -> F:
    """How the matrix is read."""
    return _apply(
        function,
        [
            click.option(
                "--rows",
                default="auto",
                show_default=True,
                metavar="[features|samples|auto]",
                help="What a row of a text or Parquet file is.",
            ),
            click.option("--layer", metavar="NAME", help="Layer of an h5ad to read in place of X."),
            click.option("--use-raw", is_flag=True, help="Read raw/X of an h5ad."),
            click.option(
                "--dtype",
                metavar="[float32|float64]",
                help="Type in which values are stored.  [default: float32]",
            ),
        ],
    )


def running(function: F) -> F:
    """How the work is run."""
    return _apply(
        function,
        [
            click.option(
                "--memory",
                metavar="SIZE",
                help="Memory to use, such as 512M or 4G.  [default: half of what is free]",
            ),
            click.option(
                "--scratch",
                metavar="DIR",
                help="Where temporary files go.  [default: the system's]",
            ),
            click.option("--force", is_flag=True, help="Replace an output of another run."),
        ],
    )


def talking(function: F) -> F:
    """How much is said."""
    return _apply(
        function,
        [
            click.option("-q", "--quiet", is_flag=True, help="Say nothing but errors."),
            click.option("-v", "--verbose", is_flag=True, help="Say more, and show tracebacks."),
            click.option("--log-file", metavar="FILE", help="Append all messages to this file."),
        ],
    )


def messages(quiet: bool, verbose: bool, log_file: str | None) -> Any:
    """Return where a verb says things, from the options of `talking`.

    It is left in the context too, so that the error that ends a run is said there as well.
    """
    from pathlib import Path

    from sfs_cli.logs import NORMAL, QUIET, VERBOSE, Messages

    level = QUIET if quiet else VERBOSE if verbose else NORMAL
    made = Messages(level, Path(log_file) if log_file else None)
    click.get_current_context().ensure_object(dict)["messages"] = made
    return made
