"""Slow, obvious twins of RFS: its objective, the paper's iteration, and an independent optimum.

X is samples x features, Y one-hot. Features are z-scored and a feature of ones is appended, which
is penalised like the others.
"""

from __future__ import annotations

import numpy as np


def design(X: np.ndarray) -> np.ndarray:
    """z-scored features and a last one of ones; a constant feature is left out as zeros."""
    centred = X - X.mean(axis=0)
    spread = X.std(axis=0)
    varies = spread > 1e-12 * np.abs(X).max(axis=0)
    Z = np.where(varies, centred / np.where(varies, spread, 1), 0.0)
    return np.column_stack([Z, np.ones(len(X))])


def one_hot(y: np.ndarray) -> np.ndarray:
    return (y[:, None] == np.unique(y)).astype(float)


def l21(A: np.ndarray) -> float:
    return float(sum(np.sqrt(row @ row) for row in A))


def objective(X: np.ndarray, y: np.ndarray, W: np.ndarray, gamma: float) -> float:
    """Eq. 10; the last row of W is the bias."""
    return l21(design(X) @ W - one_hot(y)) + gamma * l21(W)


def published(X: np.ndarray, y: np.ndarray, gamma: float, iterations: int) -> np.ndarray:
    """Algorithm 1, with the (m + 1 + n) x (m + 1 + n) matrix D; returns W."""
    D1 = design(X)
    n, m = D1.shape
    A = np.hstack([D1, gamma * np.eye(n)])
    D_inverse = np.eye(m + n)
    for _ in range(iterations):
        U = D_inverse @ A.T @ np.linalg.solve(A @ D_inverse @ A.T, one_hot(y))
        D_inverse = np.diag(2 * np.maximum(np.linalg.norm(U, axis=1), 1e-14))
    return U[:m]


def shrink(V: np.ndarray, amount: float) -> np.ndarray:
    size = np.linalg.norm(V, axis=1, keepdims=True)
    return V * np.maximum(1 - amount / np.maximum(size, 1e-300), 0)


def optimum(
    X: np.ndarray, y: np.ndarray, gamma: float, gap: float = 2e-7, most: int = 400_000
) -> tuple[float, float]:
    """Bounds of the optimal value, from above and below, by Douglas-Rachford splitting.

    The problem is min |U|_{2,1} subject to A U = Y. A multiplier is a row-wise subgradient in the
    range of A'; scaled into the unit balls it bounds the optimum from below.
    """
    Y = one_hot(y)
    A = np.hstack([design(X) / gamma, np.eye(len(Y))])
    inverse = np.linalg.pinv(A)
    upper, lower = np.inf, -np.inf
    amount = np.linalg.norm(inverse @ Y) / np.sqrt(A.shape[1])
    V = inverse @ Y
    for step in range(most):
        U = shrink(V, amount)
        reflected = 2 * U - V
        feasible = reflected + inverse @ (Y - A @ reflected)
        if step % 50 == 0:
            upper = min(upper, l21(feasible))
            Z = inverse.T @ (V - U) / amount
            Z /= max(1.0, np.linalg.norm(A.T @ Z, axis=1).max())
            lower = max(lower, float(np.sum(Z * Y)))
            if upper - lower <= gap * upper:
                break
        V = V + feasible - U
    return upper, lower
