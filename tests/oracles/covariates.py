"""Slow, obvious twins of adjusting for covariates, features in rows, one feature at a time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def design(*covariates: Sequence[object]) -> np.ndarray:
    """The design matrix (n x p): an intercept, numbers as they are, a column for every level."""
    n = len(covariates[0])
    columns = [np.ones(n)]
    for values in covariates:
        if all(isinstance(value, int | float | np.number) for value in values):
            columns.append(np.array(values, float))
        else:
            columns += [np.array([v == level for v in values], float) for level in set(values)]
    return np.column_stack(columns)


def fitted(f: np.ndarray, D: np.ndarray) -> np.ndarray:
    """What the least-squares regression of one feature on a design expects."""
    return D @ np.linalg.lstsq(D, f, rcond=1e-10)[0]


def adjusted(X: np.ndarray, D: np.ndarray) -> np.ndarray:
    """The residuals of every feature, with its mean."""
    return np.array([f - fitted(f, D) + f.mean() for f in X])


def r_squared(f: np.ndarray, D: np.ndarray) -> float:
    """One minus the squares of the residuals over those about the mean."""
    residual = f - fitted(f, D)
    around = f - f.mean()
    return 1 - float(residual @ residual) / float(around @ around)
