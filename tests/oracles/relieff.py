"""A slow, obvious twin of ReliefF (Eq. 3.15), one sample and one neighbour at a time."""

from __future__ import annotations

import numpy as np


def scaled(X: np.ndarray) -> np.ndarray:
    """Every feature from 0 to 1; a constant one is 0."""
    Z = np.zeros_like(X)
    for i, f in enumerate(X.T):
        if f.max() > f.min():
            Z[:, i] = (f - f.min()) / (f.max() - f.min())
    return Z


def relieff(X: np.ndarray, y: np.ndarray, k: int) -> np.ndarray:
    """Scores of the columns of X; NaN for constant ones."""
    n, m = X.shape
    Z = scaled(X)
    classes = list(np.unique(y))
    P = {c: np.mean(y == c) for c in classes}
    scores = np.zeros(m)
    for t in range(n):
        distance = [np.abs(Z[t] - Z[j]).sum() for j in range(n)]
        for c in classes:
            others = [j for j in range(n) if y[j] == c and j != t]
            # of a small class as many as each of its samples has beside itself
            nearest = sorted(others, key=lambda j: (distance[j], j))[: min(k, (y == c).sum() - 1)]
            for j in nearest:
                diff = np.abs(Z[t] - Z[j]) / len(nearest)
                scores += -diff if c == y[t] else P[c] / (1 - P[y[t]]) * diff
    scores /= n
    scores[X.max(axis=0) == X.min(axis=0)] = np.nan
    return scores
