"""Slow, obvious twins of the tests of one class against the rest, and of pseudobulk."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy import stats


def welch(f: np.ndarray, inside: np.ndarray) -> tuple[float, float]:
    """The t-test of unequal variances: statistic and p-value."""
    found = stats.ttest_ind(f[inside], f[~inside], equal_var=False)
    return found.statistic, found.pvalue


def linear_model(f: np.ndarray, inside: np.ndarray, covariates: np.ndarray) -> tuple[float, float]:
    """The t-test of the coefficient of a class beside an intercept and covariates (n, r)."""
    A = np.column_stack([inside, np.ones(len(f)), covariates])
    beta = np.linalg.lstsq(A, f)[0]
    freedom = len(f) - np.linalg.matrix_rank(A)
    s2 = ((f - A @ beta) ** 2).sum() / freedom
    t = beta[0] / np.sqrt(s2 * np.linalg.pinv(A.T @ A)[0, 0])
    return t, 2 * stats.t.sf(abs(t), freedom)


def wilcoxon(f: np.ndarray, inside: np.ndarray, blocks: np.ndarray) -> tuple[float, float]:
    """Van Elteren 1960: rank sums within blocks, of which each counts by 1 / (size + 1)."""
    away = spread = 0.0
    for block in np.unique(blocks):
        x, y = f[blocks == block], inside[blocks == block]
        n, k, ranks = len(x), y.sum(), stats.rankdata(x)
        # the variance of a sum of k of these n ranks, drawn at random
        variance = k * (n - k) / n * ranks.var(ddof=1)
        away += (ranks[y].sum() - k * (n + 1) / 2) / (n + 1)
        spread += variance / (n + 1) ** 2
    z = away / np.sqrt(spread)
    return z, 2 * stats.norm.sf(abs(z))


def fold_change(f: np.ndarray, inside: np.ndarray) -> float:
    """As scanpy has it, of logarithms of 1 + x."""
    first, second = np.expm1(f[inside].mean()), np.expm1(f[~inside].mean())
    return float(np.log2((first + 1e-9) / (second + 1e-9)))


def pseudobulk(counts: pd.DataFrame, obs: pd.DataFrame, by: list[str], least: int) -> pd.DataFrame:
    """Sums of the counts (cells x features) over groups of enough cells."""
    groups = counts.groupby([obs[name] for name in by], observed=True)
    sums = groups.sum()[groups.size() >= least]
    each = [key if isinstance(key, tuple) else (key,) for key in sums.index]
    return sums.set_axis(["_".join(map(str, key)) for key in each])
