"""Outputs that are complete or absent: written beside their target, renamed when done.

Scratch folders are named for a run, made when something is written, and removed at the run's end.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import shutil
import tempfile
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from sfs_cli.errors import InputError, unwritable

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # of a disk, a quota or the size of a file
PARTIAL = "sfs-partial"
"""Part of the names of files that are being written."""


@dataclass
class OutputFolder:
    """Files of a run on their way to the folder `path`."""

    path: Path
    _staging: Path

    def file(self, name: str) -> Path:
        """Return where to write the file that will be called `name`."""
        return self._staging / name

    def commit(self, last: str) -> None:
        """Move every file to its place, and after them all `last`, which vouches for the others.

        Where a file cannot be replaced, or the moves are interrupted, the old ones are put back.
        """
        names = sorted((p.name for p in self._staging.iterdir()), key=lambda n: (n == last, n))
        refuse_folders(self.path / name for name in names)
        old = self._staging / "old"
        old.mkdir()
        try:
            for name in names:
                if os.path.lexists(self.path / name):
                    (self.path / name).rename(old / name)
                (self._staging / name).replace(self.path / name)
        except BaseException:
            for name in names:
                if os.path.lexists(old / name):
                    (old / name).replace(self.path / name)
                elif not (self._staging / name).exists():
                    (self.path / name).unlink()
            raise


@contextmanager
def output_folder(path: Path) -> Iterator[OutputFolder]:
    """Give a folder to write to, hidden inside `path`, which is made if absent."""
    staging = path / f".{PARTIAL}-{uuid.uuid4().hex[:12]}"
    with _staged(staging, path, "--out", staging):
        yield OutputFolder(path, staging)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a path to write a file or folder to, which replaces `path` on success.

    Raises
    ------
    InputError
        When it cannot be written.
    """
    # not the process id: in a container every run has the same one, and killed runs leave theirs
    partial = path.with_name(f".{path.name}.{PARTIAL}-{uuid.uuid4().hex[:12]}")
    with _staged(partial, path, "path", path.parent):
        yield partial
        _replace(partial, path)


@contextmanager
def _staged(partial: Path, path: Path, option: str, folder: Path) -> Iterator[None]:
    """Let an output be written to `partial`, which goes at the end, with a `folder` that is made.

    Errors name the output, and not where it was staged. Folders that are not empty stay.
    """
    made = [p for p in (folder, *folder.parents) if not p.exists()]
    try:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise unwritable(path, error, option) from None
        yield
    except (OSError, RuntimeError) as error:
        if told := _told(error, path, partial, option):
            raise told from None
        raise
    finally:
        if partial.is_dir():
            shutil.rmtree(partial, ignore_errors=True)
        else:
            with suppress(OSError):
                partial.unlink()
        for each in made:
            with suppress(OSError):
                each.rmdir()


def refuse_folders(files: Iterable[Path]) -> None:
    """Raise an `InputError` if a folder has the place of a file that is to be written."""
    for path in files:
        if path.is_dir() and not path.is_symlink():
            raise InputError(
                f"{path} is a folder, where a file is to be written",
                where=path,
                hint="move or remove that folder, or give another --out",
            )


def check_writable(path: Path, option: str, *, folder: bool = False) -> None:
    """Raise an `InputError` if an output cannot be made, before any work is done for it.

    Neither the output nor the folders it is in need to exist. `option` names it in the message. A
    `folder` cannot be made in the place of a link that leads nowhere.
    """
    place = next(p for p in (path, *path.parents) if os.access(p, os.F_OK))
    error = None
    if place != path and not place.is_dir():
        error = OSError(errno.ENOTDIR, "not a directory")
    elif not place.is_dir() and (place.parent == Path("/dev") or not place.is_file()):
        # /dev/stdout may be a link to a file, and an output takes the place of a link
        raise InputError(
            f"{path} cannot be written: it is a device or a pipe, and not a file",
            where=path,
            hint=f"give another {option}, the name of a file",
        )
    elif not os.access(place, os.W_OK | (os.X_OK if place.is_dir() else 0)):
        error = OSError(errno.EACCES, "permission denied")
    if error is not None:
        raise unwritable(path, error, option)
    if folder and path.is_symlink() and not path.exists():
        raise InputError(
            f"{path} is a link to {path.readlink()}, which does not exist",
            where=path,
            hint=f"make that folder, remove the link, or give another {option}",
        )


def _told(
    error: OSError | RuntimeError, path: Path, partial: Path, option: str
) -> InputError | None:
    """Return the error for an output that could not be written; None for an error of another kind.

    It names the output, and not where that was staged.
    """
    if isinstance(error, RuntimeError):  # of HDF5, which tells of a full disk so when it closes
        found = re.search(r"errno = (\d+)", str(error))
        if found is None or int(found[1]) not in _NO_ROOM:
            return None
        error = OSError(int(found[1]), os.strerror(int(found[1])))
    names = [str(name) for name in (error.filename, error.filename2) if name is not None]
    if names and not any(partial.name in name for name in names):
        return None  # about a file that was read: neither of the two of a copy is ours
    place = next((name for name in names if Path(name).parent == path), path)
    return unwritable(place, OSError(error.errno, error.strerror or str(error), str(place)), option)


def _replace(partial: Path, path: Path) -> None:
    if not (partial.is_dir() and path.is_dir()):
        partial.replace(path)
        return
    old = path.with_name(f"{partial.name}-old")  # a folder cannot replace one that is not empty
    path.rename(old)
    try:
        partial.rename(path)
    except BaseException:
        old.rename(path)
        raise
    shutil.rmtree(old, ignore_errors=True)


def sha256_file(path: Path) -> str:
    """Return the sha256 of a file's content."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def size_and_time(path: Path) -> tuple[int, int]:
    """Return the bytes of an input, a file or folder, and when it changed last, in nanoseconds.

    A folder changes when a file is put into it, taken out of it or renamed, too.
    """
    from sfs_cli.io.files.text import split_member

    file = split_member(path)[0]
    paths = [file, *file.rglob("*")] if file.is_dir() else [file]
    size = sum(p.stat().st_size for p in paths if not p.is_dir())
    return size, max(p.stat().st_mtime_ns for p in paths)


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Give the name of a folder in the system's place (``TMPDIR``); remove it at the end.

    `made` makes it, or a folder in it, when there is something to write.
    """
    folder = Path(_temporary()).absolute() / f"sfs-{uuid.uuid4().hex[:12]}"
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def made(folder: Path) -> Path:
    """Make a scratch folder, or a folder in one, where it is not there yet, and return it."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise unwritable(folder, error, "TMPDIR") from None
    return folder


def _temporary() -> str:
    try:
        return tempfile.gettempdir()
    except FileNotFoundError:  # none can be written, which matters if one is needed
        return "/tmp"
