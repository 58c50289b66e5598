"""Passes over the matrix that a sample graph is made from.

Each is a task over spans, and a sum of its parts in span order in float64.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np

from sfs_cli.compute.executor import Executor, ThreadExecutor
from sfs_cli.compute.parts import (
    Chunk,
    Part,
    PartFolder,
    PartsMissingError,
    RunningFolder,
    chunks_of,
)
from sfs_cli.compute.spans import Span, block_features, cut

T = TypeVar("T")


class BlockLike(Protocol):
    """What a pass reads: see ``sfs_cli.store.prepared.Block``."""

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
        size = self.block_size or block_features(self.source.n_samples, self.dtype.itemsize)
        return cut(self.source.n_features, size)

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

    def total_over(self, task: Callable[[Span], Sequence[np.ndarray]]) -> Part:
        """Add up in float64 what `task` makes of the spans; it reads them itself."""
        keeper = self.keeper
        if isinstance(keeper, RunningFolder):
            return self._running_total(task, keeper)
        total: Part = []
        for part in self._parts(task, self.spans(), _added):
            total = _added([total, part]) if total else part
        return total

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

    def joined(self, task: Callable[[Span], Sequence[np.ndarray]], spans: Sequence[Span]) -> Part:
        """Join what `task` makes of spans of whatever it is about, along the first axes."""
        return _joined(list(self._parts(task, spans, _joined)))

    def _parts(
        self,
        task: Callable[[Span], Sequence[np.ndarray]],
        spans: Sequence[Span],
        fold: Callable[[list], Part],
    ) -> Iterator[Part]:
        """Yield the part of each chunk, made here or kept from before."""
        chunks, keeper = chunks_of(spans), self.keeper
        if keeper is None or not keeper.open:
            yield from (part for _, part in self._make(chunks, task, fold))
            return
        total = len(chunks)
        number = keeper.begin(total)
        absent = keeper.missing(number, chunks)
        mine = [c for c in chunks if c.index in absent and keeper.makes(number, c.index, total)]
        self._tell_of_kept([c for c in chunks if c.index not in absent])
        for chunk, part in self._make(mine, task, fold):
            keeper.save(number, chunk.index, part)
        keeper.end(number)
        absent = keeper.missing(number, chunks)
        if absent:
            raise PartsMissingError(number, absent, total)
        for chunk in chunks:
            yield self._kept(keeper, number, chunk, total, task, fold)

    def _kept(
        self,
        keeper: PartFolder,
        number: int,
        chunk: Chunk,
        total: int,
        task: Callable[[Span], Sequence[np.ndarray]],
        fold: Callable[[list], Part],
    ) -> Part:
        """Return a part that is there; one that is damaged is made again by who makes it."""
        part = keeper.load(number, chunk.index)
        if part is None:
            if not keeper.makes(number, chunk.index, total):
                raise PartsMissingError(number, [chunk.index], total)
            [(_, part)] = self._make([chunk], task, fold)
            keeper.save(number, chunk.index, part)
        return part

    def _running_total(
        self, task: Callable[[Span], Sequence[np.ndarray]], keeper: RunningFolder
    ) -> Part:
        """Add up from where an earlier run has come to."""
        chunks = chunks_of(self.spans())
        number = keeper.begin(len(chunks))
        done, total = keeper.latest(number)
        self._tell_of_kept(chunks[:done])
        for chunk, part in self._make(chunks[done:], task, _added):
            total = _added([total, part]) if total else part
            last = chunk.index == len(chunks) - 1
            keeper.save_sum(number, chunk.index + 1, total, last=last)
        return total

    def _make(
        self,
        chunks: Sequence[Chunk],
        task: Callable[[Span], Sequence[np.ndarray]],
        fold: Callable[[list], Part],
    ) -> Iterator[tuple[Chunk, Part]]:
        """Yield each chunk with its part; spans run ahead across chunks."""
        results = self._run([span for chunk in chunks for span in chunk.spans], task)
        for chunk in chunks:
            part: Part = []
            for _ in chunk.spans:
                part = fold([part, next(results)[1]]) if part else fold([next(results)[1]])
            yield chunk, part

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


def _added(parts: list) -> Part:
    """Add up arrays in float64; the sums of the first are gone on with where they are float64."""
    first, *rest = parts
    total = [np.asarray(a, np.float64) for a in first]
    for part in rest:
        for sums, piece in zip(total, part):
            sums += piece
    return total


def _joined(parts: list) -> Part:
    return [np.concatenate(arrays) for arrays in zip(*parts)]


def center(values: np.ndarray) -> None:
    """Subtract about the mean of each feature, in place.

    The first sample is subtracted before, so that no digits are lost to a large offset and a
    constant feature becomes exactly zero. The rest of the mean is subtracted to its first bits
    alone: integers stay exact, and so do their distances and the ties between them.
    """
    values -= values[:, :1].copy()
    weight = np.full(values.shape[1], 1 / values.shape[1], values.dtype)
    fraction, exponent = np.frexp(values @ weight)
    values -= np.ldexp(np.rint(fraction * 16), exponent - 4)[:, None]


def gram(engine: Engine) -> np.ndarray:
    """Return the inner products of the samples, over features brought near zero.

    Returns
    -------
    ndarray, shape (n, n), float64
        ``X X'`` with X (n x m) centred about, feature by feature. Distances do not depend on what
        is subtracted.
    """

    def part(block: BlockLike) -> tuple[np.ndarray]:
        center(block.values)
        with np.errstate(over="ignore", invalid="ignore"):
            return (block.values.T @ block.values,)  # one symmetric rank-k update

    return engine.total(part)[0]


def raw_gram(engine: Engine) -> tuple[np.ndarray, np.ndarray, int]:
    """Return the inner products and the sums of the samples, over features as they are.

    Features are not centred, because correlations between samples depend on their offsets; the
    arithmetic is float64 for the digits that those cost.

    Returns
    -------
    gram : ndarray, shape (n, n)
        ``X X'``.
    sums : ndarray, shape (n,)
        ``X 1``.
    used : int
        Number of features that took part.
    """

    def part(block: BlockLike) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        left_out = 0 if block.missing is None else int(block.missing.sum())
        used = len(block.values) - left_out
        return block.values.T @ block.values, block.values.sum(axis=0), np.array(used)

    total, sums, count = engine.total(part, np.dtype(np.float64))
    return total, sums, int(count)


def pair_distances(engine: Engine, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the squared Euclidean distances of some pairs of samples.

    Parameters
    ----------
    engine : Engine
        The matrix.
    first, second : ndarray of int, shape (p,)
        The pairs.

    Returns
    -------
    ndarray, shape (p,), float64
    """

    def part(block: BlockLike) -> tuple[np.ndarray]:
        total = np.zeros(len(first))
        for row in block.values:
            gap = row[first] - row[second]
            total += gap * gap
        return (total,)

    return engine.total(part, np.dtype(np.float64))[0]


def distance_panel(engine: Engine, lo: int, hi: int) -> np.ndarray:
    """Return the squared distances from samples ``lo..hi`` to all, in the calling thread.

    Panels run beside each other, each over the whole matrix, so that no more than a panel is held
    for each worker.

    Returns
    -------
    ndarray, shape (hi - lo, n), float64
    """
    n = engine.source.n_samples
    cross, norms = np.zeros((hi - lo, n)), np.zeros(n)
    for span in engine.spans():
        values = engine.source.read(span, np.dtype(np.float64)).values
        center(values)
        cross += values[:, lo:hi].T @ values
        norms += np.einsum("ij,ij->j", values, values)
    d2 = norms[lo:hi, None] + norms[None, :] - 2 * cross
    noise = 16 * np.finfo(np.float64).eps * (norms[lo:hi, None] + norms[None, :])
    d2[d2 <= noise] = 0  # identical samples
    d2[np.arange(hi - lo), np.arange(lo, hi)] = 0
    return d2
