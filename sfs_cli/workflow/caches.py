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
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~")  # noqa: PTH111
    places = (os.path.dirname(__file__), home)  # noqa: PTH120 - help does without pathlib
    if VARIABLE in os.environ or any(os.access(each, os.W_OK | os.X_OK) for each in places):
        yield
        return
    from sfs_cli.errors import InputError
    from sfs_cli.io.files.atomic import made, scratch_folder

    with scratch_folder() as folder:
        with suppress(InputError):  # no folder can be written: loops are compiled for this run
            os.environ[VARIABLE] = str(made(folder))
        try:
            yield
        finally:
            os.environ.pop(VARIABLE, None)
