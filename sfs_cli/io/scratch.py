"""A folder for what does not fit in memory, gone when the run is, however it ends."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sfs_cli.errors import unwritable


@contextmanager
def scratch_folder(parent: Path | None) -> Iterator[Path]:
    """Make a folder under `parent` (by default the system's), and remove it at the end.

    Raises
    ------
    InputError
        When it cannot be made.
    """
    try:
        if parent is not None:
            parent.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix=f"sfs-{os.getpid()}-", dir=parent))
    except OSError as error:
        raise unwritable(parent or tempfile.gettempdir(), error, "--scratch") from None
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
