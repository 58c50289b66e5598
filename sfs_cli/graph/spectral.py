"""Eigenpairs of a Laplacian, and functions of it that are applied to blocks of features.

The functions of GDCOV are ``Gamma(A) = U gamma(Sigma) U'`` with ``gamma(0) = 0`` (Eq. 5 of Z. Zhao
and H. Liu, "Multi-source feature selection via geometry-dependent covariance analysis", JMLR
Workshop and Conference Proceedings 4, 2008). The eigenvectors of eigenvalue 0 are known without a
decomposition: there is one for each connected component of the graph.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, cast

import numpy as np

from sfs_cli.compute.limits import EPS
from sfs_cli.compute.matrix import InDtypes
from sfs_cli.errors import InputError, NotConvergedError, Options
from sfs_cli.graph.laplacian import NormalizedLaplacian
from sfs_cli.graph.similarity import connected_components, null_vectors

DIRECT_LIMIT = 1000
"""Up to this many samples a direct solver is used, above it Lanczos iterations."""
MAX_CLUSTERS = 20
"""Largest number of clusters that the eigengap may choose."""
FEWER_CLUSTERS = "use fewer clusters=, or ranking=phi2 with a power, which needs none"


@dataclass(frozen=True)
class Spectrum:
    """The leading eigenpairs of a normalized Laplacian."""

    values: np.ndarray  # (k,): ascending; the first is the trivial 0
    vectors: np.ndarray  # (n, k): orthonormal; the first is ``xi_1``


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
    if (factor := laplacian.factor) is not None:
        mu, vectors = _leading_of_factor(factor, laplacian.trivial, wanted)
    # a third of the spectrum by Lanczos costs more than all of it by the direct solver
    elif n <= DIRECT_LIMIT or wanted > n // 3:
        matrix = laplacian.smooth_matrix()
        below = 1 + np.linalg.norm(matrix)  # all other eigenvalues
        matrix -= below * np.outer(laplacian.trivial, laplacian.trivial)
        mu, vectors = np.linalg.eigh(matrix)
        mu, vectors = mu[n - wanted :], vectors[:, n - wanted :]
    else:
        mu, vectors = _leading_by_lanczos(laplacian, wanted)
    order = np.argsort(-mu, kind="stable")
    values = np.concatenate([[0.0], 1 - mu[order]])
    vectors = np.column_stack([laplacian.trivial, fix_signs(vectors[:, order])])
    return Spectrum(values, vectors)


def _leading_of_factor(
    factor: np.ndarray, trivial: np.ndarray, k: int
) -> tuple[np.ndarray, np.ndarray]:
    """Find the k largest eigenpairs of ``X X'``, X (n, r) orthogonal to xi_1, beside xi_1.

    All but r of its eigenvalues are 0: any orthonormal vectors will do for those.
    """
    vectors, singular, _ = np.linalg.svd(factor, full_matrices=False)
    # X may have lost rank: the vectors of the rest need not be orthogonal to xi_1
    rank = int(np.count_nonzero(singular > len(factor) * EPS))
    mu, vectors = np.zeros(k), vectors[:, : min(rank, k)]
    mu[: min(rank, k)] = singular[: min(rank, k)] ** 2
    anything = np.random.default_rng(0).standard_normal((len(factor), k - vectors.shape[1]))
    basis = np.linalg.qr(np.column_stack([trivial, vectors, anything]))[0]
    return mu, np.column_stack([vectors, basis[:, 1 + vectors.shape[1] :]])


def _leading_by_lanczos(laplacian: NormalizedLaplacian, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Find the k largest eigenpairs of the smoothing operator on the complement of xi_1.

    Iterations from one start may find a single vector of a multiple eigenvalue, and a graph of c
    connected components has c zeros. Their vectors are known. The complement of the vectors found
    is searched again, until a rough search sees no larger eigenvalue in it.
    """
    n = laplacian.n
    null = null_vectors(connected_components(laplacian.similarity), laplacian.root)
    zeros = min(null.shape[1] - 1, k)
    found = np.linalg.qr(np.column_stack([laplacian.trivial, null[:, :zeros].toarray()]))[0]
    found[:, 0] = laplacian.trivial
    mu = np.repeat([0.0, 1.0], [1, zeros])  # smoothing leaves xi_1 out; zeros of L are 1

    def multiply(v: np.ndarray) -> np.ndarray:
        # what has been found moves to -4, far below the rest of the spectrum
        without = laplacian.smooth(v) - (v @ found * (mu + 4)) @ found.T
        return without + v  # eigenvalues near 1, so that tolerances are absolute

    def search(count: int, tol: float) -> tuple[np.ndarray, np.ndarray]:
        # not ARPACK's 20: the small eigenvalues of a graph crowd near 0 and need a wider basis
        ncv = min(n, max(2 * count + 1, 40))
        more, vectors = lanczos(multiply, n, count, hint=FEWER_CLUSTERS, ncv=ncv, tol=tol)
        return more - 1, vectors

    more, vectors = search(max(k - zeros, 1), 1e-13)
    while True:
        mu, found = np.concatenate([mu, more]), np.column_stack([found, vectors])
        best = 1 + np.argsort(-mu[1:], kind="stable")[:k]
        # a Ritz value never exceeds the largest eigenvalue: a rough search gives no false alarm
        if search(1, 1e-2)[0][0] <= mu[best[-1]] + 1e-10:
            return mu[best], found[:, best]
        more, vectors = search(1, 1e-13)


