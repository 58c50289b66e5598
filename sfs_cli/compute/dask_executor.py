"""The executor on a Dask cluster: tasks go to its workers, results come back in span order.

A task is mostly a closure over the matrix and a few arrays. Dask would pickle it again for every
span; here it is packed once for a pass, sent to every worker once, and opened once by each. What is
`Shared`, such as the matrix, is left out of it and sent once for all passes; a store is not sent at
all, workers open it.
"""

from __future__ import annotations

import io
import pickle
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from sfs_cli.compute.dask_cluster import check_files
from sfs_cli.compute.engine import Executor
from sfs_cli.compute.matrix import Shared
from sfs_cli.errors import InputError, OutOfMemoryError

if TYPE_CHECKING:
    from distributed import Client, Future

S = TypeVar("S")
T = TypeVar("T")

AHEAD = 2
"""Tasks that each worker has been sent, so that it never waits for the next one."""
ATTEMPTS = 4
"""How often tasks, and what they need, are sent when workers die."""
RESTART_SECONDS = 30
"""How long to wait for new workers then."""


class DaskExecutor:
    """Workers of a Dask cluster.

    A task that is lost with its worker is run again elsewhere, by Dask.

    Parameters
    ----------
    client : distributed.Client
        A client of the cluster; it is not closed here.
    nearby : Executor
        Runs tasks on arrays that this process holds.
    at_most : int, optional
        Number of tasks that run at a time; by default as many as the workers have threads.
    """

    def __init__(self, client: Client, nearby: Executor, at_most: int | None = None) -> None:
        self.client = client
        self.nearby = nearby
        threads = max(1, sum(client.nthreads().values()))
        self.workers = min(at_most or threads, threads)
        self._ahead = self.workers * (AHEAD if self.workers == threads else 1)
        self._sent: weakref.WeakKeyDictionary[Shared, Future] = weakref.WeakKeyDictionary()

    def at_most(self, workers: int) -> DaskExecutor:
        """Return an executor on the same cluster with no more than `workers` tasks at a time."""
        fewer = min(workers, self.workers)
        limited = DaskExecutor(self.client, self.nearby.at_most(workers), fewer)
        limited._sent = self._sent
        return limited

    def map(self, task: Callable[[S], T], work: Iterable[S]) -> Iterator[T]:
        """Yield ``task(each)`` of spans, or runs of them, in their order, few in flight.

        Raises InputError when a worker cannot read the matrix, or the cluster is gone;
        OutOfMemoryError when workers die whenever they run the same task.
        """
        in_flight = _InFlight(self, *pack(task))
        try:
            for each in work:
                if len(in_flight.waiting) == self._ahead:
                    yield in_flight.next()
                in_flight.submit(each)
            while in_flight.waiting:
                yield in_flight.next()
        except Exception as error:
            if self.client.status == "running":
                raise
            raise _lost() from error
        finally:
            if in_flight.waiting and self.client.status == "running":
                self.client.cancel([future for _, future in in_flight.waiting])

    def send(self, shared: Shared) -> Future:
        """Send an object to every worker, unless they have it."""
        if shared not in self._sent:
            check_files(self.client, shared.files)
            self._sent[shared] = self.scatter(shared)
        return self._sent[shared]

    def scatter(self, content: Any) -> Future:
        """Send something to every worker, waiting for new ones where all have died."""
        for _ in range(ATTEMPTS):
            try:
                self.client.wait_for_workers(1, timeout=RESTART_SECONDS)
                (future,) = self.client.scatter([content], hash=False)
                # not `broadcast`: it names the workers, and waits forever for one that has died
                self.client.replicate([future])
                return future
            except Exception as error:  # of many kinds, when a worker dies meanwhile
                last = error
        raise _lost() from last

    def forget(self) -> None:
        """Forget what was sent, because it may be lost."""
        self._sent.clear()


def _lost() -> InputError:
    return InputError(
        "the Dask cluster is gone: its scheduler or all of its workers have ended",
        where="while tasks were running",
        hint="look into the logs of the cluster, and start again",
    )


class _InFlight:
    """The tasks of one pass that were sent and have not been taken back."""

    def __init__(
        self, executor: DaskExecutor, packed: PackedTask, shared: Sequence[Shared]
    ) -> None:
        self.waiting: deque[tuple[Any, Future]] = deque()
        self._executor = executor
        self._packed, self._shared = packed, shared
        self._send()

    def _send(self) -> None:
        executor = self._executor
        self._sent = [executor.scatter(self._packed), *map(executor.send, self._shared)]

    def submit(self, work: Any) -> None:
        """Send the task, with what it is to be run on."""
        future = self._executor.client.submit(run, work, *self._sent, pure=False)
        self.waiting.append((work, future))

    def next(self) -> Any:
        """Return the result of the first task."""
        from concurrent.futures import CancelledError

        from distributed.scheduler import KilledWorker

        for _ in range(ATTEMPTS):
            try:
                result = self.waiting[0][1].result()
            except CancelledError:
                # a worker has died with what tasks need, and Dask keeps it once: all is sent again
                self._executor.forget()
                self._send()
                again, self.waiting = self.waiting, deque()
                for work, _ in again:
                    self.submit(work)
            except KilledWorker:
                break
            else:
                self.waiting.popleft()
                return result
        raise OutOfMemoryError(
            "Dask workers died repeatedly on the same task; most often they run out of memory",
            hint="give the workers more memory, or fewer threads each",
        )


class PackedTask:
    """A pickled task, opened when it is first run.

    Parameters
    ----------
    content : bytes
        As `pack` makes it.
    """

    def __init__(self, content: bytes) -> None:
        self.content = content
        self._lock = threading.Lock()
        self._task: Any = None

    def task(self, shared: Sequence[Shared]) -> Any:
        """Return the task, with the shared objects that were left out."""
        with self._lock:  # several threads of a worker may have it
            if self._task is None:
                self._task = _Unpickler(self.content, shared).load()
            return self._task

    def __reduce__(self) -> tuple[type[PackedTask], tuple[bytes]]:
        return PackedTask, (self.content,)


def pack(task: Any) -> tuple[PackedTask, list[Shared]]:
    """Pickle a task by value; return it with the shared objects that are left out."""
    import cloudpickle

    shared: list[Shared] = []

    class Pickler(cloudpickle.Pickler):
        def persistent_id(self, found: Any) -> int | None:
            if not isinstance(found, Shared):
                return None
            for at, known in enumerate(shared):
                if known is found:
                    return at
            shared.append(found)
            return len(shared) - 1

    with io.BytesIO() as file:
        Pickler(file, protocol=pickle.HIGHEST_PROTOCOL).dump(task)
        return PackedTask(file.getvalue()), shared


def run(work: Any, packed: PackedTask, *shared: Shared) -> Any:
    """Run a task on a span or a run of spans; called on the workers."""
    return packed.task(shared)(work)


class _Unpickler(pickle.Unpickler):
    def __init__(self, content: bytes, shared: Sequence[Shared]) -> None:
        super().__init__(io.BytesIO(content))
        self._shared = shared

    def persistent_load(self, at: Any) -> Shared:
        return self._shared[at]
