"""Where compiled code is kept: numba needs a folder, and takes what it is given.

It caches beside the source, else below the user's home. In a container neither may be writable:
then pynndescent cannot be imported, and without a home numba makes a folder that is named ``~``. A
folder that users share would not do, because what is in a cache is executed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress

VARIABLE = "NUMBA_CACHE_DIR"


@contextmanager
def compiled_code_kept() -> Iterator[None]:
    """Give numba a private folder until the block ends, where it would find none of its own."""
    # its first place is looked at before modules are imported that help does without
    beside = os.access(os.path.dirname(__file__), os.W_OK | os.X_OK)  # noqa: PTH120
    if VARIABLE in os.environ or beside or _is_home_writable() or not _is_numba_there():
        yield
        return
    from sfs_cli.errors import InputError
    from sfs_cli.io.files.scratch import made, scratch_folder

    with scratch_folder() as folder:
        with suppress(InputError):  # no folder can be written: loops are compiled for this run
            os.environ[VARIABLE] = str(made(folder))
        try:
            yield
        finally:
            os.environ.pop(VARIABLE, None)


def _is_home_writable() -> bool:
    from pathlib import Path

    try:
        cache = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
    except RuntimeError:  # nobody knows of a home
        return False
    there = (each for each in (cache, *cache.parents) if os.access(each, os.F_OK))
    return os.access(next(there, cache), os.W_OK | os.X_OK)


def _is_numba_there() -> bool:
    from importlib.util import find_spec

    return find_spec("numba") is not None
