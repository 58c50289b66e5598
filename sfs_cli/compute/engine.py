"""Passes over the matrix: a task runs over spans of features, and its results are put together.

`Engine._made` is the one place where a pass that adds up or joins its results is made, whoever
runs the tasks. Sums are added from left to right in the order of the spans, so the number of
threads changes no bit of them. Workers elsewhere and shards add up runs of spans first, and these
sums are added in their order: the last digits may differ.

The code that makes a pass says what it is for (`Engine.at`). `PassList` counts the passes by that;
the progress bar and ``run.json`` read it.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

import numpy as np

from sfs_cli.compute.matrix import Arrays, MatrixView, Span, block_features, cut
from sfs_cli.compute.parts import Parts, runs_of

S = TypeVar("S")
T = TypeVar("T")
SpanTask = Callable[[Span], Arrays]
Combine = Callable[[Iterable[Arrays]], Arrays]
"""Makes one partial sum of several that follow each other: `add` or `join`."""
UNNAMED = "values"
"""What passes are for where nobody says it."""
LOOK = "a look at a few features, for warnings and pictures"
TASKS_PER_WORKER = 4
"""Runs of spans for each worker elsewhere: with fewer, slow ones keep the others waiting."""


def add(parts: Iterable[Arrays]) -> Arrays:
    """Add up arrays in float64; the first become the sums where they are float64."""
    total: Arrays = {}
    for part in parts:
        for name, array in part.items():
            if name in total:
                total[name] += array
            else:
                total[name] = np.asarray(array, np.float64)
    return total


def join(parts: Iterable[Arrays]) -> Arrays:
    """Join arrays along their first axes."""
    found: defaultdict[str, list[np.ndarray]] = defaultdict(list)
    for part in parts:
        for name, array in part.items():
            found[name].append(array)
    return {name: np.concatenate(arrays) for name, arrays in found.items()}


class Executor(Protocol):
    """Runs tasks over spans.

    A task returns its result and changes nothing else, because it may run in another process; only
    under `nearby` may it write into arrays, each task into the rows of its own span.

    Attributes
    ----------
    workers : int
        Number of tasks that run at a time.
    """

    workers: int

    @property
    def nearby(self) -> Executor:
        """The executor for arrays that this process holds."""

    def at_most(self, workers: int) -> Executor:
        """Return the same executor with no more than `workers` tasks at a time."""

    def map(self, task: Callable[[S], T], work: Iterable[S]) -> Iterator[T]:
        """Yield ``task(each)`` of spans, or of runs of spans, in their order."""


class ThreadExecutor:
    """Threads of this process; each runs its task with a single-threaded BLAS.

    Parameters
    ----------
    workers : int
        Number of threads. With one, everything runs in the calling thread.
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

    def map(self, task: Callable[[S], T], work: Iterable[S]) -> Iterator[T]:
        """Yield ``task(each)`` in order, with a bounded number of results in flight."""
        return map(task, work) if self.workers == 1 else self._in_threads(task, work)

    def _in_threads(self, task: Callable[[S], T], work: Iterable[S]) -> Iterator[T]:
        pending: deque[Future[T]] = deque()
        pool = ThreadPoolExecutor(self.workers, thread_name_prefix="sfs")
        try:
            for each in work:
                pending.append(pool.submit(task, each))
                # a slow reader of the results must not make the workers fill the memory
                if len(pending) > self.workers + 1:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


@dataclass
class Made:
    """The passes of one purpose."""

    executed: int = 0  # how often it was made
    features: int = 0  # features read, all passes of this purpose together


