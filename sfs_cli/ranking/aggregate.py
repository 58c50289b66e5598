"""Rank aggregation: one ranking of several rankings of the same features (Eq. 5.8).

A list may be partial. Mean, median and geometric mean need a rank of every feature in every list:
the features that a list omits share the mean of its remaining ranks. A list that ranks s of N
features gives each of the others (s + 1 + N) / 2. So all lists have the same sum of ranks, and a
short list does not punish the features it omits beyond that.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from sfs_cli.ranking.aggregations import AGGREGATIONS, check_list_weights
from sfs_cli.ranking.table import tie_blocks

DIGITS = 12
"""Significant digits of means that are kept, so that rounding does not separate equal features."""
HALF = 1e-12
"""A share of weights this close to one half is one half."""


@dataclass(frozen=True)
class Aggregate:
    """One score for each feature, from all lists.

    Attributes
    ----------
    score : ndarray, shape (m,)
        NaN for a feature that no list ranks.
    larger_is_better : bool
        Direction of the scores.
    extra : dict of ndarray, shape (m,)
        ``n_lists``, the number of lists that rank the feature; ``p_value`` and ``q_value`` of
        ``rra``.
    """

    score: np.ndarray
    larger_is_better: bool
    extra: dict[str, np.ndarray] = field(default_factory=dict)


def aggregate(
    how: str, ranks: np.ndarray, weights: np.ndarray | None = None, total: int | None = None
) -> Aggregate:
    """Aggregate ranks.

    Parameters
    ----------
    how : {"borda", "median", "geometric", "rra"}
        A key of `AGGREGATIONS`.
    ranks : ndarray, shape (m, L)
        Rank of each feature in each list, as from `midranks`: 1 is best, ties share their mean
        rank, NaN where the list does not rank the feature.
    weights : ndarray, shape (L,), optional
        Weights of the lists, 1 by default. A list of weight 0 is ignored.
    total : int, optional
        N, the number of features that the lists were drawn from, if they are the best of longer
        lists. By default the number of features that some list ranks.

    Returns
    -------
    Aggregate
        In the order of the rows.

    Raises
    ------
    UsageError
        For invalid weights.
    """
    weights = np.ones(ranks.shape[1]) if weights is None else np.asarray(weights, np.float64)
    check_list_weights(how, weights.tolist(), "weights of the lists")
    ranks, weights = ranks[:, weights > 0], weights[weights > 0]
    n_lists = np.count_nonzero(~np.isnan(ranks), axis=1)
    used = n_lists > 0
    total = int(np.count_nonzero(used)) if total is None else total
    columns: dict[str, np.ndarray] = {}
    for name, values in _FUNCTIONS[how](ranks[used], weights, total).items():
        columns[name] = np.full(len(used), np.nan)
        columns[name][used] = values
    score = columns.pop("score")
    return Aggregate(score, AGGREGATIONS[how].larger_is_better, columns | {"n_lists": n_lists})


def midranks(values: np.ndarray, *, larger_is_better: bool) -> np.ndarray:
    """Rank values: 1 is best, ties share the mean of their ranks, NaN stays NaN.

    Values that differ by rounding alone are ties, as in the table of a ranking.
    """
    # not by scipy.stats, whose import takes longer than ranking a typical matrix
    values = np.asarray(values, np.float64)
    values = -values if larger_is_better else values
    known = ~np.isnan(values)
    found, at, counts = np.unique(values[known], return_inverse=True, return_counts=True)
    starts, sizes = tie_blocks(found)
    counts = np.add.reduceat(counts, starts) if len(starts) else counts
    ranks = np.full(len(values), np.nan)
    ranks[known] = np.repeat(np.cumsum(counts) - (counts - 1) / 2, sizes)[at]
    return ranks


def best_of(ranks: np.ndarray, top: int) -> np.ndarray:
    """Keep the `top` best features of each list (m, L) and ties of the last; the others are NaN."""
    from scipy.stats import rankdata

    first = rankdata(ranks, method="min", axis=0, nan_policy="omit")
    return np.where(first <= top, ranks, np.nan)


def completed(ranks: np.ndarray, total: int) -> np.ndarray:
    """Give the features that a list (m, L) omits the mean of its remaining ranks, 1 to `total`."""
    sizes = np.count_nonzero(~np.isnan(ranks), axis=0)
    return np.where(np.isnan(ranks), (sizes + 1 + total) / 2, ranks)


def _borda(ranks: np.ndarray, weights: np.ndarray, total: int) -> dict[str, np.ndarray]:
    return {"score": rounded(completed(ranks, total) @ weights / weights.sum())}


def _geometric(ranks: np.ndarray, weights: np.ndarray, total: int) -> dict[str, np.ndarray]:
    mean = np.log(completed(ranks, total)) @ weights / weights.sum()
    return {"score": rounded(np.exp(mean))}


def _median(ranks: np.ndarray, weights: np.ndarray, total: int) -> dict[str, np.ndarray]:
    """Return the weighted median; the mean of both candidates if each side has half the weight."""
    ranks = completed(ranks, total)
    order = np.argsort(ranks, axis=1, kind="stable")
    ascending = np.take_along_axis(ranks, order, axis=1)
    share = np.cumsum(weights[order], axis=1) / weights.sum()
    low = np.argmax(share >= 0.5 - HALF, axis=1)
    high = np.argmax(share > 0.5 + HALF, axis=1)
    rows = np.arange(len(ranks))
    return {"score": (ascending[rows, low] + ascending[rows, high]) / 2}


def _rra(ranks: np.ndarray, _weights: np.ndarray, total: int) -> dict[str, np.ndarray]:
    """Robust rank aggregation (Kolde, Laur, Adler and Vilo 2012, Bioinformatics 28, 573-580).

    Normalized ranks r = rank / N, sorted, are compared with the order statistics of L independent
    uniform numbers. beta_k is the probability that the k-th smallest is at most r_(k), a beta
    distribution with parameters k and L - k + 1, and rho = min_k beta_k. The p-value is the bound
    of the paper, min(1, L rho), which corrects for the L comparisons. A feature that a list omits
    has r = 1 there. Features that tie have the largest of their ranks: with their mean rank, which
    is not uniform, p-values would be too small.

    Returns
    -------
    dict of ndarray, shape (m,)
        ``score`` (rho), ``p_value`` and ``q_value`` (Benjamini and Hochberg, over all N features:
        those that no list ranks have p = 1).
    """
    from scipy.special import betainc
    from scipy.stats import false_discovery_control, rankdata

    n_lists = ranks.shape[1]
    ranks = rankdata(ranks, method="max", axis=0, nan_policy="omit")
    r = np.sort(np.where(np.isnan(ranks), 1.0, ranks / total), axis=1)
    k = np.arange(1, n_lists + 1)
    rho = betainc(k, n_lists - k + 1, r).min(axis=1)
    p_value = np.minimum(1.0, n_lists * rho)
    everyone = np.concatenate([p_value, np.ones(total - len(ranks))])
    q_value = false_discovery_control(everyone)[: len(ranks)]
    return {"score": rho, "p_value": p_value, "q_value": q_value}


_FUNCTIONS: dict[str, Callable[[np.ndarray, np.ndarray, int], dict[str, np.ndarray]]] = {
    "borda": _borda,
    "median": _median,
    "geometric": _geometric,
    "rra": _rra,
}


def rounded(values: np.ndarray) -> np.ndarray:
    """Round positive numbers to `DIGITS` significant digits."""
    size = np.floor(np.log10(values))
    scale = 10.0 ** (DIGITS - 1 - size)
    return np.round(values * scale) / scale
