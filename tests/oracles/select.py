"""Slow, obvious twins of the ways to cut a ranking, by loops."""

from __future__ import annotations

import hashlib
from math import inf, sqrt

import numpy as np


def compete(level: np.ndarray, bound: float) -> list[int]:
    """Return the features that win before the smallest threshold that passes the bound.

    `level` has the features, and below them their copies. A feature wins if it is better than all
    its copies, and loses if one of them is better than it; both count from the best of them on.
    """
    R, m = len(level) - 1, level.shape[1]
    strength = [float(max(level[:, i])) for i in range(m)]
    for threshold in sorted({s for s in strength if s > -inf}):
        strong = [i for i in range(m) if strength[i] >= threshold]
        won = [i for i in strong if all(level[0, i] > level[r, i] for r in range(1, R + 1))]
        lost = [i for i in strong if any(level[0, i] < level[r, i] for r in range(1, R + 1))]
        if won and (1 + len(lost)) / R / len(won) <= bound:
            return won
    return []


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


def order(name: str, draw: int, seed: int, n: int) -> list[int]:
    """Return the samples sorted by the numbers of SplitMix64, from a digest of the name."""
    digest = hashlib.blake2b(f"{seed}\0{draw}\0{name}".encode(), digest_size=8).digest()
    state, mask = int.from_bytes(digest, "little"), 2**64 - 1
    keys = []
    for _ in range(n):
        state = (state + 0x9E3779B97F4A7C15) & mask
        z = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        keys.append(z ^ (z >> 31))
    return sorted(range(n), key=lambda i: keys[i])
