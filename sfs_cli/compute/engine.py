"""Passes over the matrix: a task runs over spans of features, and its results are put together.

The sums of a pass are added in the order of a fixed tree over its chunks, which depends on the
shape of the matrix alone. So the result is the same to the last bit whoever makes which chunk, and
when: one thread or many, workers of a cluster, a run that continues an interrupted one, or shards
on many machines.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any, Protocol, TypeVar

import numpy as np

from sfs_cli.compute.matrix import MatrixView, Span, block_features, cut
from sfs_cli.compute.passes import Kind, PassList

T = TypeVar("T")
PartialSum = list[np.ndarray]
"""What a pass has made of some spans: arrays that are added up, or joined."""
SpanTask = Callable[[Span], Sequence[np.ndarray]]
Combine = Callable[[list[Any]], PartialSum]
"""Makes one partial sum of several that follow each other: `add` or `join`."""


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
        ...

    def at_most(self, workers: int) -> Executor:
        """Return the same executor with no more than `workers` tasks at a time."""
        ...

    def map(self, task: Callable[[Span], T], spans: Iterable[Span]) -> Iterator[T]:
        """Yield ``task(span)`` for every span, in the order of the spans."""
        ...


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
                # a slow reader of the results must not make the workers fill the memory
                if len(pending) > self.workers + 1:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


# The order of addition. The spans of a pass are grouped into at most 64 chunks; four chunks in a
# row make a node of level 1, four of those one of level 2, and the whole pass is the node of level
# 3. Everything below a node is added from left to right before it is added to anything else. So
# the sum of a node is the same to the last bit whoever makes it, and one array can stand for all of
# its chunks: a worker elsewhere sends one, and a shard keeps one. A flat sum from left to right
# could not be shared like this: (a + b) + (c + d) is not ((a + b) + c) + d in floating point.

FAN = 4
"""Nodes that make a node of the next level."""
LEVELS = 3
"""Level of the whole pass; a single chunk is of level 0."""
MAX_CHUNKS = FAN**LEVELS
"""Chunks of a pass; no more shards than that have work."""
TASKS_PER_WORKER = 4
"""Tasks that every worker of another process should get, or small ones keep the others waiting."""

Chunk = tuple[Span, ...]


@dataclass(frozen=True)
class Node:
    """Consecutive chunks that are added up before they are added to others.

    Attributes
    ----------
    level : int
        0 for a single chunk, `LEVELS` for the whole pass.
    first : int
        Index of the first chunk.
    chunks : tuple of Chunk
        In order; the last node of a level may have fewer than the others.
    """

    level: int
    first: int
    chunks: tuple[Chunk, ...]

    @property
    def end(self) -> int:
        """Index of the chunk after the node."""
        return self.first + len(self.chunks)

    @property
    def span(self) -> Span:
        """The features of all chunks."""
        return Span(self.chunks[0][0].lo, self.chunks[-1][-1].hi)


def chunks_of(spans: Sequence[Span]) -> list[Chunk]:
    """Group spans into at most `MAX_CHUNKS` chunks of nearly equal size."""
    count = min(MAX_CHUNKS, len(spans))
    bounds = [len(spans) * i // count for i in range(count + 1)] if count else []
    return [tuple(spans[lo:hi]) for lo, hi in pairwise(bounds)]


def nodes_of(chunks: Sequence[Chunk], level: int) -> list[Node]:
    """Return the nodes of a level, among all chunks of a pass."""
    size = FAN**level
    return [Node(level, i, tuple(chunks[i : i + size])) for i in range(0, len(chunks), size)]


def largest_nodes(chunks: Sequence[Chunk], lo: int, hi: int) -> Iterator[Node]:
    """Yield the fewest nodes that make up the chunks ``lo <= i < hi``, among all of a pass."""
    while lo < hi:
        for level in range(LEVELS, -1, -1):
            end = min(lo + FAN**level, len(chunks))
            if lo % FAN**level == 0 and end <= hi:
                yield Node(level, lo, tuple(chunks[lo:end]))
                lo = end
                break


class Accumulator:
    """A node that is being put together; smaller nodes come in order, of any levels.

    Parameters
    ----------
    end : int
        Index of the chunk after the node.
    combine : callable
        Makes one partial sum of several.

    Attributes
    ----------
    waiting : list of PartialSum
        For each level the sum of its nodes so far, until they make a node of the next level;
        empty where there are none. It is all that has to be kept to continue later: at most
        `LEVELS` sums, however many chunks there were.
    """

    def __init__(self, end: int, combine: Combine) -> None:
        self.end = end
        self.combine = combine
        self.waiting: list[PartialSum] = [[] for _ in range(LEVELS + 1)]

    def add(self, level: int, end: int, part: PartialSum) -> None:
        """Add the node of a level that ends before chunk `end`; its arrays may be reused."""
        while True:
            before = self.waiting[level]
            self.waiting[level] = part = self.combine([before, part]) if before else part
            complete = end == self.end or end % FAN ** (level + 1) == 0
            if level == LEVELS or not complete:
                return
            self.waiting[level] = []
            level += 1

    def result(self) -> PartialSum:
        """Return the sum of all that was added, once it makes one node; empty for nothing."""
        return next((part for part in self.waiting if part), [])


def add(parts: list[Any]) -> PartialSum:
    """Add up arrays in float64; the arrays of the first become the sums where they are float64."""
    first, *rest = parts
    total = [np.asarray(a, np.float64) for a in first]
    for part in rest:
        for sums, piece in zip(total, part):
            sums += piece
    return total


def join(parts: list[Any]) -> PartialSum:
    """Join arrays along their first axes."""
    return [np.concatenate(arrays) for arrays in zip(*parts)]


def sum_of(node: Node, task: SpanTask, combine: Combine) -> PartialSum:
    """Run a task on the spans of a node, one after the other, and return the node's sum."""
    total = Accumulator(node.end, combine)
    for index, chunk in enumerate(node.chunks, node.first):
        part: PartialSum = []
        for span in chunk:
            part = combine([part, task(span)]) if part else combine([task(span)])
        total.add(0, index + 1, part)
    return total.result()


