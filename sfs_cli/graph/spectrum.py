"""Eigenpairs of the normalized Laplacian, and functions of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from sfs_cli.errors import NotConvergedError
from sfs_cli.graph.laplacian import NormalizedLaplacian

DIRECT_LIMIT = 1000
"""Up to this many samples a direct solver is used, above it Lanczos iterations."""
MAX_CLUSTERS = 20
"""The largest number of clusters that is looked for by the eigengap."""


@dataclass(frozen=True)
class Spectrum:
    """The leading eigenpairs of a normalized Laplacian.

    Attributes
    ----------
    values : ndarray, shape (k,)
        Ascending; the first is the trivial 0.
    vectors : ndarray, shape (n, k)
        Orthonormal; the first is ``xi_1``.
    """

    values: np.ndarray
    vectors: np.ndarray


def leading(laplacian: NormalizedLaplacian, k: int) -> Spectrum:
    """Return the k smallest eigenpairs, the trivial one first.

    Parameters
    ----------
    laplacian : NormalizedLaplacian
        n x n.
    k : int
        At least 1 and at most n.

    Raises
    ------
    NotConvergedError
        When Lanczos iterations do not reach machine precision.
    """
    n, wanted = laplacian.n, k - 1
    if wanted == 0:
        return Spectrum(np.zeros(1), laplacian.trivial[:, None].copy())
    if n <= DIRECT_LIMIT or wanted > n // 3:
        matrix = laplacian.smooth_matrix()
        below = 1 + np.linalg.norm(matrix)  # all other eigenvalues
        matrix -= below * np.outer(laplacian.trivial, laplacian.trivial)
        mu, vectors = linalg.eigh(matrix, subset_by_index=(n - wanted, n - 1), overwrite_a=True)
    else:
        mu, vectors = _lanczos(laplacian, wanted)
    order = np.argsort(-mu, kind="stable")
    values = np.concatenate([[0.0], 1 - mu[order]])
    vectors = np.column_stack([laplacian.trivial, fix_signs(vectors[:, order])])
    return Spectrum(values, vectors)


def _lanczos(laplacian: NormalizedLaplacian, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Find the k largest eigenpairs of the smoothing operator on the complement of xi_1.

    From one start, iterations are sure to find but one vector of a multiple eigenvalue, and a
    graph in c pieces has c zeros. So the rest is searched again, without the vectors that are
    found, until a rough look sees nothing in it that is larger than they are.
    """
    n = laplacian.n
    mu, found = np.zeros(1), laplacian.trivial[:, None]

    def multiply(v: np.ndarray) -> np.ndarray:
        v = v.reshape(1, n)
        without = laplacian.smooth(v) - (v @ found * (mu + 4)) @ found.T
        return (without + v)[0]  # eigenvalues near 1, so that tolerances are absolute

    def search(count: int, tol: float) -> tuple[np.ndarray, np.ndarray]:
        ncv = min(n, max(2 * count + 1, 40))
        more, vectors = _eigenpairs(multiply, n, count, which="LA", ncv=ncv, tol=tol)
        return more - 1, vectors

    more, vectors = search(k, 1e-13)
    while True:
        mu, found = np.concatenate([mu, more]), np.column_stack([found, vectors])
        best = 1 + np.argsort(-mu[1:], kind="stable")[:k]
        if search(1, 1e-2)[0][0] <= mu[best[-1]] + 1e-10:
            return mu[best], found[:, best]
        more, vectors = search(1, 1e-13)


