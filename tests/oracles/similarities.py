"""Slow, obvious twins of every sample similarity, from X (samples x features), pair by pair."""

from __future__ import annotations

import math

import numpy as np


def distances(X: np.ndarray) -> np.ndarray:
    n = len(X)
    d = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            d[i, j] = math.sqrt(np.sum((X[i] - X[j]) ** 2))
    return d


def median_distance(d: np.ndarray) -> float:
    n = len(d)
    return float(
        np.median([d[i, j] for i in range(n) for j in range(i + 1, n) if math.isfinite(d[i, j])])
    )


def gaussian(d: np.ndarray, bandwidth: float | str) -> np.ndarray:
    """exp(-d^2 / (2 delta^2)), or exp(-d^2 / (delta_i delta_j)) by the 7th neighbor."""
    n = len(d)
    S = np.zeros((n, n))
    delta = median_distance(d) if bandwidth == "median" else bandwidth
    for i in range(n):
        for j in range(n):
            if bandwidth == "self-tuning":
                scale = seventh_distance(d, i) * seventh_distance(d, j)
            else:
                scale = 2 * float(delta) ** 2
            S[i, j] = math.exp(-(d[i, j] ** 2) / scale)
    return S


def seventh_distance(d: np.ndarray, i: int) -> float:
    return sorted(d[i, j] for j in range(len(d)) if j != i)[6]


def neighbors(d: np.ndarray, i: int, k: int, among: list[int] | None = None) -> list[int]:
    """The k nearest samples to i but itself, ties by index."""
    candidates = range(len(d)) if among is None else among
    return sorted((j for j in candidates if j != i), key=lambda j: (d[i, j], j))[:k]


def rbf(X: np.ndarray, bandwidth: float | str = "median") -> np.ndarray:
    return gaussian(distances(X), bandwidth)


def knn(
    X: np.ndarray,
    k: int,
    weight: str = "rbf",
    bandwidth: float | str = "median",
    d: np.ndarray | None = None,
) -> np.ndarray:
    d = distances(X) if d is None else d
    weights = gaussian(d, bandwidth) if weight == "rbf" else np.ones_like(d)
    S = np.zeros_like(d)
    for i in range(len(d)):
        for j in neighbors(d, i, k):
            S[i, j] = S[j, i] = weights[i, j]
    return S


def profile_distances(X: np.ndarray) -> np.ndarray:
    """Roots of 2 (1 - r), r by hand between the samples, of features less their means."""
    centered = X - X.mean(axis=0)
    n = len(X)
    d = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            a, b = centered[i] - centered[i].mean(), centered[j] - centered[j].mean()
            if i != j:
                r = np.sum(a * b) / math.sqrt(np.sum(a * a) * np.sum(b * b))
                d[i, j] = math.sqrt(2 * (1 - r))
    return d


def knn_correlation(
    X: np.ndarray, k: int, weight: str = "rbf", bandwidth: float | str = "median"
) -> np.ndarray:
    return knn(X, k, weight, bandwidth, d=profile_distances(X))


def path_lengths(X: np.ndarray, k: int) -> np.ndarray:
    """Shortest paths over the knn graph, by Floyd and Warshall's three loops."""
    d = distances(X)
    n = len(d)
    paths = np.full((n, n), np.inf)
    for i in range(n):
        paths[i, i] = 0.0
        for j in neighbors(d, i, k):
            paths[i, j] = paths[j, i] = d[i, j]
    for via in range(n):
        for i in range(n):
            for j in range(n):
                paths[i, j] = min(paths[i, j], paths[i, via] + paths[via, j])
    return paths


def geodesic(X: np.ndarray, k: int) -> np.ndarray:
    return gaussian(path_lengths(X, k), "median")


def diffusion(X: np.ndarray, k: int, beta: float = 1.0) -> np.ndarray:
    S = knn(X, k)
    degrees = S.sum(axis=1)
    N = np.eye(len(S)) - S / np.sqrt(np.outer(degrees, degrees))
    values, vectors = np.linalg.eigh(N)
    return sum(math.exp(-beta * v) * np.outer(u, u) for v, u in zip(values, vectors.T))


def label(y: np.ndarray) -> np.ndarray:
    n = len(y)
    S = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            if y[i] == y[j]:
                S[i, j] = 1 / sum(1 for other in y if other == y[i])
    return S


def relieff(X: np.ndarray, y: np.ndarray, k: int) -> np.ndarray:
    d = distances(X)
    n = len(d)
    classes = sorted(set(y))
    A = np.zeros((n, n))
    for i in range(n):
        A[i, i] = 1.0
        for c in classes:
            members = [j for j in range(n) if y[j] == c]
            near = neighbors(d, i, min(k, len(members) - 1), among=members)
            for j in near:
                A[i, j] = 1 / len(near) if c == y[i] else -1 / ((len(classes) - 1) * len(near))
    return (A + A.T) / 2


def linear(X: np.ndarray) -> np.ndarray:
    n = len(X)
    Z = X - X.mean(axis=0)
    return np.array([[np.sum(Z[i] * Z[j]) for j in range(n)] for i in range(n)])


def correlation(X: np.ndarray) -> np.ndarray:
    n = len(X)
    S = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            a, b = X[i] - X[i].mean(), X[j] - X[j].mean()
            S[i, j] = (1 + np.sum(a * b) / math.sqrt(np.sum(a * a) * np.sum(b * b))) / 2
    return S
