"""Dask clusters: worker processes of this machine, or a cluster that is running.

The workers of a running cluster are checked: a task is code, so they need the same versions, and
they must see the files of the matrix.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfs_cli.errors import InputError, listed, need_extra

if TYPE_CHECKING:
    from distributed import Client

WAIT_SECONDS = 5
"""How long to wait for a scheduler, and for its first worker."""
BLAS_VARIABLES = (
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "OMP_NUM_THREADS",
)
CLOSE_SECONDS = 5
CLOSE_ATTEMPTS = 3


@contextmanager
def starting_cluster(workers: int, folder: Path) -> Iterator[Callable[[], Client]]:
    """Start worker processes of one thread each on this machine, in the background.

    Gives a function that waits for them and returns a client. They end with the block, however it
    ends; their temporary files are in `folder`.
    """
    import dask
    from distributed import Client, LocalCluster

    settings = {
        "temporary_directory": str(folder),
        "distributed.worker.profile.enabled": False,  # it takes time from the tasks
        "distributed.admin.tick.interval": "1s",  # so do checks that nobody looks at
        # Dask would return freed memory at once: every block would need new pages
        "distributed.nanny.pre-spawn-environ": dict.fromkeys(BLAS_VARIABLES, "1"),
        # on one machine, a worker that does not answer soon is dead
        "distributed.comm.timeouts.connect": f"{WAIT_SECONDS}s",
        # a dead worker is started again at once; Dask would give it up while it starts
        "distributed.deploy.lost-worker-timeout": "1000 days",
    }
    started: list[Any] = []

    def start() -> None:
        cluster = LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            scheduler_kwargs={"dashboard": False},
            memory_limit=0,  # memory is planned; Dask would kill workers that need what was planned
            local_directory=str(folder),
            silence_logs=logging.CRITICAL,
            env=dict.fromkeys(BLAS_VARIABLES, "1"),
        )
        started.append(cluster)
        started.append(Client(cluster, direct_to_workers=True, set_as_default=False))

    def client() -> Client:
        begun.result()
        return started[1]

    with _quiet(), dask.config.set(settings), _closing(started), ThreadPoolExecutor(1) as pool:
        begun = pool.submit(start)  # finished before anything is closed
        yield client


@contextmanager
def connected(address: str) -> Iterator[Client]:
    """Connect to a scheduler, such as ``tcp://host:8786``."""
    from distributed import Client

    started: list[Any] = []

    def start() -> None:
        started.append(Client(address, timeout=WAIT_SECONDS, set_as_default=False))

    with _quiet(), _closing(started):
        try:
            # where something else listens on the port, a client would wait forever
            kind = asyncio.run(asyncio.wait_for(_kind(address), WAIT_SECONDS))
            if kind != "Scheduler":
                raise _unanswered(address, f"this is a {kind}")
            _uninterrupted(start)
        except TimeoutError:
            raise _unanswered(address, f"no answer within {WAIT_SECONDS} seconds") from None
        except (OSError, ValueError, TypeError) as error:  # the last where TLS is not set up
            raise _unanswered(address, str(error)) from None
        yield started[0]


async def _kind(address: str) -> str:
    """Return what the server at an address says it is."""
    from distributed.core import rpc
    from distributed.security import Security

    arguments = Security().get_connection_args("client")
    async with rpc(address, timeout=WAIT_SECONDS, connection_args=arguments) as server:
        return str((await server.identity())["type"])


def _unanswered(address: str, why: str) -> InputError:
    return InputError(
        f"there is no Dask scheduler: {why}",
        where=address,
        hint="check the address that `dask scheduler` prints, and that this machine reaches it",
    )


def _uninterrupted(act: Callable[[], object]) -> None:
    """Do something in a thread of its own, so that an interrupt comes after it, not amid it."""
    with ThreadPoolExecutor(1) as pool:
        pool.submit(act).result()


