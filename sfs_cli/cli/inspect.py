"""``sfs inspect``."""

from __future__ import annotations

from typing import Any

import click

from sfs_cli.cli import options
from sfs_cli.cli.sections import SectionCommand, option, section
from sfs_cli.cli.streams import write_stdout


@click.command(cls=SectionCommand, short_help="Tell what a matrix file holds.")
@click.argument("matrix", metavar="MATRIX")
@section(
    "Input",
    *options.READING,
    option("--labels", metavar="FILE[:COLUMN] or obs:KEY", help="Class of each sample."),
)
@section(
    "Output",
    option("--json", "as_json", is_flag=True, help="Print JSON."),
    *options.TALKING,
)
def command(as_json: bool, quiet: bool, verbose: bool, log_file: str | None, **given: Any) -> None:
    """Tell what MATRIX holds and how it would be read, without writing anything.

    The whole file is read once: format, orientation, shape, ids, missing values, constant
    features, the range of the values, and the classes of --labels.
    """
    from sfs_cli.config import RankConfig
    from sfs_cli.jobs.inspect import inspect

    messages = options.messages(quiet, verbose, log_file)
    write_stdout(inspect(RankConfig(**given), messages, as_json))
