"""Slow, obvious twin of Welch's analysis of variance."""

from __future__ import annotations

import numpy as np


def anova(f: np.ndarray, y: np.ndarray) -> tuple[float, float, float]:
    """Welch 1951: F and both degrees of freedom, class by class."""
    groups = [f[y == c] for c in np.unique(y)]
    k = len(groups)
    weights = [len(g) / g.var(ddof=1) for g in groups]
    total = sum(weights)
    mean = sum(w * g.mean() for w, g in zip(weights, groups)) / total
    between = sum(w * (g.mean() - mean) ** 2 for w, g in zip(weights, groups)) / (k - 1)
    spread = sum((1 - w / total) ** 2 / (len(g) - 1) for w, g in zip(weights, groups))
    statistic = between / (1 + 2 * (k - 2) / (k * k - 1) * spread)
    return statistic, k - 1, (k * k - 1) / (3 * spread)
