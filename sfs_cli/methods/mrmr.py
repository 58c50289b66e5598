"""mRMR: features that differ between classes and are not correlated with those chosen before.

C. Ding and H. Peng, "Minimum redundancy feature selection from microarray gene expression data",
Journal of Bioinformatics and Computational Biology 3, 2005: FCD and FCQ, the F statistic as
relevance and the absolute Pearson correlation as redundancy.
"""

from __future__ import annotations

import numpy as np

from sfs_cli.compute.matrix import Block, Span
from sfs_cli.methods.base import Problem, Solution, Status
from sfs_cli.methods.centered_matrix import centered_matrix
from sfs_cli.methods.classical import FTestScorer
from sfs_cli.methods.shared import ROUNDING, first_by_id, set_aside_given, warn_of_fewer

LEAST_REDUNDANCY = 1e-3
"""Divisor for smaller mean correlations, which chance alone decides: the quotient stays finite."""


def solve(problem: Problem) -> Solution:
    """Choose features greedily, each time the one with the largest score among the rest.

    The score of a feature is its F statistic over (``variant="quotient"``, FCQ) or minus
    (``"difference"``, FCD) the mean of its absolute correlations with the features chosen before;
    for the first it is the F statistic. Features that are given count as chosen before the first.
    Infinite F statistics come first, in the order of the
    input. A quotient's divisor is `LEAST_REDUNDANCY` at least. F statistics of genes that differ
    are in the tens, and a mean of correlations is below 1: a difference of the two is nearly the
    ranking of the F-test, so the quotient is the default.

    Parameters
    ----------
    problem : Problem
        With labels of all samples, and the options ``select`` and ``variant``. With an outcome,
        relevance is the F statistic of the linear regression.

    Returns
    -------
    Solution
        Scores at the time of choice, NaN for features that were not chosen. In ``order`` these
        follow by the score that they would have next.

    Raises
    ------
    InputError
        If a label is missing, there are fewer than two classes, or no class has two samples.
    """
    scorer = FTestScorer(problem)
    features = centered_matrix(problem.engine, "unit", problem.memory)

    def f_statistics(block: np.ndarray, _span: Span) -> np.ndarray:
        # copied: the scorer overwrites its block, and this one may be part of the held matrix
        return scorer.score_block(Block(block.copy()))["score"]

    relevance = features.measure(f_statistics)
    relevance[~features.usable] = np.nan
    given = set_aside_given(problem, features)
    wanted, able = int(problem.options["select"]), int(features.usable.sum())
    left = features.usable & ~np.isnan(relevance)
    score = np.full(features.m, np.nan)
    redundancy = np.zeros(features.m)  # sum of absolute correlations with the chosen features
    chosen: list[int] = []
    current = relevance

    def scores_beside(count: int) -> np.ndarray:
        """Return the score of every feature, if so many have been chosen."""
        mean = redundancy / count
        if problem.options["variant"] == "difference":
            return relevance - mean
        return relevance / np.maximum(mean, LEAST_REDUNDANCY)

    if len(given):
        fixed = features.take(given).T

        def correlations(block: np.ndarray, _span: Span) -> np.ndarray:
            return np.abs(block @ fixed).sum(axis=1)

        redundancy = features.measure(correlations)
        current = scores_beside(len(given))
    for _ in range(min(wanted, able)):
        largest = np.max(current, where=left, initial=-np.inf)
        rounding = ROUNDING * abs(largest) if np.isfinite(largest) else 0.0
        equal = np.flatnonzero(left & (current >= largest - rounding))
        best = first_by_id(problem, equal)
        score[best], left[best] = current[best], False
        chosen.append(best)
        # one column of the m x m correlations for each chosen feature, never all of them
        f = features.take(np.array([best]))[0]
        redundancy += np.abs(features.project(f[:, None])[:, 0])
        current = scores_beside(len(given) + len(chosen))
    rest = np.flatnonzero(left)
    rest = rest[np.argsort(-current[rest], kind="stable")]
    status = features.status.copy()
    status[features.usable & np.isnan(score)] = Status.NOT_SELECTED
    return Solution(
        score,
        status,
        order=np.concatenate([chosen, rest]).astype(np.int64),
        extra={"f_statistic": relevance},
        stop=f"{len(chosen)} features were chosen",
        facts={"selected": len(chosen), "passes": features.passes},
        warnings=warn_of_fewer(wanted, able),
    )
