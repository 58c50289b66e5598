"""Where the tasks of a run go: threads of this process, or the workers of a Dask cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from sfs_cli.compute.executor import Executor, ThreadExecutor
from sfs_cli.config import RankConfig
from sfs_cli.errors import UsageError
from sfs_cli.jobs.threads import thread_count
from sfs_cli.logs import Messages

if TYPE_CHECKING:
    from distributed import Client

Start = Callable[[int], Executor]
"""Starts as many workers as a plan says."""


@contextmanager
def starting(
    config: RankConfig, client: Client | None, folder: Path, messages: Messages
) -> Iterator[Start]:
    """Find out where tasks will run; give what starts it, once the work is planned.

    What was started ends with the block. A cluster that runs already is connected to at once, so
    that nothing is read in vain; its workers are taken as they are.

    Parameters
    ----------
    config : RankConfig
        Its ``executor`` is ``local``, ``dask`` or ``dask:ADDRESS``.
    client : distributed.Client, optional
        Of a cluster to use in place of all that.
    folder : Path
        For temporary files.
    messages : Messages
        Told what is wrong with the workers.

    Raises
    ------
    InputError
        When a cluster cannot be reached, or its workers do not fit this process.
    MissingExtraError
        When Dask is not installed.
    UsageError
        When both the configuration and the caller name a cluster.
    """
    name, _, address = config.executor.partition(":")
    if client is not None and name != "local":
        raise UsageError(
            f"--executor {config.executor} and a client name two clusters",
            hint="give one of them",
        )
    if client is None and name == "local":
        yield ThreadExecutor
        return
    from sfs_cli.compute.dask_cluster import connected, starting_cluster
    from sfs_cli.compute.dask_executor import DaskExecutor
    from sfs_cli.compute.dask_workers import check_workers, require_dask

    require_dask()
    with ExitStack() as stack:
        if client is None and not address:
            # no more than these are planned, and they take about as long to start as the input to
            # be opened
            most = thread_count(config.threads)
            started = stack.enter_context(starting_cluster(most, folder))
            yield lambda workers: DaskExecutor(started(), ThreadExecutor(workers), workers)
            return
        if client is None:
            client = stack.enter_context(connected(address))
        for warning in check_workers(client, address or "the client"):
            messages.warn(warning)
        running = client
        yield lambda workers: DaskExecutor(running, ThreadExecutor(workers))
