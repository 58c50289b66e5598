"""Dispersions of genes, one gene after the other (Zheng et al., Nature Communications 8, 2017)."""

from __future__ import annotations

import numpy as np

NORMAL_QUARTILE = 0.6744897501960817


def dispersions(X: np.ndarray) -> tuple[list[float], list[float], list[float]]:
    """Return means, dispersions and normalized dispersions; samples are rows."""
    n, m = X.shape
    means, found = [], []
    for j in range(m):
        mean = sum(X[:, j]) / n
        variance = sum((value - mean) ** 2 for value in X[:, j]) / (n - 1)
        means.append(mean)
        found.append(variance / mean if mean > 0 else np.nan)
    known = [mean for mean in means if mean > 0]
    edges = [float(np.percentile(known, percent)) for percent in range(10, 101, 5)]
    bins: dict[int, list[int]] = {}
    for j, mean in enumerate(means):
        if mean > 0:
            bins.setdefault(sum(mean > edge for edge in edges), []).append(j)
    normalized = [np.nan] * m
    for members in bins.values():
        values = [found[j] for j in members]
        middle = np.median(values)
        deviation = np.median([abs(value - middle) for value in values]) / NORMAL_QUARTILE
        for j in members:
            normalized[j] = (found[j] - middle) / deviation if deviation > 0 else np.nan
    return means, found, normalized
