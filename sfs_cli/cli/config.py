"""``sfs config``: what configuration files ask for, and what they may hold."""

from __future__ import annotations

import click

from sfs_cli.cli.streams import write_stdout
from sfs_cli.errors import ExitCode


@click.group(short_help="Check a configuration file.", invoke_without_command=True)
@click.pass_context
def command(ctx: click.Context) -> None:
    """Check configuration files, or print what they may hold.

    \b
    sfs config check run.yaml
    sfs config schema > schema.json
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help(), err=True)
        ctx.exit(ExitCode.USAGE)


@command.command(short_help="Tell what a file asks for, and whether it can be done.")
@click.argument("file", metavar="FILE")
def check(file: str) -> None:
    """Read FILE as `sfs rank --config` does, look for the files that it names, and sum it up.

    FILE is YAML, TOML or JSON, or the run.json of a run.
    """
    from sfs_cli.config.files import load
    from sfs_cli.jobs.config import describe

    write_stdout(describe(load(file)))


@command.command(short_help="Print the JSON Schema of configuration files.")
def schema() -> None:
    """Print the JSON Schema (draft 2020-12) of configuration files, for editors."""
    import json

    from sfs_cli.cli.rank import command as rank
    from sfs_cli.config.schema import schema as make

    helps = {p.name or "": p.help or "" for p in rank.params if isinstance(p, click.Option)}
    helps["matrix"] = "The matrix; one on the command line wins."
    write_stdout(json.dumps(make(helps), indent=2) + "\n")
