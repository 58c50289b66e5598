"""From declared options to commands: click options, help by sections, and the one configuration."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click
from click.core import ParameterSource

from sfs_cli.cli.limits import check_address_space
from sfs_cli.errors import UsageError
from sfs_cli.options.fields import SECTIONS, Config, Option, flag, full_help, metavar_of, options_of
from sfs_cli.options.rank import RankConfig

Function = Callable[..., Any]


class SectionOption(click.Option):
    """An option with the heading that it is listed under."""

    def __init__(self, *arguments: Any, section: str = "Other", **facts: Any) -> None:
        super().__init__(*arguments, **facts)
        self.section = section


def own(*names: str, section: str, **facts: Any) -> Callable[[Function], Function]:
    """Return a decorator: an option that only one command has, or that is about no result."""
    return click.option(*names, cls=SectionOption, section=section, **facts)


def json_option(help: str) -> Callable[[Function], Function]:
    """Return the option ``--json``, the argument ``as_json`` of the command."""
    return own("--json", "as_json", section="Output", is_flag=True, help=help)


_CONFIG = SectionOption(
    ["--config", "config_file"],
    section="Input",
    metavar="FILE",
    help="Read options from a YAML, TOML or JSON file, or from the run.json of an earlier run. "
    "Flags replace them.",
)
_MESSAGES = (
    SectionOption(["-q", "--quiet"], section="Running", is_flag=True, help="Print only errors."),
    SectionOption(
        ["-v", "--verbose"], section="Running", is_flag=True, help="Print details and tracebacks."
    ),
    SectionOption(
        ["--log-file"], section="Running", metavar="FILE", help="Append all messages to this file."
    ),
)


class Command(click.Command):
    """A command with the options that a configuration declares for it.

    Its function gets the configuration as ``config``, made and checked from these options, and
    `Messages` as ``messages``, made from ``-q``, ``-v`` and ``--log-file``.

    Parameters
    ----------
    verb : str
        The words that call it, as in the declarations.
    config : type
        The configuration.
    made : bool
        Whether the configuration is made; else the function gets the options one by one.
    file : bool
        Whether ``--config`` may give options, the matrix included.
    required : tuple of str
        Options that have to be given.
    fixed : dict, optional
        Options that the command decides.
    params : list of click.Parameter
        Its arguments and the options that only it has.
    """

    def __init__(
        self,
        *,
        verb: str,
        config: type[Config] = RankConfig,
        made: bool = True,
        file: bool = False,
        required: tuple[str, ...] = (),
        fixed: dict[str, Any] | None = None,
        params: list[click.Parameter],
        **facts: Any,
    ) -> None:
        self.config = config if made else None
        self.declared = {o.name: o for o in options_of(config) if verb in o.verbs}
        self.file, self.fixed = file, fixed or {}
        options = [_click_option(o, required) for o in self.declared.values() if not o.argument]
        listed = [*([_CONFIG] if file else []), *options, *params, *_MESSAGES]
        listed.sort(key=lambda parameter: isinstance(parameter, click.Option))  # arguments first
        super().__init__(params=listed, **facts)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Replace flags of earlier versions by the current ones, and parse."""
        # as options of click, old names would appear in help, completion and error messages
        now = {flag(old): o.flag for o in self.declared.values() for old in o.old_names}
        words = [word.partition("=") for word in args]
        return super().parse_args(ctx, ["".join((now.get(w, w), *rest)) for w, *rest in words])

    def invoke(self, ctx: click.Context) -> Any:
        """Make messages and configuration, and call the function."""
        from pathlib import Path  # help does not need it

        from sfs_cli.logs import NORMAL, QUIET, VERBOSE, Messages

        given = ctx.params
        quiet, verbose, log_file = (given.pop(name) for name in ("quiet", "verbose", "log_file"))
        level = QUIET if quiet else VERBOSE if verbose else NORMAL
        messages = Messages(level, Path(log_file).absolute() if log_file else None)
        given["messages"] = messages
        # the error that ends the command goes to the same places
        ctx.ensure_object(dict)["messages"] = messages
        check_address_space()
        if self.config is not None:
            values = {name: given.pop(name) for name in self.declared}
            for name, o in self.declared.items():
                if o.joined:  # what is repeated is one list, in the order given
                    values[name] = ",".join(values[name]) or None
                values[name] = values[name] if o.parse is None else o.parse(values[name])
            if self.file:
                given["config"] = self._from_file(ctx, values, given.pop("config_file"))
            else:
                given["config"] = self.config(**values, **self.fixed)
        return super().invoke(ctx)

    def _from_file(self, ctx: click.Context, values: dict[str, Any], path: str | None) -> Config:
        """Return the configuration of a file and the options of the command line."""
        from sfs_cli.options.files import ConfigFile, load

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
        return file.config(values | self.fixed, flags | set(self.fixed))

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


def _click_option(o: Option, required: tuple[str, ...]) -> SectionOption:
    facts: dict[str, Any] = {"section": o.section, "metavar": metavar_of(o), "help": full_help(o)}
    if o.type is bool:
        on = f"{o.flag}/{flag(f'no_{o.name}')}" if o.default else o.flag
        return SectionOption([on, o.name], is_flag=True, default=o.default, **facts)
    if o.parse is None and o.default is not None:
        facts["default"] = o.default
    return SectionOption(
        [o.flag, o.name],
        type=o.type if o.type in (int, float) else str,
        multiple=o.joined or (o.parse is not None and not o.words),
        required=o.name in required,
        **facts,
    )
