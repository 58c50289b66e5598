"""Several p-values of each feature become one, whatever depends on what.

Y. Liu and J. Xie, "Cauchy combination test: a powerful test with analytic p-value calculation under
arbitrary dependency structures", J. Am. Stat. Assoc. 115, 2020.
"""

from __future__ import annotations

import numpy as np

from sfs_cli.errors import InputError

_SMALL = 1e-9
"""Below it ``tan(pi p)`` is ``pi p`` to the last digit of float64."""


def cauchy(p_values: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    """Combine k p-values of each of m features by the Cauchy combination test.

    ``T = sum_i w_i tan((1/2 - p_i) pi)`` with weights of sum 1 has a standard Cauchy distribution
    if the p-values are independent, and the same tail if they depend on each other, so that

    ``p = 1/2 - arctan(T) / pi``.

    It is close to the weighted harmonic mean of small p-values. All digits are kept down to the
    smallest numbers: T is taken times the smallest p-value, so that nothing overflows.

    A p-value of exactly 1, as tests of discrete data have, has the statistic minus infinity, which
    no other could make up for. A feature with one has the bound of Bonferroni in its place,
    ``min(1, min_i p_i / w_i)``, which is nearly the same where one p-value is small, and valid.

    Parameters
    ----------
    p_values : ndarray, shape (k, m)
        From 0 to 1. NaN is left out, and the other weights of the feature take its share.
    weights : ndarray, shape (k,), optional
        Not negative; they are divided by their sum. The same for all by default.

    Returns
    -------
    ndarray, shape (m,)
        NaN where a feature has no p-value of a weight above 0.

    Raises
    ------
    InputError
        When a p-value is not from 0 to 1, a weight is negative or not finite, or all are 0.
    """
    p = np.asarray(p_values, np.float64)
    w = np.ones(len(p)) if weights is None else np.asarray(weights, np.float64)
    if w.shape != p.shape[:1]:
        raise InputError(
            f"there are {len(p)} p-values of each feature, and {len(w)} weights",
            hint="give a weight for each",
        )
    if not (np.isfinite(w).all() and (w >= 0).all() and w.any()):
        raise InputError(
            "weights of p-values must not be negative, and not all 0", hint="give positive weights"
        )
    if ((p < 0) | (p > 1)).any():
        raise InputError("a p-value is not from 0 to 1", hint="check which column holds them")
    known = ~np.isnan(p) & (w[:, None] > 0)
    shares = np.where(known, w[:, None] / w.max(), 0)
    with np.errstate(invalid="ignore"):  # of features without a p-value
        shares = shares / shares.sum(axis=0)
    p = np.where(known, p, 0.5)  # which has the statistic 0
    least = np.where(known, p, 1).min(axis=0)
    with np.errstate(all="ignore"):
        # T times the smallest p-value; beyond 1/2 by the distance to 1, which is exact
        near = least / np.tan(np.pi * np.maximum(p, _SMALL))
        far = -least / np.tan(np.pi * (1 - p))
        ratio = np.where(p < _SMALL, least / p / np.pi, np.where(p <= 0.5, near, far))
        total = np.where(known, shares * ratio, 0).sum(axis=0)
        # arccot(T) / pi; where it is small it is 1 / (pi T), and rounded once
        found = np.arctan2(least, total) / np.pi
        found = np.where(least < _SMALL * total, least / (np.pi * total), found)
        bound = np.where(known, p / shares, np.inf).min(axis=0)
    found = np.where((known & (p == 1)).any(axis=0), np.minimum(bound, 1), found)
    found[least == 0] = 0
    found[~known.any(axis=0)] = np.nan
    return np.minimum(found, 1)
