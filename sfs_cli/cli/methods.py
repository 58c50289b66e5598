"""``sfs methods``."""

from __future__ import annotations

import click

from sfs_cli.cli.streams import write_stdout


def _begun(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """Return the names that begin as an incomplete one."""
    from sfs_cli.workflow.methods import NAMES

    return [name for name in NAMES if name.startswith(incomplete)]


@click.command()
@click.argument("name", metavar="[NAME]", required=False, shell_complete=_begun)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(name: str | None, as_json: bool) -> None:
    """List the methods, similarities, kinds of knowledge sources, and ways of weighting them.

    With the NAME of a method, a similarity or a way of weighting: what it needs and costs, when to
    use it, what to cite, and its parameters.

    \b
    sfs methods
    sfs methods mrsf
    """
    from sfs_cli.workflow.methods import describe_methods

    write_stdout(describe_methods(name, as_json))
