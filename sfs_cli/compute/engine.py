"""Passes over the matrix: a task runs over spans of features, and its parts come in their order.

Parts are added up, or joined, in a tree that depends on the number of spans alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np

from sfs_cli.compute.executor import Executor, ThreadExecutor
from sfs_cli.compute.parts import PartFolder, PartsMissingError
from sfs_cli.compute.running import RunningFolder
from sfs_cli.compute.spans import Span, block_features, cut
from sfs_cli.compute.tree import (
    FAN,
    Chunk,
    Fold,
    Node,
    Part,
    Tree,
    added,
    chunks_of,
    joined,
    make,
    node_at,
    nodes_of,
)

T = TypeVar("T")
SpanTask = Callable[[Span], Sequence[np.ndarray]]

TASKS = 4
"""Tasks of a pass for each worker of another process, where several chunks are made by one."""


class BlockLike(Protocol):
    """A block of features as it comes from the matrix (``sfs_cli.store.prepared.Block``)."""

    values: np.ndarray
    missing: np.ndarray | None
    zero: np.ndarray | None


class Source(Protocol):
    """A matrix that is read in prepared blocks."""

    @property
    def n_features(self) -> int:
        """Number of features m."""
        ...

    @property
    def n_samples(self) -> int:
        """Number of samples n."""
        ...

    def read(self, span: Span, dtype: np.dtype[Any]) -> Any:
        """Read a block."""
        ...

    def prefetch(self, span: Span) -> None:
        """Tell that a span will be read soon."""
        ...


@dataclass(frozen=True)
class Engine:
    """A matrix, and how passes run over it.

    Attributes
    ----------
    source : Source
        The matrix.
    executor : Executor
        Runs the tasks.
    dtype : dtype
        Type of the dense arithmetic.
    block_size : int, optional
        Features per block; by default set by the shape of the matrix.
    tick : callable, optional
        Told of the features of each finished span.
    keeper : PartFolder, optional
        Keeps the parts of passes that are sums, or a number for each feature.
    """

    source: Source
    executor: Executor
    dtype: np.dtype[Any]
    block_size: int | None = None
    tick: Callable[[int], None] | None = None
    keeper: PartFolder | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        # what a task in another process reads, it reads there, and tells nobody
        kept = (self.source, ThreadExecutor(), self.dtype, self.block_size)
        return Engine, kept

    def spans(self) -> list[Span]:
        """Cut the features as every pass does."""
        return cut(self.source.n_features, self.features_of_a_block)

    @property
    def features_of_a_block(self) -> int:
        """Number of features of every block but the last."""
        return self.block_size or block_features(self.source.n_samples, self.dtype.itemsize)

    def run(
        self, task: Callable[[Any], T], dtype: np.dtype[Any] | None = None
    ) -> Iterator[tuple[Span, T]]:
        """Read each span, run `task` on its block, and yield the results in span order."""
        return self._run(self.spans(), self._reading(task, dtype or self.dtype))

    def total(
        self, task: Callable[[Any], Sequence[np.ndarray]], dtype: np.dtype[Any] | None = None
    ) -> Part:
        """Read every span, and add up in float64 what `task` makes of the blocks.

        Parameters
        ----------
        task : callable
            Returns arrays, of the same shapes for every block.
        dtype : dtype, optional
            Type in which blocks are wanted.
        """
        return self.total_over(self._reading(task, dtype or self.dtype))

    def total_over(self, task: SpanTask) -> Part:
        """Add up in float64 what `task` makes of the spans; it reads them itself."""
        keeper, spans = self.keeper, self.spans()
        if isinstance(keeper, RunningFolder):
            return self._running_total(task, keeper)
        tree = Tree(len(chunks_of(spans)), added)
        for node, part in self._parts(task, spans, added):
            tree.add(node.level, node.end, part)
        return tree.made()

    def columns(
        self, task: Callable[[Any], Sequence[np.ndarray]], dtype: np.dtype[Any] | None = None
    ) -> Part:
        """Read every span, and join what `task` makes of the blocks, feature after feature.

        Parameters
        ----------
        task : callable
            Returns arrays whose first axis is the features of the block.
        dtype : dtype, optional
            Type in which blocks are wanted.
        """
        return self.joined(self._reading(task, dtype or self.dtype), self.spans())

    def joined(self, task: SpanTask, spans: Sequence[Span]) -> Part:
        """Join what `task` makes of spans of whatever it is about, along the first axes."""
        return joined([part for _, part in self._parts(task, spans, joined)])

    def _parts(
        self, task: SpanTask, spans: Sequence[Span], fold: Fold
    ) -> Iterator[tuple[Node, Part]]:
        """Yield nodes that make up the pass, each with its part, made here or kept from before."""
        chunks, keeper = chunks_of(spans), self.keeper
        if keeper is None or not keeper.open:
            yield from self._make(self._tasks(chunks), task, fold)
            return
        total = len(chunks)
        number = keeper.begin(total)
        absent = keeper.missing(number, chunks)
        mine = [c for c in chunks if c.index in absent and keeper.makes(number, c.index, total)]
        self._tell_of_kept([c for c in chunks if c.index not in absent])
        for node, part in self._make([Node(0, (chunk,)) for chunk in mine], task, fold):
            keeper.save(number, node.end - 1, part, total, fold)
        keeper.end(number)
        absent = keeper.missing(number, chunks)
        if absent:
            raise PartsMissingError(number, absent, total)
        at = 0
        while at < total:
            node, part = self._kept(keeper, number, chunks, at, task, fold)
            yield node, part
            at = node.end

    def _kept(
        self,
        keeper: PartFolder,
        number: int,
        chunks: Sequence[Chunk],
        at: int,
        task: SpanTask,
        fold: Fold,
    ) -> tuple[Node, Part]:
        """Return a part that is there; one that is damaged is made again by who makes it."""
        found = keeper.load(number, at)
        if found is not None:
            return node_at(chunks, at, found[0]), found[1]
        if not keeper.makes(number, at, len(chunks)):
            raise PartsMissingError(number, keeper.missing(number, chunks) or [at], len(chunks))
        [(node, part)] = self._make([node_at(chunks, at, 0)], task, fold)
        keeper.save(number, at, part, len(chunks), fold)
        return node, part

    def _running_total(self, task: SpanTask, keeper: RunningFolder) -> Part:
        """Add up from where an earlier run has come to."""
        chunks = chunks_of(self.spans())
        number = keeper.begin(len(chunks))
        tree = Tree(len(chunks), added)
        done = keeper.latest(number, tree)
        self._tell_of_kept(chunks[:done])
        for node, part in self._make(nodes_of(chunks, 0)[done:], task, added):
            tree.add(0, node.end, part)
            keeper.save_sums(number, node.end, tree)
        return tree.made()

    def _tasks(self, chunks: Sequence[Chunk]) -> list[Node]:
        """Return what tasks make of a pass: in other processes several chunks, where that does."""
        many = len(chunks) >= FAN * TASKS * self.executor.workers
        return nodes_of(chunks, 1 if self._far and many else 0)

    @property
    def _far(self) -> bool:
        """Whether tasks run in other processes, where each costs some and all is sent back."""
        return self.executor.nearby is not self.executor

    def _make(
        self, nodes: Sequence[Node], task: SpanTask, fold: Fold
    ) -> Iterator[tuple[Node, Part]]:
        """Yield each node with its part; spans run ahead across nodes."""
        if self._far:
            by_start = {node.span.lo: node for node in nodes}
            whole = self._run(
                [node.span for node in nodes], lambda span: make(by_start[span.lo], task, fold)
            )
            yield from ((node, part) for node, (_, part) in zip(nodes, whole))
            return
        spans = [span for node in nodes for chunk in node.chunks for span in chunk.spans]
        results = self._run(spans, task)
        for node in nodes:
            yield node, make(node, lambda _: next(results)[1], fold)

    def _reading(self, task: Callable[[Any], T], dtype: np.dtype[Any]) -> Callable[[Span], T]:
        spans = self.spans()
        ahead = self.executor.workers * (spans[0].size if spans else 0)

        def one(span: Span) -> T:
            if span.hi + ahead <= self.source.n_features:
                self.source.prefetch(Span(span.lo + ahead, span.hi + ahead))
            return task(self.source.read(span, dtype))

        return one

    def _run(self, spans: Sequence[Span], task: Callable[[Span], T]) -> Iterator[tuple[Span, T]]:
        for span, result in zip(spans, self.executor.map(task, spans)):
            if self.tick is not None:
                self.tick(span.size)
            yield span, result

    def _tell_of_kept(self, chunks: Sequence[Chunk]) -> None:
        if self.tick is not None:
            for chunk in chunks:
                self.tick(sum(span.size for span in chunk.spans))
