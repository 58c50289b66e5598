"""Scratch folders: named for a run, made when something is written, removed at the run's end.

What a killed run has left, a later one removes. A folder holds a file that its run has locked. The
kernel releases the lock however the process ends, so that the next run on the same machine that
takes a folder there can tell what is left over.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import tempfile
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sfs_cli.errors import unwritable
from sfs_cli.io.files.lock import boot_id, lock_file

_OWNER = "owner"
SCRATCH = re.compile(r"sfs-\d+-[0-9a-f]{12}")
"""Names of scratch folders."""
_mine: dict[Path, int | None] = {}  # folders of this process: the open lock, once it was made


@contextmanager
def scratch_folder(
    where: str | Path | None, announce: Callable[[Path], None] | None = None
) -> Iterator[Path]:
    """Give the name of a folder in `where` (by default the system's place); remove it at the end.

    `made` makes it, or a folder in it, when there is something to write; where `where` is given
    that is at once, so that one that cannot be used is told of before anything is read.
    `announce` receives its path before it is made, so that whoever cleans up after a killed run
    knows of it. Folders there that killed runs have left are removed.
    """
    parent = Path(where) if where else None
    try:
        if parent is not None:
            parent.mkdir(parents=True, exist_ok=True)
        home = _temporary() if parent is None else parent
        for left in home.glob(f"sfs-*-*/{_OWNER}"):
            remove_dead(left.parent)
    except OSError as error:
        raise unwritable(parent or _temporary(), error, "--scratch") from None
    folder = home.absolute() / f"sfs-{os.getpid()}-{uuid.uuid4().hex[:12]}"
    if announce is not None:
        announce(folder)
    _mine[folder] = None
    try:
        yield folder if parent is None else made(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        owner = _mine.pop(folder)
        if owner is not None:
            os.close(owner)


def made(folder: Path) -> Path:
    """Make a scratch folder, or a folder in one, where it is not there yet, and return it."""
    own = next((each for each in (folder, *folder.parents) if each in _mine), folder)
    try:
        if own in _mine and _mine[own] is None:
            own.mkdir(mode=0o700)
            _mine[own] = _own(own)
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise unwritable(own.parent, error, "--scratch") from None
    return folder


def _temporary() -> Path:
    try:
        return Path(tempfile.gettempdir())
    except FileNotFoundError:  # none can be written, which matters if one is needed
        return Path("/tmp")


def _own(folder: Path) -> int:
    """Lock a file in a folder as long as this process lives; return its descriptor."""
    hidden = folder / f".{_OWNER}"
    handle = os.open(hidden, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    os.write(handle, (boot_id() or "").encode())
    if lock_file(handle):  # else nobody can tell whether this process lives
        hidden.rename(folder / _OWNER)  # others look at it from now on
    return handle


def remove_dead(folder: Path) -> None:
    """Remove a scratch folder whose run was killed on this machine: what is in it must say so.

    It is a folder of this user with a file that no process has locked any more, or one that was
    killed before it had made that. Anything else stays.
    """
    with suppress(OSError):
        about = folder.lstat()
        ours = stat.S_ISDIR(about.st_mode) and about.st_uid == os.geteuid()
        if not (ours and SCRATCH.fullmatch(folder.name)):
            return
        within = {path.name for path in folder.iterdir()}
        if not within:
            folder.rmdir()
            return
        owner = folder / (_OWNER if _OWNER in within else f".{_OWNER}")
        handle = os.open(owner, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            # a lock may not reach other machines, so that only folders of this one are judged
            about, here = os.fstat(handle), (boot_id() or "none").encode()
            same = stat.S_ISREG(about.st_mode) and os.read(handle, 64) == here
            if same and about.st_uid == os.geteuid() and lock_file(handle):
                shutil.rmtree(folder, ignore_errors=True)
        finally:
            os.close(handle)
