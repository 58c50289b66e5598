"""Eigenpairs of the normalized Laplacian, and functions of it."""

from __future__ import annotations

from dataclasses import dataclass

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
        matrix -= 4 * np.outer(laplacian.trivial, laplacian.trivial)  # below all the others
        mu, vectors = linalg.eigh(matrix, subset_by_index=(n - wanted, n - 1), overwrite_a=True)
    else:
        mu, vectors = _lanczos(laplacian, wanted)
    order = np.argsort(-mu, kind="stable")
    values = np.concatenate([[0.0], 1 - mu[order]])
    vectors = np.column_stack([laplacian.trivial, fix_signs(vectors[:, order])])
    return Spectrum(values, vectors)


def _lanczos(laplacian: NormalizedLaplacian, k: int) -> tuple[np.ndarray, np.ndarray]:
    n = laplacian.n
    xi = laplacian.trivial

    def multiply(v: np.ndarray) -> np.ndarray:
        v = v.reshape(1, n)
        return (laplacian.smooth(v) - 4 * (v @ xi)[:, None] * xi)[0]

    operator = LinearOperator((n, n), matvec=multiply, dtype=np.float64)
    start = np.cos(np.arange(1, n + 1, dtype=np.float64))  # the same at every run
    try:
        return eigsh(operator, k, which="LA", v0=start, ncv=min(n, max(2 * k + 1, 40)), tol=1e-13)
    except ArpackNoConvergence as error:
        raise NotConvergedError(
            f"the eigenvectors of the sample graph did not converge: {len(error.eigenvalues)} of "
            f"{k} were found",
            hint="ask for fewer --clusters, or use --ranking phi2, which needs none",
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


def chebyshev_exponential(radius: float, scale: float) -> np.ndarray:
    """Return Chebyshev coefficients of ``exp(scale (1 + radius x))`` on -1 <= x <= 1.

    The series is cut where its terms fall below rounding.
    """
    degree = 32 + int(4 * radius * scale)

    def exponent(x: np.ndarray) -> np.ndarray:
        return np.exp(scale * (1 + radius * x))

    series = np.polynomial.Chebyshev.interpolate(exponent, degree).coef
    kept = np.flatnonzero(np.abs(series) > 1e-17 * np.abs(series).max())
    return series[: kept[-1] + 1]


def apply_series(
    laplacian: NormalizedLaplacian, G: np.ndarray, coefficients: np.ndarray, radius: float
) -> np.ndarray:
    """Apply a Chebyshev series in ``(N - 1) / radius`` to the rows of G, by Clenshaw's rule.

    Parameters
    ----------
    laplacian : NormalizedLaplacian
        n x n.
    G : ndarray, shape (b, n)
        Rows orthogonal to ``xi_1``.
    coefficients : ndarray, shape (degree + 1,)
        Of the series on [-1, 1].
    radius : float
        Half the width of the interval around 1 that holds the eigenvalues.

    Returns
    -------
    ndarray, shape (b, n)
    """
    after, later = np.zeros_like(G), np.zeros_like(G)
    for c in coefficients[:0:-1]:
        # (N - 1) / radius is minus the smoothing operator on this space
        after, later = c * G - (2 / radius) * laplacian.smooth(after) - later, after
    return coefficients[0] * G - laplacian.smooth(after) / radius - later
