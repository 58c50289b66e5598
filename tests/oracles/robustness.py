"""Slow twins of the scores of SPEC on a perturbed Laplacian, and of their bounds, by loops.

Theorems 5 and 6 of the dissertation (Section 2.4), each eigenpair by itself. A Laplacian is given
with its trivial eigenvector, which is kept; f is one feature, d the degrees.
"""

from __future__ import annotations

from collections.abc import Callable
from math import asin, inf, sin, sqrt

import numpy as np

Gamma = Callable[[float], float]


def normalized(S: np.ndarray) -> np.ndarray:
    """Return the normalized Laplacian."""
    d = S.sum(axis=1)
    return (np.diag(d) - S) / np.sqrt(np.outer(d, d))


def inside(L: np.ndarray, trivial: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return L on the complement of a unit vector, and a basis of that, (n, n - 1)."""
    v = trivial.copy()
    v[0] += 1.0
    basis = (np.eye(len(L)) - 2.0 * np.outer(v, v) / (v @ v))[:, 1:]
    return basis.T @ L @ basis, basis


def eigenpairs(L: np.ndarray, trivial: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the eigenpairs, the trivial one first, the others those of the complement."""
    part, basis = inside(L, trivial)
    values, vectors = np.linalg.eigh(part)
    return np.r_[0.0, values], np.column_stack([trivial, basis @ vectors])


def score(f: np.ndarray, d: np.ndarray, L: np.ndarray, ranking: str, gamma: Gamma, k: int) -> float:
    """Return phi1, phi2 or phi3 of a feature (Eq. 2.6-2.8) on a Laplacian."""
    trivial = np.sqrt(d) / np.linalg.norm(np.sqrt(d))
    values, vectors = eigenpairs(L, trivial)
    g = np.sqrt(d) * f
    squares = [(xi @ g) ** 2 / (g @ g) for xi in vectors.T]
    if ranking == "phi1":
        return sum(gamma(v) * a for v, a in zip(values, squares))
    if ranking == "phi2":
        return sum(gamma(v) * a for v, a in zip(values[1:], squares[1:])) / sum(squares[1:])
    return sum((gamma(2.0) - gamma(v)) * a for v, a in zip(values[1:k], squares[1:k]))


def bound(
    L: np.ndarray,
    perturbed: np.ndarray,
    trivial: np.ndarray,
    distance: float,
    ranking: str,
    gamma: Gamma,
    k: int,
) -> float:
    """Return the bound of the theorems, mended: a term for each eigenpair of the sum."""
    before, after = (eigenpairs(M, trivial)[0] for M in (L, perturbed))
    part, _ = inside(perturbed - L, trivial)
    size = np.linalg.norm(part, 2)
    last = k if ranking == "phi3" else len(L)
    total = 0.0
    for j in range(0 if ranking == "phi1" else 1, last):
        others = [abs(after[i] - after[j]) for i in range(1, len(L)) if i != j]
        gap = min(others, default=inf)
        if j == 0:
            turned, change = 0.0, 0.0
        else:
            turned = sin(asin(2 * size / gap) / 2) if 2 * size < gap else 1.0
            change = gamma(before[j] + size) - gamma(before[j])
        weight = gamma(before[j])
        if ranking == "phi3":
            weight = gamma(2.0) - weight
        total += weight * (turned + 2 * distance + distance**2) + change
    return total


def unit(f: np.ndarray, d: np.ndarray, ranking: str) -> np.ndarray:
    """Return the unit vector of a feature: for phi2 that of its part outside of D^1/2 1."""
    g = np.sqrt(d) * (f - (d @ f) / sum(d) if ranking == "phi2" else f)
    return g / sqrt(g @ g)