def lanczos(
    operator: np.ndarray | Callable[[np.ndarray], np.ndarray],
    n: int,
    k: int,
    *,
    of: str = "the sample graph",
    hint: str,
    option: Options = (),
    **settings: Any,
) -> Any:
    """Find k eigenpairs of a symmetric operator by Lanczos iterations (ARPACK).

    Parameters
    ----------
    operator : ndarray, shape (n, n), or callable
        The matrix, or the product of a row (1, n) with it.
    of, hint, option : str
        What has the eigenvectors, what to do and the option it is about, for the error.
    settings
        Of `scipy.sparse.linalg.eigsh`, whose result is returned; by default the largest.

    Raises
    ------
    NotConvergedError
        When fewer than k are found.
    """
    from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

    if not isinstance(operator, np.ndarray):
        multiply = operator
        operator = LinearOperator((n, n), lambda v: multiply(v.reshape(1, n))[0], dtype=np.float64)
    # ARPACK's own start is random: a fixed one gives every run the same bytes; cosines, because a
    # constant is the trivial eigenvector and would never leave it
    start = np.cos(np.arange(1, n + 1, dtype=np.float64))
    try:
        return eigsh(operator, k, **({"which": "LA", "v0": start} | settings))
    except ArpackNoConvergence as error:
        raise NotConvergedError(
            f"the eigenvectors of {of} did not converge: {len(error.eigenvalues)} of {k} were "
            "found",
            hint=hint,
            option=option,
        ) from None


def fix_signs(vectors: np.ndarray) -> np.ndarray:
    """Give each column the sign that makes its largest entry (the first of them) positive."""
    # a solver's own sign depends on the library and on the number of threads
    peak = np.argmax(np.abs(vectors), axis=0)
    signs = np.sign(vectors[peak, np.arange(vectors.shape[1])])
    return vectors * np.where(signs == 0, 1, signs)


def clusters_by_eigengap(values: np.ndarray) -> int:
    """Return the k >= 2 with the largest gap ``lambda_{k+1} - lambda_k``; the first of equal ones.

    Parameters
    ----------
    values : ndarray, shape (q,)
        The smallest eigenvalues in ascending order, at least 3; k is at most q - 1.
    """
    gaps = np.diff(values)[1:]  # without that after the first: one cluster is no answer
    return 2 + int(np.argmax(gaps))


def exponential(laplacian: NormalizedLaplacian) -> np.ndarray:
    """Return ``exp(N)`` without its trivial part, ``sum_{j>=2} exp(lambda_j) xi_j xi_j'``.

    Returns
    -------
    ndarray, shape (n, n)
    """
    mu, vectors = np.linalg.eigh(laplacian.smooth_matrix())
    full = (vectors * np.exp(1 - mu)) @ vectors.T
    # the trivial direction is an eigenvector of the deflated matrix with mu = 0, so exp(1)
    full -= np.e * np.outer(laplacian.trivial, laplacian.trivial)
    return (full + full.T) / 2


