"""The study that all seeds hold: 12 samples, 18 features."""

from __future__ import annotations

import numpy as np

N, M = 12, 18
SAMPLES = [f"s{i}" for i in range(1, N + 1)]
FEATURES = [f"gene{i}" for i in range(1, M + 1)]
CLASSES = ["a", "b", "a", "c"] * (N // 4)
AGES = [round(30 + 3.7 * i - (i % 5) * 6.1, 1) for i in range(N)]


def values() -> np.ndarray:
    """Return features x samples: numbers with three decimals, some of them zero."""
    rng = np.random.default_rng(20)
    X = rng.normal(4.0, 1.0 + np.arange(M)[:, None] / 6, (M, N)).round(3)
    X[rng.random(X.shape) < 0.2] = 0
    return X


def counts() -> np.ndarray:
    """Return features x samples: whole numbers, many of them zero."""
    rng = np.random.default_rng(21)
    return rng.poisson(rng.gamma(1.0, 3.0, (M, 1)) + 0.3, (M, N)).astype(float)


def graph() -> np.ndarray:
    """Return a similarity of the samples."""
    X = values().T
    distances = ((X[:, None] - X) ** 2).sum(axis=2)
    return np.exp(-distances / np.median(distances))
