"""Slow, obvious twins of the modules: groups by average linkage, and their mean profiles."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from tests.oracles.prune import pearson


def groups(X: np.ndarray, least: float) -> list[list[int]]:
    """Join the two groups of features with the largest mean absolute correlation, while it is large
    enough; return the groups of two or more, the largest first. X is samples x features."""
    m = X.shape[1]
    r = [[abs(pearson(X[:, i], X[:, j])) for j in range(m)] for i in range(m)]

    def mean(a: list[int], b: list[int]) -> float:
        return float(np.mean([r[i][j] for i in a for j in b]))

    found = [[i] for i in range(m)]
    while len(found) > 1:
        a, b = max(combinations(found, 2), key=lambda pair: mean(*pair))
        if mean(a, b) < least:
            break
        found = [each for each in found if each not in (a, b)] + [sorted(a + b)]
    return sorted([g for g in found if len(g) > 1], key=lambda g: (-len(g), g[0]))


def profile(X: np.ndarray, members: list[int]) -> np.ndarray:
    """The mean of z-scores, those of members that oppose the first one with the other sign."""
    total = np.zeros(len(X))
    for i in members:
        f = X[:, i]
        sign = -1 if pearson(X[:, members[0]], f) < 0 else 1
        total += sign * (f - f.mean()) / f.std()
    return total / len(members)


def eigengene(X: np.ndarray, members: list[int]) -> tuple[np.ndarray, float]:
    """The first right singular vector of the z-scores of the members, with the sign of the profile,
    and its part of the sum of squares."""
    z = np.array([(X[:, i] - X[:, i].mean()) / X[:, i].std() for i in members])
    _, singular, right = np.linalg.svd(z, full_matrices=False)
    sign = 1 if right[0] @ profile(X, members) > 0 else -1
    return sign * right[0], singular[0] ** 2 / (singular**2).sum()
