"""Slow, obvious twins of the baselines."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, log

import numpy as np


def seper(f: np.ndarray) -> float:
    """The entropy of the similarities between samples on one feature, over ordered pairs."""
    n = len(f)
    f = (f - f.min()) / (f.max() - f.min())
    distances = [abs(f[i] - f[j]) for i in range(n) for j in range(n) if i != j]
    alpha = -log(0.5) / (sum(distances) / len(distances))
    total = 0.0
    for d in distances:
        s = exp(-alpha * d)
        total -= s * log(s) + ((1 - s) * log(1 - s) if s < 1 else 0.0)
    return total


def f_statistic(f: np.ndarray, y: np.ndarray) -> float:
    """One-way analysis of variance."""
    classes = np.unique(y)
    between = sum((y == c).sum() * (f[y == c].mean() - f.mean()) ** 2 for c in classes)
    within = sum(((f[y == c] - f[y == c].mean()) ** 2).sum() for c in classes)
    return (between / (len(classes) - 1)) / (within / (len(f) - len(classes)))


def mrmr(
    X: np.ndarray, y: np.ndarray, count: int, variant: str, given: Sequence[int] = ()
) -> tuple[list[int], list[float]]:
    """The features chosen one after the other behind given ones, and their scores then."""
    relevance = [f_statistic(f, y) for f in X.T]
    chosen: list[int] = []
    scores: list[float] = []
    for _ in range(count):
        best, best_score = -1, -np.inf
        for i in range(X.shape[1]):
            before = [*given, *chosen]
            if i in before:
                continue
            score = relevance[i]
            if before:
                redundancy = np.mean([abs(np.corrcoef(X[:, i], X[:, j])[0, 1]) for j in before])
                if variant == "difference":
                    score = score - redundancy
                else:
                    score = score / max(redundancy, 0.001)
            if score > best_score:
                best, best_score = i, score
        chosen.append(best)
        scores.append(best_score)
    return chosen, scores


def mutual_information(f: np.ndarray, y: np.ndarray, k: int = 3) -> float:
    """Ross 2014, sample by sample: those at most as far as the k-th of the class count."""
    from scipy.special import digamma

    n = len(f)
    terms = []
    for i in range(n):
        others = sorted(abs(f[j] - f[i]) for j in range(n) if j != i and y[j] == y[i])
        radius = others[min(k, len(others)) - 1] * (1 + 1e-9)
        near = sum(other <= radius for other in others)
        within = sum(abs(f[j] - f[i]) <= radius for j in range(n) if j != i)
        terms.append(digamma(near) - digamma(len(others) + 1) - digamma(within))
    return max(0.0, float(digamma(n) + np.mean(terms)))


def welch(f: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Welch 1947: |t| of two classes and its degrees of freedom, by the sums of the definition."""
    parts = []
    for c in np.unique(y):
        group = [float(value) for value in f[y == c]]
        mean = sum(group) / len(group)
        variance = sum((value - mean) ** 2 for value in group) / (len(group) - 1)
        parts.append((mean, variance / len(group), len(group) - 1))
    (one, u, a), (other, v, b) = parts
    return abs(one - other) / (u + v) ** 0.5, (u + v) ** 2 / (u * u / a + v * v / b)


def class_means(f: np.ndarray, y: np.ndarray, w: np.ndarray | None = None) -> list[float]:
    """The weighted mean of every class, in the order of the classes."""
    w = np.ones(len(f)) if w is None else w
    return [float((f * w)[y == c].sum() / w[y == c].sum()) for c in np.unique(y)]
