"""The global similarity as a weighted sum of those of the sources (Eq. 5.2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sfs_cli.errors import InputError, counted
from sfs_cli.graph.panels import name_samples, panels

if TYPE_CHECKING:
    from scipy.sparse import csr_array


def weighted_sum(kernels: Sequence[Any], weights: Sequence[float] | np.ndarray) -> Any:
    """Add up similarities (Eq. 5.2).

    Parameters
    ----------
    kernels : sequence of ndarray or csr_array, shape (n, n)
        Symmetric, on one scale.
    weights : sequence of float, shape (K,)
        Non-negative, one positive.

    Returns
    -------
    ndarray or csr_array, shape (n, n)
        sum_k w_k S_k, symmetric to the last bit; sparse where all kernels are.
    """
    used = [(S, float(w)) for S, w in zip(kernels, weights, strict=True) if w > 0.0]
    if not any(isinstance(S, np.ndarray) for S, _ in used):
        return sum((w * S for S, w in used[1:]), start=used[0][1] * used[0][0])
    total = np.zeros(kernels[0].shape)
    for S, w in used:
        dense = S if isinstance(S, np.ndarray) else S.toarray()
        for rows in panels(len(total)):
            total[rows] += w * dense[rows]
    return total


def union_average(
    kernels: Sequence[Any],
    places: Sequence[np.ndarray],
    weights: Sequence[float] | np.ndarray,
    n: int,
    names: Sequence[str] | None = None,
) -> Any:
    """Average each pair of samples over the sources that have it.

    Parameters
    ----------
    kernels : sequence of ndarray or csr_array, shape (n_k, n_k)
        Symmetric, on one scale.
    places : sequence of ndarray of int, shape (n_k,)
        Which of the n samples each of them is between, without repeats.
    weights : sequence of float, shape (K,)
        Non-negative, one positive.
    n : int
        Number of samples.
    names : sequence of str, shape (n,), optional
        Sample ids for messages.

    Returns
    -------
    ndarray or csr_array, shape (n, n)
        W sum_k w_k S_k,ij / sum_k w_k over the sources k that have both i and j, where W is the
        sum of all weights: the weighted sum where all sources have all samples. Pairs that no
        source has are 0. Symmetric to the last bit; sparse where all kernels are.

    Raises
    ------
    InputError
        When samples are in no source of positive weight.
    """
    parts = [
        (S, np.asarray(at), float(w))
        for S, at, w in zip(kernels, places, weights, strict=True)
        if w > 0.0
    ]
    has = np.zeros((len(parts), n), bool)
    for row, (_, at, _) in zip(has, parts):
        row[at] = True
    _check_covered(has, names)
    shares = np.array([w for *_, w in parts])
    if any(isinstance(S, np.ndarray) for S, *_ in parts):
        return _dense_average(parts, has, shares, n)
    return _sparse_average(parts, has, shares, n)


def _check_covered(has: np.ndarray, names: Sequence[str] | None) -> None:
    nowhere = np.flatnonzero(~has.any(axis=0))
    if nowhere.size:
        raise InputError(
            f"{counted(nowhere.size, 'sample')} of {has.shape[1]:,} in no source that has a weight",
            where=name_samples(nowhere, names or None),
            hint="give --samples intersect to leave them out, or a source that has them",
        )


def _dense_average(parts: list, has: np.ndarray, shares: np.ndarray, n: int) -> np.ndarray:
    total = np.zeros((n, n))
    for S, at, w in parts:
        dense = S if isinstance(S, np.ndarray) else S.toarray()
        for rows in panels(len(at)):
            total[at[rows, None], at] += w * dense[rows]
    for rows in panels(n):
        total[rows] *= _factors(has[:, rows, None], has[:, None, :], shares)
    return total


def _sparse_average(parts: list, has: np.ndarray, shares: np.ndarray, n: int) -> csr_array:
    from scipy.sparse import csr_array

    total = csr_array((n, n))
    for S, at, w in parts:
        own = S.tocoo()
        total = total + w * csr_array((own.data, (at[own.row], at[own.col])), shape=(n, n))
    pairs = total.tocoo()
    data = pairs.data * _factors(has[:, pairs.row], has[:, pairs.col], shares)
    return csr_array((data, (pairs.row, pairs.col)), shape=(n, n))


def _factors(has_i: np.ndarray, has_j: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Return W / sum_k w_k over the sources that have both samples; 0 where there is none.

    Both sums run over the sources in their order, so that the factor is 1 exactly where all have
    them, and the same for (i, j) and (j, i).
    """
    whole, known = 0.0, np.zeros(np.broadcast_shapes(has_i.shape, has_j.shape)[1:])
    for share, i, j in zip(shares, has_i, has_j):
        whole += share
        known += share * (i & j)
    return np.divide(whole, known, out=np.zeros_like(known), where=known > 0.0)
