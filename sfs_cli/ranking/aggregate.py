"""Rank aggregation: several rankings of the same features made one (Eq. 5.8).

A list may be partial. Where a way to aggregate needs a rank of every feature in every list, the
features that a list leaves out share the mean of the ranks it has left over: a list that ranks
s of N features gives each of the others (s + 1 + N) / 2. So every list hands out the same sum of
ranks, and a feature that a short list leaves out loses no more than its place among the rest is
worth.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from sfs_cli.ranking.hows import HOWS, check_list_weights
from sfs_cli.ranking.markov import mc4
from sfs_cli.ranking.rra import robust_rank_aggregation

DIGITS = 12
"""Significant digits that are kept of means, so that rounding tells no equals apart."""
HALF = 1e-12
"""How far from one half a share of weights still counts as one half."""


@dataclass(frozen=True)
class Aggregate:
    """One score for each feature, from all lists.

    Attributes
    ----------
    score : ndarray, shape (m,)
        NaN for a feature that no list ranks.
    larger_is_better : bool
        Direction.
    extra : dict of ndarray, shape (m,)
        ``p_value`` and ``q_value`` of ``rra``; ``n_lists``, how many lists rank the feature.
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
    how : {"borda", "median", "geometric", "rra", "mc4"}
        A key of `HOWS`.
    ranks : ndarray, shape (m, L)
        Rank of each feature in each list, as `midranks` gives it: 1 is best, ties share their mean
        rank, NaN where the list does not rank the feature.
    weights : ndarray, shape (L,), optional
        Of the lists; 1 each by default. A list of weight 0 takes no part.
    total : int, optional
        N, the number of features the lists were drawn from, where they are the best of longer
        ones; by default the number that some list ranks.

    Returns
    -------
    Aggregate
        In the order of the rows.

    Raises
    ------
    UsageError
        For weights that cannot be used.
    InputError
        For more features than `mc4` takes.
    """
    weights = np.ones(ranks.shape[1]) if weights is None else np.asarray(weights, np.float64)
    check_list_weights(how, weights.tolist(), "weights of the lists")
    ranks, weights = ranks[:, weights > 0], weights[weights > 0]
    n_lists = np.count_nonzero(~np.isnan(ranks), axis=1)
    used = n_lists > 0
    total = int(np.count_nonzero(used)) if total is None else total
    columns = _WAYS[how](ranks[used], weights, total)
    spread = {name: _spread(column, used) for name, column in columns.items()}
    score = spread.pop("score")
    return Aggregate(score, HOWS[how].larger_is_better, spread | {"n_lists": n_lists})


def midranks(values: np.ndarray, *, larger_is_better: bool) -> np.ndarray:
    """Rank values: 1 is best, ties share the mean of their ranks, NaN stays NaN."""
    from scipy.stats import rankdata

    values = np.asarray(values, np.float64)
    return rankdata(-values if larger_is_better else values, nan_policy="omit")


def best_of(ranks: np.ndarray, top: int) -> np.ndarray:
    """Leave each list its `top` best features, and those that tie with the last of them.

    Parameters
    ----------
    ranks : ndarray, shape (m, L)
        As in `aggregate`.
    top : int
        How many.

    Returns
    -------
    ndarray, shape (m, L)
        NaN for the others.
    """
    from scipy.stats import rankdata

    first = rankdata(ranks, method="min", axis=0, nan_policy="omit")
    return np.where(first <= top, ranks, np.nan)


def completed(ranks: np.ndarray, total: int) -> np.ndarray:
    """Give features that a list leaves out the mean of the ranks it has left over.

    Parameters
    ----------
    ranks : ndarray, shape (m, L)
        As in `aggregate`.
    total : int
        N.

    Returns
    -------
    ndarray, shape (m, L)
        Without NaN.
    """
    sizes = np.count_nonzero(~np.isnan(ranks), axis=0)
    return np.where(np.isnan(ranks), (sizes + 1 + total) / 2, ranks)


def _borda(ranks: np.ndarray, weights: np.ndarray, total: int) -> dict[str, np.ndarray]:
    return {"score": rounded(completed(ranks, total) @ weights / weights.sum(), DIGITS)}


def _geometric(ranks: np.ndarray, weights: np.ndarray, total: int) -> dict[str, np.ndarray]:
    mean = np.log(completed(ranks, total)) @ weights / weights.sum()
    return {"score": rounded(np.exp(mean), DIGITS)}


def _median(ranks: np.ndarray, weights: np.ndarray, total: int) -> dict[str, np.ndarray]:
    """Return the weighted median; where weights part in two equal halves, the mean of both ends."""
    ranks = completed(ranks, total)
    order = np.argsort(ranks, axis=1, kind="stable")
    ascending = np.take_along_axis(ranks, order, axis=1)
    share = np.cumsum(weights[order], axis=1) / weights.sum()
    low = np.argmax(share >= 0.5 - HALF, axis=1)
    high = np.argmax(share > 0.5 + HALF, axis=1)
    rows = np.arange(len(ranks))
    return {"score": (ascending[rows, low] + ascending[rows, high]) / 2}


def _rra(ranks: np.ndarray, _weights: np.ndarray, total: int) -> dict[str, np.ndarray]:
    return robust_rank_aggregation(ranks, total)


def _mc4(ranks: np.ndarray, weights: np.ndarray, total: int) -> dict[str, np.ndarray]:
    best_last = np.argsort(-_borda(ranks, weights, total)["score"], kind="stable")
    score = np.empty(len(ranks))
    score[best_last] = mc4(ranks[best_last], weights)
    return {"score": rounded(score, DIGITS - 3)}


_WAYS: dict[str, Callable[[np.ndarray, np.ndarray, int], dict[str, np.ndarray]]] = {
    "borda": _borda,
    "median": _median,
    "geometric": _geometric,
    "rra": _rra,
    "mc4": _mc4,
}


def rounded(values: np.ndarray, digits: int) -> np.ndarray:
    """Round positive numbers to so many significant digits."""
    size = np.floor(np.log10(values))
    scale = 10.0 ** (digits - 1 - size)
    return np.round(values * scale) / scale


def _spread(column: np.ndarray, used: np.ndarray) -> np.ndarray:
    """Give features that no list ranks a NaN."""
    spread = np.full(len(used), np.nan)
    spread[used] = column
    return spread
