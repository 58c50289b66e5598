"""Slow, obvious twins of SPEC and of its special cases, from all eigenpairs of N.

X is samples x features, float64; S is the dense sample similarity; gamma maps an array of
eigenvalues. A constant feature scores NaN. Features are centred by their D-weighted mean before
anything that does not depend on it, for accuracy under large offsets.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Gamma = Callable[[np.ndarray], np.ndarray]


def eigenpairs(S: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eigenpairs of N, ascending, the first exactly (0, D^1/2 1 / |D^1/2 1|).

    The others are found in the complement of the first, also when 0 is a multiple eigenvalue.
    """
    n = len(S)
    d = S.sum(axis=1)
    N = (np.diag(d) - S) / np.sqrt(np.outer(d, d))
    first = np.sqrt(d) / np.linalg.norm(np.sqrt(d))
    # the Householder reflection that takes `first` to -e_1; its other columns span the complement
    v = first.copy()
    v[0] += 1.0
    complement = (np.eye(n) - 2.0 * np.outer(v, v) / (v @ v))[:, 1:]
    values, vectors = np.linalg.eigh(complement.T @ N @ complement)
    return np.r_[0.0, values], np.column_stack([first, complement @ vectors])


def weighted_centre(f: np.ndarray, d: np.ndarray) -> np.ndarray:
    """Subtract the D-weighted mean."""
    centred = f - f.mean()
    return centred - (d @ centred) / d.sum()


def projections(X: np.ndarray, S: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Eigenvalues, squared projections xi_j . D^1/2 f (n x m), and |D^1/2 f|^2 (m)."""
    d = S.sum(axis=1)
    values, xi = eigenpairs(S)
    squares = np.full((len(X), X.shape[1]), np.nan)
    norms = np.full(X.shape[1], np.nan)
    for i, f in enumerate(X.T):
        if np.all(f == f[0]):
            continue
        squares[:, i] = (xi.T @ (np.sqrt(d) * weighted_centre(f, d))) ** 2
        squares[0, i] = (xi[:, 0] @ (np.sqrt(d) * f)) ** 2
        norms[i] = d @ f**2
    return values, squares, norms


def phi1(X: np.ndarray, S: np.ndarray, gamma: Gamma) -> np.ndarray:
    """Eq. 2.6."""
    values, squares, norms = projections(X, S)
    return gamma(values) @ squares / norms


def phi2(X: np.ndarray, S: np.ndarray, gamma: Gamma) -> np.ndarray:
    """Eq. 2.7: the sum without the first eigenpair over the share that it leaves."""
    values, squares, _ = projections(X, S)
    return gamma(values)[1:] @ squares[1:] / squares[1:].sum(axis=0)


def phi3(X: np.ndarray, S: np.ndarray, gamma: Gamma, k: int) -> np.ndarray:
    """Eq. 2.8."""
    values, squares, norms = projections(X, S)
    weights = gamma(np.array([2.0])) - gamma(values)
    return weights[1:k] @ squares[1:k] / norms


def laplacian_score(X: np.ndarray, S: np.ndarray) -> np.ndarray:
    """Eq. 3.11."""
    d = S.sum(axis=1)
    scores = np.full(X.shape[1], np.nan)
    for i, f in enumerate(X.T):
        if np.all(f == f[0]):
            continue
        f_tilde = weighted_centre(f, d)
        scores[i] = (f_tilde @ (d * f_tilde - S @ f_tilde)) / (f_tilde @ (d * f_tilde))
    return scores


def fisher_score(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Eq. 3.12, with the population variance within each class."""
    scores = np.full(X.shape[1], np.nan)
    for i, f in enumerate(X.T):
        if np.all(f == f[0]):
            continue
        f = f - f.mean()
        between = within = 0.0
        for c in np.unique(y):
            inside = f[y == c]
            between += len(inside) * inside.mean() ** 2
            within += len(inside) * inside.var()
        scores[i] = between / within if within > 0 else np.inf
    return scores


def choose_clusters(S: np.ndarray, max_clusters: int) -> int:
    """The k in 2..max_clusters with the largest gap lambda_{k+1} - lambda_k, first of equals."""
    values, _ = eigenpairs(S)
    gaps = {k: values[k] - values[k - 1] for k in range(2, max_clusters + 1)}
    return max(gaps, key=lambda k: gaps[k])
