"""Slow, obvious twins of the measures of lists: correlations, neighborhoods and counts, by loops.

X is samples x features.
"""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from math import comb, sqrt

import numpy as np

from tests.oracles.prune import pearson


def redundancy(X: np.ndarray) -> float:
    """Return the mean absolute correlation of pairs of features."""
    pairs = combinations(range(X.shape[1]), 2)
    return float(np.mean([abs(pearson(X[:, i], X[:, j])) for i, j in pairs]))


def jaccard(X: np.ndarray, whole: np.ndarray, k: int) -> float:
    """Return the mean share of common neighbors, by inner products, of two sets of features."""

    def neighbors(V: np.ndarray, i: int) -> set[int]:
        others = [j for j in range(len(V)) if j != i]
        return set(sorted(others, key=lambda j: -float(V[i] @ V[j]))[:k])

    pairs = [(neighbors(X, i), neighbors(whole, i)) for i in range(len(X))]
    return float(np.mean([len(a & b) / len(a | b) for a, b in pairs]))


def hypergeometric(m: int, size: int, drawn: int, overlap: int) -> float:
    """Return the probability of `overlap` or more members of a set of `size` of m when some are
    drawn."""
    ways = sum(
        comb(size, x) * comb(m - size, drawn - x) for x in range(overlap, min(size, drawn) + 1)
    )
    return ways / comb(m, drawn)


def scaled(X: np.ndarray, train: list[int]) -> np.ndarray:
    """Return features less their mean and over their deviation in training samples."""
    Z = np.zeros(X.shape)
    for j in range(X.shape[1]):
        known = [float(X[i, j]) for i in train]
        mean = sum(known) / len(known)
        deviation = sqrt(sum((v - mean) ** 2 for v in known) / len(known))
        if max(known) > min(known):
            Z[:, j] = (X[:, j] - mean) / deviation
    return Z


def nearest(X: np.ndarray, y: np.ndarray, train: list[int], i: int, k: int) -> int:
    """Return the most frequent class of the k nearest training samples; the first of a tie."""
    near = sorted(train, key=lambda j: float(((X[i] - X[j]) ** 2).sum()))[:k]
    votes = Counter(int(y[j]) for j in near)
    return min(votes, key=lambda c: (-votes[c], c))
