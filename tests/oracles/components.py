"""Slow, obvious twins of the space that neighbours are searched in."""

from __future__ import annotations

import numpy as np
import pandas as pd


def normalized_dispersion(X: np.ndarray) -> np.ndarray:
    """The table of the means and the dispersions, binned and scored by pandas; NaN if constant."""
    table = pd.DataFrame({"mean": X.mean(axis=0), "variance": X.var(axis=0, ddof=1)})
    table = table[np.ptp(X, axis=0) > 0]
    table["dispersion"] = np.log(table["variance"] / table["mean"])
    table["bin"] = pd.cut(np.log1p(table["mean"]), bins=20)
    bins = table.groupby("bin", observed=True)["dispersion"]
    centre, spread, size = bins.transform("mean"), bins.transform("std"), bins.transform("size")
    z = ((table["dispersion"] - centre) / spread).where(size > 1, 1.0)
    return z.reindex(range(X.shape[1])).to_numpy()


def most_variable(X: np.ndarray, count: int) -> list[int]:
    """Indices of the genes of the largest dispersion, or variance where a value is negative."""
    key = normalized_dispersion(X) if (X >= 0).all() else X.var(axis=0)
    known = [j for j in range(X.shape[1]) if np.ptp(X[:, j]) > 0]
    return sorted(sorted(known, key=lambda j: (-round(key[j], 9), j))[:count])


def scores(X: np.ndarray, count: int) -> np.ndarray:
    """Principal components, samples x count, by the whole singular value decomposition."""
    U, s, _ = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    return U[:, :count] * s[:count]
