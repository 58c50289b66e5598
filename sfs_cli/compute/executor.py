"""Executors: run a task over spans and hand the results back in span order.

A task is any function of a span. Results come in the order of the spans whatever the number of
workers, so a reduction over them is reproducible to the last bit.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Protocol, TypeVar

from sfs_cli.compute.spans import Span

T = TypeVar("T")


class Executor(Protocol):
    """Runs tasks over spans.

    A task hands its result back and changes nothing else, because it may run in another process;
    under `nearby` alone it may write into arrays of its own span.

    Attributes
    ----------
    workers : int
        Number of tasks that run at a time.
    """

    workers: int

    @property
    def nearby(self) -> Executor:
        """What runs tasks on arrays that this process holds, where they are."""
        ...

    def at_most(self, workers: int) -> Executor:
        """Return the same executor with no more than `workers` tasks at a time."""
        ...

    def map(self, task: Callable[[Span], T], spans: Iterable[Span]) -> Iterator[T]:
        """Yield ``task(span)`` for every span, in the order of the spans."""
        ...


class Shared:
    """What many tasks refer to: workers in other processes get it once, not with every task.

    Attributes
    ----------
    files : tuple of Path
        What a worker reads it from, if not from what it is sent.
    """

    @property
    def files(self) -> tuple[Path, ...]:
        """Nothing: all of it is sent."""
        return ()


class ThreadExecutor:
    """Threads of this process; each runs its task with a single-threaded BLAS.

    Parameters
    ----------
    workers : int
        Number of threads. One runs everything in the calling thread.
    """

    def __init__(self, workers: int = 1) -> None:
        self.workers = workers

    @property
    def nearby(self) -> ThreadExecutor:
        """The same threads."""
        return self

    def at_most(self, workers: int) -> ThreadExecutor:
        """Return an executor with no more than `workers` threads."""
        return ThreadExecutor(min(workers, self.workers))

    def map(self, task: Callable[[Span], T], spans: Iterable[Span]) -> Iterator[T]:
        """Yield ``task(span)`` in span order, with a bounded number of results in flight."""
        if self.workers == 1:
            yield from map(task, spans)
            return
        pending: deque[Future[T]] = deque()
        pool = ThreadPoolExecutor(self.workers, thread_name_prefix="sfs")
        try:
            for span in spans:
                pending.append(pool.submit(task, span))
                if len(pending) > self.workers + 1:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
