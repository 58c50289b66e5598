"""Compiled loops over the non-zero values of features and the edges that leave them.

This module needs numba (the extra ``singlecell``); import it where that is known to be there.
Every loop takes one feature after another, so nothing depends on the number of threads.

Features are given as ``indptr`` (b + 1,), ``indices`` and ``data``. Vectors named ``scratch`` hold
a value for each sample; they come as zeros and are left as zeros.
"""

from __future__ import annotations

import numpy as np

from sfs_cli.graph.jit import compiled


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
    indptr: np.ndarray,
    indices: np.ndarray,
    data: np.ndarray,
    S_indptr: np.ndarray,
    S_indices: np.ndarray,
    S_data: np.ndarray,
    scratch: np.ndarray,
    marked: np.ndarray,
    form: np.ndarray,
) -> None:
    """Find ``f' L f = sum of s_ij (f_i - f_j)^2`` over edges with an end that is not zero.

    An edge between two values is met from both sides and counts half each time.

    Parameters
    ----------
    S_indptr, S_indices, S_data : ndarray
        The similarity, symmetric.
    scratch, marked : ndarray of float64 and of uint8, shape (n,)
        Zeros. The marks of values that are not zero stay in the cache where values do not.
    form : ndarray, shape (b,)
        Set to the sums where it is NaN; what is known already stays.
    """
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
    indptr: np.ndarray,
    indices: np.ndarray,
    data: np.ndarray,
    U_indptr: np.ndarray,
    U_indices: np.ndarray,
    U_data: np.ndarray,
    degrees: np.ndarray,
    volume: float,
    scratch: np.ndarray,
    marked: np.ndarray,
    form: np.ndarray,
) -> None:
    """Find ``f' L f = sum_i d_i f_i^2 - 2 sum_{i < j} s_ij f_i f_j`` of features of few values.

    Each edge is met from one side, so half of them are looked at. Where the values have at most
    half of the weight of all samples, the first sum is at most twice that around the mean, and the
    difference costs no more digits than one of centred features.

    Parameters
    ----------
    U_indptr, U_indices, U_data : ndarray
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
    indptr: np.ndarray,
    indices: np.ndarray,
    data: np.ndarray,
    S_indptr: np.ndarray,
    S_indices: np.ndarray,
    S_data: np.ndarray,
    weights: np.ndarray,
    scratch: np.ndarray,
    product: np.ndarray,
    form: np.ndarray,
) -> None:
    """Find ``f' L D^-1 L f``, from ``(L f)_i = sum_j s_ij (f_i - f_j)`` where that is not zero.

    Parameters
    ----------
    S_indptr, S_indices, S_data : ndarray
        The similarity, symmetric.
    weights : ndarray, shape (n,)
        The diagonal of D.
    scratch, product : ndarray, shape (n,)
        Zeros.
    form : ndarray, shape (b,)
        Set to the forms.
    """
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
