"""Slow, obvious twins of weighing and fusing similarities (spec, section 8).

Kernels are dense n x n; y holds the class of each sample.
"""

from __future__ import annotations

import numpy as np


def centring(n: int) -> np.ndarray:
    return np.eye(n) - np.ones((n, n)) / n


def centered(K: np.ndarray) -> np.ndarray:
    H = centring(len(K))
    return H @ K @ H


def products(kernels: list[np.ndarray]) -> np.ndarray:
    """<Kc_k, Kc_l>."""
    C = [centered(K) for K in kernels]
    return np.array([[(a * b).sum() for b in C] for a in C])


def indicators(y: np.ndarray) -> np.ndarray:
    return np.array([[float(label == c) for c in np.unique(y)] for label in y])


def alignment(K: np.ndarray, y: np.ndarray) -> float:
    """The cosine between K and YY', both centered."""
    Y = indicators(y)
    a, b = centered(K), centered(Y @ Y.T)
    return (a * b).sum() / np.sqrt((a * a).sum() * (b * b).sum())


def class_alignments(kernels: list[np.ndarray], y: np.ndarray) -> np.ndarray:
    """a_k = <Kc_k, YY'>."""
    Y = indicators(y)
    return np.array([(centered(K) * (Y @ Y.T)).sum() for K in kernels])


def average(
    kernels: list[np.ndarray], places: list[np.ndarray], weights: list[float], n: int
) -> np.ndarray:
    """Pairs averaged over the sources that have them, one pair at a time."""
    S = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            above, below = 0.0, 0.0
            for K, at, w in zip(kernels, places, weights):
                if i in at and j in at:
                    above += w * K[list(at).index(i), list(at).index(j)]
                    below += w
            S[i, j] = sum(weights) * above / below if below else 0.0
    return S


def scaled_class_indicators(y: np.ndarray) -> np.ndarray:
    """h_j = H e_j / sqrt(n_j)."""
    Y = indicators(y)
    return centring(len(y)) @ Y / np.sqrt(Y.sum(axis=0))


def without_negative(G: np.ndarray) -> np.ndarray:
    values, vectors = np.linalg.eigh(G)
    return vectors @ np.diag(np.maximum(values, 0)) @ vectors.T


def discriminant(
    kernels: list[np.ndarray], theta: np.ndarray, h: np.ndarray, lam: float
) -> tuple[float, np.ndarray]:
    """F = sum_j h_j' M^-1 h_j and its gradient, by an explicit inverse.

    theta is scaled so that sum theta_i tr G_i = 1; the gradient is that of the formula itself.
    """
    G = [without_negative(centered(K)) for K in kernels]
    theta = theta / sum(t * np.trace(g) for t, g in zip(theta, G))
    M = np.eye(len(h)) + sum(t * g for t, g in zip(theta, G)) / lam
    inverse = np.linalg.inv(M)
    gradient = np.array([-np.trace(h.T @ inverse @ g @ inverse @ h) / lam for g in G])
    return float(np.trace(h.T @ inverse @ h)), gradient


def cluster_indicators(kernels: list[np.ndarray], theta: np.ndarray, k: int) -> np.ndarray:
    """The k leading eigenvectors of the weighted sum of centered kernels."""
    G = sum(t * without_negative(centered(K)) for t, K in zip(theta, kernels))
    return np.linalg.eigh(G)[1][:, -k:]


def cosine_scaled(K: np.ndarray) -> np.ndarray:
    size = np.sqrt(np.diag(K))
    return K / size[:, None] / size[None, :]


def neighbor_counts(kernels: list[np.ndarray], k: int) -> np.ndarray:
    """W: how many times i and j are neighbors, over kernels and both directions."""
    n = len(kernels[0])
    W = np.zeros((n, n))
    for K in kernels:
        for i in range(n):
            near = sorted((j for j in range(n) if j != i), key=lambda j: (-K[i, j], j))
            for j in near[:k]:
                if K[i, j] != 0 or (K < 0).any():
                    W[i, j] += 1
                    W[j, i] += 1
    return W


def distortions(kernels: list[np.ndarray], W: np.ndarray) -> np.ndarray:
    """S_kl = sum_ij W_ij <Kk_i - Kk_j, Kl_i - Kl_j>."""
    n, count = len(W), len(kernels)
    S = np.zeros((count, count))
    for i in range(n):
        for j in range(n):
            if W[i, j]:
                D = np.array([K[i] - K[j] for K in kernels])
                S += W[i, j] * D @ D.T
    return S


def snf(kernels: list[np.ndarray], neighbors: int, iterations: int) -> np.ndarray:
    """Similarity network fusion, one row at a time."""
    n, count = len(kernels[0]), len(kernels)
    P, S = [], []
    for K in kernels:
        rows = np.array([row / row.sum() for row in K])
        rows = (rows + rows.T) / 2
        kept = np.zeros((n, n))
        for i in range(n):
            limit = sorted(rows[i], reverse=True)[neighbors - 1]
            for j in range(n):
                if rows[i, j] >= limit:
                    kept[i, j] = rows[i, j]
            kept[i] /= kept[i].sum()
        P.append(rows)
        S.append(kept)
    for _ in range(iterations):
        new = []
        for v in range(count):
            others = sum(P[u] for u in range(count) if u != v) / (count - 1)
            own = S[v] @ others @ S[v].T + np.eye(n)
            new.append((own + own.T) / 2)
        P = new
    mean = sum(P) / count
    mean = np.array([row / row.sum() for row in mean])
    return (mean + mean.T + np.eye(n)) / 2