class PassList:
    """The passes of a run over a matrix of `n_features` features, in the order they began."""

    def __init__(self, n_features: int) -> None:
        self.n_features = n_features
        self.looked = 0  # features read beside all passes
        self.made: dict[str, Made] = {}
        self._show: Callable[[str, int], None] | None = None
        self._advance: Callable[[int], None] | None = None

    def watch(self, show: Callable[[str, int], None], advance: Callable[[int], None]) -> None:
        """Drive a progress bar.

        `show` receives the purpose of a pass that begins and the features it is about to read,
        `advance` those that were read.
        """
        self._show, self._advance = show, advance

    def begin(self, purpose: str) -> None:
        """Count a pass that begins."""
        self.made.setdefault(purpose, Made()).executed += 1
        if self._show is not None:
            self._show(purpose, self.n_features)

    def read(self, purpose: str, features: int) -> None:
        """Count features that a pass has read."""
        self.made[purpose].features += features
        if self._advance is not None:
            self._advance(features)

    def look(self, features: int) -> None:
        """Count a few features that are read beside all passes, only to see what they hold."""
        self.looked += features

    @property
    def executed(self) -> int:
        """Reads of the matrix that were made."""
        return sum(each.executed for each in self.made.values())

    def facts(self) -> list[dict[str, Any]]:
        """Return what ``run.json`` says of every purpose that passes were made for."""
        looked = {LOOK: Made(0, self.looked)} if self.looked else {}
        return [
            {"purpose": purpose, "executed": each.executed, "features": each.features}
            for purpose, each in (looked | self.made).items()
        ]


