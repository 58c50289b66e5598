"""The executor on a Dask cluster: tasks go to its workers, results come back in span order."""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from sfs_cli.compute.dask_workers import check_files
from sfs_cli.compute.executor import Executor, Shared
from sfs_cli.compute.parcels import Parcel, pack, run
from sfs_cli.compute.spans import Span
from sfs_cli.errors import InputError, OutOfMemoryError

if TYPE_CHECKING:
    from distributed import Client, Future

T = TypeVar("T")

AHEAD = 2
"""Tasks that are sent for each worker, so that none waits for its next one."""
ATTEMPTS = 4
"""How often a task is sent when workers die: none may be left that hold what it needs."""
RESTART_SECONDS = 30
"""How long new workers are waited for then."""


class DaskExecutor:
    """Workers of a Dask cluster, each of which runs its tasks with a single-threaded BLAS.

    A task that is lost with its worker runs again elsewhere, to the same result.

    Parameters
    ----------
    client : distributed.Client
        A client of the cluster; it is not closed here.
    nearby : Executor
        Runs tasks on arrays that this process holds.
    at_most : int, optional
        Number of tasks that run at a time; as many as the workers have threads by default.
    """

    def __init__(self, client: Client, nearby: Executor, at_most: int | None = None) -> None:
        self.client = client
        self._nearby = nearby
        threads = max(1, sum(client.nthreads().values()))
        self.workers = min(at_most or threads, threads)
        self._ahead = self.workers * (AHEAD if self.workers == threads else 1)
        self._sent: weakref.WeakKeyDictionary[Shared, Future] = weakref.WeakKeyDictionary()

    @property
    def nearby(self) -> Executor:
        """Threads of this process."""
        return self._nearby

    def at_most(self, workers: int) -> DaskExecutor:
        """Return an executor on the same cluster with no more than `workers` tasks at a time."""
        fewer = min(workers, self.workers)
        limited = DaskExecutor(self.client, self._nearby.at_most(workers), fewer)
        limited._sent = self._sent
        return limited

    def map(self, task: Callable[[Span], T], spans: Iterable[Span]) -> Iterator[T]:
        """Yield ``task(span)`` in span order, with a bounded number in flight.

        Raises
        ------
        InputError
            When a worker cannot read the matrix, or the cluster is gone.
        OutOfMemoryError
            When workers die whenever they run the same task.
        """
        parcel, shared = pack(task)
        going = _Going(self, parcel, shared)
        try:
            for span in spans:
                if len(going.waiting) == self._ahead:
                    yield going.next()
                going.submit(span)
            while going.waiting:
                yield going.next()
        except Exception as error:
            if self.client.status != "running":
                raise _lost() from error
            raise
        finally:
            going.cancel()

    def send(self, shared: Shared) -> Future:
        """Send something to every worker, unless they have it."""
        if shared not in self._sent:
            check_files(self.client, shared.files)
            self._sent[shared] = self._scatter(shared)
        return self._sent[shared]

    def _scatter(self, content: Any) -> Future:
        for _ in range(ATTEMPTS):
            try:
                self.client.wait_for_workers(1, timeout=RESTART_SECONDS)
                return self.client.scatter([content], broadcast=True, hash=False)[0]
            except Exception as error:  # of many kinds, when a worker dies meanwhile
                last = error
        raise _lost() from last

    def forget(self) -> None:
        """Forget what has been sent, because it may be lost."""
        self._sent.clear()


class _Going:
    """The tasks of one pass that are on their way."""

    def __init__(self, executor: DaskExecutor, parcel: Parcel, shared: list[Shared]) -> None:
        self.waiting: deque[tuple[Span, Future]] = deque()
        self._executor = executor
        self._parcel, self._shared = parcel, shared
        self._send()

    def _send(self) -> None:
        self._content = self._executor._scatter(self._parcel)
        self._sent = [self._executor.send(shared) for shared in self._shared]

    def submit(self, span: Span) -> None:
        """Send a task."""
        self.waiting.append((span, self._future(span)))

    def _future(self, span: Span) -> Future:
        client = self._executor.client
        return client.submit(run, self._content, span.lo, span.hi, *self._sent, pure=False)

    def next(self) -> Any:
        """Return the result of the first task; send all again where workers took it with them."""
        from concurrent.futures import CancelledError

        from distributed.scheduler import KilledWorker

        for _ in range(ATTEMPTS):
            try:
                result = self.waiting[0][1].result()
            except CancelledError:
                self._send_again()
            except KilledWorker:
                break
            else:
                self.waiting.popleft()
                return result
        raise _killed(self.waiting[0][0])

    def _send_again(self) -> None:
        self._executor.forget()
        self._send()
        self.waiting = deque((span, self._future(span)) for span, _ in self.waiting)

    def cancel(self) -> None:
        """Take back what has not begun."""
        if self.waiting and self._executor.client.status == "running":
            self._executor.client.cancel([future for _, future in self.waiting])
        self.waiting.clear()


def _lost() -> InputError:
    return InputError(
        "the Dask cluster is gone: its scheduler or all of its workers have ended",
        where="while tasks were at work",
        hint="look into the logs of the cluster, and start again",
    )


def _killed(span: Span) -> OutOfMemoryError:
    return OutOfMemoryError(
        f"one Dask worker after another died at work on the features from {span.lo + 1:,} on; "
        "most often they lack memory",
        hint="give the workers more memory, or fewer threads each",
    )
