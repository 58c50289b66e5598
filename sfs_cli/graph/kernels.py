"""Dense sample similarities from a Gram matrix: distances, bandwidths, rbf, linear, correlation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sfs_cli.errors import InputError
from sfs_cli.graph.panels import name_samples, panels

EPS = float(np.finfo(np.float64).eps)
# a Gram entry is a long sum; its rounding is a few units, seldom ten
NOISE_UNITS = 16


def squared_distances(gram: np.ndarray, eps: float = EPS) -> np.ndarray:
    """Squared Euclidean distances between samples.

    Parameters
    ----------
    gram : ndarray, shape (n, n)
        Inner products between samples, of centred features (for accuracy; distances do not
        depend on it).
    eps : float
        Machine epsilon of the arithmetic that made `gram`.

    Returns
    -------
    ndarray, shape (n, n)
        g_ii + g_jj - 2 g_ij in float64: symmetric to the last bit, never negative, 0 on the
        diagonal. A distance within the rounding of `gram` is 0 exactly, and samples at distance 0
        have the same distances to all others, so that ties between them are real ties.
    """
    norms = gram.diagonal().astype(np.float64)
    d2 = np.empty(gram.shape)
    for rows in panels(gram.shape[0]):
        sizes = norms[rows, None] + norms
        panel = d2[rows]
        np.add(gram[rows], gram[:, rows].T, out=panel)
        np.subtract(sizes, panel, out=panel)
        panel[panel <= NOISE_UNITS * eps * sizes] = 0.0
    np.fill_diagonal(d2, 0.0)
    _equalise_identical(d2)
    return d2


def median_bandwidth(d2: np.ndarray) -> float:
    """Median over pairs i < j of the distance; pairs at infinite distance are left out.

    Parameters
    ----------
    d2 : ndarray, shape (n, n)
        Squared distances.

    Returns
    -------
    float
        The bandwidth delta of Eq. 1.1.

    Raises
    ------
    InputError
        When the median is 0, or there is no pair.
    """
    pairs = _upper_triangle(d2)
    pairs = pairs[np.isfinite(pairs)]
    if pairs.size == 0:
        raise InputError(
            "a bandwidth needs at least two samples",
            hint="give more samples, or the bandwidth as a number",
        )
    middle = [(pairs.size - 1) // 2, pairs.size // 2]
    pairs.partition(middle)
    median = float(np.sqrt(pairs[middle]).mean())
    if median == 0.0:
        raise InputError(
            "the median distance between samples is 0: at least half of the pairs are identical",
            hint="drop duplicated samples, or give --bandwidth as a number where the similarity "
            "takes it; a single huge value (1e30 for a missing one?) hides all differences, too",
        )
    return median


def self_tuning_bandwidths(d2: np.ndarray, neighbor: int = 7) -> np.ndarray:
    """Distance of each sample to its `neighbor`-th nearest (Zelnik-Manor & Perona 2004).

    Parameters
    ----------
    d2 : ndarray, shape (n, n)
        Squared distances, 0 on the diagonal.
    neighbor : int
        Which neighbour; the sample itself is not counted.

    Returns
    -------
    ndarray, shape (n,)
        delta_i > 0.

    Raises
    ------
    InputError
        When there are too few samples, or a bandwidth is 0 (identical samples).
    """
    n = d2.shape[0]
    if n <= neighbor:
        raise InputError(
            f"the self-tuning bandwidth needs more than {neighbor} samples, there are {n}",
            hint="use the median bandwidth, or a number",
        )
    bandwidths = np.empty(n)
    for rows in panels(n):
        # the sample itself, at distance 0, takes the first place
        bandwidths[rows] = np.partition(d2[rows], neighbor, axis=1)[:, neighbor]
    zero = np.flatnonzero(bandwidths == 0.0)
    if zero.size:
        raise InputError(
            f"the self-tuning bandwidth is 0 for {zero.size:,} samples: each has at least "
            f"{neighbor} identical ones",
            where=name_samples(zero),
            hint="drop duplicated samples, or use the median bandwidth or a number",
        )
    return np.sqrt(bandwidths)


def rbf(d2: np.ndarray, bandwidth: float | np.ndarray) -> np.ndarray:
    """Gaussian similarity, exp(-dist^2 / (2 delta^2)) (Eq. 1.1).

    Parameters
    ----------
    d2 : ndarray, shape (n, n)
        Squared distances.
    bandwidth : float or ndarray, shape (n,)
        delta. With one delta_i per sample (self-tuning), delta_i delta_j takes the place of
        delta^2 and the 2 stays: exp(-dist^2 / (2 delta_i delta_j)).

    Returns
    -------
    ndarray, shape (n, n)
        S, 1 on the diagonal.

    Raises
    ------
    InputError
        When a bandwidth is not a positive finite number.
    """
    delta = checked_bandwidth(bandwidth)
    S = gaussian_weights(d2, delta * delta if delta.ndim == 0 else np.outer(delta, delta))
    np.fill_diagonal(S, 1.0)
    return S


def gaussian_weights(d2: np.ndarray, squared_bandwidth: np.ndarray) -> np.ndarray:
    """Return exp(-d2 / (2 squared_bandwidth)), of the shape of `d2`."""
    # a quotient that overflows is a weight of 0
    with np.errstate(over="ignore"):
        weights = np.divide(d2, squared_bandwidth, dtype=np.float64)
    weights *= -0.5
    return np.exp(weights, out=weights)


def checked_bandwidth(bandwidth: float | np.ndarray) -> np.ndarray:
    """Return `bandwidth` as a float64 array after checking that its square can be divided by."""
    delta = np.asarray(bandwidth, dtype=np.float64)
    smallest, largest = np.sqrt(np.finfo(np.float64).tiny), np.sqrt(np.finfo(np.float64).max)
    if not np.all((delta > smallest) & (delta < largest)):
        raise InputError(
            "the bandwidth of a Gaussian similarity must be a positive finite number",
            where=f"bandwidth {bandwidth}" if delta.ndim == 0 else None,
            hint="give a number near the typical distance between samples, or `median`",
        )
    return delta


def linear(gram: np.ndarray) -> np.ndarray:
    """Inner products between samples over centred features.

    Parameters
    ----------
    gram : ndarray, shape (n, n)
        Inner products between samples; of centred features, for accuracy.

    Returns
    -------
    ndarray, shape (n, n)
        The doubly centred Gram matrix, symmetric to the last bit. All its degrees are 0.
    """
    S = np.add(gram, gram.T, dtype=np.float64)
    S *= 0.5
    means = S.mean(axis=1)
    means -= 0.5 * means.mean()
    S -= np.add.outer(means, means)
    return S


def correlation(
    gram_raw: np.ndarray,
    sums: np.ndarray,
    n_features: int,
    eps: float = EPS,
    sample_ids: Sequence[str] | None = None,
) -> np.ndarray:
    """Pearson correlation between samples over features.

    Parameters
    ----------
    gram_raw : ndarray, shape (n, n)
        Inner products between samples of features as they are, not centred.
    sums : ndarray, shape (n,)
        Sum of each sample over its features.
    n_features : int
        Number of features summed over.
    eps : float
        Machine epsilon of the arithmetic that made `gram_raw`.
    sample_ids : sequence of str, optional
        Names for messages.

    Returns
    -------
    ndarray, shape (n, n)
        Values in [-1, 1], 1 on the diagonal, symmetric to the last bit.

    Raises
    ------
    InputError
        When a sample has the same value in all features.
    """
    means = np.asarray(sums, dtype=np.float64) / n_features
    S = np.add(gram_raw, gram_raw.T, dtype=np.float64)
    S *= 0.5
    squares = S.diagonal().copy()
    S -= n_features * np.outer(means, means)
    variances = S.diagonal().copy()
    constant = np.flatnonzero(~(variances > NOISE_UNITS * eps * squares))
    if constant.size:
        raise InputError(
            f"{constant.size:,} samples have the same value in all features: "
            "their correlation is not defined",
            where=name_samples(constant, sample_ids),
            hint="drop these samples, or use another similarity such as rbf",
        )
    deviations = np.sqrt(variances)
    S /= np.outer(deviations, deviations)
    np.clip(S, -1.0, 1.0, out=S)
    np.fill_diagonal(S, 1.0)
    return S


def _equalise_identical(d2: np.ndarray) -> None:
    """Give samples at distance 0 the distances of the first of them, in place."""
    first = np.argmax(d2 == 0.0, axis=1)
    copies = np.flatnonzero(first != np.arange(d2.shape[0]))
    d2[copies] = d2[first[copies]]
    d2[:, copies] = d2[:, first[copies]]


def _upper_triangle(d2: np.ndarray) -> np.ndarray:
    n = d2.shape[0]
    return np.concatenate([d2[i, i + 1 :] for i in range(n)])
