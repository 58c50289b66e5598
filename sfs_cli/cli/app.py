"""The entry point: a lazy group of verbs, signals, and the one ladder from errors to exit codes."""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn

import click

from sfs_cli.errors import (
    ExitCode,
    InputError,
    OutOfMemoryError,
    SfsError,
    is_full,
    unwritable,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

VERBS = {
    "rank": "Rank the features of a matrix (the main job).",
    "inspect": "Tell what a matrix file holds and how it would be read.",
    "convert": "Build a store, which is read faster and by blocks.",
    "methods": "List the methods: what each needs, costs and cites.",
}
"""The verbs in the order of the help, each a module of this package with a `command`."""

BLAS_VARIABLES = (
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)


class Interrupted(BaseException):
    """A signal that asks to stop arrived."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.exit_code = 128 + number


class LazyGroup(click.Group):
    """A group that imports a verb when it is called for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the verbs in the order of the help."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """Import and return a verb."""
        if name not in VERBS:
            return None
        from importlib import import_module

        return import_module(f"sfs_cli.cli.{name}").command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the verbs without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl(list(VERBS.items()))

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """Find the verb; name the nearest one when there is none."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            from difflib import get_close_matches

            close = get_close_matches(args[0], VERBS, 1)
            if not close:
                raise
            raise click.UsageError(f"{error.message} Did you mean '{close[0]}'?", ctx) from None


def _version(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    if value:
        from importlib.metadata import version

        click.echo(f"sfs {version('sfs-cli')}")
        ctx.exit()


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    no_args_is_help=True,
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_version,
    help="Show the version and exit.",
)
def app() -> None:
    """Spectral feature selection for expression matrices.

    \b
    sfs rank expression.csv --out results
    """


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit with its code."""
    sys.exit(run(arguments))


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return its exit code.

    Every way out passes here: results and help end with 0, errors of the user with the codes of
    `ExitCode`, signals with 128 and their number.
    """
    for name in BLAS_VARIABLES:  # blocks run beside each other, each on one thread
        os.environ[name] = "1"
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _interrupt)
    try:
        return int(app(arguments, prog_name="sfs", standalone_mode=False) or 0)
    except Interrupted as stop:
        _ignore_signals()
        click.echo("interrupted; nothing half-written was left", err=True)
        return stop.exit_code
    except click.ClickException as error:
        error.show()
        return int(ExitCode.USAGE)
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except BrokenPipeError:
        _close_stdout()
        return int(ExitCode.OK)
    except Exception as error:
        return _explain(error)


def _interrupt(number: int, _frame: FrameType | None) -> None:
    raise Interrupted(number)


def _ignore_signals() -> None:
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)


def _close_stdout() -> None:
    """Keep the interpreter from writing to a closed pipe at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _explain(error: Exception) -> int:
    """Say what went wrong; return the exit code. A traceback is for -v, and for our own bugs."""
    from sfs_cli.logs import Messages

    known = _as_known(error)
    verbose = any(a in ("-v", "-vv", "--verbose") for a in sys.argv[1:])
    if known is None or verbose:
        import traceback

        traceback.print_exception(error)
    if known is None:
        click.echo(
            "this is a bug in sfs, not in your data; please report it with the lines above",
            err=True,
        )
        return int(ExitCode.BUG)
    Messages().error(known)
    return int(known.exit_code)


def _as_known(error: Exception) -> SfsError | None:
    if isinstance(error, SfsError):
        return error
    if isinstance(error, MemoryError):
        return OutOfMemoryError(
            "there is not enough memory", hint="allow less with --memory, or use fewer --threads"
        )
    if isinstance(error, OSError):
        if is_full(error):
            return unwritable(error.filename or "the output", error)
        reason = (error.strerror or str(error)).lower()
        return InputError(
            f"{error.filename or 'a file'} cannot be used: {reason}",
            hint="check the path and its permissions",
        )
    return None