@contextmanager
def _closing(started: list[Any]) -> Iterator[None]:
    """Close what was started in the block, the last first."""
    try:
        yield
    finally:
        for each in reversed(started):
            _uninterrupted(partial(_close, each))


def _close(each: Any) -> None:
    """Close a client or a cluster; Dask sometimes fails over workers that died before."""
    for _ in range(CLOSE_ATTEMPTS):
        with suppress(Exception):
            each.close(CLOSE_SECONDS)
            return


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep Dask from logging: errors come back to the caller."""
    names = [n for n in logging.root.manager.loggerDict if n.partition(".")[0] == "distributed"]
    before = {name: logging.getLogger(name).level for name in names}  # Dask sets several
    for name in names:
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for name, level in before.items():
            logging.getLogger(name).setLevel(level)


def require_dask() -> None:
    """Refuse to run without Dask."""
    need_extra("distributed", "dask", "--dask needs Dask")


def check_workers(client: Client, where: str) -> list[str]:
    """Refuse workers with other software than this process; return warnings about the others."""
    try:
        client.wait_for_workers(1, timeout=WAIT_SECONDS)
    except TimeoutError:
        raise InputError(
            "the Dask cluster has no workers", where=where, hint="start some first (dask worker)"
        ) from None
    found: dict[str, Any] = client.run(describe, on_error="return")
    own = describe()
    wrong = {worker: _difference(own, facts) for worker, facts in found.items()}
    wrong = {worker: why for worker, why in wrong.items() if why}
    if wrong:
        raise InputError(
            f"{len(wrong):,} of {len(found):,} workers cannot run the tasks of this process",
            where=f"{where}: " + listed([f"{worker} {why}" for worker, why in wrong.items()], 3),
            hint="install the same versions of Python, NumPy, SciPy and sfs-cli on the workers",
        )
    many = sum(not facts["single"] for facts in found.values())
    if not many:
        return []
    return [
        f"BLAS may use several threads on {many:,} Dask workers, so the last digits may differ "
        f"between runs; start them with {BLAS_VARIABLES[0]}=1 (or the variable of their BLAS)"
    ]


def _difference(own: dict[str, Any], facts: dict[str, Any] | BaseException) -> str:
    """Return how the software of a worker differs; empty where it does not."""
    if isinstance(facts, BaseException):
        return f"cannot run this sfs_cli ({facts})"
    theirs, ours = facts["versions"], own["versions"]
    return ", ".join(
        f"has {name} {theirs.get(name, 'of an earlier sfs-cli')}, not {ours[name]}"
        for name in ours
        if theirs.get(name) != ours[name]
    )


def describe() -> dict[str, Any]:
    """Return versions, and whether BLAS has one thread; called here and on the workers."""
    import platform
    from importlib.metadata import version

    versions = {name: version(name) for name in ("sfs-cli", "numpy", "scipy")}
    python = ".".join(platform.python_version_tuple()[:2])  # code of other versions does not load
    single = any(os.environ.get(name) == "1" for name in BLAS_VARIABLES)
    return {"versions": {"Python": python} | versions, "single": single}


def check_files(client: Client, files: Sequence[Path]) -> None:
    """Check that every worker sees the files that this process sees."""
    for path in files:
        own = digest(str(path.absolute()))
        found = client.run(digest, str(path.absolute()), on_error="ignore")  # a worker may be dying
        blind = [worker for worker, seen in found.items() if seen != own]
        if blind:
            raise InputError(
                f"{len(blind):,} of {len(found):,} Dask workers do not see the matrix",
                where=f"{path.absolute()}: {listed(blind, 3)}",
                hint="convert it to a store (`sfs convert`) on a file system that the workers "
                "share, or set TMPDIR to a folder there",
            )


def digest(path: str) -> str | None:
    """Return the sha256 of a small file, None where it is not there; called on the workers."""
    import hashlib

    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()
    except OSError:
        return None
