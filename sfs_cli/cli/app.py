"""The entry point: a lazy group of verbs, signals, and the one ladder from errors to exit codes."""

from __future__ import annotations

import gc
import os
import signal
import sys
import time
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn

import click

from sfs_cli.cli.streams import close_stdout, fill_closed
from sfs_cli.errors import (
    ExitCode,
    InputError,
    OutOfMemoryError,
    SfsError,
    UsageError,
    is_full,
    nearest,
    unwritable,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sfs_cli.logs import Messages

VERBS = {
    "rank": "Rank the features of a matrix (the main job).",
    "plan": "Tell what a ranking will take: passes, memory and time.",
    "shard": "Rank in shares, which many machines compute.",
    "aggregate": "Make one ranking of several.",
    "fuse": "Fuse knowledge sources to one similarity between samples.",
    "inspect": "Tell what a matrix file holds and how it would be read.",
    "convert": "Build a store, which is read faster and by blocks.",
    "config": "Check a configuration file, or print what it may hold.",
    "methods": "List the methods: what each needs, costs and cites.",
}
"""The verbs in the order of the help, each a module of this package with a `command`."""

BLAS_VARIABLES = (
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)


TIDYING_SECONDS = 10
"""How long further signals are ignored after the first."""


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
        if args[0] not in VERBS and not args[0].startswith("-"):
            raise UsageError(f"there is no command {args[0]!r}", hint=nearest(args[0], VERBS))
        return super().resolve_command(ctx, args)


def _version(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    if value:
        from importlib.metadata import version

        click.echo(f"sfs {version('sfs-cli')}")
        ctx.exit()


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    invoke_without_command=True,
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_version,
    help="Show the version and exit.",
)
@click.pass_context
def app(ctx: click.Context) -> None:
    """Spectral feature selection for expression matrices.

    \b
    sfs rank expression.csv --out results
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help(), err=True)
        ctx.exit(ExitCode.USAGE)


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit with its code."""
    fill_closed()
    code = run(arguments)
    gc.freeze()  # all that is left ends with the process: looking for cycles in it takes longer
    sys.exit(code)


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return its exit code.

    Every way out passes here: results and help end with 0, errors of the user with the codes of
    `ExitCode`, signals with 128 and their number.
    """
    for name in BLAS_VARIABLES:  # blocks run beside each other, each on one thread
        os.environ[name] = "1"
    interrupter = _Interrupter()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, interrupter)
    said: dict[str, Messages] = {}
    try:
        _refuse_empty(sys.argv[1:] if arguments is None else arguments)
        code = int(app(arguments, prog_name="sfs", standalone_mode=False, obj=said) or 0)
        # a finaliser may have swallowed what the signal raised
        return code if interrupter.raised is None else _say_interrupted(interrupter.raised)
    except Interrupted as stop:
        return _say_interrupted(stop)
    except click.ClickException as error:
        return _explain(_usage_error(error), said)
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except BrokenPipeError:
        close_stdout()
        return int(ExitCode.OK)
    except Exception as error:
        if interrupter.raised is not None:  # a library that was being imported made another of it
            return _say_interrupted(interrupter.raised)
        return _explain(error, said)


class _Interrupter:
    """Raises at a signal; those that follow soon do not interrupt the tidying up."""

    def __init__(self) -> None:
        self._since = float("-inf")
        self.raised: Interrupted | None = None

    def __call__(self, number: int, _frame: FrameType | None) -> None:
        now = time.monotonic()
        if now - self._since < TIDYING_SECONDS:
            return
        self._since = now
        signal.setitimer(signal.ITIMER_REAL, 0)  # no time limit interrupts the tidying up
        self.raised = Interrupted(number)
        raise self.raised


def _say_interrupted(stop: Interrupted) -> int:
    _ignore_signals()
    click.echo("interrupted; nothing half-written was left", err=True)
    return stop.exit_code


def _ignore_signals() -> None:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)


def _refuse_empty(arguments: Sequence[str]) -> None:
    """Refuse empty arguments, which a shell makes of variables that are not set."""
    for at, word in enumerate(arguments):
        if not word.strip() or (word.startswith("--") and word.endswith("=")):
            place = word or f"argument {at + 1}, after {arguments[at - 1] if at else 'sfs'}"
            raise UsageError(
                "an argument is empty", where=place, hint="is a variable of the shell not set?"
            )


def _usage_error(error: click.ClickException) -> UsageError:
    """Say what click found wrong in the same form as everything else."""
    ctx = getattr(error, "ctx", None)
    command = ctx.command_path if ctx is not None else "sfs COMMAND"
    what = error.format_message().rstrip(".")
    hint = f"`{command} --help` lists the arguments and options"
    if isinstance(error, click.NoSuchOption):
        what = f"there is no option {error.option_name}"
        if error.possibilities:
            from difflib import get_close_matches

            close = get_close_matches(error.option_name, sorted(error.possibilities), 3, 0)
            hint = f"did you mean {' or '.join(close)}? {hint}"
    return UsageError(what[:1].lower() + what[1:], where=command, hint=hint)


def _explain(error: Exception, said: dict[str, Messages]) -> int:
    """Say what went wrong; return the exit code. A traceback is for -v, and for our own bugs."""
    from sfs_cli.logs import VERBOSE, Messages

    messages = said.get("messages") or Messages()
    known = _as_known(error)
    if known is None or messages.verbosity >= VERBOSE:
        import traceback

        traceback.print_exception(error)
    if known is None:
        click.echo(
            "this is a bug in sfs, not in your data; please report it with the lines above",
            err=True,
        )
        return int(ExitCode.BUG)
    messages.error(known)
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
