"""Passes over the matrix that a sample graph is made from.

Each is a task over spans, and a sum of its parts in span order in float64.
"""

from __future__ import annotations

import numpy as np

from sfs_cli.compute.engine import BlockLike, Engine


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
