"""The geometry of the samples in a covariance of features: which graph, which spectral function.

Z. Zhao and H. Liu, "Multi-source feature selection via geometry-dependent covariance analysis",
JMLR Workshop and Conference Proceedings 4, 2008, Definitions 1 and 3.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import linalg
from scipy.sparse.linalg import LinearOperator, eigsh

from sfs_cli.compute.memory import format_size
from sfs_cli.compute.workspace import Workspace
from sfs_cli.errors import InputError, OutOfMemoryError
from sfs_cli.graph.components import components, null_vectors
from sfs_cli.graph.laplacian import NormalizedLaplacian
from sfs_cli.graph.spectral_functions import (
    NEGATIVE,
    NEGATIVE_HINT,
    HeatSeries,
    MatrixFunction,
    PseudoInverse,
    Smoothing,
    SpectralFunction,
    parse_gamma,
)
from sfs_cli.graph.spectrum import chebyshev_exponential, spectral_interval
from sfs_cli.graph.unnormalized import UnnormalizedLaplacian
from sfs_cli.methods.base import BlockLike, Context
from sfs_cli.methods.centering import center
from sfs_cli.methods.probe import vanishes

_EPS = float(np.finfo(np.float64).eps)


class Measured(NamedTuple):
    """What a block of features is in the geometry, in the units of its centred values.

    Attributes
    ----------
    form : ndarray, shape (b,)
        ``f' D^1/2 Gamma(N) D^1/2 f`` (Definition 3) or ``f' Gamma(L) f`` (Definition 1).
    square : ndarray, shape (b,)
        Weighted sum of squares around the mean.
    norm : ndarray, shape (b,)
        What the form is divided by: ``|D^1/2 f|^2``, or ``1 / scale^2``.
    scale : ndarray, shape (b,)
        What centred values are multiplied by to be in the units of the input.
    status : ndarray of int8, shape (b,)
        Values of `Status`.
    """

    form: np.ndarray
    square: np.ndarray
    norm: np.ndarray
    scale: np.ndarray
    status: np.ndarray


class Geometry:
    """A sample graph, a definition and a spectral function, from the options of a method.

    Parameters
    ----------
    context : Context
        Its options are ``definition`` (1 or 3) and ``gamma``; it has a similarity.
    definite : bool
        Whether negative eigenvalues of Gamma are set to 0, for which ``one-minus`` is decomposed
        where it has some.

    Raises
    ------
    InputError
        When Gamma is 0, or has no inverse.
    OutOfMemoryError
        When the eigenvectors of a dense graph do not fit.
    """

    def __init__(self, context: Context, *, definite: bool = False) -> None:
        assert context.similarity is not None
        self.normalized = int(context.options["definition"]) == 3
        kind = NormalizedLaplacian if self.normalized else UnnormalizedLaplacian
        self.laplacian = kind(context.similarity)
        self.gamma = parse_gamma(str(context.options["gamma"]))
        self.warnings: list[str] = []
        pieces = components(context.similarity)
        self.null = null_vectors(pieces, self.laplacian.root)
        self.facts: dict[str, Any] = {
            "definition": int(context.options["definition"]),
            "gamma": str(context.options["gamma"]),
            "components": self.null.shape[1],
        }
        if self.null.shape[1] > 1:
            self.warnings.append(
                f"the sample graph is in {self.null.shape[1]:,} pieces: gamma is 0 at 0, so what "
                "features differ by between the pieces counts for nothing"
            )
        self.function = self._function(context.memory, definite)
        if vanishes(self.function.apply, self.laplacian.n, self._largest_gamma(), self._centre):
            raise InputError(
                f"gamma {self.gamma.name} of this sample graph is 0 in every direction, so it "
                "tells no feature from another",
                hint="take another --gamma, or a graph with more edges: on the `label` "
                "similarity only inverse and heat:T see anything, the spread within the classes",
            )

    @property
    def dense(self) -> bool:
        """Whether Gamma is applied as a dense matrix, which float32 is good enough for."""
        return isinstance(self.function, MatrixFunction)

    def measure(self, block: BlockLike, work: Workspace | None = None) -> Measured:
        """Measure a block of features; overwrites it unless there is a place to `work`."""
        centred = center(block, self.laplacian.degrees, work)
        G = centred.values
        if self.normalized:
            G *= self.laplacian.root.astype(G.dtype)
        square = np.vecdot(G, G).astype(np.float64)
        status = centred.status(square, self.laplacian.volume)
        norm = square + self.laplacian.volume * centred.offset**2
        if not self.normalized:
            with np.errstate(over="ignore", divide="ignore"):
                norm = 1 / centred.scale**2
        return Measured(self.function.form(G), square, norm, centred.scale, status)

    def covary(self, F: np.ndarray) -> np.ndarray:
        """Return ``F D^1/2 Gamma(N) D^1/2``, or ``F Gamma(L)``, for rows around any mean.

        Parameters
        ----------
        F : ndarray, shape (b, n), float64
        """
        return self.function.apply(self._centre(F * self.laplacian.root)) * self.laplacian.root

    def _centre(self, G: np.ndarray) -> np.ndarray:
        xi = self.laplacian.trivial
        return G - np.outer(G @ xi, xi)

    def _function(self, memory: int, definite: bool) -> SpectralFunction:
        laplacian, name = self.laplacian, self.gamma.name
        if name == "one-minus":
            if not self._beyond_one():
                return self._smoothing()
            self.warnings.append(
                "eigenvalues of the Laplacian exceed 1, where gamma one-minus is negative: "
                + ("they are left out" if definite else "features that follow them score below 0")
                + "; --gamma heat:1 and inverse weigh every graph"
            )
            return self._decomposed(memory, definite) if definite else self._smoothing()
        if laplacian.dense:
            return self._decomposed(memory, definite)
        if name == "inverse":
            return PseudoInverse(laplacian, self.null)
        interval = self._interval()
        series = chebyshev_exponential(interval, -self.gamma.time / 2)
        return HeatSeries(laplacian, self.null, series, interval)

    def _smoothing(self) -> SpectralFunction:
        if not self.laplacian.dense:
            return Smoothing(self.laplacian, self.null)
        matrix = self.laplacian.smooth_matrix()
        if self.null.shape[1] > 1:
            matrix += np.outer(self.laplacian.trivial, self.laplacian.trivial)
            matrix -= (self.null @ self.null.T).toarray()
        return MatrixFunction(matrix)

    def _decomposed(self, memory: int, definite: bool) -> MatrixFunction:
        """Find Gamma from all eigenpairs, after moving the eigenvalues 0 away from 0."""
        n = self.laplacian.n
        if 5 * 8 * n * n > memory:
            raise OutOfMemoryError(
                f"the eigenvectors of the {n:,} x {n:,} sample graph need "
                f"{format_size(5 * 8 * n * n)}, and {format_size(memory)} are allowed",
                hint="allow more --memory, or take a sparse graph with --gamma heat:T or inverse",
            )
        laplacian = self.laplacian
        null = (self.null @ self.null.T).toarray()
        moved = 1.0 if self.normalized else float(laplacian.similarity.degrees.mean())
        matrix = laplacian.apply(np.eye(n))
        if self.normalized:
            matrix -= np.outer(laplacian.trivial, laplacian.trivial)
        matrix += moved * null
        values, vectors = linalg.eigh((matrix + matrix.T) / 2, overwrite_a=True)
        lowest = 0.0 if definite else -np.inf
        matrix = (vectors * np.maximum(self._weights(values), lowest)) @ vectors.T
        matrix -= np.maximum(self.gamma(np.array([moved])), lowest) * null
        return MatrixFunction((matrix + matrix.T) / 2)

    def _weights(self, values: np.ndarray) -> np.ndarray:
        """Return gamma of the eigenvalues, 0 where ``inverse`` cannot tell one from 0."""
        if self.gamma.name != "inverse":
            return self.gamma(values)
        noise = 4 * len(values) * _EPS * float(np.abs(values).max())
        if values.min() < -noise:
            raise InputError(NEGATIVE, hint=NEGATIVE_HINT)
        weak = values <= noise
        if weak.any():
            self.warnings.append(
                f"{weak.sum():,} eigenvalues of the sample graph are 0 to rounding although it is "
                "in no more pieces; their inverse is taken as 0"
            )
        return np.divide(1, values, out=np.zeros_like(values), where=~weak)

    def _interval(self) -> tuple[float, float]:
        """Return an interval that holds all eigenvalues, by Gershgorin where S has no signs."""
        degrees = self.laplacian.similarity.degrees
        if np.all(self.laplacian.similarity.magnitudes <= degrees * (1 + 1e-9)):
            return 0.0, 2.0 if self.normalized else 2 * float(degrees.max())
        return spectral_interval(self.laplacian)

    def _beyond_one(self) -> bool:
        """Tell whether an eigenvalue of the Laplacian exceeds 1, from its largest Ritz value."""
        n = self.laplacian.n

        def multiply(v: np.ndarray) -> np.ndarray:
            return self.laplacian.apply(v.reshape(1, n))[0]

        if n <= 32:
            values = linalg.eigvalsh(self.laplacian.apply(np.eye(n)))
        else:
            operator = LinearOperator((n, n), matvec=multiply, dtype=np.float64)
            start = np.cos(np.arange(1, n + 1, dtype=np.float64))
            values = eigsh(operator, 1, which="LA", v0=start, tol=1e-4, return_eigenvectors=False)
        return float(values.max()) > 1 + 1e-9

    def _largest_gamma(self) -> float:
        """Return about the largest value gamma can have on this graph: the scale of rounding."""
        if self.gamma.name != "inverse":
            return 1.0
        return 0.5 / (1 if self.normalized else float(self.laplacian.similarity.magnitudes.max()))
