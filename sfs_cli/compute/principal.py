"""Principal components of the samples, by passes over blocks of features.

With X the n x m matrix less the mean of each feature, and X = U S V', the scores are U S: what
distances in the space of the leading components are between. Nothing larger than a few blocks and
n x (components + 10) arrays is held.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sfs_cli.compute.centred_blocks import (
    DOUBLE,
    add_transposed,
    by_sample,
    centred_blocks,
    dense,
    product,
    read_centred,
    times,
    transposed_times,
)
from sfs_cli.compute.engine import Engine
from sfs_cli.compute.spans import Span, block_features, cut

OVERSAMPLING = 10
POWER_ITERATIONS = 7
"""Passes that turn the random space towards the leading components."""
EXACT_SAMPLES = 2048
EXACT_FEATURES = 2048
"""Up to so many of either, the inner products of all samples or all features are decomposed."""
SPARSE_ROWS = 4
"""Times as many features are held for their products with all others where they are sparse."""
GROUPS = 16
"""Sums over the features are made of so many parts, each as large as the result."""
ARRAYS = 4
"""n x (components + 10) arrays that are held for good in a pass, and for each worker."""


@dataclass(frozen=True)
class Components:
    """Leading principal components.

    Attributes
    ----------
    scores : ndarray, shape (k, n), float64
        U S, transposed: a component in each row, the largest first. Signs mean nothing.
    kept : float
        Part of the variance that the components have.
    how : str
        ``exact`` or ``randomized``.
    """

    scores: np.ndarray
    kept: float
    how: str


def principal_components(engine: Engine, count: int, seed: int) -> Components:
    """Find the leading principal components of the samples.

    Parameters
    ----------
    engine : Engine
        Passes over the features, dense blocks or stored values alone; nothing of them is kept.
    count : int
        Number of components k, at most the smaller of samples - 1 and features.
    seed : int
        Of the random space that the search begins in.

    Notes
    -----
    Of at most 2,048 samples or 2,048 features (or k + 10, if that is more) by the eigenvectors of
    the Gram matrix, exactly. Else by the randomized method of Halko, Martinsson and Tropp (2011,
    Algorithms 4.4 and 5.1) with 7 power iterations, each followed by a QR decomposition: leading
    components that stand out are exact too, those amid others of nearly their size are not.
    """
    engine = replace(engine, dtype=DOUBLE, keeper=None, tick=None)
    n, m = engine.source.n_samples, engine.source.n_features
    kind = _kind(n, m, count)
    if kind == "samples":
        return _of_samples(engine, count)
    if kind == "features":
        return _of_features(engine, count)
    return _randomized(engine, count, seed)


def reads(n: int, m: int, count: int) -> int:
    """Return how often the matrix is read, in all; less often where it is sparse."""
    kind = _kind(n, m, count)
    if kind == "features":
        return 2 + len(cut(m, _rows(n, count))) // 2
    return 1 if kind == "samples" else 2 + POWER_ITERATIONS


def _kind(n: int, m: int, count: int) -> str:
    """Return what is decomposed: products of the samples, of the features, or a sample of them."""
    width = count + OVERSAMPLING
    few_features = m <= max(EXACT_FEATURES, width)
    if n <= max(EXACT_SAMPLES, width) and (n <= m or not few_features):
        return "samples"
    return "features" if few_features else "randomized"


def _rows(n: int, count: int) -> int:
    """Return the features whose products with all others are found by one walk over those."""
    return max(block_features(n, 8), count + OVERSAMPLING)


def room(n: int, count: int, workers: int) -> int:
    """Return the bytes that the search takes, beside ordinary blocks.

    Parameters
    ----------
    n, count, workers : int
        Samples, components, and tasks at a time.
    """
    return ARRAYS * (1 + workers) * 8 * n * (count + OVERSAMPLING)


def _of_samples(engine: Engine, count: int) -> Components:
    """Decompose X X', shape (n, n)."""
    from scipy.linalg import eigh

    n = engine.source.n_samples

    def part(span: Span) -> tuple[np.ndarray]:
        gram = np.zeros((n, n))
        for values, mean in centred_blocks(engine, span):
            values = dense(values, mean)
            gram += values.T @ values
        return (gram,)

    (gram,) = _grouped(engine, n).total_over(part)
    total = float(np.trace(gram))
    values, vectors = eigh(gram, subset_by_index=[n - count, n - 1], overwrite_a=True)
    sizes = np.maximum(values[::-1], 0)
    scores = vectors[:, ::-1].T * np.sqrt(sizes)[:, None]
    return Components(scores, _part(sizes, total), "exact")


