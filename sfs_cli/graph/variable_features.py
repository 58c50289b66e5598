"""The features that vary most for their mean (Satija et al. 2015)."""

from __future__ import annotations

import numpy as np

BINS = 20
ALIKE = 1e-9
"""Numbers that differ by less than this part of their size are taken for equal."""
DIGITS = 9
"""Decimals of a normalised dispersion that count; the rest is rounding."""


def most_variable(
    mean: np.ndarray, variance: np.ndarray, count: int, by: str = "dispersion"
) -> np.ndarray:
    """Choose the features that vary most.

    Parameters
    ----------
    mean, variance : ndarray, shape (m,)
        Of the values of each feature; the variance divides by n - 1.
    count : int
        How many are wanted.
    by : {"dispersion", "variance"}
        What features are ordered by: `normalised_dispersion`, for values that are not negative,
        or the variance, for others. Features whose order is the same are ordered by index.

    Returns
    -------
    ndarray of int, shape (at most count,)
        Indices, ascending. Constant features are never among them.
    """
    if by == "dispersion":
        key = np.round(normalised_dispersion(mean, variance), DIGITS)
    else:
        key = np.where(variance > 0, variance, np.nan)
    order = np.argsort(-key, kind="stable")  # NaN comes last
    return np.sort(order[: min(count, int(np.count_nonzero(~np.isnan(key))))])


def normalised_dispersion(mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """Return how much each feature varies, compared with features of a like mean.

    The dispersion is the variance divided by the mean, on the values as they are; its logarithm is
    taken. Features are put into 20 bins of equal width of log(1 + mean), closed on the right, the
    first widened by a thousandth of the range; from the dispersion the mean of its bin is
    subtracted, and it is divided by the standard deviation of the bin (with n - 1). A feature
    alone in its bin gets 1. Features of a bin where all dispersions are equal get 0.

    Parameters
    ----------
    mean, variance : ndarray, shape (m,)
        Of each feature; the means of those that vary are above zero.

    Returns
    -------
    ndarray, shape (m,)
        NaN for constant features, which are in no bin.
    """
    varies = variance > 0
    found = np.full(len(mean), np.nan)
    if not varies.any():
        return found
    dispersion = np.log(variance[varies] / mean[varies])
    place = _bins(np.log1p(mean[varies]))
    sizes = np.bincount(place, minlength=BINS)
    centre = np.bincount(place, dispersion, BINS) / np.maximum(sizes, 1)
    away = dispersion - centre[place]
    spread = np.sqrt(np.bincount(place, away * away, BINS) / np.maximum(sizes - 1, 1))
    equal = spread <= ALIKE * np.maximum(np.abs(centre), 1)
    z = away / np.where(equal, 1, spread)[place]
    z[equal[place]] = 0
    z[sizes[place] == 1] = 1
    found[varies] = z
    return found


def all_alike(mean: np.ndarray, variance: np.ndarray, by: str) -> bool:
    """Tell whether all features that vary do so alike, so that none varies most."""
    varies = variance > 0
    numbers = variance[varies]
    if by == "dispersion":
        numbers = numbers / mean[varies]
    return len(numbers) > 0 and bool(np.ptp(numbers) <= ALIKE * numbers.max())


def _bins(values: np.ndarray) -> np.ndarray:
    low, high = values.min(), values.max()
    if low == high:
        return np.zeros(len(values), np.int64)
    edges = np.linspace(low, high, BINS + 1)
    edges[0] -= (high - low) / 1000
    return np.searchsorted(edges, values, side="left") - 1
