"""The geometry-dependent covariance: a sample graph, a definition and a spectral function.

Z. Zhao and H. Liu, "Multi-source feature selection via geometry-dependent covariance analysis",
JMLR Workshop and Conference Proceedings 4, 2008 (Definitions 1 and 3, Theorem 6, Eq. 10).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg

from sfs_cli.compute.limits import EPS
from sfs_cli.compute.memory import check_memory
from sfs_cli.errors import InputError
from sfs_cli.graph.laplacian import NormalizedLaplacian, UnnormalizedLaplacian
from sfs_cli.graph.similarity import connected_components, null_vectors
from sfs_cli.graph.spectral import (
    NEGATIVE,
    NEGATIVE_HINT,
    HeatSeries,
    MatrixFunction,
    PseudoInverse,
    Smoothing,
    SpectralFunction,
    chebyshev_exponential,
    lanczos,
    parse_gamma,
    spectral_interval,
)
from sfs_cli.methods.base import Problem
from sfs_cli.methods.kernel import WEAK_BELOW, CenteredBlock, KernelScorer, Sums
from sfs_cli.methods.quadratic import TriangularForm, is_zero, triangular_factor
from sfs_cli.methods.stored import SparseForms, StoredScorer, Within, has_edges_or_groups


class GraphCovariance:
    """``C_ij = f_i' Gamma f_j / (n - 1)`` with Gamma a spectral function of a sample graph.

    Parameters
    ----------
    problem : Problem
        Its options are ``definition`` (1 or 3) and ``gamma``; it has a similarity.
    definite : bool
        Whether negative eigenvalues of Gamma are set to 0; ``one-minus`` is decomposed then where
        it has some.

    Raises
    ------
    InputError
        When Gamma is 0, or has no inverse.
    OutOfMemoryError
        When the eigenvectors of a dense graph do not fit.
    """

    def __init__(self, problem: Problem, *, definite: bool = False) -> None:
        definition = int(problem.options["definition"])
        self.normalized = definition == 3
        kind = NormalizedLaplacian if self.normalized else UnnormalizedLaplacian
        self.laplacian = kind(problem.similarity)
        self.gamma = parse_gamma(str(problem.options["gamma"]))
        self.warnings: list[str] = []
        self.components = connected_components(problem.similarity)
        self.null = null_vectors(self.components, self.laplacian.root)
        count = self.null.shape[1]
        self.facts: dict[str, Any] = {
            "definition": definition,
            "gamma": str(problem.options["gamma"]),
            "components": count,
        }
        if count > 1:
            self.warnings.append(
                f"the sample graph has {count:,} connected components: gamma is 0 at 0, so "
                "differences between the components do not count"
            )
        self.function = self._function(problem, definite)
        # where gamma is 0 on the whole graph (one-minus on classes), scores would be rounding, and
        # the ranking would look like any other. Its largest value here is the scale of rounding
        largest = 1.0
        if self.gamma.name == "inverse":
            magnitudes = problem.similarity.magnitudes
            largest = 0.5 / (1 if self.normalized else float(magnitudes.max()))
        if is_zero(self.function.apply, self.laplacian.n, largest, self._center):
            raise InputError(
                f"with gamma={self.gamma.name} every feature gets the same score on this graph",
                hint="use inverse, heat:1 or another graph; on the label similarity, inverse and "
                "heat:T measure the variation within the classes, and one-minus is 0",
                option="gamma",
            )

    @property
    def dense(self) -> bool:
        """Whether Gamma is applied as a dense matrix, for which float32 is good enough."""
        return isinstance(self.function, MatrixFunction | TriangularForm)

    @property
    def weak(self) -> float:
        """A form below this part of `Sums.square` is to be found in float64."""
        if isinstance(self.function, TriangularForm):
            return self.function.weak
        return WEAK_BELOW * self.function.typical

    def norm(self, of: Sums | CenteredBlock) -> np.ndarray:
        """Return what the form of each feature is divided by, shape (b,).

        That is ``|D^1/2 f|^2`` of ``f' D^1/2 Gamma(N) D^1/2 f`` (Definition 3), or what brings
        ``f' Gamma(L) f`` to the squared units of the feature (Definition 1).
        """
        return of.total if self.normalized else 1 / of.scale**2

    def covary(self, F: np.ndarray) -> np.ndarray:
        """Return ``F D^1/2 Gamma(N) D^1/2``, or ``F Gamma(L)``, for rows around any mean.

        Parameters
        ----------
        F : ndarray, shape (b, n), float64
        """
        return self.function.apply(self._center(F * self.laplacian.root)) * self.laplacian.root

    def _center(self, G: np.ndarray) -> np.ndarray:
        xi = self.laplacian.trivial
        return G - np.outer(G @ xi, xi)

    def _function(self, problem: Problem, definite: bool) -> SpectralFunction | TriangularForm:
        """Choose how Gamma is applied: a product with S, a series, or a dense matrix."""
        laplacian, name = self.laplacian, self.gamma.name
        decompose = name != "one-minus"
        if name == "one-minus" and self._exceeds_one():
            decompose = definite
            self.warnings.append(
                "eigenvalues of the Laplacian exceed 1, where gamma one-minus is negative: "
                + ("they are left out" if definite else "features that follow them score below 0")
                + "; gamma=heat:1 and inverse are positive on every graph"
            )
        if laplacian.dense or (decompose and name == "one-minus"):
            if decompose:
                Gamma = self._decomposed(problem.memory, definite)
            else:  # I - N (or I - L), but 0 for the eigenvalues 0
                Gamma = laplacian.smooth_matrix()
                if self.null.shape[1] > 1:
                    Gamma += np.outer(laplacian.trivial, laplacian.trivial)
                    Gamma -= (self.null @ self.null.T).toarray()
            function = MatrixFunction(Gamma)
            if problem.context.m < len(Gamma):  # a triangular factor does not pay
                return function
            size = max(1.0, float(np.abs(np.diagonal(Gamma)).max()))
            if not self.normalized:
                size = max(size, float(laplacian.similarity.degrees.max()))
            R = triangular_factor(Gamma.copy(), laplacian.trivial, size)
            return function if R is None else TriangularForm(R, problem.n_rows)
        if name == "one-minus":
            return Smoothing(laplacian, self.null)
        if name == "inverse":
            return PseudoInverse(laplacian, self.null)
        degrees = laplacian.similarity.degrees
        if np.all(laplacian.similarity.magnitudes <= degrees * (1 + 1e-9)):
            # no entry is negative: Gershgorin's bound of the eigenvalues costs no iterations
            interval = 0.0, 2.0 if self.normalized else 2 * float(degrees.max())
        else:
            interval = spectral_interval(laplacian)
        series = chebyshev_exponential(interval, -self.gamma.time / 2)
        return HeatSeries(laplacian, self.null, series, interval)

    def _decomposed(self, memory: int, definite: bool) -> np.ndarray:
        """Compute Gamma from all eigenpairs, after moving the eigenvalues 0 away from 0."""
        n = self.laplacian.n
        what = f"the eigenvectors of the {n:,} x {n:,} sample graph need"
        hint = "give more --memory, or use a sparse graph with gamma=heat:T or inverse"
        check_memory(what, 5 * 8 * n * n, memory, hint)
        laplacian = self.laplacian
        null = (self.null @ self.null.T).toarray()
        # gamma of a 0 that is known only to rounding may be anything (1e16 for `inverse`): so these
        # eigenvalues are moved to a typical one, and its known gamma is subtracted again
        moved = 1.0 if self.normalized else float(laplacian.similarity.degrees.mean())
        matrix = laplacian.apply(np.eye(n))
        if self.normalized:
            matrix -= np.outer(laplacian.trivial, laplacian.trivial)
        matrix += moved * null
        values, vectors = linalg.eigh((matrix + matrix.T) / 2, overwrite_a=True)
        lowest = 0.0 if definite else -np.inf
        matrix = (vectors * np.maximum(self._weights(values), lowest)) @ vectors.T
        matrix -= np.maximum(self.gamma(np.array([moved])), lowest) * null
        return (matrix + matrix.T) / 2

    def _weights(self, values: np.ndarray) -> np.ndarray:
        """Return gamma of the eigenvalues, 0 where ``inverse`` cannot distinguish one from 0."""
        if self.gamma.name != "inverse":
            return self.gamma(values)
        noise = 4 * len(values) * EPS * float(np.abs(values).max())
        if values.min() < -noise:
            raise InputError(NEGATIVE, hint=NEGATIVE_HINT)
        weak = values <= noise
        if weak.any():
            self.warnings.append(
                f"{weak.sum():,} eigenvalues of the sample graph are 0 but for rounding, more than "
                "it has connected components; their inverse is set to 0"
            )
        return np.divide(1, values, out=np.zeros_like(values), where=~weak)

    def _exceeds_one(self) -> bool:
        """Return whether an eigenvalue of the Laplacian exceeds 1, by its largest Ritz value."""
        n, apply = self.laplacian.n, self.laplacian.apply
        if n <= 32:
            values = linalg.eigvalsh(apply(np.eye(n)))
        else:
            hint = "use gamma=heat:1"
            values = lanczos(apply, n, 1, hint=hint, tol=1e-4, return_eigenvectors=False)
        # a Ritz value never exceeds the largest eigenvalue, so a rough one raises no false alarm
        return float(values.max()) > 1 + 1e-9


class GdcovScorer(KernelScorer):
    """The diagonal of the geometry-dependent covariance; larger is better.

    - Definition 3: ``f~' Gamma(N) f~ / (n - 1)`` with ``f~ = D^1/2 f / |D^1/2 f|``. The norm is
      that of the feature as it is given, so a large mean makes a small score.
    - Definition 1: ``f' Gamma(L) f / (n - 1)``, in the squared units of the feature; its mean does
      not matter (Theorem 2).
    """

    def __init__(self, problem: Problem) -> None:
        super().__init__()
        self.n = problem.n_samples
        self.covariance = GraphCovariance(problem)
        if self.covariance.dense:
            self.dtype = problem.dtype
        self.facts, self.warnings = self.covariance.facts, self.covariance.warnings
        self.weights = self.covariance.laplacian.degrees
        self.basis = problem.context.matrix.basis
        self.rooted = self.covariance.normalized
        self.operator, self.weak = self.covariance.function.form, self.covariance.weak

    def on_nonzeros(self) -> StoredScorer | None:
        """Return the scorer of stored values alone, if gamma and the graph have one."""
        covariance, laplacian = self.covariance, self.covariance.laplacian
        smoothing = isinstance(covariance.function, Smoothing)
        if not smoothing or not has_edges_or_groups(laplacian.similarity):
            return None
        forms = SparseForms(laplacian.similarity, laplacian.degrees, self.basis)
        return StoredScorer(self.formula, forms, Within(forms, covariance.components))

    def formula(self, sums: Sums) -> np.ndarray:
        """Return the variances of features on the graph."""
        return sums.form / self.covariance.norm(sums) / (self.n - 1)
