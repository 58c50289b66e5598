"""The Laplacian Score.

X. He, D. Cai and P. Niyogi, "Laplacian score for feature selection", NIPS 2005; Eq. 3.11 of the
dissertation. It is computed from ``L = D - S`` as published; that it equals phi2 (Theorem 9) is
left to the tests.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sfs_cli.compute.workspace import Workspace
from sfs_cli.graph.similarity import DenseSimilarity, FactoredSimilarity, Similarity
from sfs_cli.methods.base import BlockLike, Context, Scorer, Status
from sfs_cli.methods.centering import center
from sfs_cli.methods.nonzero_scorers import NonZeroLaplacian, NonZeroScorer
from sfs_cli.methods.nonzeros import can_measure
from sfs_cli.methods.precision import WEAK_BELOW, Scored, piecewise, refined
from sfs_cli.methods.thin import Moments, ThinScores, normalized_factor


class LaplacianScorer:
    """``f' L f / f' D f`` for features around their D-weighted means; smaller is better."""

    larger_is_better = False

    def __init__(self, context: Context) -> None:
        assert context.similarity is not None
        self.similarity = context.similarity
        dense = isinstance(context.similarity, DenseSimilarity)
        self.dtype = context.dtype if dense else np.dtype(np.float64)
        self.thin: ThinScores | None = None
        factor = normalized_factor(self.similarity)
        if factor is not None:
            self.thin = ThinScores(self.similarity.degrees, _centring(factor, self.similarity))
            self.dtype = context.exact
        self.work = Workspace()
        self.facts: dict[str, Any] = {}
        self.warnings: list[str] = []

    def score_block(self, block: BlockLike) -> tuple[np.ndarray, np.ndarray]:
        """Return the scores and statuses of a block; may overwrite it."""
        if self.thin is not None:
            return self.thin.score_block(block, _of_moments, self._carefully)
        if isinstance(self.similarity, FactoredSimilarity):
            return piecewise(block, self._carefully)
        return self._carefully(block)

    def on_nonzeros(self) -> NonZeroScorer | None:
        """Return what scores blocks of non-zero values, where the graph allows."""
        return NonZeroLaplacian(self) if can_measure(self.similarity) else None

    def _carefully(self, block: BlockLike) -> tuple[np.ndarray, np.ndarray]:
        return refined(block, self._score)

    def _score(self, block: BlockLike) -> Scored:
        degrees = self.similarity.degrees
        keep = block.values.dtype == np.float32
        centred = center(block, degrees, self.work if keep else None)
        F = centred.values
        square = (F * F) @ degrees
        status = centred.status(square, float(degrees.sum()))
        smooth = self.similarity.form(F).astype(np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            score = (square - smooth) / square
        score[status != Status.OK] = np.nan
        return Scored(score, status, score < WEAK_BELOW)


def _of_moments(moments: Moments) -> tuple[np.ndarray, np.ndarray]:
    smooth = moments.square - moments.along_squares  # f' D f - f' S f of centred features
    return smooth / moments.square, smooth


def _centring(factor: np.ndarray, similarity: Similarity) -> np.ndarray:
    """Return ``D^-1/2 Z`` such that its products with ``D^1/2 f`` are those of f around its mean.

    Else ``(D - S) 1``, which is only zero but for the rounding of the degrees, would be part of
    the score, times the square of the mean.
    """
    unit = np.sqrt(similarity.degrees / similarity.degrees.sum())
    return factor - np.outer(unit, unit @ factor)


def prepare(context: Context) -> Scorer:
    """Return the scorer of the Laplacian Score."""
    return LaplacianScorer(context)
