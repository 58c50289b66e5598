"""HSIC: features ranked by their dependence with the sample similarity.

L. Song, A. Smola, A. Gretton, K. Borgwardt and J. Bedo, "Supervised feature selection via
dependence estimation", ICML 2007; Section 3.6 of the dissertation (Eq. 3.23, where a minus sign
is lost, and Table 3.1: features enter as they are given).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sfs_cli.compute.workspace import Workspace
from sfs_cli.errors import InputError
from sfs_cli.graph.similarity import (
    DenseSimilarity,
    FactoredSimilarity,
    Similarity,
    SparseSimilarity,
)
from sfs_cli.methods.base import BlockLike, Context, Scorer, Status
from sfs_cli.methods.centering import center
from sfs_cli.methods.precision import WEAK_BELOW, Scored, refined
from sfs_cli.methods.probe import vanishes

WEAK_PART = 0.25
"""Estimates of unrelated features scatter around 0; so few of them are found again in float64."""


class HsicScorer:
    """The unbiased estimate of HSIC with the linear kernel on a feature; larger is better.

    With ``K = f f'`` and the similarity ``L``, both with zeroed diagonals, r the row sums and t
    the sum of L, the textbook estimate ``(tr(KL) + 1'K1 1'L1 / ((n-1)(n-2)) - 2 1'KL1 / (n-2)) /
    (n(n-3))`` does not depend on the mean of f: a shift adds ``a_i + a_j`` to the entries of K off
    its diagonal, which U-centring L takes out. So f is centred, after which the estimate is
    ``f' A f`` with ``A = (L + 2 diag(r) / (n-2) - t I / ((n-1)(n-2))) / (n(n-3))``. It is in the
    squared units of the feature.
    """

    larger_is_better = True

    def __init__(self, context: Context) -> None:
        assert context.similarity is not None
        n = context.n_samples
        if n < 4:
            raise InputError(
                f"the unbiased estimate of HSIC needs at least 4 samples, there are {n}",
                hint="add samples, or take another method",
            )
        self.similarity = context.similarity
        self.factor = 1 / (n * (n - 3))
        own = _own(context.similarity)
        sums = context.similarity.degrees - own
        shift = sums.sum() / ((n - 1) * (n - 2))
        self.diagonal = 2 * sums / (n - 2) - shift - own
        self.operands: dict[np.dtype[Any], np.ndarray] = {}
        self.typical = 1.0
        if isinstance(context.similarity, DenseSimilarity):
            matrix = _centred(context.similarity.matrix, self.diagonal)
            self.operands[matrix.dtype] = matrix
            self.typical = float(np.linalg.norm(matrix)) / n**0.5
        self.dtype = context.dtype if self.operands else np.dtype(np.float64)
        self.work = Workspace()
        self.facts: dict[str, Any] = {}
        self.warnings: list[str] = []
        scale = float(context.similarity.magnitudes.max())
        if vanishes(self._apply, n, scale, _centre_rows):
            raise InputError(
                "the sample similarity is the same for every pair of samples, so no feature can "
                "depend on it",
                hint="check that the labels have at least two classes, or take another similarity",
            )

    def score_block(self, block: BlockLike) -> tuple[np.ndarray, np.ndarray]:
        """Return the scores and statuses of a block; may overwrite it."""
        return refined(block, self._score)

    def _score(self, block: BlockLike) -> Scored:
        n = self.similarity.n
        keep = block.values.dtype == np.float32
        centred = center(block, np.ones(n), self.work if keep else None)
        F = centred.values
        square = np.vecdot(F, F).astype(np.float64)
        status = centred.status(square, float(n))
        form = np.vecdot(F, self._apply(F)).astype(np.float64)
        with np.errstate(over="ignore"):
            score = self.factor * form * centred.scale**2
        score[status != Status.OK] = np.nan
        weak = np.abs(form) < WEAK_PART * WEAK_BELOW * self.typical * square
        return Scored(score, status, weak & (status == Status.OK))

    def _apply(self, F: np.ndarray) -> np.ndarray:
        """Return ``n(n-3) F A`` for centred rows, up to their means."""
        if not self.operands:
            product = _centre_rows(self.similarity.matmul(F))
            return product + F * self.diagonal.astype(F.dtype)
        if F.dtype not in self.operands:
            self.operands[F.dtype] = self.operands[np.dtype(np.float64)].astype(F.dtype)
        return F @ self.operands[F.dtype]


def _own(similarity: Similarity) -> np.ndarray:
    """Return the similarity of each sample with itself, shape (n,)."""
    if isinstance(similarity, DenseSimilarity):
        return np.diagonal(similarity.matrix)
    if isinstance(similarity, SparseSimilarity):
        return similarity.matrix.diagonal()
    assert isinstance(similarity, FactoredSimilarity)
    Z: Any = similarity.factor
    return np.asarray((Z * Z).sum(axis=1)).ravel()


def _centred(S: np.ndarray, diagonal: np.ndarray) -> np.ndarray:
    """Return ``S + diag(diagonal)`` without row and column means, which centred rows ignore."""
    A = S + np.diag(diagonal)
    A -= A.mean(axis=1, keepdims=True)
    A -= A.mean(axis=0)
    return A


def _centre_rows(F: np.ndarray) -> np.ndarray:
    return F - F.mean(axis=1, keepdims=True)


def prepare(context: Context) -> Scorer:
    """Return the scorer of HSIC."""
    return HsicScorer(context)