def spectral_interval(laplacian: NormalizedLaplacian) -> tuple[float, float]:
    """Return an interval that holds all eigenvalues.

    It is 0..2 for a similarity without negative entries. With negative ones there is no such limit,
    and the bound by row sums is so wide that a series on it loses all digits: the ends are found.
    """
    degrees = laplacian.degrees
    if np.all(laplacian.similarity.magnitudes <= degrees * (1 + 1e-9)):
        return 0.0, 2.0
    n = laplacian.n
    if n <= DIRECT_LIMIT:
        mu = np.linalg.eigvalsh(laplacian.smooth_matrix())
    else:
        mu, _ = lanczos(laplacian.smooth, n, 2, hint=FEWER_CLUSTERS, which="BE", tol=1e-4)
    ends = [1 - float(mu.max()), 1 - float(mu.min())]
    margin = 0.01 * (ends[1] - ends[0])  # for what the iterations have not reached yet
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

    # more terms than are needed, then cut at rounding: no formula of the error is relied on
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

    # b_k = c_k G + 2 x b_{k+1} - b_{k+2}: three blocks are held, whatever the degree. A Taylor
    # series of exp(-t N) would cancel: its terms alternate and grow to exp(t lambda) first
    after, later = np.zeros_like(G), np.zeros_like(G)
    for c in coefficients[:0:-1]:
        after, later = c * G + 2 * scaled(after) - later, after
    return coefficients[0] * G + scaled(after) - later


RESIDUAL = 1e-9
"""Conjugate gradients stop at this residual; the error of a quadratic form is of its square."""
ROUNDING = 64 * EPS
MAX_STEPS = 20_000
NEGATIVE = (
    "gamma=inverse is not defined: the Laplacian of the sample graph has negative eigenvalues"
)
NEGATIVE_HINT = "use gamma=heat:1, or a similarity without negative entries, such as rbf or knn"
GammaName = Literal["one-minus", "inverse", "heat"]


@dataclass(frozen=True)
class Gamma:
    """A spectral function of GDCOV; it is 0 at 0 by definition."""

    # ``1 - lambda`` (Theorem 6), ``1 / lambda`` or ``exp(-time lambda)``
    name: GammaName
    time: float = 0.0  # of ``heat``

    def __call__(self, values: np.ndarray) -> np.ndarray:
        """Return gamma of positive eigenvalues."""
        if self.name == "one-minus":
            return 1 - values
        return 1 / values if self.name == "inverse" else np.exp(-self.time * values)


def parse_gamma(text: str) -> Gamma:
    """Return the function that ``one-minus``, ``inverse`` or ``heat:T`` stands for."""
    name, _, time = text.partition(":")
    return Gamma(cast(GammaName, name), float(time or 0))


class SpectralFunction(ABC):
    """``Gamma(N)`` as an operator on rows that are orthogonal to ``xi_1``.

    Attributes
    ----------
    typical : float
        Root mean square of the eigenvalues of Gamma, ``|Gamma|_F / sqrt(n)``, where it is known
        (else 1): the scale of the rounding of a quadratic form.
    """

    typical = 1.0

    @abstractmethod
    def apply(self, G: np.ndarray) -> np.ndarray:
        """Return ``G Gamma``, shape (b, n)."""

    def form(self, G: np.ndarray) -> np.ndarray:
        """Return ``g Gamma g'`` for every row g, shape (b,), float64."""
        return np.vecdot(G, self.apply(G)).astype(np.float64)


class MatrixFunction(SpectralFunction):
    """Gamma as a dense matrix, in the type of the block.

    Parameters
    ----------
    matrix : ndarray, shape (n, n)
        Gamma, float64.
    """

    def __init__(self, matrix: np.ndarray) -> None:
        self.matrix = InDtypes(matrix)
        self.typical = float(np.linalg.norm(matrix)) / len(matrix) ** 0.5

    def apply(self, G: np.ndarray) -> np.ndarray:
        """Return ``G Gamma``, shape (b, n)."""
        return G @ self.matrix[G.dtype]


