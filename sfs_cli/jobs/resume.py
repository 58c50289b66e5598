"""What is kept beside an output, so that a run can go on where another was stopped."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sfs_cli import provenance
from sfs_cli.compute.running import RunningFolder
from sfs_cli.io.atomic import beside
from sfs_cli.io.lock import Lock
from sfs_cli.jobs.kept_matrix import KeptMatrix
from sfs_cli.jobs.opening import Kept
from sfs_cli.logs import Messages

SUFFIX = "sfs-resume"
LAYOUT = 2
"""What parts hold and in which order they are added up; parts of another layout are not used."""


def identity_of(fingerprint: str) -> str:
    """Return what parts of passes are known by: the work, and what decides how it is rounded."""
    versions = {k: v for k, v in provenance.versions().items() if k != "pyarrow"}
    return hashlib.sha256(json.dumps([fingerprint, versions, LAYOUT]).encode()).hexdigest()


def forget(output: Path) -> None:
    """Remove what is kept beside an output."""
    shutil.rmtree(beside(output, SUFFIX), ignore_errors=True)


@contextmanager
def kept_beside(
    output: Path, fingerprint: str, lock: Lock, messages: Messages, *, resume: bool
) -> Iterator[Kept]:
    """Keep what is done, or go on with what was kept; remove it when all is done.

    Parameters
    ----------
    output : Path
        The output.
    fingerprint : str
        Of the work.
    lock : Lock
        Of the output; it is told of what has to be removed if the run is killed.
    messages : Messages
        Told whether there is something to go on with.
    resume : bool
        Whether to keep anything; if not, what is there is removed.
    """
    if not resume:
        forget(output)
        yield Kept(announce=lock.leaves)
        return
    parts = RunningFolder(beside(output, SUFFIX))
    if parts.claim(identity_of(fingerprint)):
        messages.note(f"{output}: going on with what an earlier run has done")
    try:
        yield Kept(parts, KeptMatrix(parts.folder), lock.leaves)
    except BaseException:
        if not any(parts.folder.glob("pass-*")) and not KeptMatrix(parts.folder).is_whole():
            forget(output)
        raise
    forget(output)
