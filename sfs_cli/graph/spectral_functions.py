"""Non-increasing functions of a Laplacian that are 0 at 0, applied to blocks of features.

Z. Zhao and H. Liu, "Multi-source feature selection via geometry-dependent covariance analysis",
JMLR Workshop and Conference Proceedings 4, 2008: ``Gamma(A) = U gamma(Sigma) U'`` with
``gamma(0) = 0`` (Eq. 5).

The eigenvectors of eigenvalue 0 are known without a decomposition: there is one for each piece of
the graph (`sfs_cli.graph.components`). Only an entry of S that is exactly 0 separates two samples,
so a graph whose pieces hang together by the weakest of edges is one piece.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from sfs_cli.errors import InputError, NotConvergedError, UsageError
from sfs_cli.graph.laplacian import NormalizedLaplacian
from sfs_cli.graph.spectrum import apply_series

RESIDUAL = 1e-9
"""Conjugate gradients stop at this residual; the error of a quadratic form is of its square."""
ROUNDING = 64 * float(np.finfo(np.float64).eps)
MAX_STEPS = 20_000
NEGATIVE = "the Laplacian of the sample graph has negative eigenvalues, which have no inverse here"
NEGATIVE_HINT = "take --gamma heat:1, or a similarity without negative entries, such as rbf or knn"
GammaName = Literal["one-minus", "inverse", "heat"]


@dataclass(frozen=True)
class Gamma:
    """A spectral function of GDCOV; it is 0 at 0 whatever its formula says.

    Attributes
    ----------
    name : {"one-minus", "inverse", "heat"}
        ``1 - lambda`` (Theorem 6), ``1 / lambda`` or ``exp(-time lambda)``.
    time : float
        Of ``heat``.
    """

    name: GammaName
    time: float = 0.0

    def __call__(self, values: np.ndarray) -> np.ndarray:
        """Return gamma of positive eigenvalues."""
        if self.name == "one-minus":
            return 1 - values
        return 1 / values if self.name == "inverse" else np.exp(-self.time * values)


def parse_gamma(text: str) -> Gamma:
    """Return the function that ``one-minus``, ``inverse`` or ``heat:T`` stands for.

    Raises
    ------
    UsageError
        For anything else, and for a T that is not a positive number.
    """
    if text == "one-minus":
        return Gamma("one-minus")
    if text == "inverse":
        return Gamma("inverse")
    name, _, number = text.partition(":")
    try:
        time = float(number)
    except ValueError:
        time = np.nan
    if name == "heat" and 0 < time < np.inf:
        return Gamma("heat", time)
    raise UsageError(
        f"--gamma {text} is not a spectral function of this method",
        hint="give one-minus, inverse or heat:T with a positive number T, such as heat:1",
    )


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
        self._operands: dict[np.dtype[Any], np.ndarray] = {matrix.dtype: matrix}
        self.typical = float(np.linalg.norm(matrix)) / len(matrix) ** 0.5

    def apply(self, G: np.ndarray) -> np.ndarray:
        """Return ``G Gamma``, shape (b, n)."""
        if G.dtype not in self._operands:
            self._operands[G.dtype] = self._operands[np.dtype(np.float64)].astype(G.dtype)
        return G @ self._operands[G.dtype]


class _Piecewise(SpectralFunction):
    """Removes the eigenvectors of eigenvalue 0 from the rows, then works on what is left.

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
        noise = ROUNDING * np.linalg.norm(G, axis=1)  # what the projection leaves of nothing
        target = np.maximum(RESIDUAL**2 * square, noise**2)
        solution, direction = np.zeros_like(G), residual.copy()
        for _ in range(MAX_STEPS):
            active = square > target
            if not active.any():
                return self.project(solution)
            product = self.laplacian.apply(direction)
            curvature = np.vecdot(direction, product)
            if (curvature[active] <= 0).any():
                raise InputError(NEGATIVE, hint=NEGATIVE_HINT)
            step = np.divide(square, curvature, out=np.zeros_like(square), where=active)
            solution += step[:, None] * direction
            residual -= step[:, None] * product
            after = np.where(active, np.vecdot(residual, residual), square)
            ratio = np.divide(after, square, out=np.zeros_like(square), where=active)
            direction = residual + ratio[:, None] * direction
            square = after
        raise NotConvergedError(
            f"the pseudo-inverse of the sample graph did not converge in {MAX_STEPS:,} steps: "
            "parts of the graph hardly hang together",
            hint="take --gamma heat:1 or one-minus, or a graph with more neighbours",
        )
