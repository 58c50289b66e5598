"""Features ranked by themselves on a sample graph: SPEC, the Laplacian Score and HSIC.

SPEC: Z. Zhao and H. Liu, "Spectral feature selection for supervised and unsupervised learning",
ICML 2007; Z. Zhao, dissertation, Arizona State University 2010, Chapter 2 (Eq. 2.6-2.8).

Laplacian Score: X. He, D. Cai and P. Niyogi, "Laplacian score for feature selection", NIPS 2005;
Eq. 3.11 of the dissertation.

HSIC: L. Song, A. Smola, A. Gretton, K. Borgwardt and J. Bedo, "Supervised feature selection via
dependence estimation", ICML 2007; Section 3.6 of the dissertation (Eq. 3.23, where a minus sign
is lost, and Table 3.1: features enter as they are given).

How a block is scored depends on the graph: by a triangular factor where it is dense
(`sfs_cli.methods.quadratic`), by a few columns where it is a thin product or only k eigenvectors
count (`sfs_cli.methods.kernel`), by products with S where it is sparse, and from stored values
alone where the matrix is sparse too (`sfs_cli.methods.stored`).
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from sfs_cli.compute.matrix import InDtypes
from sfs_cli.errors import InputError
from sfs_cli.graph.laplacian import NormalizedLaplacian
from sfs_cli.graph.similarity import (
    DenseSimilarity,
    FactoredSimilarity,
    Similarity,
    SparseSimilarity,
)
from sfs_cli.graph.spectral import (
    MAX_CLUSTERS,
    Spectrum,
    apply_series,
    chebyshev_exponential,
    clusters_by_eigengap,
    exponential,
    leading,
    spectral_interval,
)
from sfs_cli.methods.base import Problem
from sfs_cli.methods.kernel import WEAK_BELOW, KernelScorer, Sums, Thin
from sfs_cli.methods.quadratic import TriangularForm, is_zero, norm, power_factor, triangular_factor
from sfs_cli.methods.shared import require_weight
from sfs_cli.methods.stored import (
    SparseBlocks,
    SparseForms,
    StoredScorer,
    has_edges_or_groups,
)

PHI2 = {"ranking": "phi2", "gamma": "power", "gamma_power": 1, "clusters": None}


class SpecScorer(KernelScorer):
    """phi1, phi2 or phi3 of every feature of a block.

    With ``g = D^1/2 (f - c)``, c the D-weighted mean of f, and ``|D^1/2 f|^2 = |g|^2 + c^2 vol``:

    - phi1 = (g gamma(N) g' + gamma(0) c^2 vol) / |D^1/2 f|^2 (Eq. 2.6)
    - phi2 = g gamma(N) g' / |g|^2 (Eq. 2.7, whose sums start at j = 2)
    - phi3 = sum_{j=2..k} (gamma(2) - gamma(lambda_j)) (g . xi_j)^2 / |D^1/2 f|^2 (Eq. 2.8)

    phi1 and phi2 are smaller for better features, phi3 is larger.
    """

    rooted = True

    def __init__(self, problem: Problem) -> None:
        super().__init__()
        laplacian = NormalizedLaplacian(problem.similarity)
        self.weights, self.basis = laplacian.degrees, problem.context.matrix.basis
        # a dense graph is not kept: workers of a cluster get its factor, of the same size
        self.graph = None if laplacian.dense else laplacian
        self.ranking: str = problem.options["ranking"]
        self.gamma: str = problem.options["gamma"]
        self.power: int = problem.options["gamma_power"]
        self.larger_is_better = self.ranking == "phi3"
        self.in_pieces = isinstance(problem.similarity, FactoredSimilarity)
        self.weak = WEAK_BELOW
        if self.ranking == "phi3":
            spectrum = self._leading(laplacian, problem.options["clusters"])
            self.vectors = spectrum.vectors[:, 1:]
            self.phi3_weights = self._gamma(np.array([2.0])) - self._gamma(spectrum.values[1:])
            self.thin = Thin(laplacian.degrees, self.vectors, self.phi3_weights)
        else:
            self._choose_form(laplacian, problem)
        if self.thin is not None:
            self.dtype = problem.lossless_dtype

    def on_nonzeros(self) -> StoredScorer | None:
        """Return the scorer of stored values alone, if gamma and the graph have one."""
        if self.graph is None or not has_edges_or_groups(self.graph.similarity):
            return None
        similarity, degrees = self.graph.similarity, self.graph.degrees
        if self.ranking == "phi3":
            blocks = SparseBlocks(degrees, self.basis)
            form = blocks.projected(self.graph.root[:, None] * self.vectors, self.phi3_weights)
            return StoredScorer(self.formula, blocks, form)
        forms = SparseForms(similarity, degrees, self.basis)
        if self.gamma == "power" and self.power == 1:
            return StoredScorer(self.formula, forms, forms.laplacian)
        if self.gamma == "power" and self.power == 2 and forms.half is not None:
            return StoredScorer(self.formula, forms, forms.second)
        return None

    def _choose_form(self, laplacian: NormalizedLaplacian, problem: Problem) -> None:
        """Choose how ``g gamma(N) g'`` is computed."""
        columns = laplacian.factor
        if columns is not None and self.gamma == "power" and self.power == 1:
            unit, sizes, _ = np.linalg.svd(columns, full_matrices=False)
            self.thin = Thin(laplacian.degrees, unit, sizes**2, complement=True)
            return
        R = None
        if laplacian.dense:
            self.dtype = problem.dtype
            if self.gamma == "exp":
                R = triangular_factor(exponential(laplacian), laplacian.trivial, np.e**2)
            elif problem.context.m >= laplacian.n:  # with fewer features R does not pay
                R = power_factor(laplacian, self.power)
        if R is not None:
            triangular = TriangularForm(R, problem.n_rows)
            self.operator, self.weak = triangular.form, triangular.weak
        elif self.gamma == "exp":
            interval = spectral_interval(laplacian)
            series = chebyshev_exponential(interval, 0.5)

            def form(G: np.ndarray) -> np.ndarray:
                half = apply_series(laplacian, G, series, interval)
                return np.vecdot(half, half)

            self.operator = form
        else:
            self.operator = partial(laplacian.form, power=self.power)

    def formula(self, sums: Sums) -> np.ndarray:
        """Return the scores of the ranking."""
        if self.ranking == "phi2":
            return sums.form / sums.square
        at_zero = 1.0 if self.gamma == "exp" and self.ranking == "phi1" else 0.0
        return (sums.form + at_zero * (sums.total - sums.square)) / sums.total

    def _gamma(self, values: np.ndarray) -> np.ndarray:
        return np.exp(values) if self.gamma == "exp" else values**self.power

    def _leading(self, laplacian: NormalizedLaplacian, clusters: int | None) -> Spectrum:
        """Find the eigenpairs of phi3: as many as asked for, or up to the largest gap."""
        n = laplacian.n
        if clusters is not None and clusters > n:
            raise InputError(
                f"clusters={clusters} is more than the {n} samples",
                hint=f"give a number from 2 to {n}, or leave it to the eigengap",
            )
        if clusters is None and n < 3:
            raise InputError(
                "an eigengap needs at least 3 samples", hint="give clusters=, or use phi2"
            )
        # one more than needed shows whether the last gap is one
        found = leading(laplacian, min((MAX_CLUSTERS if clusters is None else clusters) + 1, n))
        k = clusters_by_eigengap(found.values) if clusters is None else clusters
        self.facts["clusters"] = k
        self.facts["spectrum"] = found
        if k < len(found.values) and found.values[k] - found.values[k - 1] < 1e-10:
            self.warnings.append(
                f"eigenvalues {k} and {k + 1} of the sample graph are equal, so phi3 depends on "
                "the choice among their eigenvectors; use another clusters="
            )
        return Spectrum(found.values[:k], found.vectors[:, :k])


def laplacian_score(problem: Problem) -> SpecScorer:
    """Return the scorer of the Laplacian Score, ``f' L f / f' D f`` of features around their means.

    With the D-weighted means it is phi2 (Theorem 9): of ``g = D^1/2 (f - c)``, ``f' L f`` is ``g N
    g'`` and ``f' D f`` is ``|g|^2``.
    """
    return SpecScorer(replace(problem, options=PHI2))


WEAK_HSIC = 0.25 * WEAK_BELOW
"""Estimates of unrelated features scatter around 0; so, few of them are found again in float64."""


class HsicScorer(KernelScorer):
    """The unbiased estimate of HSIC with the linear kernel on a feature; larger is better.

    With ``K = f f'`` and the similarity ``L``, both with zeroed diagonals, r the row sums and t
    the sum of L, the textbook estimate ``(tr(KL) + 1'K1 1'L1 / ((n-1)(n-2)) - 2 1'KL1 / (n-2)) /
    (n(n-3))`` does not depend on the mean of f: a shift adds ``a_i + a_j`` to the entries of K off
    its diagonal, which U-centering L removes. So f is centered, after which the estimate is
    ``f' A f`` with ``A = (L + 2 diag(r) / (n-2) - t I / ((n-1)(n-2))) / (n(n-3))``. It is in the
    squared units of the feature. A has eigenvalues of both signs, so it has no triangular factor.

    With weights w the estimate is that of w_i copies of sample i: n is the sum of w, f is around
    its weighted mean, and the similarity is ``diag(w) L diag(w)``, where copies of i are pairs of
    similarity l_ii, but for the w_i that are one copy twice.
    """

    def __init__(self, problem: Problem) -> None:
        super().__init__()
        similarity, n, N = problem.similarity, problem.n_samples, problem.n_counted
        if n < 4:
            raise InputError(
                f"the unbiased estimate of HSIC needs at least 4 samples, there are {n}",
                hint="add samples, or use another method",
            )
        w = np.ones(n) if problem.sample_weights is None else problem.sample_weights
        self.share = w / N
        if problem.sample_weights is not None:
            require_weight(N, 3, "the unbiased estimate of HSIC")
            self.weights = n * self.share
        self.similarity = similarity
        self.factor = 1 / (N * (N - 3))
        own = _own(similarity) / w
        sums = similarity.degrees - own
        shift = sums.sum() / ((N - 1) * (N - 2))
        self.diagonal = 2 * sums / (N - 2) - shift * w - own
        self.operand: InDtypes | None = None
        self.weak = WEAK_HSIC
        if isinstance(similarity, DenseSimilarity):
            A = similarity.matrix + np.diag(self.diagonal)
            # centered rows ignore the means of rows and columns
            A -= np.outer(A.sum(axis=1), self.share)
            A -= np.outer(self.share, A.sum(axis=0))
            self.operand = InDtypes(A)
            self.weak *= norm(A) / n**0.5
            self.dtype = problem.dtype
        if is_zero(self._apply, n, float(similarity.magnitudes.max()), self._center_rows):
            raise InputError(
                "all pairs of samples have the same similarity, so no feature can depend on it",
                hint="check that the labels have at least two classes, or use another similarity",
            )

    def operator(self, F: np.ndarray) -> np.ndarray:
        """Return ``f' A f`` of centered features, but for a factor."""
        return np.vecdot(F, self._apply(F))

    def formula(self, sums: Sums) -> np.ndarray:
        """Return the estimates, in the squared units of the features."""
        return self.factor * sums.form * sums.scale**2

    def _apply(self, F: np.ndarray) -> np.ndarray:
        """Return ``n(n-3) F A`` for centered rows, but for what centered rows are orthogonal to."""
        if self.operand is None:
            product = self.similarity.matmul(F)
            product -= np.outer(product.sum(axis=1), self.share.astype(F.dtype))
            return product + F * self.diagonal.astype(F.dtype)
        return F @ self.operand[F.dtype]

    def _center_rows(self, F: np.ndarray) -> np.ndarray:
        return F - (F @ self.share)[:, None]


def _own(similarity: Similarity) -> np.ndarray:
    """Return the similarity of each sample with itself, shape (n,)."""
    if isinstance(similarity, DenseSimilarity | SparseSimilarity):
        return similarity.matrix.diagonal()
    assert isinstance(similarity, FactoredSimilarity)
    Z: Any = similarity.factor
    return np.asarray((Z * Z).sum(axis=1)).ravel()
