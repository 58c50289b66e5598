"""Slow, obvious twins of GDCOV, of the greedy path of sparse PCA, of HSIC and of Trace Ratio.

X is samples x features, float64; S is the dense sample similarity.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np

Gamma = Callable[[np.ndarray], np.ndarray]


def spectral_matrix(A: np.ndarray, gamma: Gamma, zero: float = 1e-9) -> np.ndarray:
    """U gamma(Sigma) U', with gamma(0) = 0 for every eigenvalue that is 0 to rounding."""
    values, U = np.linalg.eigh(A)
    weights = np.zeros(len(A))
    for j, value in enumerate(values):
        if abs(value) > zero * np.abs(values).max():
            weights[j] = gamma(np.array([value]))[0]
    return U @ np.diag(weights) @ U.T


def gdcov_1(X: np.ndarray, S: np.ndarray, gamma: Gamma) -> np.ndarray:
    """Definition 1, m x m."""
    L = np.diag(S.sum(axis=1)) - S
    centred = X - X.mean(axis=0)
    return centred.T @ spectral_matrix(L, gamma) @ centred / (len(X) - 1)


def gdcov_3(X: np.ndarray, S: np.ndarray, gamma: Gamma) -> np.ndarray:
    """Definition 3, m x m."""
    d = S.sum(axis=1)
    N = (np.diag(d) - S) / np.sqrt(np.outer(d, d))
    tilde = np.sqrt(d)[:, None] * X
    tilde = tilde / np.linalg.norm(tilde, axis=0)
    return tilde.T @ spectral_matrix(N, gamma) @ tilde / (len(X) - 1)


def greedy_path(
    C: np.ndarray, select: int, given: Sequence[int] = ()
) -> tuple[list[int], list[float]]:
    """The path on a covariance, m x m, from given features on: features and variances."""
    values, U = np.linalg.eigh(C)
    return greedy_path_of_rows(U * np.sqrt(np.maximum(values, 0)), select, given)


def greedy_path_of_rows(
    B: np.ndarray, select: int, given: Sequence[int] = ()
) -> tuple[list[int], list[float]]:
    """The path on C = B B'."""
    chosen, variances = list(given) or [int(np.argmax((B * B).sum(axis=1)))], []
    while True:
        values, vectors = np.linalg.eigh(B[chosen].T @ B[chosen])
        variances.append(float(values[-1]))
        if len(chosen) == len(given) + select:
            return chosen[len(given) :], variances[1:] if given else variances
        value = (B @ vectors[:, -1]) ** 2
        value[chosen] = -1
        chosen.append(int(np.argmax(value)))


def hsic(f: np.ndarray, L: np.ndarray) -> float:
    """The unbiased estimator of Song et al. 2007, with explicit kernels."""
    n = len(f)
    K, L = np.outer(f, f), L.copy()
    np.fill_diagonal(K, 0)
    np.fill_diagonal(L, 0)
    one = np.ones(n)
    first = np.trace(K @ L)
    second = (one @ K @ one) * (one @ L @ one) / ((n - 1) * (n - 2))
    third = 2 / (n - 2) * (one @ K @ L @ one)
    return float(first + second - third) / (n * (n - 3))


def scatters(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Between and within classes, from the matrices L_b and L_w."""
    n = len(X)
    W = np.zeros((n, n))
    for c in np.unique(y):
        W[np.ix_(y == c, y == c)] = 1 / np.sum(y == c)
    L_w, L_b = np.eye(n) - W, W - np.ones((n, n)) / n
    return np.diag(X.T @ L_b @ X), np.diag(X.T @ L_w @ X)


def graph_scatters(X: np.ndarray, S: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Around the D-weighted mean and within the graph, from the matrices L_b and L_w."""
    d = S.sum(axis=1)
    L_w, L_b = np.diag(d) - S, np.diag(d) - np.outer(d, d) / d.sum()
    return np.diag(X.T @ L_b @ X), np.diag(X.T @ L_w @ X)


def best_ratio(b: np.ndarray, w: np.ndarray, select: int) -> float:
    """The largest sum(b) / sum(w) over all sets of that size."""
    sets = combinations(range(len(b)), select)
    return max(b[list(chosen)].sum() / w[list(chosen)].sum() for chosen in sets)
