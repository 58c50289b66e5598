"""Slow, obvious twins of rank tests: pairs of samples, and all orders of the labels."""

from __future__ import annotations

from itertools import combinations, permutations

import numpy as np


def mid_ranks(f: np.ndarray) -> np.ndarray:
    """The rank of each value, counted from 1; of equal values the mean."""
    return np.array([np.sum(f < v) + (np.sum(f == v) + 1) / 2 for v in f])


def auc(f: np.ndarray, y: np.ndarray) -> float:
    """The share of pairs in which the sample of class 1 is above that of class 0, ties as half."""
    pairs = [(a > b) + (a == b) / 2 for a in f[y == 1] for b in f[y == 0]]
    return float(np.mean(pairs))


def rank_sum_p(f: np.ndarray, y: np.ndarray) -> float:
    """The share of orders of the labels whose rank sum is as far from its mean."""
    ranks, n, k = mid_ranks(f), len(f), int(np.sum(y == 1))
    away = abs(ranks[y == 1].sum() - k * (n + 1) / 2)
    sums = [ranks[list(chosen)].sum() for chosen in combinations(range(n), k)]
    return float(np.mean([abs(s - k * (n + 1) / 2) > away - 1e-9 for s in sums]))


def spearman_p(f: np.ndarray, y: np.ndarray) -> float:
    """The share of orders of the samples in which the correlation of the ranks is as large."""
    a, b = (mid_ranks(each) - (len(f) + 1) / 2 for each in (f, y))
    found = [abs(a[list(order)] @ b) for order in permutations(range(len(f)))]
    return float(np.mean(np.array(found) > abs(a @ b) - 1e-9))


def permuted_p(f: np.ndarray, y: np.ndarray, count: int) -> float:
    """The share of random orders with a statistic as large: Spearman's of numbers, else H."""
    rng, ranks = np.random.default_rng(0), mid_ranks(f) - (len(f) + 1) / 2
    columns = (mid_ranks(y) - (len(y) + 1) / 2)[None]
    if y.dtype == np.int64:
        columns = np.array([(y == k) / np.sqrt(np.sum(y == k)) for k in np.unique(y)])
    seen = [np.sum((columns @ rng.permutation(ranks)) ** 2) for _ in range(count)]
    return (1 + np.sum(seen >= np.sum((columns @ ranks) ** 2) * (1 - 1e-9))) / (1 + count)
