"""The variance of each feature, the plainest of all rankings."""

from __future__ import annotations

from typing import Any

import numpy as np

from sfs_cli.methods.base import BlockLike, Context, Scorer, Status
from sfs_cli.methods.centering import center
from sfs_cli.methods.nonzero_scorers import NonZeroScorer, NonZeroVariance
from sfs_cli.methods.thin import Moments, ThinScores


class VarianceScorer:
    """Unbiased variance, in the squared units of the values; larger is better."""

    larger_is_better = True

    def __init__(self, context: Context) -> None:
        self.n = context.n_samples
        self.thin = ThinScores(np.ones(self.n), np.empty((self.n, 0)))
        self.dtype = context.exact
        self.facts: dict[str, Any] = {}
        self.warnings: list[str] = []

    def score_block(self, block: BlockLike) -> tuple[np.ndarray, np.ndarray]:
        """Return the scores and statuses of a block."""
        return self.thin.score_block(block, self._of_moments, self._carefully)

    def on_nonzeros(self) -> NonZeroScorer:
        """Return what scores blocks of non-zero values."""
        return NonZeroVariance(self.n)

    def _of_moments(self, moments: Moments) -> tuple[np.ndarray, np.ndarray]:
        return moments.square / (self.n - 1), moments.square

    def _carefully(self, block: BlockLike) -> tuple[np.ndarray, np.ndarray]:
        centred = center(block, np.ones(self.n))
        square = np.vecdot(centred.values, centred.values)
        status = centred.status(square, float(self.n))
        with np.errstate(over="ignore"):  # the variance of huge values is infinite
            score = square / (self.n - 1) * centred.scale * centred.scale
        score[status != Status.OK] = np.nan
        return score, status


def prepare(context: Context) -> Scorer:
    """Return the scorer of the variance."""
    return VarianceScorer(context)
