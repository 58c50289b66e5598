"""Slow, obvious twins of the preparation of a matrix, value by value, features in rows."""

from __future__ import annotations

from math import log, sqrt

import numpy as np
from scipy.stats import chi2, rankdata


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


def tmm_sizes(counts: np.ndarray) -> np.ndarray:
    """Return library sizes times TMM factors of counts (m, n), sample by sample.

    Robinson and Oshlack 2010: the reference has the upper quartile nearest to the mean one; of log
    ratios 30 % are left out at each end, of mean abundances 5 %.
    """
    size = counts.sum(axis=0)
    kept = counts[(counts > 0).any(axis=1)]
    quartile = np.quantile(kept, 0.75, axis=0) / size
    reference = int(np.argmin(np.abs(quartile - quartile.mean())))
    if np.median(quartile) < 1e-20:
        reference = int(np.argmax(np.sqrt(kept).sum(axis=0)))
    factors = []
    for j in range(counts.shape[1]):
        M, A, weight = [], [], []
        for y, r in zip(kept[:, j], kept[:, reference]):
            if y and r:
                # as a quotient, so that equal ratios stay equal: ties share a rank
                M.append(np.log2((y / size[j]) / (r / size[reference])))
                A.append((np.log2(y / size[j]) + np.log2(r / size[reference])) / 2)
                weight.append(1 / (1 / y - 1 / size[j] + 1 / r - 1 / size[reference]))
        if max(map(abs, M)) < 1e-6:
            factors.append(1.0)
            continue
        inside = np.ones(len(M), bool)
        for each, part in ((M, 0.3), (A, 0.05)):
            rank, least = rankdata(each), np.floor(len(M) * part) + 1
            inside &= (rank >= least) & (rank <= len(M) + 1 - least)
        factors.append(2 ** np.average(np.array(M)[inside], weights=np.array(weight)[inside]))
    return size * factors / np.exp(np.mean(np.log(factors)))


def ratio_sizes(counts: np.ndarray) -> np.ndarray:
    """Return library sizes times the factors by medians of ratios (Anders and Huber 2010)."""
    mean = [float(np.prod(row ** (1 / len(row)))) for row in counts]
    ratios = [np.median([y / g for y, g in zip(sample, mean) if g > 0]) for sample in counts.T]
    factors = ratios / counts.sum(axis=0)
    return counts.sum(axis=0) * factors / np.prod(factors) ** (1 / len(factors))


def variance_stabilized(counts: np.ndarray, size: np.ndarray) -> np.ndarray:
    """Return counts of library sizes by the arsinh of negative binomial ones (Anscombe 1948)."""
    alpha, factor = dispersion(counts, size), size / np.prod(size ** (1 / len(size)))
    found = np.zeros(counts.shape)
    for (i, j), count in np.ndenumerate(counts):
        root = sqrt(alpha * count / factor[j])
        found[i, j] = (2 * log(root + sqrt(root**2 + 1)) - log(alpha) - log(4)) / log(2)
    return found


def dispersion(counts: np.ndarray, size: np.ndarray) -> float:
    """Return the median dispersion of the features with 5 normalized counts on average.

    A variance is divided by the median that sample variances have whose mean is 1.
    """
    factor, found = size / np.prod(size ** (1 / len(size))), []
    n = len(factor)
    for row in counts:
        mean = sum(row / factor) / n
        if mean >= 5:
            variance = sum((row / factor - mean) ** 2) / (n - 1)
            variance /= chi2.median(n - 1) / (n - 1)
            found.append((variance - mean * sum(1 / factor) / n) / mean**2)
    return max(1e-4, float(np.median(found)))


def log2_cpm(counts: np.ndarray, size: np.ndarray) -> np.ndarray:
    """Return log2 counts per million with a prior count of 2 in a sample of mean size (edgeR)."""
    prior = 2 * size / size.mean()
    return np.log2((counts + prior) / (size + 2 * prior) * 1_000_000)
