"""Where compiled code is kept: numba needs a folder, and takes what it is given.

It caches beside the source, else below the user's home. In a container neither may be writable:
then pynndescent cannot be imported, and without a home numba makes a folder that is named ``~``. A
folder that users share would not do, because what is in a cache is executed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path

VARIABLE = "NUMBA_CACHE_DIR"


@contextmanager
def compiled_code_kept() -> Iterator[None]:
    """Give numba a private folder until the block ends, where it would find none of its own."""
    if VARIABLE in os.environ or _numba_has_a_place() or find_spec("numba") is None:
        yield
        return
    from sfs_cli.errors import InputError
    from sfs_cli.io.files.scratch import made, scratch_folder

    with scratch_folder(None) as folder:
        with suppress(InputError):  # no folder can be written: loops are compiled for this run
            os.environ[VARIABLE] = str(made(folder))
        try:
            yield
        finally:
            os.environ.pop(VARIABLE, None)


def _numba_has_a_place() -> bool:
    places = [Path(__file__).parent]
    with suppress(RuntimeError):  # nobody knows of a home
        cache = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
        there = (each for each in (cache, *cache.parents) if os.access(each, os.F_OK))
        places.append(next(there, cache))
    return any(os.access(place, os.W_OK | os.X_OK) for place in places)
