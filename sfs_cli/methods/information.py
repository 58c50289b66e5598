"""Features cut into clusters of values, and the information between clusters and classes."""

from __future__ import annotations

import numpy as np

MAX_ITERATIONS = 1000
_TIE = 1e-12
"""Cuts whose gains differ by less, relatively, are equal."""


def two_means(values: np.ndarray) -> np.ndarray:
    """Cut each feature in two so that the sum of squares within the parts is smallest.

    All cuts of the sorted values are compared; of equal ones the lowest is taken. Values that are
    all equal are one cluster.

    Parameters
    ----------
    values : ndarray, shape (b, n)
        Features.

    Returns
    -------
    ndarray of int, shape (b, n)
        0 below the cut, 1 above it.
    """
    n = values.shape[1]
    centred = values - values.mean(axis=1, keepdims=True)
    ordered = np.sort(centred, axis=1)
    below = np.arange(1, n)
    sums = np.cumsum(ordered, axis=1)[:, :-1]
    gain = sums * sums * (1 / below + 1 / (n - below))
    gain[ordered[:, 1:] <= ordered[:, :-1]] = -1
    best = gain.max(axis=1, keepdims=True, initial=-1)
    cut = np.argmax(gain >= best - _TIE * np.abs(best), axis=1)
    return (centred > np.take_along_axis(ordered, cut[:, None], axis=1)).astype(np.int64)


def quantile_means(values: np.ndarray, k: int) -> np.ndarray:
    """Cluster the values of each feature by k-means, started from quantiles.

    The centres start at the quantiles (j + 1/2) / k, and Lloyd's iterations go on until no value
    changes its cluster. A value in the middle of two centres belongs to the lower one; a cluster
    that loses all its values keeps its centre.

    Parameters
    ----------
    values : ndarray, shape (b, n)
        Features.
    k : int
        Number of clusters.

    Returns
    -------
    ndarray of int, shape (b, n)
        0..k-1, ascending with the values.
    """
    centred = values - values.mean(axis=1, keepdims=True)
    ordered = np.sort(centred, axis=1)
    sums = np.pad(np.cumsum(ordered, axis=1), ((0, 0), (1, 0)))
    centres = np.quantile(ordered, (np.arange(k) + 0.5) / k, axis=1).T.copy()
    ends = _ends(ordered, centres)
    moving = np.arange(len(values))
    for _ in range(MAX_ITERATIONS):
        before = ends[moving]
        counts = np.diff(before, axis=1)
        parts = np.diff(np.take_along_axis(sums[moving], before, axis=1), axis=1)
        np.divide(parts, counts, out=parts, where=counts > 0)
        centres[moving] = np.where(counts > 0, parts, centres[moving])
        ends[moving] = _ends(ordered[moving], centres[moving])
        moving = moving[(ends[moving] != before).any(axis=1)]
        if not len(moving):
            break
    bounds = (centres[:, 1:] + centres[:, :-1]) / 2
    return (centred[:, :, None] > bounds[:, None, :]).sum(axis=2)


def _ends(ordered: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """Return where each cluster starts and ends among the sorted values, shape (b, k + 1)."""
    bounds = (centres[:, 1:] + centres[:, :-1]) / 2
    b, n = ordered.shape
    ends = np.empty((b, centres.shape[1] + 1), np.int64)
    ends[:, 0], ends[:, -1] = 0, n
    ends[:, 1:-1] = (ordered[:, :, None] <= bounds[:, None, :]).sum(axis=1)
    return ends


def symmetrical_uncertainty(clusters: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return ``2 I(F, y) / (H(F) + H(y))`` of discrete features and the classes.

    Parameters
    ----------
    clusters : ndarray of int, shape (b, n)
        Features with values 0, 1, ...
    codes : ndarray of int, shape (n,)
        Class of each sample, 0, 1, ...; at least two classes.

    Returns
    -------
    ndarray, shape (b,)
        From 0 to 1.
    """
    n = len(codes)
    members = np.eye(int(codes.max()) + 1)[codes]
    values = range(int(clusters.max()) + 1)
    counts = np.stack([(clusters == value) @ members for value in values], axis=1)
    joint = _entropy(counts.reshape(len(clusters), -1) / n)
    of_feature = _entropy(counts.sum(axis=2) / n)
    of_class = _entropy(members.mean(axis=0)[None])
    shared = np.maximum(of_feature + of_class - joint, 0)
    return np.minimum(2 * shared / (of_feature + of_class), 1)


def _entropy(p: np.ndarray) -> np.ndarray:
    from scipy.special import entr

    return entr(p).sum(axis=1)
