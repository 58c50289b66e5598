"""Welch's t statistic of two classes.

B. L. Welch, "The generalization of 'Student's' problem when several different population variances
are involved", Biometrika 34, 1947.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sfs_cli.errors import InputError
from sfs_cli.methods.base import BlockLike, Context, Scorer, Status
from sfs_cli.methods.centering import center
from sfs_cli.methods.classes import class_counts


class TTestScorer:
    """``|mu_1 - mu_2| / sqrt(s_1^2 / n_1 + s_2^2 / n_2)``; larger is better.

    Variances are unbiased and not pooled. A feature that is constant within both classes but not
    between them scores infinity.
    """

    dtype = np.dtype(np.float64)
    larger_is_better = True

    def __init__(self, context: Context) -> None:
        assert context.codes is not None
        self.counts = class_counts(context.codes, "the t-test", each=2)
        if len(self.counts) != 2:
            raise InputError(
                f"the t-test compares two classes, and there are {len(self.counts)}",
                hint="take the F-test (f-test), or keep the samples of two classes",
            )
        self.members = [np.flatnonzero(context.codes == code) for code in (0, 1)]
        self.facts: dict[str, Any] = {"variances": "not pooled"}
        self.warnings: list[str] = []

    def score_block(self, block: BlockLike) -> tuple[np.ndarray, np.ndarray]:
        """Return the scores and statuses of a block; overwrites it."""
        n = float(self.counts.sum())
        centred = center(block, np.ones(int(n)))
        square = np.vecdot(centred.values, centred.values)
        status = centred.status(square, n)
        means, squares = [], np.zeros(len(square))
        for inside, count in zip(self.members, self.counts):
            group = centred.values[:, inside]
            mean = group.mean(axis=1)
            group -= mean[:, None]
            spread = np.vecdot(group, group)
            spread[spread <= (n * np.finfo(np.float64).eps) ** 2 * square] = 0  # of the mean
            means.append(mean)
            squares += spread / ((count - 1) * count)
        with np.errstate(divide="ignore", invalid="ignore"):
            score = np.abs(means[0] - means[1]) / np.sqrt(squares)
        score[status != Status.OK] = np.nan
        return score, status


def prepare(context: Context) -> Scorer:
    """Return the scorer of the t-test.

    Raises
    ------
    InputError
        When a label is missing, there are not two classes, or one has fewer than two samples.
    """
    return TTestScorer(context)
