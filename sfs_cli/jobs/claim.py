"""Claiming an output: one run at a time, after tidying up behind runs that were killed."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from sfs_cli import provenance
from sfs_cli.io.atomic import check_writable, finish, remove_partial
from sfs_cli.io.lock import Lock, output_lock
from sfs_cli.logs import Messages

_SCRATCH = re.compile(r"sfs-\d+-[0-9a-f]{12}")
"""Names of scratch folders, which alone are removed with what is in them."""


@contextmanager
def claimed(
    output: Path, messages: Messages, *, beside: Sequence[Path] = (), option: str = "--out"
) -> Iterator[Lock]:
    """Hold an output for this run alone.

    What a run that was killed had written whole is put in its place, and the rest is removed.

    Parameters
    ----------
    output : Path
        The file or folder that will be written.
    messages : Messages
        Told of runs that were killed.
    beside : sequence of Path
        Files that the run will write besides.
    option : str
        What names the output.

    Raises
    ------
    OutputBusyError
        When another run is writing it.
    InputError
        When it cannot be written.
    """
    check_writable(output, option)
    with output_lock(output, option) as lock:
        if lock.stale is not None:
            holder = lock.stale
            messages.note(
                f"{output}: a run was killed (process {holder.get('pid')} on "
                f"{holder.get('host')}); what it left is tidied up"
            )
        for left in (*map(Path, lock.left), output.resolve(), *beside):
            if _SCRATCH.fullmatch(left.name):
                shutil.rmtree(left, ignore_errors=True)
            else:
                remove_partial(left.parent, left.name)
        if output.is_dir():
            finish(output, provenance.NAME)
        yield lock
