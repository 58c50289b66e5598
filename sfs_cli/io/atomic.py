"""Outputs that are whole or not there: written beside their target, renamed when done."""

from __future__ import annotations

import errno
import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sfs_cli.errors import unwritable


class OutputFolder:
    """Files of a run, staged in a hidden folder beside their places.

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
        self._made = _absent(path)
        self._staging = path / _partial_name("")

    def __enter__(self) -> OutputFolder:
        try:
            self._staging.mkdir(parents=True)
        except OSError as error:
            _remove_empty(self._made)
            raise unwritable(self.path, error, "--out") from None
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self._staging, ignore_errors=True)
        _remove_empty(self._made)

    def file(self, name: str) -> Path:
        """Return where to write the file that will be called `name`."""
        return self._staging / name

    def commit(self, last: str) -> None:
        """Move every file to its place; `last`, which vouches for the others, after them all."""
        names = sorted(p.name for p in self._staging.iterdir())
        for name in [n for n in names if n != last] + [last]:
            (self._staging / name).replace(self.path / name)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a path to write a file or folder to, which takes the place of `path` on success.

    Raises
    ------
    InputError
        When it cannot be written.
    """
    made = _absent(path.parent)
    partial = path.with_name(_partial_name(path.name))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        _remove_empty(made)
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
        _remove_empty(made)


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
    return f".{name}.sfs-partial-{uuid.uuid4().hex[:12]}"


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


def _absent(path: Path) -> list[Path]:
    """Return the folders that will have to be made for `path`, the innermost first."""
    return [p for p in (path, *path.parents) if not p.exists()]


def _remove_empty(folders: list[Path]) -> None:
    """Remove the folders that were made here and are still empty."""
    for folder in folders:
        try:
            folder.rmdir()
        except OSError:  # it holds something: the ones around it do too
            return
