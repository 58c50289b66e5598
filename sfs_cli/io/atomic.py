"""Outputs that are whole or not there: written beside their target, renamed when done."""

from __future__ import annotations

import errno
import glob
import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sfs_cli.errors import unwritable

PARTIAL = "sfs-partial"
"""In the names of what is being written."""
WHOLE = "sfs-whole"
"""In the name of a staging folder whose files are whole and being moved to their places."""


class OutputFolder:
    """Files of a run, staged in a hidden folder inside their own.

    Parameters
    ----------
    path : Path
        Where the files will be; made if it is not there.

    Raises
    ------
    InputError
        When the folder cannot be made or written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._made = absent(path)
        self._staging = path / _partial_name("")
        self._last: str | None = None

    def __enter__(self) -> OutputFolder:
        try:
            self._staging.mkdir(parents=True)
        except OSError as error:
            remove_empty(self._made)
            raise unwritable(self.path, error, "--out") from None
        return self

    def __exit__(self, *_: object) -> None:
        if self._last is not None:  # interrupted among the moves: half of them would be worse
            _move_all(self._staging, self.path, self._last)
        shutil.rmtree(self._staging, ignore_errors=True)
        remove_empty(self._made)

    def file(self, name: str) -> Path:
        """Return where to write the file that will be called `name`."""
        return self._staging / name

    def commit(self, last: str) -> None:
        """Move every file to its place; `last`, which vouches for the others, after them all.

        From the first step on, `finish` can do the rest for a run that is killed.
        """
        whole = self._staging.with_name(self._staging.name.replace(PARTIAL, WHOLE))
        self._last = last
        self._staging = self._staging.rename(whole)
        _move_all(self._staging, self.path, last)
        self._last = None


def finish(path: Path, last: str) -> None:
    """Tidy up in an output folder after runs that were killed.

    What one of them had written whole is moved to its place, and the rest is removed.

    Parameters
    ----------
    path : Path
        The folder; nothing may be writing to it.
    last : str
        The file that is moved last.
    """
    for staging in path.glob(f".*{WHOLE}-*"):
        _move_all(staging, path, last)
    remove_partial(path, "")


def remove_partial(folder: Path, name: str) -> None:
    """Remove what killed runs have left of an output of a given name, half-written."""
    for left in folder.glob(f".{glob.escape(name)}.{PARTIAL}-*"):
        _remove(left)


def _move_all(staging: Path, target: Path, last: str) -> None:
    if not staging.is_dir():
        return
    names = sorted(p.name for p in staging.iterdir())
    for name in [n for n in names if n != last] + [n for n in names if n == last]:
        (staging / name).replace(target / name)
    staging.rmdir()


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a path to write a file or folder to, which takes the place of `path` on success.

    Raises
    ------
    InputError
        When it cannot be written.
    """
    made = absent(path.parent)
    partial = path.with_name(_partial_name(path.name))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        remove_empty(made)
        raise unwritable(path, error) from None
    try:
        yield partial
        _move(partial, path)
    except OSError as error:
        if error.filename is not None and partial.name not in str(error.filename):
            raise  # something that was read, not what is written
        raise unwritable(path, error) from None
    finally:
        _remove(partial)
        remove_empty(made)


def check_writable(path: Path, option: str) -> None:
    """Find out before the work whether an output could be made.

    Parameters
    ----------
    path : Path
        A file or folder, which need not exist, nor the folders it is in.
    option : str
        What the user can change.

    Raises
    ------
    InputError
        When the nearest folder that exists is a file, or may not be written.
    """
    place = next(p for p in (path, *path.parents) if os.access(p, os.F_OK))
    if place != path and not place.is_dir():
        raise unwritable(path, NotADirectoryError(errno.ENOTDIR, "not a directory"), option)
    if not os.access(place, os.W_OK | (os.X_OK if place.is_dir() else 0)):
        raise unwritable(path, PermissionError(errno.EACCES, "permission denied"), option)


def _partial_name(name: str) -> str:
    # not by the process id: in a container every run has the same one, and a killed run leaves its
    return f".{name}.{PARTIAL}-{uuid.uuid4().hex[:12]}"


def _move(partial: Path, path: Path) -> None:
    if not (partial.is_dir() and path.is_dir()):
        partial.replace(path)
        return
    old = path.with_name(f"{partial.name}-old")
    path.rename(old)
    partial.rename(path)
    shutil.rmtree(old, ignore_errors=True)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def absent(path: Path) -> list[Path]:
    """Return the folders that will have to be made for `path`, the innermost first."""
    return [p for p in (path, *path.parents) if not p.exists()]


def remove_empty(folders: list[Path]) -> None:
    """Remove the folders that were made here and are still empty."""
    for folder in folders:
        try:
            folder.rmdir()
        except OSError:  # it holds something: the ones around it do too
            return


def beside(path: Path, suffix: str) -> Path:
    """Return a hidden place that goes with an output: beside it, or in it where that cannot be.

    Parameters
    ----------
    path : Path
        The output. Links are followed, so that one output has one such place.
    suffix : str
        Tells what it is for.
    """
    real = path.resolve()
    if real.name and (os.access(real.parent, os.W_OK | os.X_OK) or not real.is_dir()):
        return real.with_name(f".{real.name}.{suffix}")
    return real / f".{suffix}"
