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
    "convert": "Convert a matrix to a store, which is faster to read.",
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
    except Interrupted as stop:  # between the two
        code = _end_interrupted(stop)
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
    from sfs_cli.run.caches import compiled_code_kept

    interrupter = _Interrupter()
    for number in _SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:  # `nohup`, or `&` in a script, asked so
            signal.signal(number, interrupter)
    sys.unraisablehook = interrupter.ignored
    context: dict[str, Messages] = {}
    try:
        _refuse_empty(words)
        with compiled_code_kept():
            code = int(app(arguments, prog_name="sfs", standalone_mode=False, obj=context) or 0)
        # a finalizer may have swallowed the exception of the signal
        return code if interrupter.raised is None else _end_interrupted(interrupter.raised)
    except Interrupted as stop:
        return _end_interrupted(stop)
    except click.ClickException as error:
        return _explain(_usage_error(error, words[0] if words else ""), context)
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except BrokenPipeError:
        close_stdout()
        return int(ExitCode.OK)
    except Exception as error:
        if interrupter.raised is not None:  # as click has it, or as a library replaced it
            return _end_interrupted(interrupter.raised)
        return _explain(error, context)


class _Interrupter:
    """Raises `Interrupted` at the first signal; later ones do not interrupt the cleanup."""

    def __init__(self) -> None:
        self._since = float("-inf")
        self.raised: Interrupted | None = None

    def __call__(self, number: int, _frame: FrameType | None) -> None:
        now = time.monotonic()
        if now - self._since < CLEANUP_SECONDS:
            return
        self._since = now
        self.raised = Interrupted(number)
        raise self.raised

    def ignored(self, what: sys.UnraisableHookArgs) -> None:
        """Send a signal again whose exception Python ignores: it came during a finalizer.

        Otherwise the command would go on to its end, and replace a result before it says that it
        was interrupted.
        """
        if not isinstance(what.exc_value, Interrupted):
            sys.__unraisablehook__(what)
            return
        self._since = float("-inf")
        main, number = threading.main_thread().ident, what.exc_value.args[0]
        again = threading.Timer(0.01, signal.pthread_kill, (main, number))
        again.daemon = True
        again.start()


def _ignore_signals() -> None:
    for number in _SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def _end_interrupted(stop: Interrupted) -> int:
    _ignore_signals()
    click.echo("interrupted; no partial output was left", err=True)
    return 128 + int(stop.args[0])


def _refuse_empty(arguments: Sequence[str]) -> None:
    """Refuse empty arguments, which often come from unset variables of the shell."""
    for at, word in enumerate(arguments):
        if not word.strip() or (word.startswith("--") and word.endswith("=")):
            place = word or f"argument {at + 1}, after {arguments[at - 1] if at else 'sfs'}"
            raise UsageError(
                "an argument is empty", where=place, hint="check that all shell variables are set"
            )


def _usage_error(error: click.ClickException, first: str) -> UsageError:
    """Return an error of click in the form of all others; `first` is the first argument."""
    ctx = getattr(error, "ctx", None)
    command = (
        ctx.command_path if ctx is not None else f"sfs {first if first in VERBS else 'COMMAND'}"
    )
    what = error.format_message().rstrip(".")
    hint = f"`{command} --help` lists the arguments and options"
    if isinstance(error, click.NoSuchOption):
        what = f"unknown option {error.option_name}"
        if error.option_name in ("-o", "--out") and command == "sfs convert":
            hint = f"the store is the last argument: sfs convert FILE STORE; {hint}"
        elif written := _parameter_of(error.option_name):
            hint = f"it is a parameter now: {written}"
        elif others := _commands_taking(error.option_name):
            hint = f"an option of {listed(others)}; {hint}"
        elif error.possibilities:
            from difflib import get_close_matches

            close = get_close_matches(error.option_name, sorted(error.possibilities), 3, 0)
            hint = f"did you mean {' or '.join(close)}? {hint}"
    if what.startswith("Got unexpected extra argument") and len(what) > 84:
        what = f"{what[:80]}...)"
    parameter: Any = getattr(error, "param", None)
    choices = getattr(getattr(parameter, "type", None), "choices", ())
    if isinstance(error, click.MissingParameter) and choices:
        # the message of click has each choice on a line of its own
        what = f"missing {parameter.param_type_name} {parameter.get_error_hint(ctx)}"
        hint = f"choose from {', '.join(choices)}; {hint}"
    name = getattr(parameter, "name", None)
    what = what[:1].lower() + what[1:]
    return UsageError(what, where=command, hint=hint, option=name or ())


def _parameter_of(option: str) -> str | None:
    """Return how a parameter is given that was an option of its own in version 0."""
    from sfs_cli.options.fields import flag, options_of
    from sfs_cli.options.rank import RankConfig

    found = next((o for o in options_of(RankConfig) if o.of and flag(o.name) == option), None)
    if found is None:
        return None
    return (
        f"{flag(found.of)} {found.word}PATH"
        if found.begins
        else (f"{flag(found.of)} NAME,{found.parameter}=VALUE")
    )


def _commands_taking(option: str) -> list[str]:
    """Return the commands that take an option, as they are called."""
    with click.Context(app) as ctx:
        return [
            f"`sfs {name}`"
            for name, command in commands_of(app, ctx)
            if any(option in each.opts for each in command.params)
        ]


def commands_of(group: click.Group, ctx: click.Context) -> Iterator[tuple[str, click.Command]]:
    """Yield every command by the words that call it."""
    for name in group.list_commands(ctx):
        made = group.get_command(ctx, name)
        if isinstance(made, click.Group):
            yield from ((f"{name} {inner}", found) for inner, found in commands_of(made, ctx))
        elif made is not None:
            yield name, made


def _explain(error: Exception, context: dict[str, Messages]) -> int:
    """Print an error and return the exit code; tracebacks only with -v, and for our own bugs."""
    from sfs_cli.logs import VERBOSE, Messages

    messages = context.get("messages") or Messages()
    known = error if isinstance(error, SfsError) else None
    if known is None and _lacks_memory(error):
        hint = "give the job more memory, lower --memory, or use fewer --threads"
        known = OutOfMemoryError("not enough memory", hint=hint)
    elif isinstance(error, OSError) and (is_full(error) or error.errno == errno.EFBIG):
        known = unwritable(error.filename or "the output", error)
    elif isinstance(error, UnicodeEncodeError) and error.encoding not in ("utf-8", "utf8"):
        what = f"{error.object!r} cannot be written in the encoding of this system, "
        hint = "set a UTF-8 locale, such as LC_ALL=C.UTF-8"
        known = InputError(f"{what}{error.encoding}", hint=hint)
    elif isinstance(error, FileNotFoundError) and error.filename is None and not _is_somewhere():
        known = InputError(
            "the folder in which sfs was started has been removed",
            where=os.environ.get("PWD"),
            hint="change to a folder that is there (cd), also where a new one has the same name",
        )
    elif isinstance(error, OSError):
        what = f"{error.filename or 'a file'} cannot be used: {reason_of(error)}"
        known = InputError(what, hint="check the path and its permissions")
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


def _lacks_memory(error: BaseException | None) -> bool:
    """Tell whether an error, or what it comes from, is a lack of memory."""
    while error is not None:
        if isinstance(error, MemoryError) or getattr(error, "errno", None) == errno.ENOMEM:
            return True
        error = error.__cause__ or error.__context__
    return False


def _is_somewhere() -> bool:
    """Tell whether the current folder exists."""
    try:
        return bool(os.getcwd())  # noqa: PTH109
    except OSError:
        return False
