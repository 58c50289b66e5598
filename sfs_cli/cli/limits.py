"""A limited address space (``ulimit -v``, ``h_vmem``), in which libraries and threads fail oddly.

Schedulers limit the addresses of a job, not the memory that it touches. Libraries reserve far more
than they touch: 1 GiB by the allocator of Arrow, 64 MiB by the C library for each thread. Where
that fails, some end the process and others wait forever, so it must not come to that.
"""

from __future__ import annotations

import errno
import os

from sfs_cli.errors import OutOfMemoryError

try:
    import resource
except ImportError:  # Windows, which has no such limits
    resource = None  # type: ignore[assignment]

LEAST = 768 << 20
"""With fewer bytes of addresses, not all libraries can be loaded; they take some 550 MiB."""
NARROW = 8 << 30
"""Below so many bytes of addresses, libraries are asked to reserve little."""
_NEARLY = 0.9
"""A process that has used this part of its addresses fails for lack of them."""
_RESERVE_LITTLE = {
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "ARROW_IO_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "NUMBA_NUM_THREADS": "1",
}
_ARENA_MAX = -8  # M_ARENA_MAX of <malloc.h>
_NO_ROOM = ("failed to map segment", "cannot allocate memory", "can't start new thread")


def address_limit() -> int | None:
    """Return the bytes of addresses that the process may use; None without a limit."""
    if resource is None:
        return None
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    return None if soft == resource.RLIM_INFINITY else soft


def reserve_little() -> None:
    """Ask libraries, before they are loaded, to reserve few addresses where these are limited."""
    limit = address_limit()
    if limit is None or limit >= NARROW:
        return
    threads = os.environ.get("OMP_NUM_THREADS")
    os.environ.update(_RESERVE_LITTLE)
    if threads is not None:  # it is also how users say how many threads a run may have
        os.environ["OMP_NUM_THREADS"] = threads
    import ctypes

    # the environment variable of the C library is only read when a process starts
    if (mallopt := getattr(ctypes.CDLL(None), "mallopt", None)) is not None:
        mallopt(_ARENA_MAX, 1)


def check_address_space() -> None:
    """Refuse to load the numeric libraries into too few addresses.

    Raises
    ------
    OutOfMemoryError
        When the limit is below `LEAST`.
    """
    limit = address_limit()
    if limit is not None and limit < LEAST:
        raise OutOfMemoryError(
            f"the address space is limited to {limit >> 20:,} MiB, and the libraries need "
            f"{LEAST >> 20:,} MiB",
            where="ulimit -v, which schedulers set (h_vmem, RLIMIT_AS)",
            hint="ask the scheduler for more memory, or raise the limit (ulimit -v)",
        )


def lacks_memory(error: BaseException) -> bool:
    """Tell whether an error, or what it comes from, is a lack of memory or of addresses."""
    chain: list[BaseException] = []
    at: BaseException | None = error
    while at is not None and at not in chain:
        chain.append(at)
        at = at.__cause__ or at.__context__
    if any(map(_says_no_room, chain)):
        return True
    limit, used = address_limit(), _most_used()
    return limit is not None and used is not None and used > _NEARLY * limit


def _says_no_room(error: BaseException) -> bool:
    if isinstance(error, OSError) and error.errno == errno.ENOMEM:
        return True
    if isinstance(error, ImportError | RuntimeError | OSError):
        # the loader of libraries and the starter of threads give no code, only these words
        return any(words in str(error).lower() for words in _NO_ROOM)
    return isinstance(error, MemoryError)


def _most_used() -> int | None:
    """Return the most addresses that the process has used, in bytes; None if it is not known."""
    from pathlib import Path  # help does not need it

    try:
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmPeak:"):
                return int(line.split()[1]) << 10
    except OSError:
        pass  # not Linux
    return None
