"""Clusters to run on: worker processes of this machine, or a cluster that runs already."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfs_cli.compute.dask_workers import BLAS_VARIABLES, WAIT_SECONDS
from sfs_cli.errors import InputError

if TYPE_CHECKING:
    from distributed import Client

CLOSE_SECONDS = 5
CLOSE_ATTEMPTS = 3


@contextmanager
def local_cluster(workers: int, folder: Path) -> Iterator[Client]:
    """Start worker processes on this machine; they end with the block, however it ends.

    Parameters
    ----------
    workers : int
        Number of processes, of one thread each.
    folder : Path
        For temporary files.
    """
    with starting_cluster(workers, folder) as started:
        yield started()


@contextmanager
def starting_cluster(workers: int, folder: Path) -> Iterator[Callable[[], Client]]:
    """Start worker processes as `local_cluster` does, and go on while they start.

    Gives what waits for them, and returns a client.
    """
    import dask
    from distributed import Client, LocalCluster

    settings = {
        "temporary_directory": str(folder),
        "distributed.worker.profile.enabled": False,  # it takes time from the tasks
        "distributed.admin.tick.interval": "1s",  # so do checks that nobody looks at
        # Dask would have freed memory given back at once: blocks would have new pages all the time
        "distributed.nanny.pre-spawn-environ": dict.fromkeys(BLAS_VARIABLES, "1"),
        # on one machine a worker that does not answer soon is dead
        "distributed.comm.timeouts.connect": f"{WAIT_SECONDS}s",
        # it starts again at once; Dask would give up one that is just starting after some seconds
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
            memory_limit=0,  # what is held is planned, and a worker that is killed helps nobody
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
        begun = pool.submit(start)  # it is waited for before anything is closed
        yield client


@contextmanager
def connected(address: str) -> Iterator[Client]:
    """Connect to the scheduler of a cluster.

    Parameters
    ----------
    address : str
        Such as ``tcp://host:8786``.

    Raises
    ------
    InputError
        When there is none.
    """
    from distributed import Client

    started: list[Any] = []

    def start() -> None:
        started.append(Client(address, timeout=WAIT_SECONDS, set_as_default=False))

    with _quiet(), _closing(started):
        try:
            # a client would wait without end for a port where something else listens
            kind = asyncio.run(asyncio.wait_for(_kind(address), WAIT_SECONDS))
            if kind != "Scheduler":
                raise _unanswered(address, f"this is a {kind}")
            _wholly(start)
        except TimeoutError:
            raise _unanswered(address, f"nothing within {WAIT_SECONDS} seconds") from None
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
        f"no Dask scheduler answers: {why}",
        where=address,
        hint="check the address that `dask scheduler` prints, and that this machine reaches it",
    )


def _wholly(act: Callable[[], object]) -> None:
    """Do something in a thread of its own: an interrupt comes after it, not in its midst."""
    with ThreadPoolExecutor(1) as pool:
        pool.submit(act).result()


@contextmanager
def _closing(started: list[Any]) -> Iterator[None]:
    """Close what was started in the block, the last first."""
    try:
        yield
    finally:
        for each in reversed(started):
            _wholly(partial(_close, each))


def _close(each: Any) -> None:
    """Close a client or a cluster; Dask stumbles at times over workers that died before."""
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
