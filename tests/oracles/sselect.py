"""A slow, obvious twin of sSelect (Eq. 2.16)."""

from __future__ import annotations

from math import log

import numpy as np

from tests.oracles.spec import eigenpairs, phi2


def sselect(X: np.ndarray, S: np.ndarray, y: np.ndarray, mix: float) -> np.ndarray:
    """Scores of the columns of X; y is -1 where there is no label."""
    values, _ = eigenpairs(S)
    low, high = values[1:].min(), values[1:].max()
    phi = (phi2(X, S, lambda v: v) - low) / (high - low)
    known = y >= 0
    c = len(set(y[known]))
    nmi = np.array([symmetrical_uncertainty(clusters(f[known], c), y[known]) for f in X.T])
    return mix * phi + (1 - mix) * (1 - nmi)


def clusters(f: np.ndarray, c: int) -> np.ndarray:
    return best_two(f) if c == 2 else lloyd(f, c)


def best_two(f: np.ndarray) -> np.ndarray:
    """The two clusters of values with the smallest sum of squares, all cuts tried."""
    best, found = np.inf, np.zeros(len(f), int)
    for cut in sorted(set(f))[:-1]:
        low, high = f[f <= cut], f[f > cut]
        cost = ((low - low.mean()) ** 2).sum() + ((high - high.mean()) ** 2).sum()
        if cost < best - 1e-12 * abs(cost):
            best, found = cost, (f > cut).astype(int)
    return found


def lloyd(f: np.ndarray, c: int) -> np.ndarray:
    """k-means from the quantiles (j + 1/2) / c."""
    centres = [np.quantile(f, (j + 0.5) / c) for j in range(c)]
    label = None
    while True:
        new = np.array([min(range(c), key=lambda j: (abs(v - centres[j]), j)) for v in f])
        if label is not None and np.all(new == label):
            return new
        label = new
        for j in range(c):
            if np.any(label == j):
                centres[j] = f[label == j].mean()


def symmetrical_uncertainty(a: np.ndarray, b: np.ndarray) -> float:
    """2 I / (H(a) + H(b))."""

    def entropy(items: list) -> float:
        shares = [items.count(v) / len(items) for v in set(items)]
        return -sum(p * log(p) for p in shares)

    a, b = a.tolist(), b.tolist()
    both = entropy(a) + entropy(b)
    return 2 * (both - entropy(list(zip(a, b)))) / both
