"""The Fisher Score: between-class over within-class variance (Eq. 3.12 of the dissertation).

R. O. Duda, P. E. Hart and D. G. Stork, Pattern Classification, 2nd edition, 2001.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sfs_cli.methods.base import BlockLike, Context, Scorer, Status
from sfs_cli.methods.centering import center
from sfs_cli.methods.thin import Moments, ThinScores, without


class FisherScorer:
    """``sum_l n_l (mu_l - mu)^2 / sum_l n_l sigma_l^2`` for every feature; larger is better.

    A feature that is constant within each class but not between them scores infinity.
    """

    larger_is_better = True

    def __init__(self, context: Context) -> None:
        assert context.codes is not None
        self.codes = context.codes
        self.counts = np.bincount(context.codes).astype(np.float64)
        self.members = np.zeros((len(context.codes), len(self.counts)))
        self.members[np.arange(len(context.codes)), context.codes] = 1
        n = len(context.codes)
        # products with the columns of the first are sqrt(n_l) mu_l, and with u of them sqrt(n) mu
        sums = self.members / np.sqrt(self.counts)
        self.thin = ThinScores(np.ones(n), without(sums, np.sqrt(self.counts / n)))
        self.dtype = context.exact
        self.facts: dict[str, Any] = {}
        self.warnings: list[str] = []

    def score_block(self, block: BlockLike) -> tuple[np.ndarray, np.ndarray]:
        """Return the scores and statuses of a block."""
        return self.thin.score_block(block, _of_moments, self._carefully)

    def _carefully(self, block: BlockLike) -> tuple[np.ndarray, np.ndarray]:
        between, within, _, status = self.scatter(block)
        with np.errstate(divide="ignore", invalid="ignore"):
            score = between / within
        score[status != Status.OK] = np.nan
        return score, status

    def scatter(self, block: BlockLike) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return the scatter between and within classes; overwrites the block.

        Returns
        -------
        between, within : ndarray, shape (b,)
            ``sum_l n_l (mu_l - mu)^2`` and ``sum_l n_l sigma_l^2`` of the centred values.
        scale : ndarray, shape (b,)
            What those values are multiplied by to be in the units of the input.
        status : ndarray of int8, shape (b,)
        """
        n = len(self.codes)
        centred = center(block, np.ones(n))
        F = centred.values
        square = np.vecdot(F, F)
        status = centred.status(square, float(n))
        means = F @ self.members / self.counts
        between = (means * means) @ self.counts
        F -= means[:, self.codes]
        within = np.vecdot(F, F)
        within[within <= (n * np.finfo(np.float64).eps) ** 2 * square] = 0  # rounding of the means
        return between, within, centred.scale, status


def _of_moments(moments: Moments) -> tuple[np.ndarray, np.ndarray]:
    between = moments.along_squares
    within = moments.square - between
    return between / within, within


def prepare(context: Context) -> Scorer:
    """Return the scorer of the Fisher Score."""
    return FisherScorer(context)