def _eigenpairs(
    multiply: Callable[[np.ndarray], np.ndarray], n: int, k: int, **options: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Find k eigenpairs by Lanczos iterations, from the same start at every run."""
    operator = LinearOperator((n, n), matvec=multiply, dtype=np.float64)
    start = np.cos(np.arange(1, n + 1, dtype=np.float64))
    try:
        return eigsh(operator, k, v0=start, **options)
    except ArpackNoConvergence as error:
        raise NotConvergedError(
            f"the eigenvectors of the sample graph did not converge: {len(error.eigenvalues)} of "
            f"{k} were found",
            hint="ask for fewer --clusters, or use --ranking phi2 with a power, which needs none",
        ) from None


def fix_signs(vectors: np.ndarray) -> np.ndarray:
    """Give each column the sign that makes its largest entry (the first of them) positive."""
    peak = np.argmax(np.abs(vectors), axis=0)
    signs = np.sign(vectors[peak, np.arange(vectors.shape[1])])
    return vectors * np.where(signs == 0, 1, signs)


def clusters_by_eigengap(values: np.ndarray) -> int:
    """Return k >= 2 at the largest gap ``lambda_{k+1} - lambda_k``; the first of equal gaps.

    Parameters
    ----------
    values : ndarray, shape (q,)
        The smallest eigenvalues in ascending order, at least 3; k is looked for up to q - 1.
    """
    gaps = np.diff(values)[1:]
    return 2 + int(np.argmax(gaps))


def exponential(laplacian: NormalizedLaplacian) -> np.ndarray:
    """Return ``exp(N)`` without its trivial part, ``sum_{j>=2} exp(lambda_j) xi_j xi_j'``.

    Returns
    -------
    ndarray, shape (n, n)
    """
    mu, vectors = linalg.eigh(laplacian.smooth_matrix(), overwrite_a=True)
    full = (vectors * np.exp(1 - mu)) @ vectors.T
    # the trivial direction is an eigenvector of the deflated matrix with mu = 0, so exp(1)
    full -= np.e * np.outer(laplacian.trivial, laplacian.trivial)
    return (full + full.T) / 2


def spectral_interval(laplacian: NormalizedLaplacian) -> tuple[float, float]:
    """Return an interval that holds all eigenvalues.

    It is 0..2 for a similarity without negative entries. With signs there is no such limit, and
    the bound by row sums is too wide to be of use (a series on it loses all digits), so the ends
    are found.
    """
    degrees = laplacian.degrees
    if np.all(laplacian.similarity.magnitudes <= degrees * (1 + 1e-9)):
        return 0.0, 2.0
    n = laplacian.n
    if n <= DIRECT_LIMIT:
        mu = linalg.eigvalsh(laplacian.smooth_matrix(), overwrite_a=True)
        ends = [1 - float(mu[-1]), 1 - float(mu[0])]
    else:

        def multiply(v: np.ndarray) -> np.ndarray:
            return laplacian.smooth(v.reshape(1, n))[0]

        mu, _ = _eigenpairs(multiply, n, 2, which="BE", tol=1e-4)
        ends = [1 - float(mu.max()), 1 - float(mu.min())]
    margin = 0.01 * (ends[1] - ends[0])  # for what the iterations have not reached
    return min(0.0, ends[0] - margin), ends[1] + margin


def chebyshev_exponential(interval: tuple[float, float], scale: float) -> np.ndarray:
    """Return Chebyshev coefficients of ``exp(scale x)`` over an interval.

    The series is cut where its terms fall below rounding.
    """
    middle, radius = sum(interval) / 2, (interval[1] - interval[0]) / 2
    spread = radius * abs(scale)
    degree = 32 + int(min(4 * spread, 10 * np.sqrt(spread)))  # the terms fall like Bessel's I

    def exponent(x: np.ndarray) -> np.ndarray:
        return np.exp(scale * (middle + radius * x))

    series = np.polynomial.Chebyshev.interpolate(exponent, degree).coef
    kept = np.flatnonzero(np.abs(series) > 1e-17 * np.abs(series).max())
    return series[: kept[-1] + 1]


def apply_series(
    laplacian: NormalizedLaplacian,
    G: np.ndarray,
    coefficients: np.ndarray,
    interval: tuple[float, float],
) -> np.ndarray:
    """Apply a Chebyshev series in N to the rows of G, by Clenshaw's rule.

    Parameters
    ----------
    laplacian : NormalizedLaplacian
        n x n.
    G : ndarray, shape (b, n)
        Rows orthogonal to ``xi_1``.
    coefficients : ndarray, shape (degree + 1,)
        Of the series over `interval`.
    interval : (float, float)
        Holds the eigenvalues.

    Returns
    -------
    ndarray, shape (b, n)
    """
    middle, radius = sum(interval) / 2, (interval[1] - interval[0]) / 2

    def scaled(block: np.ndarray) -> np.ndarray:
        product = laplacian.apply(block)
        product -= middle * block
        product /= radius
        return product

    after, later = np.zeros_like(G), np.zeros_like(G)
    for c in coefficients[:0:-1]:
        after, later = c * G + 2 * scaled(after) - later, after
    return coefficients[0] * G + scaled(after) - later
