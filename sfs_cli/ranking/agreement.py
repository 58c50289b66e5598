"""How much rankings agree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sfs_cli.ranking.aggregate import midranks

TOPS = (10, 50, 100)
"""Lengths of the short lists whose overlap is reported."""


@dataclass(frozen=True)
class Agreement:
    """How much each pair of lists agrees.

    Attributes
    ----------
    kendall, spearman : ndarray, shape (L, L)
        Kendall's tau-b and Spearman's rank correlation over the features that both lists rank;
        NaN if these are fewer than two, or all tie in one of the lists.
    common : ndarray of int, shape (L, L)
        Number of features that both rank.
    overlap : dict of int to ndarray, shape (L, L)
        k -> share of the best k that two lists have in common; NaN if one ranks fewer than k.
    """

    kendall: np.ndarray
    spearman: np.ndarray
    common: np.ndarray
    overlap: dict[int, np.ndarray]

    def mean(self, matrix: np.ndarray) -> float:
        """Return the mean over pairs of lists that have a number; NaN if none has."""
        pairs = matrix[np.triu_indices(len(matrix), 1)]
        known = pairs[~np.isnan(pairs)]
        return float(known.mean()) if len(known) else float("nan")


def agreement(ranks: np.ndarray, tops: Sequence[int] = TOPS) -> Agreement:
    """Compare all pairs of lists.

    Parameters
    ----------
    ranks : ndarray, shape (m, L)
        1 is best, ties as midranks, NaN where a list does not rank the feature.
    tops : sequence of int
        Lengths of short lists.
    """
    n_lists = ranks.shape[1]
    kendall, spearman = np.eye(n_lists), np.eye(n_lists)
    common = np.zeros((n_lists, n_lists), np.int64)
    overlap = {k: np.full((n_lists, n_lists), np.nan) for k in tops}
    for i in range(n_lists):
        for j in range(i + 1):
            a, b = ranks[:, i], ranks[:, j]
            both = ~(np.isnan(a) | np.isnan(b))
            common[i, j] = common[j, i] = np.count_nonzero(both)
            tau, rho = correlations(a[both], b[both])
            kendall[i, j] = kendall[j, i] = tau
            spearman[i, j] = spearman[j, i] = rho
            for k in tops:
                overlap[k][i, j] = overlap[k][j, i] = top_overlap(a, b, k)
    return Agreement(kendall, spearman, common, overlap)


def correlations(a: np.ndarray, b: np.ndarray) -> tuple[float, float]:
    """Return Kendall's tau-b and Spearman's rho of two lists of ranks without NaN.

    NaN if there are fewer than two features, or all tie in one of the lists.
    """
    from scipy.stats import kendalltau

    rho = _spearman(a, b)
    return float("nan") if np.isnan(rho) else float(kendalltau(a, b).statistic), rho


def top_overlap(a: np.ndarray, b: np.ndarray, k: int) -> float:
    """Return the share of the best `k` features that two lists of ranks (m,) have in common.

    Ties at the end of the short lists are cut by position. NaN if a list ranks fewer than `k`.
    """
    if min(np.count_nonzero(~np.isnan(a)), np.count_nonzero(~np.isnan(b))) < k:
        return float("nan")
    best_a, best_b = np.argsort(a, kind="stable")[:k], np.argsort(b, kind="stable")[:k]
    return len(np.intersect1d(best_a, best_b)) / k


def compare_rankings(a: np.ndarray, b: np.ndarray, top: int = 100) -> tuple[float, float]:
    """Return Spearman's rho and the overlap of the `top` best of two lists of ranks (m,) with NaN.

    The short lists are cut to the length of the shorter ranking.
    """
    both = ~(np.isnan(a) | np.isnan(b))
    known = min(int(np.count_nonzero(~np.isnan(a))), int(np.count_nonzero(~np.isnan(b))), top)
    overlap = top_overlap(a, b, known) if known else float("nan")
    return _spearman(a[both], b[both]), overlap


def _spearman(a: np.ndarray, b: np.ndarray) -> float:
    x, y = (
        midranks(each, larger_is_better=False) for each in (a, b)
    )  # differ by more than rounding
    if len(a) < 2 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return float("nan")
    return float(np.corrcoef(x, y)[0, 1])
