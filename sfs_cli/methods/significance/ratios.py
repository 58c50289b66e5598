"""Scores as ratios ``f' A f / f' B f`` of quadratic forms, which is what is tested.

A and B are n x n and ``A 1 = B 1 = 0``, so a ratio does not depend on the mean of a feature f. B is
``D - d d' / sum(d)`` for methods that weight the samples by their degrees d, and the centering
matrix for the others. Smaller ratios are better: A has the opposite sign where scores are larger
for better features.

- phi2 (Eq. 2.7) and the Laplacian Score (Eq. 3.11) are such ratios.
- phi1 (Eq. 2.6), phi3 (Eq. 2.8) and Definition 3 of GDCOV divide by ``f' D f``, of which
  ``f' B f`` is the part that is not the mean's. A mean says nothing about the graph, so their score
  is tested without it: phi1 has the ratio of phi2.
- HSIC and Definition 1 of GDCOV are ``f' A f``, in the units of the feature. They are tested given
  its variance: as ``f' A f`` over the sum of squares around the mean.
- The Fisher Score s is the ratio of the scatter between classes to that within them. Its place has
  ``s / (1 + s)``, the part of the total scatter that is between them.

Features from which covariates are taken out are residuals, ``M f`` with ``M = I - Q Q'`` and Q an
orthonormal basis of the covariates. Their null distribution is that of residuals of permuted
residuals: ``M P M f`` for a permutation P (D. Freedman and D. Lane, "A nonstochastic interpretation
of reported significance levels", J. Bus. Econ. Stat. 1, 1983). So the forms are ``M A M`` and
``M B M``.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sfs_cli.graph.laplacian import NormalizedLaplacian
from sfs_cli.graph.similarity import (
    THIN,
    FactoredSimilarity,
    Similarity,
    SparseSimilarity,
    null_vectors,
    symmetrized,
)
from sfs_cli.graph.spectral import Smoothing, exponential
from sfs_cli.methods.base import Problem, Scorer
from sfs_cli.methods.classical import FisherScorer
from sfs_cli.methods.gdcov.covariance import GdcovScorer
from sfs_cli.methods.kernel import EVEN
from sfs_cli.methods.significance.form import Form, check_dense
from sfs_cli.methods.spectral import HsicScorer, SpecScorer

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass(frozen=True)
class Ratio:
    """What is tested.

    Attributes
    ----------
    numerator, denominator : Form
        A and B. Smaller ratios are better.
    degrees : ndarray, shape (n,)
        d: weights of the samples in B.
    factor : float
        What a score is multiplied by.
    over : str
        And what it is divided by: ``share``, ``norm`` or nothing; ``rest`` of the Fisher Score.
    at_zero : float
        The score of a feature that is its mean alone.
    design : ndarray, shape (n, r)
        Q; A and B are those of residuals.
    """

    numerator: Form
    denominator: Form
    degrees: np.ndarray
    factor: float = 1.0
    over: str = ""
    at_zero: float = 0.0
    design: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))

    @property
    def n(self) -> int:
        """Number of samples."""
        return len(self.degrees)

    @property
    def adjusted(self) -> bool:
        """Whether covariates are taken out of the features."""
        return bool(self.design.size)

    @property
    def free(self) -> int:
        """Number of dimensions beside the mean and the covariates: n - 1 - r."""
        return self.n - 1 - self.design.shape[1]

    @property
    def regular(self) -> bool:
        """Whether all samples have the same degree, so that residuals have B as a constant."""
        return bool(np.ptp(self.degrees) <= EVEN * self.degrees.max())

    @property
    def even(self) -> bool:
        """Whether B is a multiple of the centering matrix."""
        return self.regular and not self.adjusted

    def statistic(self, score: np.ndarray, share: np.ndarray, norm: np.ndarray) -> np.ndarray:
        """Return the ratios ``f' A f / f' B f`` from the scores, shape (m,).

        Parameters
        ----------
        score : ndarray, shape (m,)
            The scores.
        share, norm : ndarray, shape (m,)
            The part of ``f' D f`` that is not the mean's, and the sums of squares around the mean;
            ones where the statistic does not depend on it.
        """
        if self.over == "rest":
            return -1 / (1 + 1 / score)
        of_score = self.factor * (score - self.at_zero * (1 - share))
        return of_score / {"share": share, "norm": norm}.get(self.over, 1.0)


def ratio_of(scorer: Scorer, problem: Problem) -> Ratio:
    """Return what the scores of a scorer are ratios of.

    Raises InputError where a graph that is not dense has too many samples for the matrices that the
    options of the method need.
    """
    Q = problem.context.basis.T
    if isinstance(scorer, FisherScorer):
        return ratio_of_columns(scorer.thin.columns, Q, over="rest")
    ratio = _ratio_of_graph(scorer, problem.similarity)
    if not Q.size:
        return ratio
    return replace(
        ratio,
        numerator=ratio.numerator.beside(Q),
        denominator=ratio.denominator.beside(Q),
        design=Q,
    )


def ratio_of_columns(columns: np.ndarray, Q: np.ndarray, **how: Any) -> Ratio:
    """Return the ratio that falls as more of a feature is in the span of columns (n, k).

    These are orthonormal, and orthogonal to the mean and to the covariates and blocks Q (n, r).
    How a score tells the ratio is in attributes of `Ratio`.
    """
    one = np.ones(len(columns))
    between = Form.of(_nothing(len(one)), columns, -np.ones(columns.shape[1]))
    around = _around_means(one)
    return Ratio(between, around.beside(Q) if Q.size else around, one, design=Q, **how)


def _ratio_of_graph(scorer: Scorer, S: Similarity) -> Ratio:
    if isinstance(scorer, SpecScorer):
        return _spec(scorer, S)
    if isinstance(scorer, HsicScorer):
        one = np.ones(S.n)
        return Ratio(-_hsic(scorer, S), _around_means(one), one, -1 / scorer.factor, "norm")
    assert isinstance(scorer, GdcovScorer)
    degrees, A = scorer.covariance.laplacian.degrees, -_gdcov(scorer, S)
    over = "share" if scorer.covariance.normalized else "norm"
    return Ratio(A, _around_means(degrees), degrees, 1.0 - S.n, over)


def _diagonal(d: np.ndarray) -> csr_array:
    from scipy.sparse import csr_array, diags_array

    return csr_array(diags_array(d))


def _nothing(n: int) -> csr_array:
    from scipy.sparse import csr_array

    return csr_array((n, n))


def _around_means(degrees: np.ndarray) -> Form:
    """Return ``D - d d' / sum(d)``."""
    unit = degrees / np.sqrt(degrees.sum())
    return Form.of(_diagonal(degrees), unit[:, None], [-1.0])


