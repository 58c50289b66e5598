"""Compiled loops that find how features of few values vary, with no edges.

This module needs numba (the extra ``singlecell``); import it where that is known to be there.
Every loop takes one feature after another, so nothing depends on the number of threads.

Features are given as ``indptr`` (b + 1,), ``indices`` and ``data``. Vectors named ``scratch`` hold
a value for each sample; they come as zeros and are left as zeros.
"""

from __future__ import annotations

import math

import numpy as np

from sfs_cli.graph.jit import compiled

LARGE_EXPONENT = 400
"""Squares of values beyond 2^400, or below 2^-400, may not be representable."""


@compiled
def shift(
    indptr: np.ndarray, data: np.ndarray, n: int, offset: np.ndarray, exponent: np.ndarray
) -> None:
    """Subtract a value from features that have no zero, and scale those that are extreme.

    The rounding of what follows is then relative to the spread of a feature, and a constant
    feature becomes exactly zero.

    Parameters
    ----------
    data : ndarray, shape (nnz,), float64
        Overwritten.
    n : int
        Number of samples.
    offset : ndarray, shape (b,)
        Set to what was subtracted, scaled as the values are.
    exponent : ndarray of int, shape (b,)
        Set to e where the values were divided by 2^e.
    """
    for row in range(len(indptr) - 1):
        lo, hi = indptr[row], indptr[row + 1]
        full = hi - lo == n
        for p in range(lo, hi):
            full = full and data[p] != 0
        first = data[lo] if full else 0.0
        peak = 0.0
        for p in range(lo, hi):
            data[p] -= first
            peak = max(peak, abs(data[p]))
        power = 0
        if peak > 0:
            found = math.frexp(peak)[1]
            if abs(found) > LARGE_EXPONENT:
                power = found
                for p in range(lo, hi):
                    data[p] = math.ldexp(data[p], -power)
        offset[row] = math.ldexp(first, -power)
        exponent[row] = power


@compiled
def spread(
    indptr: np.ndarray,
    indices: np.ndarray,
    data: np.ndarray,
    weights: np.ndarray,
    groups: np.ndarray,
    volumes: np.ndarray,
    scratch: np.ndarray,
    mean: np.ndarray,
    square: np.ndarray,
) -> None:
    """Find the weighted sum of squares of features around their weighted means in groups.

    ``sum_c [ sum_nz w_i (f_i - mu_c)^2 + mu_c^2 (w of the zeros of group c) ]``.

    Parameters
    ----------
    weights : ndarray, shape (n,)
        Positive.
    groups : ndarray of int, shape (n,)
        The group of each sample, 0..c-1.
    volumes : ndarray, shape (c,)
        Sums of the weights in groups.
    scratch : ndarray, shape (n,)
        Zeros.
    mean : ndarray, shape (b,)
        Set to the weighted mean over all samples.
    square : ndarray, shape (b,)
        Set to the sum of squares.
    """
    means = np.zeros(len(volumes))
    rest = np.zeros(len(volumes))
    volume = volumes.sum()
    for row in range(len(indptr) - 1):
        lo, hi = indptr[row], indptr[row + 1]
        _sum_in_groups(indices, data, lo, hi, weights, groups, volumes, means, rest)
        crowded = False
        for c in range(len(volumes)):
            crowded = crowded or 2 * rest[c] < volumes[c]
        if crowded:  # few zeros: their weight is added up, not what is left of a difference
            _weigh_zeros(indices, data, lo, hi, weights, groups, scratch, rest)
        total = 0.0
        found = 0.0
        for c in range(len(volumes)):
            total += means[c]
            means[c] /= volumes[c]
            found += means[c] * means[c] * rest[c]
        for p in range(lo, hi):
            if data[p] != 0:
                i = indices[p]
                found += weights[i] * (data[p] - means[groups[i]]) ** 2
        mean[row] = total / volume
        square[row] = found


@compiled
def _sum_in_groups(
    indices: np.ndarray,
    data: np.ndarray,
    lo: int,
    hi: int,
    weights: np.ndarray,
    groups: np.ndarray,
    volumes: np.ndarray,
    sums: np.ndarray,
    rest: np.ndarray,
) -> None:
    """Find the weighted sum of one feature in each group, and the weight that is left for zeros."""
    sums[:] = 0.0
    rest[:] = volumes
    for p in range(lo, hi):
        if data[p] != 0:
            i = indices[p]
            sums[groups[i]] += weights[i] * data[p]
            rest[groups[i]] -= weights[i]


@compiled
def _weigh_zeros(
    indices: np.ndarray,
    data: np.ndarray,
    lo: int,
    hi: int,
    weights: np.ndarray,
    groups: np.ndarray,
    scratch: np.ndarray,
    found: np.ndarray,
) -> None:
    """Add up the weight of the zeros of one feature in each group, sample by sample."""
    found[:] = 0.0
    for p in range(lo, hi):
        scratch[indices[p]] = data[p]
    for i in range(len(weights)):
        if scratch[i] == 0:
            found[groups[i]] += weights[i]
    for p in range(lo, hi):
        scratch[indices[p]] = 0.0
