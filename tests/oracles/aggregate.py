"""Slow, obvious twins of rank aggregation (Eq. 5.8), one feature and one pair at a time."""

from __future__ import annotations

from math import comb, isnan, prod

import numpy as np


def filled(ranks: np.ndarray, total: int) -> list[list[float]]:
    """Absent features of a list share what is left of the ranks 1..total."""
    lists = []
    for column in ranks.T:
        size = sum(not isnan(v) for v in column)
        left_over = list(range(size + 1, total + 1))
        mean = sum(left_over) / len(left_over) if left_over else 0.0
        lists.append([mean if isnan(v) else float(v) for v in column])
    return [list(row) for row in zip(*lists)]


def borda(ranks: np.ndarray, weights: np.ndarray, total: int) -> list[float]:
    return [sum(w * r for w, r in zip(weights, row)) / sum(weights) for row in filled(ranks, total)]


def median(ranks: np.ndarray, weights: np.ndarray, total: int) -> list[float]:
    """Of a sample with each rank as often as its (integer) weight says."""
    repeated = [
        sorted(r for w, r in zip(weights, row) for _ in range(int(w)))
        for row in filled(ranks, total)
    ]
    return [(v[(len(v) - 1) // 2] + v[len(v) // 2]) / 2 for v in repeated]


def geometric(ranks: np.ndarray, weights: np.ndarray, total: int) -> list[float]:
    return [
        prod(r ** (w / sum(weights)) for w, r in zip(weights, row)) for row in filled(ranks, total)
    ]


def rho(ranks: np.ndarray, total: int) -> list[float]:
    """The beta distribution of an order statistic as the binomial sum that it is.

    The rank of a feature is the number of those that are no worse.
    """
    scores = []
    for row in ranks:
        no_worse = [sum(other <= v for other in of) for v, of in zip(row, ranks.T)]
        r = sorted(1.0 if isnan(v) else n / total for v, n in zip(row, no_worse))
        L = len(r)
        scores.append(
            min(
                sum(comb(L, j) * x**j * (1 - x) ** (L - j) for j in range(k, L + 1))
                for k, x in enumerate(r, 1)
            )
        )
    return scores