class _Piecewise(SpectralFunction):
    """A function that removes the eigenvectors of eigenvalue 0 from the rows first.

    Parameters
    ----------
    laplacian : NormalizedLaplacian
        n x n.
    null : csr_array, shape (n, c)
        Orthonormal basis of its null space.
    """

    def __init__(self, laplacian: NormalizedLaplacian, null: Any) -> None:
        self.laplacian = laplacian
        self.null = null

    def project(self, G: np.ndarray) -> np.ndarray:
        """Return G without its part in the null space, as a new array."""
        part = self.null @ (self.null.T @ np.ascontiguousarray(G.T))
        return G - part.T


class Smoothing(_Piecewise):
    """One minus the eigenvalue: a product with S and no decomposition (Theorem 6, Eq. 10)."""

    def apply(self, G: np.ndarray) -> np.ndarray:
        """Return ``G Gamma``, shape (b, n)."""
        return self.laplacian.smooth(self.project(G))


class HeatSeries(_Piecewise):
    """The heat kernel of a sparse or factored graph, as a Chebyshev series of half its time.

    Parameters
    ----------
    laplacian, null
        As in the base.
    series : ndarray, shape (degree + 1,)
        Coefficients of ``exp(-time / 2 lambda)``.
    interval : (float, float)
        Holds the eigenvalues.
    """

    def __init__(
        self,
        laplacian: NormalizedLaplacian,
        null: Any,
        series: np.ndarray,
        interval: tuple[float, float],
    ) -> None:
        super().__init__(laplacian, null)
        self.series, self.interval = series, interval

    def _half(self, G: np.ndarray) -> np.ndarray:
        # of half the time, because |half|^2 cannot be negative; a series of the whole time is,
        # by rounding, where the form is small
        return apply_series(self.laplacian, self.project(G), self.series, self.interval)

    def apply(self, G: np.ndarray) -> np.ndarray:
        """Return ``G Gamma``, shape (b, n)."""
        return self._half(self._half(G))

    def form(self, G: np.ndarray) -> np.ndarray:
        """Return ``g Gamma g'``, which is never negative, shape (b,)."""
        half = self._half(G)
        return np.vecdot(half, half)


class PseudoInverse(_Piecewise):
    """The pseudo-inverse of a sparse or factored graph's Laplacian, by conjugate gradients."""

    def apply(self, G: np.ndarray) -> np.ndarray:
        """Return ``G N^+``, shape (b, n).

        Raises
        ------
        InputError
            When the Laplacian has a negative eigenvalue.
        NotConvergedError
            When the residual stays above `RESIDUAL`.
        """
        residual = self.project(G)
        square = np.vecdot(residual, residual)
        noise = ROUNDING * np.linalg.norm(G, axis=1)  # the projection is no more accurate
        target = np.maximum(RESIDUAL**2 * square, noise**2)
        solution, direction = np.zeros_like(G), residual.copy()
        for _ in range(MAX_STEPS):
            active = square > target
            if not active.any():
                # rounding adds a part in the null space, which no step of the iteration removes
                return self.project(solution)
            product = self.laplacian.apply(direction)
            curvature = np.vecdot(direction, product)
            if (curvature[active] <= 0).any():
                raise InputError(NEGATIVE, hint=NEGATIVE_HINT)
            # rows go through the steps together; one that has converged takes steps of 0
            step = np.divide(square, curvature, out=np.zeros_like(square), where=active)
            solution += step[:, None] * direction
            residual -= step[:, None] * product
            after = np.where(active, np.vecdot(residual, residual), square)
            ratio = np.divide(after, square, out=np.zeros_like(square), where=active)
            direction = residual + ratio[:, None] * direction
            square = after
        raise NotConvergedError(
            f"the pseudo-inverse of the sample graph did not converge in {MAX_STEPS:,} steps: "
            "parts of the graph are almost disconnected",
            hint="use gamma=heat:1 or one-minus, or a graph with more neighbors",
            option="gamma",
        )
