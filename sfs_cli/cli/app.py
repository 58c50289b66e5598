"""The entry point: the commands, signals, and the one place that turns errors into exit codes."""

from __future__ import annotations

import errno
import gc
import os
import signal
import sys
import threading
import time
import warnings
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn

import click

from sfs_cli.cli.streams import close_stdout, fill_closed, forgive_stderr
from sfs_cli.errors import (
    ExitCode,
    InputError,
    OutOfMemoryError,
    SfsError,
    UsageError,
    escaped,
    is_full,
    listed,
    near,
    nearest,
    reason_of,
    unwritable,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sfs_cli.logs import Messages

VERBS = {
    "rank": "Rank the features of a matrix (the main command).",
    "shard": "Rank in shards on many machines.",
    "aggregate": "Aggregate several rankings into one.",
    "evaluate": "Measure what a ranking is worth: accuracy on unseen samples, known sets.",
    "compare": "Compare methods and rankings on one matrix.",
    "select": "Choose how many features of a ranking to take, and write the list.",
    "report": "Make the page of a ranking again, without ranking.",
    "fuse": "Fuse knowledge sources into one similarity between samples.",
    "inspect": "Describe a matrix file and how it would be read.",
    "convert": "Convert files to a store, which is faster to read, or to one table.",
    "methods": "List the methods: what each needs, costs and cites.",
}
"""The commands in the order of the help, each a module of this package with a `command`."""

BLAS_VARIABLES = (
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)

_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
CLEANUP_SECONDS = 10
"""For so long after the first signal, further ones do not interrupt the cleanup."""


class Interrupted(KeyboardInterrupt):
    """The signal with this number asked the process to stop.

    The compiler of Python lets no other exception pass: one that is raised while a module or a
    dataclass is compiled would be lost, and the run would go on.
    """


class Group(click.Group):
    """A group of commands; without one of them it shows its help."""

    def __init__(self, **facts: Any) -> None:
        super().__init__(subcommand_metavar="[COMMAND] [ARGS]...", **facts)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the words before the command."""
        if not args and not ctx.resilient_parsing:  # a shell that completes parses so
            click.echo(ctx.get_help(), err=True)
            ctx.exit(ExitCode.USAGE)
        return super().parse_args(ctx, args)


class LazyGroup(Group):
    """A group that imports a command when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the commands in the order of the help."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """Import and return a command."""
        if name not in VERBS:
            return None
        from importlib import import_module

        command: click.Command = import_module(f"sfs_cli.cli.{name}").command
        command.short_help = VERBS[name]  # shells show it beside their completions
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl(list(VERBS.items()))

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """Find the command; name the most similar one if it does not exist."""
        if args[0] not in VERBS and not args[0].startswith("-"):
            hint = nearest(args[0], VERBS)
            if "." in args[0] or "/" in args[0]:  # a file
                hint = "the command comes first: sfs rank MATRIX; `sfs --help` lists the commands"
            raise UsageError(f"unknown command {args[0]!r}", hint=hint)
        return super().resolve_command(ctx, args)


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="sfs-cli", message="sfs %(version)s")
def app() -> None:
    """Spectral feature selection for expression matrices.

    \b
    sfs rank expression.csv --out results
    """


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit with its code."""
    fill_closed()
    forgive_stderr()
    if not sys.warnoptions:  # what libraries warn of is for developers; ours are messages
        warnings.simplefilter("ignore")
    try:
        code = run(arguments)
        _ignore_signals()  # all is written and said: the exit code stays that of the work
    except Interrupted as asked:  # between the two
        code = _interrupted(int(asked.args[0]))
    gc.freeze()  # the process ends: a last search for reference cycles would only cost time
    sys.exit(code)


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return its exit code.

    Every command ends here: results and help with 0, errors of the user with the codes of
    `ExitCode`, signals with 128 plus their number.
    """
    for name in BLAS_VARIABLES:  # blocks run in parallel, each on one thread
        os.environ[name] = "1"
    words = sys.argv[1:] if arguments is None else arguments
    stops: list[tuple[float, int]] = []  # when the process was asked to stop, by which signal

    def stop(number: int, _frame: FrameType | None) -> None:
        if not stops or time.monotonic() > stops[-1][0] + CLEANUP_SECONDS:
            stops.append((time.monotonic(), number))
            raise Interrupted(number)

    def swallowed(what: sys.UnraisableHookArgs) -> None:
        """Send a signal again whose exception Python ignores: it came during a finalizer."""
        if not isinstance(what.exc_value, Interrupted):
            sys.__unraisablehook__(what)
            return
        stops.clear()
        main, number = threading.main_thread().ident, what.exc_value.args[0]
        again = threading.Timer(0.01, signal.pthread_kill, (main, number))
        again.daemon = True
        again.start()

    sys.unraisablehook = swallowed
    for number in _SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:  # `nohup`, or `&` in a script, asked so
            signal.signal(number, stop)
    context: dict[str, Messages] = {}
    try:
        _refuse_empty(words)
        code = int(app(arguments, prog_name="sfs", standalone_mode=False, obj=context) or 0)
        return code if not stops else _interrupted(stops[-1][1])
    except click.exceptions.Exit as ended:
        return ended.exit_code
    except BrokenPipeError:
        close_stdout()
        return int(ExitCode.OK)
    except (Exception, Interrupted) as error:
        if stops:  # click, or another library, may have replaced the exception
            return _interrupted(stops[-1][1])
        if isinstance(error, click.ClickException):
            error = _usage_error(error, words[0] if words else "")
        return _explain(error, context.get("messages"))


def _ignore_signals() -> None:
    for number in _SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def _interrupted(number: int) -> int:
    """Say that a signal has ended the command, and return the exit code; no other one counts."""
    _ignore_signals()
    click.echo("interrupted; no partial output was left", err=True)
    return 128 + number


def _refuse_empty(arguments: Sequence[str]) -> None:
    """Refuse empty arguments, which often come from unset variables of the shell."""
    for at, word in enumerate(arguments):
        if not word.strip() or (word.startswith("--") and word.endswith("=")):
            place = word or f"argument {at + 1}, after {arguments[at - 1] if at else 'sfs'}"
            raise UsageError(
                "an argument is empty", where=place, hint="check that all shell variables are set"
            )


_MEANT = dict.fromkeys(("--pair", "--pairs", "--paired"), "--block")
"""Options that other programs have, and what does it here."""


def _usage_error(error: click.ClickException, first: str) -> UsageError:
    """Return an error of click in the form of all others; `first` is the first argument."""
    from sfs_cli.options.fields import flag, options_of
    from sfs_cli.options.rank import RankConfig

    ctx = getattr(error, "ctx", None)
    verb = first if first in VERBS else "COMMAND"
    command = f"sfs {verb}" if ctx is None else ctx.command_path
    what = error.format_message().rstrip(".")
    hint = f"`{command} --help` lists the arguments and options"
    if isinstance(error, click.NoSuchOption):
        what, option = f"unknown option {error.option_name}", error.option_name
        meant = _MEANT.get(option, option)
        # a parameter, which was an option of its own in version 0
        of = next((o for o in options_of(RankConfig) if o.of and flag(o.name) == option), None)
        with click.Context(app) as whole:
            takers = [
                f"`sfs {name}`"
                for name, made in commands_of(app, whole)
                if any(meant in each.opts for each in made.params)
            ]
        if option in ("-o", "--out") and command == "sfs convert":
            hint = f"the output is the last argument: sfs convert FILE OUTPUT; {hint}"
        elif of is not None:
            value = f"{of.word}PATH" if of.begins else f"NAME,{of.parameter}=VALUE"
            hint = f"it is a parameter now: {flag(of.of)} {value}"
        elif f"`{command}`" in takers:
            hint = near(meant, [meant]) + hint
        elif takers:
            hint = f"{meant} is an option of {listed(takers)}; {hint}"
        else:
            hint = near(option, error.possibilities or ()) + hint
    name = getattr(getattr(error, "param", None), "name", None)
    return UsageError(what[:1].lower() + what[1:200], where=command, hint=hint, option=name or ())


def commands_of(group: click.Group, ctx: click.Context) -> Iterator[tuple[str, click.Command]]:
    """Yield every command by the words that call it."""
    for name in group.list_commands(ctx):
        made = group.get_command(ctx, name)
        if isinstance(made, click.Group):
            yield from ((f"{name} {inner}", found) for inner, found in commands_of(made, ctx))
        elif made is not None:
            yield name, made


def _explain(error: BaseException, messages: Messages | None) -> int:
    """Print an error and return the exit code; tracebacks only with -v, and for our own bugs."""
    from sfs_cli.logs import VERBOSE, Messages

    messages = messages or Messages()
    known = error if isinstance(error, SfsError) else None
    if isinstance(error, MemoryError) or getattr(error, "errno", None) == errno.ENOMEM:
        hint = "give the job more memory, lower --memory, or use fewer --threads"
        known = OutOfMemoryError("not enough memory", hint=hint)
    elif isinstance(error, OSError) and is_full(error):
        known = unwritable(error.filename or "the output", error)
    elif isinstance(error, UnicodeEncodeError) and error.encoding != "utf-8":
        what = f"{error.object!r} cannot be written in the encoding of this system, "
        hint = "set a UTF-8 locale, such as LC_ALL=C.UTF-8"
        known = InputError(f"{what}{error.encoding}", hint=hint)
    elif isinstance(error, OSError):
        lacking = isinstance(error, FileNotFoundError) and error.filename is None
        file = "the current folder" if lacking else error.filename or "a file"
        where = os.environ.get("PWD") if lacking else None
        hint = "check the path and its permissions"
        known = InputError(f"{file} cannot be used: {reason_of(error)}", where=where, hint=hint)
    if known is None or messages.verbosity >= VERBOSE:
        import traceback

        lines = "".join(traceback.format_exception(error))
        click.echo(escaped(lines, lines=True), err=True, nl=False)
    if known is None:
        bug = "this is a bug in sfs, not in your data; please report it with the lines above"
        click.echo(bug, err=True)
        return int(ExitCode.BUG)
    messages.error(known)
    return int(known.exit_code)
