"""Scores made of a feature's sum of squares and its projections on a few columns.

phi3, the graph of labels, the Fisher Score and the variance are of this form. With few columns most
of the time goes into moving features between memory and processor. So a feature is neither centered
nor written back: the sum of squares, the part of it that belongs to the mean, and the projections
are taken of the values as they were read, and the mean's part is subtracted from those few numbers.

That costs digits where a feature varies little about a large mean. A feature that would lose more
than 8 of 53 bits is summed once more after its value in one sample is subtracted. A feature that
still would, and one that is constant, extreme or left out, is scored from centered values.

Let c be the weighted mean of a feature that is 0 in sample r. ``d_r c^2`` is one of the terms of
``sum_i d_i (f_i - c)^2``, so ``f' D f``, which is ``c^2 sum(d)`` more, is at most
``1 + sum(d) / d_r`` times as large: n + 1 at worst where r has the largest degree, and about 2
where r is like the others.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sfs_cli.compute.limits import EPS
from sfs_cli.compute.matrix import DOUBLE, BlockLike, Workspace, row_by_row
from sfs_cli.methods.base import Status
from sfs_cli.methods.class_means import ProjectedMeans
from sfs_cli.methods.pieces import Sums, pieces, rows_of

KEPT = 2.0**-8
"""A difference of at least this part of the sum of squares has lost at most 8 bits."""
VARIES = (2.0**14 * EPS) ** 2
"""A feature whose variation is a smaller part of its square may vary by rounding alone."""
LOW, HIGH = 1e-200, 1e200
"""Between these no term of a sum of squares over- or underflowed and mattered."""
TOGETHER = 4
"""Columns are multiplied in multiples of this, and features at least in pairs: what BLAS rounds for
a feature then does not depend on where that is in its block, so that every block size gives the
same digits."""
EVEN = 4 * EPS
"""Weights whose relative range is no larger are treated as equal."""


Formula = Callable[[Sums], tuple[np.ndarray, np.ndarray]]
"""Returns the scores (b,), and the smallest of the differences that they are made of (b,).

Of the sums, only `raw_norm` may change the score when a constant is added to a feature.
"""
Float64Scores = Callable[[BlockLike], tuple[np.ndarray, np.ndarray]]
"""Scores float64 features of any kind from centered values; it may overwrite them."""


class LowRankScores:
    """Scores blocks by a formula in `Sums`, and features that lose digits so in another way.

    Parameters
    ----------
    weights : ndarray, shape (n,)
        d, positive.
    columns : ndarray, shape (n, k)
        V, for projections of ``D^1/2 f``.
    """

    def __init__(self, weights: np.ndarray, columns: np.ndarray) -> None:
        root = np.sqrt(weights)
        columns = np.column_stack([root / np.sqrt(weights.sum()), columns])
        self.weight, self.scale = 1.0, root
        if np.ptp(weights) <= EVEN * weights.max():
            # equal weights are one number for all sums: no multiplication of the features
            self.weight, self.scale = float(weights.mean()), None
            columns *= np.sqrt(self.weight)
        self.count = columns.shape[1]
        self.columns = np.zeros((len(columns), -(-self.count // TOGETHER) * TOGETHER))
        self.columns[:, : self.count] = columns
        self.reference = int(np.argmax(weights))
        self.work = Workspace()

    def score_block(
        self,
        block: BlockLike,
        formula: Formula,
        centered: Float64Scores,
        further: ProjectedMeans | None = None,
    ) -> tuple[np.ndarray, ...]:
        """Return the scores and statuses of a block, float32 or float64, and leave it unchanged.

        Parameters
        ----------
        block : BlockLike
            Values of shape (b, n).
        formula : callable
            Scores from `Sums`.
        centered : callable
            Scores from centered values, for features whose sums lose digits.
        further : ProjectedMeans, optional
            What else is to be found.

        Returns
        -------
        score : ndarray, shape (b,), float64
        status : ndarray of int8, shape (b,)
        found : ndarray, a row for each feature
            Only if there is something further.
        """
        with np.errstate(all="ignore"):
            sums = self._sums(block.values)
            score, sound = _scored(formula, sums)
            found = [] if further is None else [further.of_sums(sums)]
        status = np.full(len(score), Status.OK, np.int8)
        # Most features end here. The second look subtracts one sample, which takes a large
        # offset away without a mean; only what is then still weak pays for centering in float64.
        rows = np.flatnonzero(~sound)
        if len(rows):
            chosen = rows_of(block, rows)
            if further is not None:
                found[0][rows] = further.measure(chosen.values)
            with np.errstate(all="ignore"):
                score[rows], sound = _scored(
                    formula, self._sums(chosen.values, sums.raw_norm[rows])
                )
            left = np.flatnonzero(~sound)
            if len(left):
                rows = rows[left]
                score[rows], status[rows] = centered(rows_of(chosen, left, DOUBLE))
        if block.zero is not None:
            zero = block.zero if block.left_out is None else block.zero & (block.left_out == 0)
            score[zero], status[zero] = np.nan, Status.ALL_ZERO
        return score, status, *found

    def _sums(self, values: np.ndarray, raw_norm: np.ndarray | None = None) -> Sums:
        """Return the sums of features; less their value in one sample if `raw_norm` is known."""
        b, n = values.shape
        total, projections = np.empty(b), np.empty((self.columns.shape[1], b))
        for part in pieces(b, n):
            x = self._prepared(values[part], subtract=raw_norm is not None)
            np.vecdot(x, x, out=total[part])
            if len(x) == 1:
                projections[:, part] = (self.columns.T @ np.repeat(x, 2, axis=0).T)[:, :1]
            else:
                np.matmul(self.columns.T, x.T, out=projections[:, part])
        total *= self.weight
        raw_norm = total if raw_norm is None else raw_norm
        return Sums(total, projections[0], projections[1 : self.count], raw_norm)

    def _prepared(self, values: np.ndarray, *, subtract: bool) -> np.ndarray:
        """Return ``D^1/2 f`` in float64, of the features or of their differences to one sample."""
        if self.scale is None and values.dtype == np.float64 and not subtract:
            return values
        x = self.work.array("prepared", len(values), values.shape[1], DOUBLE)
        np.copyto(x, values)
        with row_by_row():
            if subtract:
                x -= x[:, [self.reference]]
            if self.scale is not None:
                x *= self.scale
        return x


def _scored(formula: Formula, sums: Sums) -> tuple[np.ndarray, np.ndarray]:
    """Return scores, and which of them have kept their digits."""
    score, difference = formula(sums)
    sound = (sums.total > LOW) & (sums.raw_norm < HIGH)
    sound &= sums.total > VARIES * sums.raw_norm
    return score, sound & (difference >= KEPT * sums.total)  # a NaN is not sound either
