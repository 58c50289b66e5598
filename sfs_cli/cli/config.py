"""``sfs config``: check configuration files, and describe what they may contain."""

from __future__ import annotations

from collections.abc import Iterator

import click

from sfs_cli.cli.app import Group, app, commands_of
from sfs_cli.cli.options import path_argument
from sfs_cli.cli.streams import write_stdout
from sfs_cli.options.paths import READS


@click.group(cls=Group)
def command() -> None:
    """Check configuration files, or describe the options that they may contain.

    \b
    sfs config check run.yaml
    sfs config schema > schema.json
    sfs config reference > options.md
    """


@command.command(short_help="Check a file, and print its options.")
@path_argument("file", READS)
@click.option(
    "--strict-inputs",
    "strict",
    is_flag=True,
    help="Refuse inputs that have changed since the run of a run.json (else a warning).",
)
def check(file: str, strict: bool) -> None:
    """Check FILE as `sfs rank --config` does and that the files it names exist; print its options.

    FILE is YAML, TOML or JSON, or the run.json of an earlier run.
    """
    from sfs_cli.logs import Messages
    from sfs_cli.options.files import load
    from sfs_cli.run.config import configured, describe
    from sfs_cli.run.recorded import check_recorded

    found = load(file)
    text = describe(found)
    check_recorded(found, configured(found), (), Messages(), strict=strict)
    write_stdout(text)


@command.command(short_help="Print the JSON Schema of configuration files.")
def schema() -> None:
    """Print the JSON Schema (draft 2020-12) of configuration files, for editors."""
    import json

    from sfs_cli.options.schema import schema as make

    write_stdout(json.dumps(make(), indent=2) + "\n")


@command.command(short_help="Print the reference of all options.")
def reference() -> None:
    """Print the reference of all options as Markdown tables."""
    from sfs_cli.options.schema import reference as make

    write_stdout(make(further_options()))


def further_options() -> dict[str, list[tuple[str, str]]]:
    """Return the options that no configuration declares, by command: flags and help."""
    with click.Context(app) as ctx:
        further = {verb: list(_own_options(made)) for verb, made in commands_of(app, ctx)}
    return {verb: own for verb, own in further.items() if own}


def _own_options(made: click.Command) -> Iterator[tuple[str, str]]:
    """Yield the options of a command that no configuration declares."""
    known = getattr(made, "declared", ())
    for parameter in made.params:
        if isinstance(parameter, click.Option) and parameter.name not in known:
            text = (parameter.help or "") + (" (required)" if parameter.required else "")
            yield ", ".join([*parameter.opts, *parameter.secondary_opts]), text
