"""From declared options to commands: click options, help by sections, and the one configuration."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from sfs_cli.errors import UsageError, counted
from sfs_cli.options.fields import (
    QUESTIONS,
    READ,
    SECTIONS,
    Config,
    Option,
    full_help,
    given_twice,
    metavar_of,
    options_of,
    short_help,
    texts_of,
)
from sfs_cli.options.grammar import expanded
from sfs_cli.options.paths import (
    OPENS,
    READS,
    NamedPath,
    is_copied,
    paths_of,
    public,
    refuse_pipes,
    refuse_replaced,
    refuse_suffixes,
)
from sfs_cli.options.rank import OutputFields, RankConfig

if TYPE_CHECKING:
    from sfs_cli.logs import Messages
    from sfs_cli.options.files import ConfigFile

Function = Callable[..., Any]
Decorator = Callable[[Function], Function]
FEW = 20
"""So many options at most are listed by ``--help``; of a command that has more, the first ones."""

ALL = "sfs_cli.all"
"""The key of a context that says that help lists all options."""


def _show_all(ctx: click.Context, _option: click.Parameter, asked: bool) -> None:
    """Print the help with all options, and end."""
    if asked and not ctx.resilient_parsing:
        ctx.meta[ALL] = True
        click.echo(ctx.get_help(), color=ctx.color)
        ctx.exit()


PATH = click.Path(readable=False)
"""A path whose names a shell completes; what is wrong with it is told where it is used."""


class SectionOption(click.Option):
    """An option with the headings that it is listed under, as in declarations."""

    def __init__(
        self,
        *arguments: Any,
        section: str = "Other",
        first: str = "",
        path: str = "",
        **facts: Any,
    ) -> None:
        if path:
            facts.setdefault("type", PATH)
        super().__init__(*arguments, **facts)
        self.section, self.first = section, first
        self.path = path  # what its path is used for, as in declarations

    def add_to_parser(self, parser: Any, ctx: click.Context) -> None:
        """Let the parser keep every value that is given, of which click would take the last."""
        if self.multiple:
            super().add_to_parser(parser, ctx)
            return
        how = {"action": "append_const", "const": True} if self.is_flag else {"action": "append"}
        parser.add_option(obj=self, opts=self.opts, dest=self.name, **how)

    def handle_parse_result(self, ctx: click.Context, opts: Any, args: list[str]) -> Any:
        """Take the only value that is given; a flag may be repeated, as that has one meaning.

        Raises
        ------
        UsageError
            Where there are several values: it names the option and two of them.
        """
        given = opts.get(self.name)
        if isinstance(given, list) and not self.multiple:
            several = len(given) > 1 and not self.is_flag
            if several and not ctx.resilient_parsing:  # a shell that completes says nothing
                name, place = max(self.opts, key=len), ctx.command_path
                raise given_twice(name, given, where=place, option=str(self.name))
            opts = {**opts, self.name: given[-1]}
        return super().handle_parse_result(ctx, opts, args)


class PathArgument(click.Argument):
    """An argument that no configuration declares: a path, and what it is used for."""

    def __init__(self, *arguments: Any, path: str, **facts: Any) -> None:
        super().__init__(*arguments, type=PATH, **facts)
        self.path = path


def path_argument(name: str, path: str, **facts: Any) -> Decorator:
    """Return a decorator: an argument that is a path, or several."""
    facts = {"metavar": name.upper(), **facts}
    return click.argument(name, cls=PathArgument, path=path, **facts)


def own(*names: str, section: str, **facts: Any) -> Decorator:
    """Return a decorator: an option that only one command has, or that is about no result."""
    return click.option(*names, cls=SectionOption, section=section, **facts)


_CONFIG = SectionOption(
    ["--config", "config_file"],
    section="Input",
    first=READ,
    metavar="FILE",
    path=READS,
    help="Read options from a YAML, TOML or JSON file, or from the run.json of an earlier run. "
    "Flags replace them.",
)
_MESSAGES = (
    SectionOption(
        ["-q", "--quiet"],
        section="Running",
        is_flag=True,
        help="Print only errors.",
    ),
    SectionOption(
        ["-v", "--verbose"], section="Running", is_flag=True, help="Print details and tracebacks."
    ),
)


class Command(click.Command):
    """A command with the options that a configuration declares for it.

    Its function gets the configuration as ``config``, made and checked from these options, and
    `Messages` as ``messages``, made from ``-q`` and ``-v``.

    Parameters
    ----------
    verb : str
        The words that call it, as in the declarations.
    config : type or None
        The configuration; None: the function gets the options one by one, those of a ranking.
    file : bool
        Whether ``--config`` may give options, the matrix included.
    fixed : dict, optional
        Options that the command decides.
    pipes : bool
        Whether inputs may come from standard input and addresses.
    params : list of click.Parameter
        Its arguments and the options that only it has.
    """

    def __init__(
        self,
        *,
        verb: str,
        config: type[Config] | None = RankConfig,
        file: bool = False,
        fixed: dict[str, Any] | None = None,
        pipes: bool = True,
        params: list[click.Parameter],
        **facts: Any,
    ) -> None:
        self.config = config
        options = options_of(config or RankConfig)
        self.declared = {o.name: o.as_in(verb) for o in options if verb in o.verbs}
        self.file, self.fixed = file, fixed or {}
        self.verb, self.pipes = verb, pipes
        flags = [o for o in self.declared.values() if not (o.argument or o.of)]
        declared = [_click_option(o, self._parameters(o.name)) for o in flags]
        if "files" in self.declared:
            at = [each.name for each in params].index("matrix")
            params.insert(at + 1, click.Argument(["files"], nargs=-1, metavar="[FILE]..."))
        for argument in params:
            found = self.declared.get(str(argument.name))
            if isinstance(argument, click.Argument) and found is not None:
                argument.type = PATH if found.path else click.STRING
        listed = [*([_CONFIG] if file else []), *declared, *params, *_MESSAGES]
        listed.sort(key=lambda parameter: isinstance(parameter, click.Option))  # arguments first
        self.shortened = sum(isinstance(each, click.Option) for each in listed) > FEW
        super().__init__(params=listed, **facts)
        if self.shortened:
            facts = {"cls": SectionOption, "section": "Help", "first": "Help"}
            facts |= {"is_flag": True, "is_eager": True, "expose_value": False}
            text = "Show all options and exit."
            click.option("--help-all", help=text, callback=_show_all, **facts)(self)

    def _parameters(self, host: str) -> list[Option]:
        """Return the parameters of an option here; those of methods are in `sfs methods`."""
        of_methods = host == "method"
        return [o for o in self.declared.values() if o.of == host and not (of_methods or o.begins)]

    def invoke(self, ctx: click.Context) -> Any:
        """Make messages and configuration, and call the function.

        Before anything is written, no output may be an input (`sfs_cli.options.paths`).
        """
        from sfs_cli.logs import NORMAL, QUIET, VERBOSE, Messages

        quiet, verbose = ctx.params.pop("quiet"), ctx.params.pop("verbose")
        messages = Messages(QUIET if quiet else VERBOSE if verbose else NORMAL)
        # the error that ends the command goes to the same places
        ctx.ensure_object(dict)["messages"] = messages
        with messages.few_warnings(), ExitStack() as copies:
            self._take(ctx, messages, copies)
            return super().invoke(ctx)

    def _take(self, ctx: click.Context, messages: Messages, copies: ExitStack) -> None:
        """Put the configuration in place of the options that are given.

        What comes through pipes is copied to files, which `copies` removes at the end.
        """
        from sfs_cli.logs import AT_ONCE  # help needs none of this

        given = ctx.params
        paths = list(self._own_paths(given))
        refuse_pipes(paths)  # before a file of options is read
        given["messages"] = messages
        values = {name: given.pop(name) for name in self.declared if name in given}
        for name, o in self.declared.items() if self.config is not None else ():
            if o.of:  # it comes with the option that it belongs to
                continue
            if o.joined:  # what is repeated is one list, in the order given
                values[name] = ",".join(values[name]) or None
            values[name] = values[name] if o.parse is None else o.parse(values[name])
        file: ConfigFile | None = None
        kind = self.config or RankConfig
        values = {o.name: o.default for o in self.declared.values() if o.of} | values
        values = expanded(kind, values) | self.fixed
        flags, whole = frozenset[str](), values
        if self.file:
            file, flags = self._file(ctx, values, given.pop("config_file"))
            whole = file.merged(values, flags)
        declared = paths_of(self.declared.values(), whole)
        refuse_pipes(declared)
        paths += declared
        refuse_replaced(paths, force=bool(values.get("force")))
        refuse_suffixes(paths)
        if self.config is None:
            given |= values
            return
        values = copies.enter_context(self._pipes_read(paths, whole, messages))
        if file is None:
            config: Any = self.config(**values)
        else:  # which has the options of a ranking
            assert issubclass(self.config, RankConfig)
            config = file.checked(self.config, values, flags)
        if isinstance(config, OutputFields) and "out" in self.declared and config.out is None:
            config = config.to_stdout()
        if config.left_out:
            messages.warn(config.left_out, AT_ONCE)
        if file is not None and file.inputs:
            from sfs_cli.workflow.recorded import warn_of_changes

            warn_of_changes(file, config, flags, messages)
        given["config"] = config

    def _own_paths(self, given: dict[str, Any]) -> Iterator[NamedPath]:
        """Yield the paths of arguments and options that no configuration declares."""
        for parameter in self.params:
            use, name = getattr(parameter, "path", ""), str(parameter.name)
            if use and given.get(name):
                argument = isinstance(parameter, click.Argument)
                label = str(parameter.metavar if argument else max(parameter.opts, key=len))
                for path in texts_of(given[name]):
                    yield NamedPath(name, label, path, use)

    def _pipes_read(
        self, paths: list[NamedPath], values: dict[str, Any], messages: Messages
    ) -> AbstractContextManager[dict[str, Any]]:
        """Give the values with copies in place of standard input and addresses."""
        piped = [each for each in paths if each.use in (READS, OPENS) and is_copied(each.path)]
        if not piped:
            return nullcontext(values)
        for each in piped:
            if not self.pipes:
                raise UsageError(
                    f"{each.label} {public(each.path)}: {self.verb} cannot read from standard "
                    "input or an address, because its inputs are read again later",
                    hint="write it to a file first, or sfs convert the matrix to a store",
                    option=each.option,
                )
        from sfs_cli.workflow.pipes import spooled

        return spooled(self.declared.values(), values, messages)

    def _file(
        self, ctx: click.Context, values: dict[str, Any], path: str | None
    ) -> tuple[ConfigFile, frozenset[str]]:
        """Return the file of options, and the names of those that the command line gives."""
        from sfs_cli.options.files import ConfigFile, load

        if path is not None and is_copied(path):
            raise UsageError(
                f"--config {path}: options cannot be read from standard input or an address",
                hint="write them to a file: paths in it are relative to its folder",
                option="config_file",
            )
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
        parts = {o.name for o in self.declared.values() if o.of}
        own = values.keys() - parts
        flags = {name for name in own if ctx.get_parameter_source(name) not in by_default}
        flags.discard("files")  # click 8.1 counts them as given where none are
        if "matrix" in flags:  # the other files of a configuration are beside its matrix
            flags.add("files")
        # what is given with a name replaces the parameters of another one
        flags |= {o.name for o in self.declared.values() if o.of in flags}
        return file, frozenset(flags | set(self.fixed))

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the options by section; of many the first ones."""
        whole = not self.shortened or ctx.meta.get(ALL, False)
        names: Sequence[str] = SECTIONS if whole else QUESTIONS
        sections = {name: list[tuple[str, str]]() for name in names}
        for each in self.get_params(ctx):
            record, o = each.get_help_record(ctx), self.declared.get(str(each.name))
            if record is None or isinstance(each, click.Argument):
                continue
            heading = getattr(each, "section" if whole else "first", "Help")
            if o is not None and not whole:
                record = record[0], short_help(o)
            sections.setdefault(heading, []).append(record)
        left = len(sections.pop("", ()))
        for heading, records in sections.items():
            if records:
                with formatter.section(heading):
                    formatter.write_dl(records)
        if left:
            more = f"{counted(left, 'more option')}: {ctx.command_path} --help-all"
            if {"method", "method_"} & self.declared.keys():
                more += "; options of a method: sfs methods NAME"
            formatter.write_paragraph()
            formatter.write_text(more)


def _click_option(o: Option, parameters: Sequence[Option] = ()) -> SectionOption:
    facts: dict[str, Any] = {"section": o.section, "first": o.first}
    facts |= {"metavar": metavar_of(o), "help": full_help(o)}
    if parameters:
        taken = ", ".join(f"{each.parameter}={metavar_of(each)}" for each in parameters)
        facts["metavar"] = f"{facts['metavar']}[,KEY=VALUE...]"
        facts["help"] += f"  Parameters: {taken}."
    if o.type is bool:
        return SectionOption([o.flag, o.name], is_flag=True, **facts)
    if o.parse is None and o.default not in (None, ...):
        facts["default"] = o.default
    if words := o.plain_words:
        facts["shell_complete"] = lambda _ctx, _option, begun: [
            word for word in words if word.startswith(begun)
        ]
    return SectionOption(
        [o.flag, o.name],
        type=o.type if o.type in (int, float) else PATH if o.path else str,
        multiple=o.repeated,
        required=o.default is ...,
        **facts,
    )
