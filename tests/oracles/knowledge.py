"""Slow, dense twins of what knowledge sources compute, from section 8 of the methods' reference."""

from __future__ import annotations

import numpy as np

from tests.oracles import similarities


def laplacian(S: np.ndarray) -> np.ndarray:
    return np.diag(S.sum(axis=1)) - S


def mahalanobis(X: np.ndarray, S: np.ndarray) -> np.ndarray:
    """Squared distances of samples (rows of X) under the covariance K = L^+ of the features."""
    K = np.linalg.pinv(laplacian(S), hermitian=True)
    M = np.linalg.pinv(K, hermitian=True)
    n = len(X)
    d2 = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            gap = X[i] - X[j]
            d2[i, j] = gap @ M @ gap
    return d2


def over_edges(X: np.ndarray, S: np.ndarray) -> np.ndarray:
    """The same, as the sum over pairs of features of s_ab ((x - y)_a - (x - y)_b)^2."""
    n, count = X.shape
    d2 = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            gap = X[i] - X[j]
            for a in range(count):
                for b in range(a):
                    d2[i, j] += S[a, b] * (gap[a] - gap[b]) ** 2
    return d2


def lowest_common_ancestors(paths: list[tuple[str, ...]], depth: int) -> np.ndarray:
    """Depth of the lowest common ancestor over the depth of the tree."""
    S = np.zeros((len(paths), len(paths)))
    for i, one in enumerate(paths):
        for j, other in enumerate(paths):
            shared = 0
            while shared < min(len(one), len(other)) and one[shared] == other[shared]:
                shared += 1
            S[i, j] = shared / depth
    return S


def carried(similarity: np.ndarray, pairs: list[tuple[int, int]], n_features: int) -> np.ndarray:
    """Similarity between features: the highest of those between different ids that they are."""
    S = np.zeros((n_features, n_features))
    for id_a, a in pairs:
        for id_b, b in pairs:
            if id_a != id_b and a != b:
                S[a, b] = max(S[a, b], similarity[id_a, id_b])
    return S


def shared_terms(T: np.ndarray) -> np.ndarray:
    """T T': the number of terms that two features share."""
    return np.array([[float(np.sum(a * b)) for b in T] for a in T])


def cpm(X: np.ndarray) -> np.ndarray:
    """Counts per million of each sample (row)."""
    return np.array([1e6 * row / row.sum() for row in X])


def knn_of(d: np.ndarray, k: int) -> np.ndarray:
    """The graph of k nearest neighbours by distances, with rbf weights."""
    weights = similarities.gaussian(d, "median")
    S = np.zeros_like(d)
    for i in range(len(d)):
        for j in similarities.neighbors(d, i, k):
            S[i, j] = S[j, i] = weights[i, j]
    return S


def scaled(S: np.ndarray, frobenius: bool = False) -> np.ndarray:
    """A similarity by its mean diagonal (without one: by its largest entry), then by its norm."""
    diagonal = [S[i, i] for i in range(len(S))]
    S = S / (sum(diagonal) / len(S) if any(diagonal) else S.max())
    return S / np.sqrt(np.sum(S * S)) if frobenius else S
