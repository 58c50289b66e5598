"""Outputs that are whole or not there: written beside their target, renamed when done."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sfs_cli.errors import InputError


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
        self._made = [p for p in (path, *path.parents) if not p.exists()]
        self._staging = path / f".sfs-partial-{os.getpid()}"

    def __enter__(self) -> OutputFolder:
        try:
            self._staging.mkdir(parents=True)
        except OSError as error:
            self._remove_made()
            raise unwritable(self.path, error) from None
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self._staging, ignore_errors=True)
        self._remove_made()

    def file(self, name: str) -> Path:
        """Return where to write the file that will be called `name`."""
        return self._staging / name

    def commit(self, last: str) -> None:
        """Move every file to its place; `last`, which vouches for the others, after them all."""
        names = sorted(p.name for p in self._staging.iterdir())
        for name in [n for n in names if n != last] + [last]:
            (self._staging / name).replace(self.path / name)

    def _remove_made(self) -> None:
        """Remove the folders that were made here and are still empty."""
        for folder in self._made:
            try:
                folder.rmdir()
            except OSError:
                return


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a path to write a file or folder to, which takes the place of `path` on success."""
    partial = path.with_name(f".{path.name}.sfs-partial-{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield partial
        if partial.is_dir() and path.is_dir():
            shutil.rmtree(path)
        partial.replace(path)
    except OSError as error:
        raise unwritable(path, error) from None
    finally:
        if partial.is_dir():
            shutil.rmtree(partial, ignore_errors=True)
        else:
            partial.unlink(missing_ok=True)


def is_full(error: OSError) -> bool:
    """Tell whether an error means that the disk, or the user's share of it, is full."""
    return error.errno in (errno.ENOSPC, errno.EDQUOT)


def unwritable(path: Path, error: OSError) -> InputError:
    """Return the error for an output that cannot be written."""
    if is_full(error):
        return InputError(
            "there is no space left on the disk",
            where=str(error.filename or path),
            hint="free some space, or write elsewhere (--out, --scratch); nothing half-written "
            "was left",
        )
    return InputError(
        f"{path} cannot be written: {(error.strerror or str(error)).lower()}",
        where=str(error.filename or path),
        hint="give another --out, or make that folder writable",
    )
