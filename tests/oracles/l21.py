"""Slow, obvious twins of the l2,1 penalized regression and its responses (Eq. 4.2-4.16).

X is samples x features. ``min_W 1/2 |Y - X W|_F^2 + lam sum_i |w^i|`` over features that are
centred and of unit norm; solved one row at a time until nothing changes.
"""

from __future__ import annotations

import numpy as np


def unit_features(X: np.ndarray) -> np.ndarray:
    """Centred columns of unit norm; constant ones are zero."""
    F = X - X.mean(axis=0)
    norms = np.sqrt((F**2).sum(axis=0))
    norms[np.ptp(X, axis=0) == 0] = np.inf
    return F / norms


def centred(Y: np.ndarray) -> np.ndarray:
    return Y - Y.mean(axis=0)


def objective(F: np.ndarray, Y: np.ndarray, W: np.ndarray, lam: float) -> float:
    return 0.5 * ((Y - F @ W) ** 2).sum() + lam * np.sqrt((W**2).sum(axis=1)).sum()


def duality_gap(F: np.ndarray, Y: np.ndarray, W: np.ndarray, lam: float) -> float:
    """Relative to the objective, with the residual scaled until it is feasible."""
    R = Y - F @ W
    worst = np.sqrt(((F.T @ R) ** 2).sum(axis=1)).max()
    Q = R * min(1.0, lam / worst)
    dual = 0.5 * (Y**2).sum() - 0.5 * ((Y - Q) ** 2).sum()
    primal = objective(F, Y, W, lam)
    return (primal - dual) / primal


def coordinate_descent(
    F: np.ndarray, Y: np.ndarray, lam: float, tol: float = 1e-13, sweeps: int = 200_000
) -> np.ndarray:
    """Each row of W in turn has a closed form: shrink f_i' (R + f_i w_i)."""
    W = np.zeros((F.shape[1], Y.shape[1]))
    R = Y.copy()
    used = [i for i in range(F.shape[1]) if F[:, i].any()]
    for _ in range(sweeps):
        change = 0.0
        for i in used:
            old = W[i].copy()
            z = F[:, i] @ R + old
            size = np.sqrt((z**2).sum())
            W[i] = z * max(0.0, 1 - lam / size) if size > 0 else 0.0
            if (W[i] != old).any():
                R -= np.outer(F[:, i], W[i] - old)
                change = max(change, np.abs(W[i] - old).max())
        if change <= tol * np.abs(W).max():
            return W
    raise AssertionError("coordinate descent has not converged")


def descent_beside_given(
    F: np.ndarray, Z: np.ndarray, Y: np.ndarray, lam: float, tol: float = 1e-12
) -> tuple[np.ndarray, np.ndarray]:
    """W and B of ``1/2 |Y - Z B - F W|^2 + lam sum |w^i|``: features Z have no penalty.

    B by least squares and W by a few sweeps of coordinate descent in turn, until nothing changes.
    """
    W = np.zeros((F.shape[1], Y.shape[1]))
    while True:
        before = W.copy()
        B = np.linalg.lstsq(Z, Y - F @ W)[0]
        R = Y - Z @ B - F @ W
        for i in range(F.shape[1]):
            square = F[:, i] @ F[:, i]
            z = F[:, i] @ R + W[i] * square
            size = np.sqrt((z**2).sum())
            new = z * max(0.0, 1 - lam / size) / square if size > lam else 0 * z
            R -= np.outer(F[:, i], new - W[i])
            W[i] = new
        if np.abs(W - before).max() <= tol * max(np.abs(W).max(), 1e-300):
            return W, B


def similarity_response(S: np.ndarray) -> np.ndarray:
    """Eq. 4.2, column by column."""
    values, vectors = np.linalg.eigh(S)
    kept = [j for j in range(len(S)) if values[j] > 1e-10 * values.max()]
    return np.column_stack([np.sqrt(values[j]) * vectors[:, j] for j in kept])


def lda_response(y: np.ndarray) -> np.ndarray:
    """Eq. 4.15, entry by entry."""
    n, classes = len(y), np.unique(y)
    Y = np.empty((n, len(classes)))
    for j, c in enumerate(classes):
        n_j = (y == c).sum()
        for i in range(n):
            Y[i, j] = -np.sqrt(n_j / n)
            if y[i] == c:
                Y[i, j] += np.sqrt(n / n_j)
    return Y


def svm_response(y: np.ndarray) -> np.ndarray:
    """Eq. 4.16, entry by entry."""
    return np.array([[1.0 if label == c else -1.0 for c in np.unique(y)] for label in y])


def shuffled(F: np.ndarray, Y: np.ndarray, draws: int) -> np.ndarray:
    """``|f' Y|`` of the columns f of F (n, m), each with its samples shuffled; shape (draws, m)."""
    rng, found = np.random.default_rng(0), np.empty((draws, F.shape[1]))
    for row in found:
        for j, f in enumerate(F.T):
            row[j] = np.linalg.norm(rng.permutation(f) @ Y)
    return found
