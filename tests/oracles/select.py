"""Slow, obvious twins of the ways to cut a ranking, by loops."""

from __future__ import annotations

from math import sqrt

import numpy as np


def one_standard_error(found: np.ndarray) -> tuple[int, int]:
    """Return the best length and the shortest within one standard error, by index.

    `found` is the accuracy by split, fold and length.
    """
    R, K, count = found.shape
    mean = [sum(found[r][k][i] for r in range(R) for k in range(K)) / (R * K) for i in range(count)]
    best = max(range(count), key=lambda i: (mean[i], -i))
    squares = []
    for r in range(R):
        of_split = [float(v) for v in found[r, :, best]]
        center = sum(of_split) / K
        squares.append(sum((v - center) ** 2 for v in of_split) / (K - 1) / K)
    least = mean[best] - sqrt(sum(squares) / R)
    return best, next(i for i in range(count) if mean[i] >= least)