def _weighted(S: Similarity, diagonal: np.ndarray, sign: float) -> tuple[Any, np.ndarray]:
    """Return ``sign S + diag(diagonal)`` as a core and the columns Z of ``sign Z Z'``."""
    none = np.empty((S.n, 0))
    if isinstance(S, SparseSimilarity):
        return _diagonal(diagonal) + sign * S.matrix, none
    if isinstance(S, FactoredSimilarity):
        if isinstance(S.factor, np.ndarray):
            return _diagonal(diagonal), S.factor
        check_dense(S.n)
    return sign * S.to_dense() + np.diag(diagonal), none


def _laplacian(S: Similarity) -> Form:
    """Return ``L = D - S``."""
    core, Z = _weighted(S, S.degrees, -1.0)
    return Form.of(core, Z, -np.ones(Z.shape[1]))


def _spec(scorer: SpecScorer, S: Similarity) -> Ratio:
    laplacian = NormalizedLaplacian(S)
    B, root = _around_means(S.degrees), laplacian.root
    if scorer.ranking == "phi3":
        A = Form.of(_nothing(S.n), root[:, None] * scorer.vectors, -scorer.phi3_weights)
        return Ratio(A, B, S.degrees, -1.0, "share")
    if scorer.gamma == "power" and scorer.power == 1:
        A = _laplacian(S)
    else:
        if not laplacian.dense:
            check_dense(S.n)
        if scorer.gamma == "exp":
            Gamma = exponential(laplacian)
        else:
            N = np.eye(S.n) - np.outer(laplacian.trivial, laplacian.trivial)
            Gamma = np.linalg.matrix_power(N - laplacian.smooth_matrix(), scorer.power)
        A = Form.of(root[:, None] * Gamma * root)
    if scorer.ranking == "phi2":
        return Ratio(A, B, S.degrees)
    return Ratio(A, B, S.degrees, over="share", at_zero=1.0 if scorer.gamma == "exp" else 0.0)


def _hsic(scorer: HsicScorer, S: Similarity) -> Form:
    """Return the matrix of `HsicScorer`, centered on both sides."""
    core, Z = _weighted(S, scorer.diagonal, 1.0)
    n, k = Z.shape
    row_sums = core @ np.ones(n) + Z @ Z.sum(axis=0)
    W = np.eye(k + 2)
    W[k:, k:] = [[row_sums.sum() / n**2, -1 / n], [-1 / n, 0]]
    return Form.of(core, np.column_stack([Z, np.ones(n), row_sums]), W)


def _gdcov(scorer: GdcovScorer, S: Similarity) -> Form:
    """Return ``D^1/2 Gamma(N) D^1/2``, or ``Gamma(L)``."""
    covariance, n = scorer.covariance, S.n
    if isinstance(covariance.function, Smoothing) and covariance.null.shape[1] <= THIN:
        # 1 - lambda, but 0 for the eigenvalues 0: no decomposition
        normalized = covariance.normalized
        core, Z = _weighted(S, np.zeros(n) if normalized else 1 - S.degrees, 1.0)
        root = covariance.laplacian.root
        null = root[:, None] * null_vectors(covariance.components, root).toarray()
        W = np.concatenate([np.ones(Z.shape[1]), -np.ones(null.shape[1])])
        return Form.of(core, np.column_stack([Z, null]), W)
    if not covariance.laplacian.dense:
        check_dense(n)
    A = covariance.covary(np.eye(n))
    return Form.of(symmetrized(A))
