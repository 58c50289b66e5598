"""Quantile normalization: every sample gets the same distribution of values, out of core.

A sample is normalized by the ranks of its values among all features, which no block of features
knows. So the normalized matrix is made whole, before the passes of the graph and the scores: some
samples at a time are gathered from the blocks, sorted, and written back feature by feature.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy as np

from sfs_cli.compute.engine import Engine
from sfs_cli.compute.matrix import Ids, Span, cut
from sfs_cli.store.build import Sink, write_store_files
from sfs_cli.store.disk import open_store
from sfs_cli.store.matrix import HeldMatrix, Matrix

T = TypeVar("T")
HELD_PART = 8
"""Samples that are gathered, and a normalized matrix in memory, take one part in so many of it."""
VALUE_BYTES = 8
"""Bytes of a normalized value: the same whether the matrix fits in memory or not."""

# from a span to its values (b, n) and something of each feature, shape (b,), such as whether it
# takes part
ReadSpan = Callable[[Span], tuple[np.ndarray, np.ndarray]]


def group_size(n: int, m: int, memory: int) -> int:
    """Return how many of n samples of m features are gathered at a time."""
    return min(n, max(1, memory // HELD_PART // (VALUE_BYTES * m)))


def sample_groups(passes: Engine, memory: int) -> list[np.ndarray]:
    """Return the positions of the samples that are gathered together, group by group."""
    n, m = passes.source.n_samples, passes.source.n_features
    return [np.arange(*group) for group in cut(n, group_size(n, m, memory))]


def held(n: int, m: int, memory: int) -> int:
    """Return the bytes of the normalized matrix that stay in memory."""
    size = VALUE_BYTES * n * m
    return size if size <= memory // HELD_PART else 0


def normalized(
    passes: Engine, read: ReadSpan, ids: Ids, memory: int, folder: Path | None
) -> Matrix:
    """Return a matrix in which every sample has the mean distribution of all samples.

    The k-th smallest value of a sample becomes the mean of the k-th smallest values of all samples
    (B. M. Bolstad, R. A. Irizarry, M. Astrand and T. P. Speed, Bioinformatics 19, 2003), and equal
    values become the mean of what their places have, so that every sample has the same sum.

    Parameters
    ----------
    passes : Engine
        Over the features.
    read : callable
        Reads a span. Features that take no part have no rank, and become 0.
    ids : Ids
        Of the m features and the n samples.
    memory : int
        Bytes of the run, of which a part may be used.
    folder : Path, optional
        For scratch; by default everything stays in memory.

    Returns
    -------
    Matrix
        Float64, in memory or a store in the scratch folder. Its bytes depend on neither memory nor
        threads.
    """
    groups = sample_groups(passes, memory)
    total, taking, values = np.zeros(0), np.zeros(0, bool), np.zeros((0, 0))
    for group in groups:
        values, taking = gathered(passes, read, group)
        total = total if total.size else np.zeros(np.count_nonzero(taking))
        for ordered in each(passes, partial(_ordered, values, taking), len(values)):
            total += ordered  # in the order of the samples
    reference = total / len(ids.samples)
    place = Path() if folder is None else folder / f"quantiles-{uuid.uuid4().hex}"
    limit = 1 << 62 if folder is None else memory // HELD_PART
    sink = Sink(place, limit, across=True, sparse=False)
    for group in groups:
        if len(groups) > 1:  # a single one is here still
            values, taking = gathered(passes, read, group)
        for _ in each(passes, partial(_replace, values, taking, reference), len(values)):
            pass
        sink.add(values)
    in_memory = sink.finish(to_disk=False)
    if in_memory is not None:
        return HeldMatrix(in_memory, ids)
    write_store_files(place, ids, np.dtype(np.float64))
    return open_store(place)


def each(passes: Engine, task: Callable[[int], T], count: int) -> Iterator[T]:
    """Run a task on each of the samples held here, in their order."""
    return passes.executor.nearby.map(lambda at: task(at.lo), cut(count, 1))


def replaced(values: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """Return values, shape (m,), replaced by a distribution, ascending and shape (m,), by rank."""
    if not values.size:
        return values
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    means = np.add.reduceat(reference, np.cumsum(counts) - counts) / counts
    return np.asarray(means[place])


def gathered(passes: Engine, read: ReadSpan, group: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the values of some samples, shape (samples, m), and what is said of each feature."""

    def columns(span: Span) -> tuple[np.ndarray, np.ndarray]:
        values, of_feature = read(span)
        return values[:, group], of_feature

    values, of_features = np.empty((len(group), passes.source.n_features)), []
    for span, (part, of_feature) in passes.run_over(columns):
        values[:, span.lo : span.hi] = part.T
        of_features.append(of_feature)
    return values, np.concatenate(of_features)


def _ordered(values: np.ndarray, taking: np.ndarray, at: int) -> np.ndarray:
    return np.sort(values[at, taking])


def _replace(values: np.ndarray, taking: np.ndarray, reference: np.ndarray, at: int) -> None:
    values[at, taking] = replaced(values[at, taking], reference)
    values[at, ~taking] = 0
