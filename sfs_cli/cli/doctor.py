"""``sfs doctor``."""

from __future__ import annotations

import click

from sfs_cli.cli.limits import check_address_space
from sfs_cli.cli.streams import write_stdout


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(as_json: bool) -> None:
    """Check that sfs works on this machine, in a second or two.

    It prints versions, the BLAS and its threads, which extras are installed and what they are for,
    memory and scratch space, and ranks a small matrix, whose scores it compares with their formula.
    The exit code is 0 if all is well, and 3 if not.

    \b
    sfs doctor
    sfs doctor --json
    """
    check_address_space()
    from sfs_cli.run.doctor import doctor

    report, error = doctor(as_json)
    write_stdout(report)
    if error is not None:
        raise error
