"""Welch's analysis of variance: differences of class means where variances differ, too.

B. L. Welch, "On the comparison of several mean values: an alternative approach", Biometrika 38,
1951. Of two classes it is the square of Welch's t-test.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sfs_cli.compute.limits import EPS
from sfs_cli.compute.matrix import Arrays, BlockLike
from sfs_cli.methods.base import Problem, Scorer, Status
from sfs_cli.methods.kernel import center
from sfs_cli.methods.shared import class_counts, f_tests, least_p_value, warn_of_infinite


class WelchTest(NamedTuple):
    """F statistics and their second degrees of freedom, each (b,); the first are c - 1 for all."""

    statistic: np.ndarray
    freedom: np.ndarray


class WelchScorer(Scorer):
    """F statistic of Welch's analysis of variance of c >= 2 classes; larger is better.

    With ``w_l = n_l / s_l^2`` of the unbiased variances, ``h_l = w_l / sum w``, ``mu = sum h_l
    mu_l`` and ``L = sum (1 - h_l)^2 / (n_l - 1)``,

    ``F = [sum w_l (mu_l - mu)^2 / (c - 1)] / [1 + 2 (c - 2) / (c^2 - 1) L]``

    has c - 1 and ``(c^2 - 1) / (3 L)`` degrees of freedom. Of two classes it is the square of the
    score of `TTestScorer`, with the same p-value.

    A class that is constant has an infinite weight. F is its limit where the same small noise is
    added to all samples: infinity where constant classes differ in their values or nothing else
    varies, and finite otherwise. Further columns are the p-value and the q-value (Benjamini and
    Hochberg, over the features that have a score). An infinite score has the least p-value of any
    order of the labels.

    Raises
    ------
    InputError
        When a label is missing, there are fewer than two classes, or one has fewer than two
        samples.
    """

    def __init__(self, problem: Problem) -> None:
        super().__init__()
        self.counts = class_counts(problem.codes, "Welch's analysis of variance", each=2)
        self.members = [np.flatnonzero(problem.codes == code) for code in range(len(self.counts))]
        self.least = least_p_value(problem.codes)
        self.threads = problem.engine.executor.nearby.workers
        self.facts["variances"] = "not pooled"
        self.facts["between_degrees_of_freedom"] = len(self.counts) - 1

    def score_block(self, block: BlockLike) -> Arrays:
        """Return ``score``, ``status`` and ``freedom``, the degrees of freedom of the noise.

        The block is overwritten.
        """
        # not by sums of the kernel: squares within one class are no projection of a feature, and
        # those of a constant class would be rounding where they have to be 0
        centered = center(block)
        status = centered.status
        means = np.empty((len(status), len(self.counts)))
        within = np.empty_like(means)
        for code, inside in enumerate(self.members):
            # row by row in memory, so that sums do not depend on the rows beside
            group = np.take(centered.values, inside, axis=1)
            means[:, code] = group.mean(axis=1)
            group -= means[:, code, None]
            within[:, code] = np.vecdot(group, group)
        rounding = (centered.volume * EPS) ** 2 * centered.square  # of the means
        score, freedom = welch(means, within, self.counts, rounding)
        score[status != Status.OK] = np.nan
        freedom[status != Status.OK] = np.nan
        return {"score": score, "status": status, "freedom": freedom}

    def columns(self, found: Arrays) -> dict[str, Any]:
        """Return the p-values and q-values of the scores of all features, each shape (m,)."""
        score = found["score"]
        self.warnings += warn_of_infinite(score, self.least)
        self.facts["tested_features"] = int(np.count_nonzero(np.isfinite(score)))
        between = float(len(self.counts) - 1)
        return f_tests(score, between, found["freedom"], self.threads, least=self.least)


def welch(
    means: np.ndarray, within: np.ndarray, counts: np.ndarray, rounding: np.ndarray
) -> WelchTest:
    """Return Welch's F of class means and sums of squares around them.

    Parameters
    ----------
    means, within : ndarray, shape (b, c)
        Of every class; ``within`` are sums of squares, not divided by a count.
    counts : ndarray, shape (c,)
        Samples of every class, 2 or more.
    rounding : ndarray, shape (b,)
        Sums of squares up to which a class is constant.

    Returns
    -------
    WelchTest
        F is infinite where classes that are constant differ, and its degrees of freedom are NaN
        then; both are NaN where all classes are constant and the same.
    """
    c = len(counts)
    errors = within / ((counts - 1) * counts)  # the squared errors of the means
    still = np.less_equal(within, rounding[:, None])
    any_still = still.any(axis=1, keepdims=True)
    with np.errstate(all="ignore"):
        # weights relative to the largest; constant classes have all of it where there are some,
        # in proportion to their sizes
        smallest = errors.min(axis=1, keepdims=True)
        weights = np.where(any_still, still * counts, smallest / errors)
        shares = weights / weights.sum(axis=1, keepdims=True)
        away = means - np.vecdot(shares, means)[:, None]
        varying = np.where(still, 0, away * away / errors)
        # constant classes lie at their common value, but for the rounding of the means
        apart = (still & (away * away * counts > rounding[:, None])).any(axis=1)
        freedom = (c * c - 1) / 3 / ((1 - shares) ** 2 / (counts - 1)).sum(axis=1)
        correction = 1 + 2 * (c - 2) / (3 * freedom)
        statistic = varying.sum(axis=1) / (c - 1) / correction
    statistic[apart] = np.inf
    freedom[apart] = np.nan
    alike = still.all(axis=1) & ~apart
    statistic[alike] = freedom[alike] = np.nan
    return WelchTest(statistic, freedom)
