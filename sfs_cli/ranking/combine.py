"""Several p-values of each feature become one, whatever depends on what.

Y. Liu and J. Xie, "Cauchy combination test: a powerful test with analytic p-value calculation under
arbitrary dependency structures", J. Am. Stat. Assoc. 115, 2020.
"""

from __future__ import annotations

import numpy as np

from sfs_cli.errors import InputError

_SMALL = 1e-9
"""Below it ``tan(pi p)`` is ``pi p`` to the last digit of float64."""


def fisher(p_values: np.ndarray) -> np.ndarray:
    """Combine k independent p-values: ``-2 sum_i log p_i`` is chi-squared, 2 k degrees of freedom.

    R. A. Fisher, "Statistical Methods for Research Workers", 4th edition, 1932, section 21.1.

    Parameters
    ----------
    p_values : ndarray, shape (k, m)
        From 0 to 1; NaN is left out.

    Returns
    -------
    ndarray, shape (m,)
        NaN where there is none.
    """
    from scipy.special import chdtrc

    total = np.nansum(minus_log10(p_values), axis=0)
    return np.asarray(chdtrc(2 * (~np.isnan(p_values)).sum(axis=0), np.log(100) * total))


def minus_log10(p_values: np.ndarray) -> np.ndarray:
    """Return scores of p-values; one of 0 was rounded to it, and has a finite one."""
    return 0.0 - np.log10(np.maximum(p_values, np.finfo(np.float64).tiny))


def cauchy(p_values: np.ndarray) -> np.ndarray:
    """Combine k p-values of each of m features by the Cauchy combination test.

    ``T = sum_i tan((1/2 - p_i) pi) / k`` has a standard Cauchy distribution
    if the p-values are independent, and the same tail if they depend on each other, so that

    ``p = 1/2 - arctan(T) / pi``.

    It is close to the harmonic mean of small p-values. All digits are kept down to the
    smallest numbers: T is taken times the smallest p-value, so that nothing overflows.

    A p-value of exactly 1, as tests of discrete data have, has the statistic minus infinity, which
    no other could make up for. A feature with one has the bound of Bonferroni in its place,
    ``min(1, k min_i p_i)``, which is nearly the same where one p-value is small, and valid.

    Parameters
    ----------
    p_values : ndarray, shape (k, m)
        From 0 to 1. NaN is left out.

    Returns
    -------
    ndarray, shape (m,)
        NaN where a feature has no p-value.

    Raises
    ------
    InputError
        When a p-value is not from 0 to 1.
    """
    p = np.asarray(p_values, np.float64)
    if ((p < 0) | (p > 1)).any():
        raise InputError("a p-value is not from 0 to 1", hint="check which column holds them")
    known = ~np.isnan(p)
    count = known.sum(axis=0)
    p = np.where(known, p, 0.5)  # which has the statistic 0
    least = np.where(known, p, 1).min(axis=0)
    with np.errstate(all="ignore"):
        # T times the smallest p-value; beyond 1/2 by the distance to 1, which is exact
        near = least / np.tan(np.pi * np.maximum(p, _SMALL))
        far = -least / np.tan(np.pi * (1 - p))
        ratio = np.where(p < _SMALL, least / p / np.pi, np.where(p <= 0.5, near, far))
        total = np.where(known, ratio, 0).sum(axis=0) / count
        # arccot(T) / pi; where it is small it is 1 / (pi T), and rounded once
        found = np.arctan2(least, total) / np.pi
        found = np.where(least < _SMALL * total, least / (np.pi * total), found)
    found = np.where((known & (p == 1)).any(axis=0), np.minimum(count * least, 1), found)
    found[least == 0] = 0
    found[~known.any(axis=0)] = np.nan
    return np.minimum(found, 1)
