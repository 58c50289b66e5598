"""Outputs that are complete or absent: written beside their target, renamed when done.

Also what goes with them: digests of files.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import shutil
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sfs_cli.errors import InputError, unwritable

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # of a disk, a quota or the size of a file
PARTIAL = "sfs-partial"
"""Part of the names of files that are being written."""


class OutputFolder:
    """Files of a run, staged in a hidden folder inside `path`, which is made if absent."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._made = absent(path)
        self._staging = path / f".{PARTIAL}-{uuid.uuid4().hex[:12]}"

    def __enter__(self) -> OutputFolder:
        try:
            self._staging.mkdir(parents=True)
        except OSError as error:
            remove_empty(self._made)
            raise unwritable(self.path, error, "--out") from None
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        shutil.rmtree(self._staging, ignore_errors=True)
        remove_empty(self._made)
        if told := _told(error, self.path, self._staging, "--out"):
            raise told from None

    def file(self, name: str) -> Path:
        """Return where to write the file that will be called `name`."""
        return self._staging / name

    def commit(self, last: str) -> None:
        """Move every file to its place, and after them all `last`, which vouches for the others.

        Where a file cannot be replaced, or the moves are interrupted, the old ones are put back.
        An `InputError` names a file that cannot be.
        """
        names = sorted(p.name for p in self._staging.iterdir())
        refuse_folders(self.path / name for name in names)
        names.sort(key=lambda name: name == last)
        kept = self._staging.with_name(f"{self._staging.name}-old")
        place = self.path
        try:
            kept.mkdir()
            for name in names:
                place = self.path / name
                _keep(place, kept / name)
                (self._staging / name).replace(place)
        except BaseException as error:
            for name in names:
                if os.path.lexists(kept / name):
                    (kept / name).replace(self.path / name)
                elif not (self._staging / name).exists():
                    (self.path / name).unlink()
            shutil.rmtree(kept, ignore_errors=True)
            if isinstance(error, OSError):
                reason = OSError(error.errno, error.strerror, str(place))
                raise unwritable(place, reason, "--out") from None
            raise
        shutil.rmtree(kept, ignore_errors=True)


def _keep(path: Path, kept: Path) -> None:
    """Give a file, which may not be there, a second name, so that it is never away."""
    if os.path.lexists(path):
        try:
            os.link(path, kept, follow_symlinks=False)
        except OSError:  # without hard links it is away for a moment
            path.rename(kept)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a path to write a file or folder to, which replaces `path` on success.

    Raises
    ------
    InputError
        When it cannot be written.
    """
    made = absent(path.parent)
    # not the process id: in a container every run has the same one, and killed runs leave theirs
    partial = path.with_name(f".{path.name}.{PARTIAL}-{uuid.uuid4().hex[:12]}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        remove_empty(made)
        raise unwritable(path, error) from None
    try:
        yield partial
        _replace(partial, path)
    except (OSError, RuntimeError) as error:
        if told := _told(error, path, partial):
            raise told from None
        raise
    finally:
        if partial.is_dir():
            shutil.rmtree(partial, ignore_errors=True)
        else:
            partial.unlink(missing_ok=True)
        remove_empty(made)


def refuse_folders(files: Iterable[Path]) -> None:
    """Raise an `InputError` if a folder has the place of a file that is to be written."""
    for path in files:
        if path.is_dir() and not path.is_symlink():
            raise InputError(
                f"{path} is a folder, where a file is to be written",
                where=path,
                hint="move or remove that folder, or give another --out",
            )


def check_writable(path: Path, option: str) -> None:
    """Raise an `InputError` if an output cannot be made, before any work is done for it.

    Neither the output nor the folders it is in need to exist. `option` names it in the message.
    """
    place = next(p for p in (path, *path.parents) if os.access(p, os.F_OK))
    error = None
    if path.is_symlink() and not path.exists():
        raise InputError(
            f"{path} is a link to {path.readlink()}, which does not exist",
            where=path,
            hint=f"make that folder, remove the link, or give another {option}",
        )
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


def _told(
    error: BaseException | None, path: Path, partial: Path, option: str = "path"
) -> InputError | None:
    """Return the error for an output that could not be written; None for an error of another kind.

    It names the output, and not where that was staged.
    """
    if isinstance(error, RuntimeError):  # of HDF5, which tells of a full disk so when it closes
        found = re.search(r"errno = (\d+)", str(error))
        if found is None or int(found[1]) not in _NO_ROOM:
            return None
        error = OSError(int(found[1]), os.strerror(int(found[1])))
    if not isinstance(error, OSError):
        return None
    if error.filename is not None and partial.name not in f"{error.filename} {error.filename2}":
        return None  # about a file that was read: neither of the two of a copy is ours
    reason = OSError(error.errno, error.strerror or str(error), str(path))
    return unwritable(path, reason, option)


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


def absent(path: Path) -> list[Path]:
    """Return the folders that will have to be made for `path`, the innermost first."""
    return [p for p in (path, *path.parents) if not p.exists()]


def remove_empty(folders: list[Path]) -> None:
    """Remove the folders that were made for an output and are still empty."""
    for folder in folders:
        try:
            folder.rmdir()
        except OSError:  # not empty, so the folders around it are not either
            return


def sha256_file(path: Path) -> str:
    """Return the sha256 of a file's content."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def describe(path: Path) -> dict[str, Any]:
    """Return path, size in bytes and sha256 of a file, or of all files of a folder together.

    The digest of ``FILE.h5mu:MODALITY`` is of the file and the modality's name: two modalities of
    a file are two matrices. That of the file alone is ``file_sha256``.
    """
    from sfs_cli.io.files.text import split_member

    file, modality = split_member(path)
    facts = {"path": str(path), "bytes": size_and_time(file)[0]}
    if file.is_dir():
        total = hashlib.sha256()
        for each in sorted(p for p in file.rglob("*") if p.is_file()):
            total.update(f"{each.relative_to(file).as_posix()}\0{sha256_file(each)}\n".encode())
        return facts | {"sha256": total.hexdigest()}
    own = sha256_file(file)
    if modality is None:
        return facts | {"sha256": own}
    digest = hashlib.sha256(f"{modality}\0{own}\n".encode()).hexdigest()
    return facts | {"sha256": digest, "file_sha256": own}


def size_and_time(path: Path) -> tuple[int, int]:
    """Return the bytes of an input, a file or folder, and when it changed last, in nanoseconds.

    A folder changes when a file is put into it, taken out of it or renamed, too.
    """
    from sfs_cli.io.files.text import split_member

    file = split_member(path)[0]
    paths = [file, *file.rglob("*")] if file.is_dir() else [file]
    size = sum(p.stat().st_size for p in paths if not p.is_dir())
    return size, max(p.stat().st_mtime_ns for p in paths)
