"""Scratch folders: named for a run, made when something is written, removed at the run's end."""

from __future__ import annotations

import shutil
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sfs_cli.errors import unwritable


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
