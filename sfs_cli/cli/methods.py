"""``sfs methods``."""

from __future__ import annotations

import click

from sfs_cli.cli.streams import write_stdout


def _begun(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """Return the methods that begin as an incomplete name."""
    from sfs_cli.run.methods import METHODS

    return [name for name in METHODS if name.startswith(incomplete)]


@click.command(short_help="List the methods.")
@click.argument("name", metavar="[METHOD]", required=False, shell_complete=_begun)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(name: str | None, as_json: bool) -> None:
    """List the ranking methods: what each needs, what it costs, when to use it, what to cite.

    With METHOD, all options that it takes are described too.
    Without METHOD, it lists similarities, kinds of knowledge sources, and ways of weighting them
    and of aggregating rankings too.

    \b
    sfs methods
    sfs methods mrsf
    """
    from sfs_cli.run.methods import describe_methods

    write_stdout(describe_methods(name, as_json))
