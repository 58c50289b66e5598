"""Dask clusters: worker processes of this machine, or a cluster that is running.

The workers of a running cluster are checked: a task is code, so they need the same versions, and
they must see the files of the matrix.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfs_cli.errors import InputError, listed, need_extra

if TYPE_CHECKING:
    from distributed import Client, LocalCluster

WAIT_SECONDS = 5
"""How long to wait for a scheduler, and for its first worker."""


@contextmanager
def local_cluster(workers: int, folder: Path) -> Iterator[Client]:
    """Start worker processes of one thread each on this machine.

    They end with the block, however it ends; their temporary files are in `folder`. InputError
    where one does not start.
    """
    import dask
    from distributed import Client, LocalCluster

    with (
        _quiet(),
        # what is given up after a while are workers that take long to start again
        dask.config.set(
            {
                "temporary_directory": str(folder),
                "distributed.deploy.lost-worker-timeout": "1000 days",
            }
        ),
        _started(
            LocalCluster,
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            dashboard_address=None,
            memory_limit=0,  # memory is planned; Dask would kill workers that need what was planned
            silence_logs=logging.CRITICAL,
        ) as cluster,
        Client(cluster, direct_to_workers=True, set_as_default=False) as client,
    ):
        yield client


def _started(cluster: type[LocalCluster], **options: Any) -> LocalCluster:
    try:
        return cluster(**options)
    except (RuntimeError, TimeoutError) as error:
        raise InputError(
            "a worker process of --dask local has ended, or not answered, while it started",
            hint="where the system ended it, as for its memory, give fewer --threads or the job "
            "more memory; a script of Python starts it below if __name__ == '__main__'; without "
            "--dask the same is done by threads",
            option="dask",
        ) from error


@contextmanager
def connected(address: str) -> Iterator[Client]:
    """Connect to a scheduler, such as ``tcp://host:8786``."""
    from distributed import Client

    with _quiet():
        try:
            # where something else listens on the port, a client would wait forever
            kind = asyncio.run(asyncio.wait_for(_kind(address), WAIT_SECONDS))
            if kind != "Scheduler":
                raise ValueError(f"this is a {kind}")
            client = Client(address, timeout=WAIT_SECONDS, set_as_default=False)
        # the last where TLS is not set up
        except (TimeoutError, OSError, ValueError, TypeError) as error:
            raise InputError(
                "there is no Dask scheduler: "
                + (str(error) or f"no answer within {WAIT_SECONDS} seconds"),
                where=address,
                hint="check the address that `dask scheduler` prints, and that this machine "
                "reaches it",
            ) from None
        with client:
            yield client


async def _kind(address: str) -> str:
    """Return what the server at an address says it is."""
    from distributed.core import rpc
    from distributed.security import Security

    arguments = Security().get_connection_args("client")
    async with rpc(address, timeout=WAIT_SECONDS, connection_args=arguments) as server:
        return str((await server.identity())["type"])


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


def check_workers(client: Client, where: str) -> None:
    """Refuse workers with other software than this process."""
    try:
        client.wait_for_workers(1, timeout=WAIT_SECONDS)
    except TimeoutError:
        raise InputError(
            "the Dask cluster has no workers", where=where, hint="start some first (dask worker)"
        ) from None
    found: dict[str, Any] = client.run(versions, on_error="return")
    own = versions()
    wrong = []
    for worker, theirs in found.items():
        if isinstance(theirs, BaseException):
            wrong.append(f"{worker} cannot run this sfs_cli ({theirs})")
        elif theirs != own:
            other = [f"{name} {v}, not {own[name]}" for name, v in theirs.items() if v != own[name]]
            wrong.append(f"{worker} has {', '.join(other)}")
    if wrong:
        raise InputError(
            f"{len(wrong):,} of {len(found):,} workers cannot run the tasks of this process",
            where=f"{where}: {listed(wrong, 3)}",
            hint="install the same versions of Python, NumPy, SciPy and sfs-cli on the workers",
        )


def versions() -> dict[str, str]:
    """Return the versions that have to be equal; called here and on the workers."""
    import platform
    from importlib.metadata import version

    python = ".".join(platform.python_version_tuple()[:2])  # code of other versions does not load
    return {"Python": python} | {name: version(name) for name in ("sfs-cli", "numpy", "scipy")}


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
