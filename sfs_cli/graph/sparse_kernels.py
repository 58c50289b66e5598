"""Compiled loops over the stored values of features, and over the edges that leave them.

This module needs numba (the extra ``singlecell``); import it where that is known to be installed.
Every loop takes one feature after another, so that nothing depends on the number of threads. All
loops are in this file, because the code that numba caches for a loop does not notice that another
file has changed.

Features, and the similarities of each sample, are given as ``indptr`` (rows + 1,), ``indices`` and
``data``. Vectors named ``scratch`` hold a value for each sample; they come as zeros and are left as
zeros.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar

import numba
import numpy as np

Kernel = TypeVar("Kernel", bound=Callable[..., Any])
Rows = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Stored values by rows: ``indptr``, ``indices`` and ``data``."""
Groups = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Weights of the samples, positive (n,), the group of each (n,), the weight of each group (c,)."""


def compiled(function: Kernel) -> Kernel:
    """Compile a loop, and cache the code for the next process if there is a folder for it."""
    compiler: Any = numba.njit
    try:
        return compiler(nogil=True, cache=True)(function)
    except RuntimeError:  # no folder for the cache can be written
        return compiler(nogil=True)(function)


@compiled
def _lay_out(
    indices: np.ndarray,
    data: np.ndarray,
    lo: int,
    hi: int,
    scratch: np.ndarray,
    marked: np.ndarray,
) -> None:
    """Lay the values of one feature out by sample, and mark those that are not zero."""
    for p in range(lo, hi):
        scratch[indices[p]] = data[p]
        marked[indices[p]] = data[p] != 0


@compiled
def _clear(indices: np.ndarray, lo: int, hi: int, scratch: np.ndarray, marked: np.ndarray) -> None:
    """Undo `_lay_out`."""
    for p in range(lo, hi):
        scratch[indices[p]] = 0.0
        marked[indices[p]] = 0


@compiled
def laplacian_form(
    features: Rows, S: Rows, scratch: np.ndarray, marked: np.ndarray, form: np.ndarray
) -> None:
    """Find ``f' L f = sum of s_ij (f_i - f_j)^2`` over edges with an end that is not zero.

    An edge between two values is met from both sides and counts half each time.

    Parameters
    ----------
    S : tuple of ndarray
        The similarity, symmetric.
    scratch, marked : ndarray of float64 and of uint8, shape (n,)
        Zeros. The marks of values that are not zero stay in the cache where values do not.
    form : ndarray, shape (b,)
        Set to the sums where it is NaN; what is known already stays.
    """
    indptr, indices, data = features
    S_indptr, S_indices, S_data = S
    for row in range(len(indptr) - 1):
        if not np.isnan(form[row]):
            continue
        lo, hi = indptr[row], indptr[row + 1]
        _lay_out(indices, data, lo, hi, scratch, marked)
        once = 0.0
        twice = 0.0
        for p in range(lo, hi):
            value = data[p]
            if value != 0:
                i = indices[p]
                to_zeros = 0.0
                for e in range(S_indptr[i], S_indptr[i + 1]):
                    j = S_indices[e]
                    if marked[j]:
                        twice += S_data[e] * (value - scratch[j]) ** 2
                    else:
                        to_zeros += S_data[e]
                once += to_zeros * value * value
        form[row] = once + 0.5 * twice
        _clear(indices, lo, hi, scratch, marked)


@compiled
def scattered_form(
    features: Rows,
    U: Rows,
    degrees: np.ndarray,
    volume: float,
    scratch: np.ndarray,
    marked: np.ndarray,
    form: np.ndarray,
) -> None:
    """Find ``f' L f = sum_i d_i f_i^2 - 2 sum_{i < j} s_ij f_i f_j`` of features of few values.

    Each edge is met from one side, so half of them are looked at. Where the values have at most
    half of the weight of all samples, the first sum is at most twice that around the mean, and the
    difference costs no more digits than one of centered features.

    Parameters
    ----------
    U : tuple of ndarray
        The similarity above its diagonal.
    degrees : ndarray, shape (n,)
        Row sums of the similarity without its diagonal.
    volume : float
        Their sum.
    scratch, marked : ndarray of float64 and of uint8, shape (n,)
        Zeros.
    form : ndarray, shape (b,)
        Set to the forms, and to NaN where the values have more than half of the weight.
    """
    indptr, indices, data = features
    U_indptr, U_indices, U_data = U
    for row in range(len(indptr) - 1):
        lo, hi = indptr[row], indptr[row + 1]
        square = 0.0
        covered = 0.0
        for p in range(lo, hi):
            if data[p] != 0:
                covered += degrees[indices[p]]
                square += degrees[indices[p]] * data[p] * data[p]
        if 2 * covered > volume:
            form[row] = np.nan
            continue
        _lay_out(indices, data, lo, hi, scratch, marked)
        shared = 0.0
        for p in range(lo, hi):
            value = data[p]
            if value != 0:
                i = indices[p]
                for e in range(U_indptr[i], U_indptr[i + 1]):
                    j = U_indices[e]
                    if marked[j]:
                        shared += U_data[e] * value * scratch[j]
        form[row] = square - 2 * shared
        _clear(indices, lo, hi, scratch, marked)


@compiled
def second_form(
    features: Rows,
    S: Rows,
    weights: np.ndarray,
    scratch: np.ndarray,
    product: np.ndarray,
    form: np.ndarray,
) -> None:
    """Find ``f' L D^-1 L f``, from ``(L f)_i = sum_j s_ij (f_i - f_j)`` where that is not zero.

    Parameters
    ----------
    S : tuple of ndarray
        The similarity, symmetric.
    weights : ndarray, shape (n,)
        The diagonal of D.
    scratch, product : ndarray, shape (n,)
        Zeros.
    form : ndarray, shape (b,)
        Set to the forms.
    """
    indptr, indices, data = features
    S_indptr, S_indices, S_data = S
    for row in range(len(indptr) - 1):
        lo, hi = indptr[row], indptr[row + 1]
        for p in range(lo, hi):
            scratch[indices[p]] = data[p]
        for p in range(lo, hi):
            value = data[p]
            if value != 0:
                i = indices[p]
                for e in range(S_indptr[i], S_indptr[i + 1]):
                    j = S_indices[e]
                    if scratch[j] == 0:
                        product[i] += S_data[e] * value
                        product[j] -= S_data[e] * value
                    else:
                        product[i] += S_data[e] * (value - scratch[j])
        found = 0.0
        for p in range(lo, hi):
            i = indices[p]
            found += product[i] ** 2 / weights[i]
            product[i] = 0.0
            if data[p] != 0:
                for e in range(S_indptr[i], S_indptr[i + 1]):
                    j = S_indices[e]
                    found += product[j] ** 2 / weights[j]
                    product[j] = 0.0
        form[row] = found
        for p in range(lo, hi):
            scratch[indices[p]] = 0.0


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
    features: Rows, groups: Groups, scratch: np.ndarray, mean: np.ndarray, square: np.ndarray
) -> None:
    """Find the weighted sum of squares of features around their weighted means in groups.

    ``sum_c [ sum_nz w_i (f_i - mu_c)^2 + mu_c^2 (w of the zeros of group c) ]``.

    Parameters
    ----------
    scratch : ndarray, shape (n,)
        Zeros.
    mean : ndarray, shape (b,)
        Set to the weighted mean over all samples.
    square : ndarray, shape (b,)
        Set to the sum of squares.
    """
    indptr, indices, data = features
    weights, members, volumes = groups
    means = np.zeros(len(volumes))
    rest = np.zeros(len(volumes))
    volume = volumes.sum()
    for row in range(len(indptr) - 1):
        lo, hi = indptr[row], indptr[row + 1]
        _sum_in_groups(features, row, groups, means, rest)
        crowded = False
        for c in range(len(volumes)):
            crowded = crowded or 2 * rest[c] < volumes[c]
        if crowded:  # few zeros: their weight is added up, not what is left of a difference
            _weigh_zeros(features, row, groups, scratch, rest)
        total = 0.0
        found = 0.0
        for c in range(len(volumes)):
            total += means[c]
            means[c] /= volumes[c]
            found += means[c] * means[c] * rest[c]
        for p in range(lo, hi):
            if data[p] != 0:
                i = indices[p]
                found += weights[i] * (data[p] - means[members[i]]) ** 2
        mean[row] = total / volume
        square[row] = found


@compiled
def _sum_in_groups(
    features: Rows, row: int, groups: Groups, sums: np.ndarray, rest: np.ndarray
) -> None:
    """Find the weighted sum of one feature in each group, and the weight that is left for zeros."""
    indptr, indices, data = features
    weights, members, volumes = groups
    sums[:] = 0.0
    rest[:] = volumes
    for p in range(indptr[row], indptr[row + 1]):
        if data[p] != 0:
            i = indices[p]
            sums[members[i]] += weights[i] * data[p]
            rest[members[i]] -= weights[i]


@compiled
def _weigh_zeros(
    features: Rows, row: int, groups: Groups, scratch: np.ndarray, found: np.ndarray
) -> None:
    """Add up the weight of the zeros of one feature in each group, sample by sample."""
    indptr, indices, data = features
    weights, members, _ = groups
    lo, hi = indptr[row], indptr[row + 1]
    found[:] = 0.0
    for p in range(lo, hi):
        scratch[indices[p]] = data[p]
    for i in range(len(weights)):
        if scratch[i] == 0:
            found[members[i]] += weights[i]
    for p in range(lo, hi):
        scratch[indices[p]] = 0.0