MakeNodes = Callable[[Sequence[Node]], Iterator[tuple[Node, PartialSum]]]


class PassStore(Protocol):
    """Keeps what a pass has done, for a later run (``sfs_cli.compute.checkpoints``)."""

    @property
    def active(self) -> bool:
        """Whether passes that begin now are kept."""
        ...

    def run_pass(
        self,
        chunks: Sequence[Chunk],
        combine: Combine,
        make: MakeNodes,
        done_before: Callable[[Sequence[Chunk]], None],
    ) -> Iterator[tuple[Node, PartialSum]]:
        """Yield nodes that make up a pass, loaded where they are kept and made where not.

        `done_before` receives the chunks that need not be made, for progress.
        """
        ...

    def stop_saving(self) -> None:
        """Announce passes that cannot be shared: those of a solver."""
        ...


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
        The passes of the run, which each pass is announced to.
    features_per_task : callable, optional
        Features that a task reads for its span; by default those of the span.
    checkpoints : PassStore, optional
        Keeps the sums of passes on disk.
    nonzeros : bool
        Whether tasks get the stored values of a sparse matrix (`NonZeros`) in place of a `Block`.
    """

    source: MatrixView
    executor: Executor
    dtype: np.dtype[Any]
    block_size: int | None = None
    passes: PassList | None = None
    features_per_task: Callable[[Span], int] | None = None
    checkpoints: PassStore | None = None
    nonzeros: bool = False

    def __reduce__(self) -> tuple[Any, ...]:
        # in another process a task reads, no more: its result is counted and kept by this one
        kept = (self.source, ThreadExecutor(), self.dtype, self.block_size)
        return Engine, (*kept, None, None, None, self.nonzeros)

    def spans(self) -> list[Span]:
        """Cut the features as every pass does."""
        return cut(self.source.n_features, self.features_of_a_block)

    @property
    def features_of_a_block(self) -> int:
        """Number of features of every block but the last."""
        return self.block_size or block_features(self.source.n_samples, self.dtype.itemsize)

    def read(self, span: Span, dtype: np.dtype[Any]) -> Any:
        """Read a block: a `Block`, or `NonZeros` where those are asked for."""
        read = self.source.read_nonzeros if self.nonzeros else self.source.read
        return read(span, dtype)

    def run(
        self,
        task: Callable[[Any], T],
        dtype: np.dtype[Any] | None = None,
        *,
        kind: Kind = "solve",
    ) -> Iterator[tuple[Span, T]]:
        """Read each span, run `task` on its block, and yield the results in span order."""
        return self.run_over(self._reading(task, dtype or self.dtype), kind=kind)

    def run_over(
        self, task: Callable[[Span], T], *, kind: Kind = "solve"
    ) -> Iterator[tuple[Span, T]]:
        """Run `task` on each span, which it reads itself; yield the results in span order."""
        self._begin(kind)
        yield from self._run(self.spans(), task)

    def total(
        self,
        task: Callable[[Any], Sequence[np.ndarray]],
        dtype: np.dtype[Any] | None = None,
        *,
        kind: Kind = "sums",
    ) -> PartialSum:
        """Read every span, and add up in float64 what `task` makes of the blocks.

        It returns arrays, of the same shapes for every block, which are read as `dtype`; `kind` is
        what it computes, as the list of passes has it.
        """
        return self.total_over(self._reading(task, dtype or self.dtype), kind=kind)

    def total_over(self, task: SpanTask, *, kind: Kind = "sums") -> PartialSum:
        """Add up in float64 what `task` makes of the spans, which it reads itself."""
        self._begin(kind)
        spans = self.spans()
        total = Accumulator(min(MAX_CHUNKS, len(spans)), add)
        for node, part in self._nodes(task, spans, add):
            total.add(node.level, node.end, part)
        return total.result()

    def columns(
        self,
        task: Callable[[Any], Sequence[np.ndarray]],
        dtype: np.dtype[Any] | None = None,
        *,
        kind: Kind = "sums",
    ) -> PartialSum:
        """Read every span, and join what `task` makes of the blocks, feature after feature.

        It returns arrays whose first axis is the features of the block.
        """
        return self.joined(self._reading(task, dtype or self.dtype), self.spans(), kind=kind)

    def joined(self, task: SpanTask, spans: Sequence[Span], *, kind: Kind = "sums") -> PartialSum:
        """Join what `task` makes of spans, of features or of samples, along the first axes."""
        self._begin(kind)
        return join([part for _, part in self._nodes(task, spans, join)])

    def whole(self, task: Callable[[], PartialSum], *, kind: Kind) -> PartialSum:
        """Run one task that makes passes of this kind by itself; its result is kept as a whole.

        It runs in this thread, which signals interrupt.
        """
        made = False

        def once(_span: Span) -> PartialSum:
            nonlocal made
            made = True
            return task()

        here = replace(self, executor=self.executor.nearby.at_most(1), passes=None)
        part = join([part for _, part in here._nodes(once, [Span(0, 1)], join)])
        if not made and self.passes is not None:
            self.passes.restored(kind)
        return part

    def count(self, features: int) -> None:
        """Count features that a task has read beside those of its span."""
        if self.passes is not None:
            self.passes.read(features)

    def _nodes(
        self, task: SpanTask, spans: Sequence[Span], combine: Combine
    ) -> Iterator[tuple[Node, PartialSum]]:
        """Yield nodes that make up the pass, in order, each with its sum."""
        chunks, make = chunks_of(spans), partial(self._make, task, combine)
        if self.checkpoints is not None and self.checkpoints.active:
            return self.checkpoints.run_pass(chunks, combine, make, self._count_chunks)
        # what a worker elsewhere makes is sent back: one sum for four chunks costs a quarter
        many = len(chunks) >= FAN * TASKS_PER_WORKER * self.executor.workers
        return make(nodes_of(chunks, 1 if self._elsewhere and many else 0))

    @property
    def _elsewhere(self) -> bool:
        """Whether tasks run in other processes."""
        return self.executor.nearby is not self.executor

    def _make(
        self, task: SpanTask, combine: Combine, nodes: Sequence[Node]
    ) -> Iterator[tuple[Node, PartialSum]]:
        """Yield each node with its sum."""
        if self._elsewhere:
            by_start = {node.span.lo: node for node in nodes}
            sums = self.executor.map(
                lambda span: sum_of(by_start[span.lo], task, combine),
                [node.span for node in nodes],
            )
            for node, part in zip(nodes, sums):
                self._count_chunks(node.chunks)
                yield node, part
            return
        # threads run ahead, across nodes; this thread adds up what they finish
        results = self._run([span for node in nodes for c in node.chunks for span in c], task)
        for node in nodes:
            yield node, sum_of(node, lambda _: next(results)[1], combine)

    def _reading(self, task: Callable[[Any], T], dtype: np.dtype[Any]) -> Callable[[Span], T]:
        ahead = self.executor.workers * min(self.features_of_a_block, self.source.n_features)

        def one(span: Span) -> T:
            if span.hi + ahead <= self.source.n_features:
                self.source.prefetch(Span(span.lo + ahead, span.hi + ahead))
            return task(self.read(span, dtype))

        return one

    def _run(self, spans: Sequence[Span], task: Callable[[Span], T]) -> Iterator[tuple[Span, T]]:
        for span, result in zip(spans, self.executor.map(task, spans)):
            self._count(span)
            yield span, result

    def _begin(self, kind: Kind) -> None:
        if self.passes is not None:
            self.passes.begin(kind)

    def _count(self, span: Span) -> None:
        if self.passes is not None:
            each = self.features_per_task
            self.passes.read(span.size if each is None else each(span))

    def _count_chunks(self, chunks: Sequence[Chunk]) -> None:
        for chunk in chunks:
            for span in chunk:
                self._count(span)
