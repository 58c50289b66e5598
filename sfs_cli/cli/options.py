"""From declared options to commands: click options, help by sections, and the one configuration."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import click
from click.core import ParameterSource

from sfs_cli.errors import UsageError
from sfs_cli.options.fields import SECTIONS, Config, Option, full_help, metavar_of, options_of
from sfs_cli.options.fields import flag as flag_of
from sfs_cli.options.rank import RankConfig

Function = Callable[..., Any]


class SectionOption(click.Option):
    """An option with the heading that it is listed under."""

    def __init__(self, *arguments: Any, section: str = "Other", **facts: Any) -> None:
        super().__init__(*arguments, **facts)
        self.section = section


class Command(click.Command):
    """A command whose help lists options by section, and which accepts their old names."""

    @property
    def declared(self) -> dict[str, Option]:
        """The options that a configuration declares for it, by their arguments."""
        return getattr(self.callback, "declared", {})

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Replace flags of earlier versions by the current ones, and parse."""
        # as options of click, old names would appear in help, completion and error messages
        now = {flag_of(old): o.flag for o in self.declared.values() for old in o.old_names}
        words = [word.partition("=") for word in args]
        return super().parse_args(ctx, ["".join((now.get(w, w), *rest)) for w, *rest in words])

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the options by section."""
        sections: dict[str, list[tuple[str, str]]] = {name: [] for name in SECTIONS}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if isinstance(parameter, click.Option) and record is not None:
                name = getattr(parameter, "section", "Help")
                sections.setdefault(name, []).append(record)
        for name, records in sections.items():
            if records:
                with formatter.section(name):
                    formatter.write_dl(records)


def own(*names: str, section: str, **facts: Any) -> Callable[[Function], Function]:
    """Return a decorator: an option that only one command has, or that is about no result."""
    return click.option(*names, cls=SectionOption, section=section, **facts)


CONFIG = own(
    "--config",
    "config_file",
    section="Input",
    metavar="FILE",
    help="Read options from a YAML, TOML or JSON file, or from the run.json of an earlier run. "
    "Flags replace them.",
)
_MESSAGES = (
    own("-q", "--quiet", section="Running", is_flag=True, help="Print only errors."),
    own("-v", "--verbose", section="Running", is_flag=True, help="Print details and tracebacks."),
    own("--log-file", section="Running", metavar="FILE", help="Append all messages to this file."),
)


def json_option(help: str) -> Callable[[Function], Function]:
    """Return the option ``--json``, the argument ``as_json`` of the command."""
    return own("--json", "as_json", section="Output", is_flag=True, help=help)


def declared(
    config: type[Config], verb: str, required: tuple[str, ...] = ()
) -> Callable[[Function], Function]:
    """Return a decorator that adds the options that a configuration declares for a command."""
    options = [o for o in options_of(config) if verb in o.verbs]

    def decorate(function: Function) -> Function:
        for o in reversed(options):
            facts: dict[str, Any] = {"metavar": metavar_of(o), "help": full_help(o)}
            if o.argument:
                continue  # each command has its own arguments
            if o.type is bool:
                on = f"{o.flag}/{flag_of(f'no_{o.name}')}" if o.default else o.flag
                facts |= {"is_flag": True, "default": o.default}
                names = [on, o.name]
            else:
                kind = o.type if o.type in (int, float) else str
                multiple = o.parse is not None and not o.words
                facts |= {"type": kind, "multiple": multiple, "required": o.name in required}
                if o.parse is None and o.default is not None:
                    facts["default"] = o.default
                names = [o.flag, o.name]
            function = own(*names, section=o.section, **facts)(function)
        function.declared = {o.name: o for o in options}  # type: ignore[attr-defined]
        return function

    return decorate


def logged(function: Function) -> Function:
    """Decorate a command: it takes ``-q``, ``-v`` and ``--log-file``, and gets `Messages`."""

    @functools.wraps(function)
    def call(*, quiet: bool, verbose: bool, log_file: str | None, **given: Any) -> Any:
        from pathlib import Path  # help does not need it

        from sfs_cli.logs import NORMAL, QUIET, VERBOSE, Messages

        level = QUIET if quiet else VERBOSE if verbose else NORMAL
        messages: Messages = Messages(level, Path(log_file).absolute() if log_file else None)
        # the error that ends the command goes to the same places
        click.get_current_context().ensure_object(dict)["messages"] = messages
        return function(messages=messages, **given)

    # click lists parameters in reverse: these come after those of the command
    listed: Function = lambda: None  # noqa: E731
    for option in reversed(_MESSAGES):
        option(listed)
    known = getattr(call, "__click_params__", [])
    call.__click_params__ = [*listed.__click_params__, *known]  # type: ignore[attr-defined]
    return call


def configured(
    verb: str, config: type[Config] = RankConfig, file: bool = True, **fixed: Any
) -> Callable[[Function], Function]:
    """Return a decorator: the command gets one configuration, made and checked from its options.

    Parameters
    ----------
    verb : str
        The command: it takes the options that are declared for it, and those of `logged`.
    config : type
        The configuration.
    file : bool
        Whether ``--config`` may give options, the matrix included.
    **fixed
        Options that the command decides.
    """
    options = [o for o in options_of(config) if verb in o.verbs]

    def decorate(function: Function) -> Function:
        @functools.wraps(function)
        def configure(**given: Any) -> Any:
            values = {o.name: given.pop(o.name) for o in options}
            for o in options:
                values[o.name] = values[o.name] if o.parse is None else o.parse(values[o.name])
            if file:
                made: Config = _from_file(values, given.pop("config_file"), fixed)
            else:
                made = config(**values, **fixed)
            return function(config=made, **given)

        call = declared(config, verb)(logged(configure))
        return CONFIG(call) if file else call

    return decorate


def _from_file(values: dict[str, Any], path: str | None, fixed: dict[str, Any]) -> RankConfig:
    """Return the configuration of a file and the options of the command line."""
    from sfs_cli.options.files import ConfigFile, load

    ctx = click.get_current_context()
    file = ConfigFile() if path is None else load(path)
    if values["matrix"] is None and "matrix" not in file.options:
        raise UsageError(
            "missing argument 'MATRIX'",
            where=ctx.command_path,
            hint="give a matrix, or --config FILE with one; "
            f"`{ctx.command_path} --help` lists the arguments and options",
            option="matrix",
        )
    by_default = (ParameterSource.DEFAULT, ParameterSource.DEFAULT_MAP)
    flags = {name for name in values if ctx.get_parameter_source(name) not in by_default}
    return file.config(values | fixed, flags | set(fixed))
