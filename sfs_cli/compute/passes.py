"""Passes over the matrix that a sample graph is made from.

Each is a task over spans, and a sum of its parts in span order in float64.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np

from sfs_cli.compute.executor import Executor
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
    """

    source: Source
    executor: Executor
    dtype: np.dtype[Any]
    block_size: int | None = None
    tick: Callable[[int], None] | None = None

    def spans(self) -> list[Span]:
        """Cut the features as every pass does."""
        size = self.block_size or block_features(self.source.n_samples, self.dtype.itemsize)
        return cut(self.source.n_features, size)

    def run(
        self, task: Callable[[Any], T], dtype: np.dtype[Any] | None = None
    ) -> Iterator[tuple[Span, T]]:
        """Read each span, run `task` on its block, and yield the results in span order."""
        spans = self.spans()
        wanted = dtype or self.dtype
        ahead = self.executor.workers * (spans[0].size if spans else 0)

        def one(span: Span) -> T:
            if span.hi + ahead <= self.source.n_features:
                self.source.prefetch(Span(span.lo + ahead, span.hi + ahead))
            return task(self.source.read(span, wanted))

        for span, result in zip(spans, self.executor.map(one, spans)):
            if self.tick is not None:
                self.tick(span.size)
            yield span, result


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
    n = engine.source.n_samples

    def part(block: BlockLike) -> np.ndarray:
        center(block.values)
        with np.errstate(over="ignore", invalid="ignore"):
            return block.values.T @ block.values  # one symmetric rank-k update

    total = np.zeros((n, n))
    for _, piece in engine.run(part):
        total += piece
    return total


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
    n = engine.source.n_samples

    def part(block: BlockLike) -> tuple[np.ndarray, np.ndarray, int]:
        left_out = 0 if block.missing is None else int(block.missing.sum())
        used = len(block.values) - left_out
        return block.values.T @ block.values, block.values.sum(axis=0), used

    total, sums, count = np.zeros((n, n)), np.zeros(n), 0
    for _, (piece, piece_sums, used) in engine.run(part, np.dtype(np.float64)):
        total += piece
        sums += piece_sums
        count += used
    return total, sums, count


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

    def part(block: BlockLike) -> np.ndarray:
        total = np.zeros(len(first))
        for row in block.values:
            gap = row[first] - row[second]
            total += gap * gap
        return total

    total = np.zeros(len(first))
    for _, piece in engine.run(part, np.dtype(np.float64)):
        total += piece
    return total


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
