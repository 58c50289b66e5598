"""``sfs methods``."""

from __future__ import annotations

import click

from sfs_cli.cli.streams import write_stdout


@click.command(short_help="List the methods.")
@click.argument("name", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(name: str | None, as_json: bool) -> None:
    """List the methods: what each needs, what it costs, when to use it, and where it is from."""
    from sfs_cli.jobs.methods import describe_methods

    write_stdout(describe_methods(name, as_json))
