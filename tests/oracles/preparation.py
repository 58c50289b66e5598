"""Slow, obvious twins of the preparation of a matrix, value by value, features in rows."""

from __future__ import annotations

from math import log, sqrt

import numpy as np


def unit_samples(X: np.ndarray) -> np.ndarray:
    """Every sample over its Euclidean norm."""
    return np.column_stack([column / sqrt(sum(v * v for v in column)) for column in X.T])


def quantile_normalized(X: np.ndarray) -> np.ndarray:
    """Each value becomes the mean, over the samples, of the values at its place in their order.

    Equal values of a sample share the mean of what their places have.
    """
    m, n = X.shape
    ordered = [sorted(X[:, j].tolist()) for j in range(n)]
    mean = [sum(column[k] for column in ordered) / n for k in range(m)]
    found = np.zeros(X.shape)
    for (i, j), value in np.ndenumerate(X):
        places = [k for k in range(m) if ordered[j][k] == value]
        found[i, j] = sum(mean[k] for k in places) / len(places)
    return found


def expected_counts(X: np.ndarray) -> np.ndarray:
    """The total of the feature times the total of the sample, over the total of all."""
    m, n = X.shape
    return np.array([[X[i].sum() * X[:, j].sum() / X.sum() for j in range(n)] for i in range(m)])


def pearson_residuals(X: np.ndarray, theta: float = 100) -> np.ndarray:
    """Residuals over the standard deviation of a negative binomial, clipped to sqrt(n)."""
    bound, found = sqrt(X.shape[1]), np.zeros(X.shape)
    for (i, j), mu in np.ndenumerate(expected_counts(X)):
        if mu > 0:
            residual = (X[i, j] - mu) / sqrt(mu + mu**2 / theta)
            found[i, j] = min(max(residual, -bound), bound)
    return found


def binomial_deviance_residuals(X: np.ndarray) -> np.ndarray:
    """Signed root of what each value adds to the deviance of a binomial with N trials."""
    found = np.zeros(X.shape)
    for (i, j), mu in np.ndenumerate(expected_counts(X)):
        x, N = X[i, j], X[:, j].sum()
        success = x * log(x / mu) if x > 0 else 0.0
        failure = (N - x) * log((N - x) / (N - mu)) if x < N else 0.0
        found[i, j] = np.sign(x - mu) * sqrt(max(0.0, 2 * (success + failure)))
    return found
