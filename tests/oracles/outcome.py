"""Slow, obvious twins of what is done with an outcome: a number of each sample.

X is samples x features, y the outcome, both float64.
"""

from __future__ import annotations

import numpy as np

from tests.oracles.relieff import scaled


def pearson(f: np.ndarray, y: np.ndarray) -> float:
    """The correlation of two vectors, by its definition."""
    a, b = f - f.mean(), y - y.mean()
    return float((a * b).sum() / np.sqrt((a * a).sum() * (b * b).sum()))


def f_regression(f: np.ndarray, y: np.ndarray) -> float:
    """The explained over the residual mean square of the line through all samples."""
    slope, intercept = np.polyfit(y, f, 1)
    fitted = slope * y + intercept
    explained = ((fitted - f.mean()) ** 2).sum()
    return float(explained / (((f - fitted) ** 2).sum() / (len(f) - 2)))


def rrelieff(X: np.ndarray, y: np.ndarray, k: int) -> np.ndarray:
    """RReliefF by its pseudo code, each sample used once; NaN for constant features."""
    n, m = X.shape
    Z = scaled(X)
    change_y, change_f, change_both = 0.0, np.zeros(m), np.zeros(m)
    for i in range(n):
        distance = [np.abs(Z[i] - Z[j]).sum() for j in range(n)]
        nearest = sorted((j for j in range(n) if j != i), key=lambda j: (distance[j], j))[:k]
        for j in nearest:
            diff_y = abs(y[i] - y[j]) / (y.max() - y.min())
            diff_f = np.abs(Z[i] - Z[j])
            change_y += diff_y / len(nearest)
            change_f += diff_f / len(nearest)
            change_both += diff_y * diff_f / len(nearest)
    rest = np.zeros(m) if n == change_y else (change_f - change_both) / (n - change_y)
    scores = change_both / change_y - rest
    scores[X.max(axis=0) == X.min(axis=0)] = np.nan
    return scores


def kernel(y: np.ndarray) -> np.ndarray:
    """The Gaussian kernel of the differences, as wide as the median one that is not zero."""
    n = len(y)
    gaps = [abs(y[i] - y[j]) for i in range(n) for j in range(i) if y[i] != y[j]]
    width = float(np.median(gaps))
    return np.array([[np.exp(-((a - b) ** 2) / (2 * width**2)) for b in y] for a in y])


def rfs(X: np.ndarray, y: np.ndarray, gamma: float) -> float:
    """The optimum of RFS with one column: least absolute deviations and coefficients, by LP."""
    from scipy.optimize import linprog

    Z = np.column_stack([(X - X.mean(axis=0)) / X.std(axis=0), np.ones(len(X))])
    target = (y - y.mean()) / y.std()
    n, p = Z.shape
    # variables: w+, w-, e+, e- >= 0 with Z (w+ - w-) + e+ - e- = target
    cost = np.r_[np.full(2 * p, gamma), np.ones(2 * n)]
    equations = np.hstack([Z, -Z, np.eye(n), -np.eye(n)])
    return float(linprog(cost, A_eq=equations, b_eq=target, method="highs").fun)


def rfs_pull(X: np.ndarray, y: np.ndarray, gamma: float) -> np.ndarray:
    """How near each feature is to having weight in RFS with one column, by the dual program."""
    from scipy.optimize import linprog

    Z = np.column_stack([(X - X.mean(axis=0)) / X.std(axis=0), np.ones(len(X))])
    target = (y - y.mean()) / y.std()
    bounds = np.full(2 * Z.shape[1], gamma)
    dual = linprog(-target, np.vstack([Z.T, -Z.T]), bounds, bounds=(-1, 1), method="highs").x
    return np.minimum(1, np.abs(Z[:, :-1].T @ dual) / gamma)


def mutual_information(f: np.ndarray, y: np.ndarray, k: int = 3) -> float:
    """Kraskov et al. 2004, Eq. 8, sample by sample; not cut at 0."""
    from scipy.special import digamma

    n, terms = len(f), []
    for i in range(n):
        gaps = [(abs(f[j] - f[i]), abs(y[j] - y[i])) for j in range(n) if j != i]
        radius = sorted(max(gap) for gap in gaps)[k - 1]
        term = digamma(sum(max(gap) <= radius * (1 + 1e-9) for gap in gaps))
        for axis in (0, 1):
            nearer = sum(gap[axis] < radius * (1 - 1e-9) for gap in gaps)
            as_near = sum(gap[axis] <= radius * (1 + 1e-9) for gap in gaps)
            term -= digamma(max(nearer + 1, as_near))
        terms.append(term)
    return float(digamma(n) + np.mean(terms))
