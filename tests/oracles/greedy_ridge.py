"""Slow, obvious twin of the greedy ridge: every inverse is made anew, and nothing is left out."""

from __future__ import annotations

import numpy as np

from tests.oracles import similarities
from tests.oracles.l21 import unit_features


def positive_part(S: np.ndarray) -> np.ndarray:
    """The positive part of a similarity, centered."""
    values, vectors = np.linalg.eigh(S)
    n = len(S)
    H = np.eye(n) - np.ones((n, n)) / n
    return H @ (vectors * np.maximum(values, 0)) @ vectors.T @ H


def left_by_a_ridge_fit(F: np.ndarray, picked: list[int], penalty: float) -> np.ndarray:
    B = F[:, picked]
    return np.linalg.inv(np.eye(len(F)) + B @ B.T / penalty)


def candidates(value: np.ndarray, most: int) -> list[int]:
    return sorted(range(len(value)), key=lambda j: (-value[j], j))[:most]


def greedy_ridge(
    X: np.ndarray, S: np.ndarray, select: int, most: int
) -> tuple[list[int], np.ndarray]:
    """The selected features of X (samples x features) in order, and the scores of all.

    `most` is the number of candidates.
    """
    F, first = unit_features(X), positive_part(S)
    among = candidates(np.array([f @ first @ f for f in F.T]), most)
    picked: list[int] = []
    while len(picked) < min(200, max(3, -(-X.shape[1] // 2))):
        A = left_by_a_ridge_fit(F, picked, 10)
        value = {j: F[:, j] @ A @ first @ A @ F[:, j] for j in among if j not in picked}
        picked.append(max(value, key=value.__getitem__))
    G = positive_part(similarities.knn_correlation(F[:, picked], min(5, len(X) - 1)))
    q = np.array([f @ G @ f for f in F.T])
    score = q / q.max()
    among, order = candidates(q, most), []
    while len(order) < select:
        A = left_by_a_ridge_fit(F, order, 30)
        value = {j: q[j] / q.max() * (F[:, j] @ A @ F[:, j]) for j in among if j not in order}
        order.append(max(value, key=value.__getitem__))
        score[order[-1]] = 1 + value[order[-1]]
    return order, score