def _of_features(engine: Engine, count: int) -> Components:
    """Decompose X' X, shape (m, m), a few of its rows at a time."""
    from scipy.linalg import eigh
    from scipy.sparse import csr_array

    n, m = engine.source.n_samples, engine.source.n_features
    size = _rows(n, count)
    held = (
        size * SPARSE_ROWS if isinstance(read_centred(engine, Span(0, 1))[0], csr_array) else size
    )

    def part(span: Span) -> tuple[np.ndarray]:
        own, mean = by_sample(*read_centred(engine, span))
        found = np.zeros((span.size, m))
        for at in cut(m - span.lo, size):
            other = Span(span.lo + at.lo, span.lo + at.hi)
            products = product(*read_centred(engine, other), own, mean)
            found[:, other.lo : other.hi] = products.T
        return (found,)

    (gram,) = engine.joined(part, cut(m, held))
    total = float(np.trace(gram))
    sizes, vectors = eigh(gram, lower=False, subset_by_index=[m - count, m - 1], overwrite_a=True)
    directions = vectors[:, ::-1]

    def project(span: Span) -> tuple[np.ndarray, np.ndarray]:
        return transposed_times(engine, span, directions)

    scores, _ = _grouped(engine, n).total_over(project)
    return Components(np.ascontiguousarray(scores.T), _part(np.maximum(sizes, 0), total), "exact")


def _randomized(engine: Engine, count: int, seed: int) -> Components:
    n, m = engine.source.n_samples, engine.source.n_features
    width = count + OVERSAMPLING
    start = np.random.default_rng(seed).standard_normal((m, width))
    grouped = _grouped(engine, n)

    def begin(span: Span) -> tuple[np.ndarray, np.ndarray]:
        return transposed_times(engine, span, start)

    space, squares = grouped.total_over(begin)
    total = float(squares[0])
    for _ in range(POWER_ITERATIONS):
        space = _orthonormal(space)
        space = _turned(grouped, engine, space)
    space = _orthonormal(space)
    sums = space.sum(axis=0)

    def finish(span: Span) -> tuple[np.ndarray]:
        parts = [times(*block, space, sums) for block in centred_blocks(engine, span)]
        return (np.concatenate(parts),)

    (directions,) = grouped.joined(finish, grouped.spans())
    left, sizes, _ = np.linalg.svd(directions.T, full_matrices=False)
    scores = (left[:, :count] * sizes[:count]).T @ space.T
    return Components(scores, _part(sizes[:count] ** 2, total), "randomized")


def _turned(grouped: Engine, engine: Engine, space: np.ndarray) -> np.ndarray:
    """Return X X' Q in one pass."""
    sums = space.sum(axis=0)

    def part(span: Span) -> tuple[np.ndarray]:
        found, offset = np.zeros(space.shape), np.zeros(space.shape[1])
        for block in centred_blocks(engine, span):
            add_transposed(found, offset, *block, times(*block, space, sums))
        found -= offset
        return (found,)

    return grouped.total_over(part)[0]


def _grouped(engine: Engine, n: int) -> Engine:
    """Return the same passes by few spans: what a span gives is as large as the sum of all."""
    size = max(-(-engine.source.n_features // GROUPS), block_features(n, 8))
    return replace(engine, block_size=size)


def _orthonormal(space: np.ndarray) -> np.ndarray:
    from scipy.linalg import qr

    found = qr(space, mode="economic", overwrite_a=True, check_finite=False)[0]
    return np.ascontiguousarray(found)  # else every sparse product copies it


def _part(sizes: np.ndarray, total: float) -> float:
    """Return the part of a total that some sizes make up; nothing of nothing."""
    return float(min(1.0, np.sum(sizes) / total)) if total > 0 else 0.0
