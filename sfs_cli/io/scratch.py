"""A folder for what does not fit in memory, gone when the run is, however it ends."""

from __future__ import annotations

import os
import shutil
import tempfile
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from sfs_cli.errors import unwritable


@contextmanager
def scratch_folder(
    parent: Path | None, announce: Callable[[Path], None] | None = None
) -> Iterator[Path]:
    """Make a folder under `parent` (by default the system's), and remove it at the end.

    Parameters
    ----------
    parent : Path, optional
        Where it is made.
    announce : callable, optional
        Told of the folder before it is there, so that a run that is killed leaves none unknown.

    Raises
    ------
    InputError
        When it cannot be made.
    """
    try:
        if parent is not None:
            parent.mkdir(parents=True, exist_ok=True)
        home = Path(tempfile.gettempdir()) if parent is None else parent
        folder = home.absolute() / f"sfs-{os.getpid()}-{uuid.uuid4().hex[:12]}"
        if announce is not None:
            announce(folder)
        folder.mkdir(mode=0o700)
    except OSError as error:
        raise unwritable(parent or tempfile.gettempdir(), error, "--scratch") from None
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