@dataclass(frozen=True)
class Engine:
    """A matrix, and how passes run over it.

    Attributes
    ----------
    source : MatrixView
        The matrix.
    executor : Executor
        Runs the tasks.
    dtype : dtype
        Type of the dense arithmetic.
    block_size : int, optional
        Features per block; by default set by the shape of the matrix.
    passes : PassList, optional
        The passes of the run, which each pass is counted in.
    features_per_task : callable, optional
        Features that a task reads for its span; by default those of the span.
    parts : Parts, optional
        Where shards make the passes together.
    nonzeros : bool
        Whether tasks get the stored values of a sparse matrix (`NonZeros`) in place of a `Block`.
    purpose : str
        What passes are made for: they are counted as this. See `at`.
    whose : str
        The part of the run that they are made for, such as `` for source mirna``.
    """

    source: MatrixView
    executor: Executor
    dtype: np.dtype[Any]
    block_size: int | None = None
    passes: PassList | None = None
    features_per_task: Callable[[Span], int] | None = None
    parts: Parts | None = None
    nonzeros: bool = False
    purpose: str = UNNAMED
    whose: str = ""

    def __reduce__(self) -> tuple[Any, ...]:
        # in another process a task reads, no more: its result is counted and kept by this one
        kept = (self.source, ThreadExecutor(), self.dtype, self.block_size)
        return Engine, (*kept, None, None, None, self.nonzeros)

    def at(self, purpose: str) -> Engine:
        """Return an engine whose passes are made for a purpose."""
        return replace(self, purpose=purpose + self.whose)

    def of(self, whose: str) -> Engine:
        """Return an engine whose passes are made for a part of the run."""
        return replace(self, whose=whose + self.whose)

    def spans(self) -> list[Span]:
        """Cut the features as every pass does."""
        return cut(self.source.n_features, self.features_of_a_block)

    @property
    def features_of_a_block(self) -> int:
        """Number of features of every block but the last."""
        return self.block_size or block_features(self.source.n_samples, self.dtype.itemsize)

    @property
    def read(self) -> Callable[[Span, np.dtype[Any]], Any]:
        """Reads a span, in a type: a `Block`, or `NonZeros` where those are asked for."""
        return self.source.read_nonzeros if self.nonzeros else self.source.read

    def run(
        self, task: Callable[[Any], T], dtype: np.dtype[Any] | None = None
    ) -> Iterator[tuple[Span, T]]:
        """Read each span, run `task` on its block, and yield the results in span order."""
        return self.run_over(self._reading(task, dtype))

    def run_over(self, task: Callable[[Span], T]) -> Iterator[tuple[Span, T]]:
        """Run `task` on each span, which it reads itself; yield the results in span order."""
        self.begin()
        spans = self.spans()
        for span, result in zip(spans, self.executor.map(task, spans)):
            self._count([span])
            yield span, result

    def total(self, task: Callable[[Any], Arrays], dtype: np.dtype[Any] | None = None) -> Arrays:
        """Read every span, and add up in float64 what `task` makes of the blocks.

        It returns arrays, of the same shapes for every block, which are read as `dtype`.
        """
        return add(self._made(self._reading(task, dtype), self.spans(), add))

    def total_over(self, task: SpanTask) -> Arrays:
        """Add up in float64 what `task` makes of the spans, which it reads itself."""
        return add(self._made(task, self.spans(), add))

    def columns(self, task: Callable[[Any], Arrays], dtype: np.dtype[Any] | None = None) -> Arrays:
        """Read every span, and join what `task` makes of the blocks, feature after feature.

        It returns arrays whose first axis is the features of the block.
        """
        return join(self._made(self._reading(task, dtype), self.spans(), join))

    def joined(self, task: SpanTask, spans: Sequence[Span]) -> Arrays:
        """Join what `task` makes of spans, of features or of samples, along the first axes."""
        return join(self._made(task, spans, join))

    def whole(self, task: Callable[[], Arrays]) -> Arrays:
        """Run one task that makes all passes of a purpose; its result is kept as a whole.

        It runs in this thread, which signals interrupt.
        """
        made = False

        def once(_span: Span) -> Arrays:
            nonlocal made
            made = True
            return task()

        here = replace(self, executor=self.executor.nearby.at_most(1), passes=None)
        part = join(here._made(once, [Span(0, 1)], join))
        if not made:  # another process has made it
            self.begin()
        return part

    def begin(self) -> None:
        """Count a pass that begins."""
        if self.passes is not None:
            self.passes.begin(self.purpose)

    def count(self, features: int) -> None:
        """Count features that were read beside those of spans."""
        if self.passes is not None:
            self.passes.read(self.purpose, features)

    def _made(self, task: SpanTask, spans: Sequence[Span], combine: Combine) -> Iterable[Arrays]:
        """Begin a pass; return what it makes, in order, which `combine` is to put together."""
        self.begin()
        if self.parts is None or not self.parts.active:
            return self._results(task, spans, combine)

        def make(own: Sequence[Span]) -> Arrays:
            return combine(self._results(task, own, combine))

        return self.parts.run_pass(spans, make, self._count)

    def _results(self, task: SpanTask, spans: Sequence[Span], combine: Combine) -> Iterable[Arrays]:
        """Return what a task makes of spans, or of runs of them, in order, as it is asked for."""
        executor = self.executor
        if executor.nearby is executor:
            return map(self._counted, ([span] for span in spans), executor.map(task, spans))
        # a worker elsewhere puts together a run of spans, and sends back one result
        runs = runs_of(spans, min(len(spans), TASKS_PER_WORKER * executor.workers))
        return map(self._counted, runs, executor.map(lambda run: combine(map(task, run)), runs))

    def _counted(self, spans: Iterable[Span], result: Arrays) -> Arrays:
        """Return the result of spans, which are counted."""
        self._count(spans)
        return result

    def _reading(
        self, task: Callable[[Any], T], dtype: np.dtype[Any] | None
    ) -> Callable[[Span], T]:
        """Return `task`, which takes blocks, as one that takes spans and reads them."""
        source, read = self.source, self.read
        dtype = dtype or self.dtype
        # when a worker reads a span, the file system may fetch the one it will read after that
        ahead = self.executor.workers * min(self.features_of_a_block, source.n_features)

        def read_and_run(span: Span) -> T:
            if span.hi + ahead <= source.n_features:
                source.prefetch(Span(span.lo + ahead, span.hi + ahead))
            return task(read(span, dtype))

        return read_and_run

    def _count(self, spans: Iterable[Span]) -> None:
        self.count(sum(map(self.features_per_task or (lambda span: span.size), spans)))
