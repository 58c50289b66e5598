"""Nearest neighbours of samples, and the sparse graphs made of them."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Literal

import numpy as np

from sfs_cli.errors import InputError, MissingExtraError
from sfs_cli.graph.kernels import checked_bandwidth, gaussian_weights
from sfs_cli.graph.panels import PANEL_VALUES, name_samples
from sfs_cli.graph.similarity import SparseSimilarity

if TYPE_CHECKING:
    from scipy.sparse import csr_array

DEFAULT_NEIGHBORS = 10
# descent for k alone misses a third of the neighbours in 50 dimensions, for 3 k about 2 %
SEARCH_WIDTH = 3


def nearest_in_panel(
    d2_panel: np.ndarray, first_row: int, k: int = DEFAULT_NEIGHBORS
) -> tuple[np.ndarray, np.ndarray]:
    """Find the k nearest samples of some consecutive samples, themselves left out.

    Parameters
    ----------
    d2_panel : ndarray, shape (p, n)
        Squared distances, finite, from samples ``first_row, ..., first_row + p - 1`` to all n.
    first_row : int
        Position of the panel's first sample among all.
    k : int
        Number of neighbours.

    Returns
    -------
    indices : ndarray of int64, shape (p, k)
        Neighbours, nearest first; equal distances are ordered by index, also at the k-th place.
    d2 : ndarray, shape (p, k)
        Their squared distances, in the dtype of the panel.

    Raises
    ------
    InputError
        When there are fewer than k other samples, or k < 1.
    """
    p, n = d2_panel.shape
    _check_count(k, n)
    indices = np.empty((p, k), dtype=np.int64)
    d2 = np.empty((p, k), dtype=d2_panel.dtype)
    step = max(1, PANEL_VALUES // n)
    for low in range(0, p, step):
        values = d2_panel[low : low + step].copy()
        own = np.arange(len(values))
        values[own, first_row + low + own] = np.inf
        indices[low : low + step], d2[low : low + step] = smallest_in_rows(values, k)
    return indices, d2


def smallest_in_rows(values: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Find the k smallest values of each row, ordered by (value, column).

    Parameters
    ----------
    values : ndarray, shape (p, n)
        No NaN; each row holds at least k values.
    k : int
        How many.

    Returns
    -------
    columns : ndarray of int64, shape (p, k)
    smallest : ndarray, shape (p, k)
    """
    limits = np.partition(values, k - 1, axis=1)[:, k - 1 : k]
    rows, columns = np.nonzero(values <= limits)
    found = values[rows, columns]
    # candidates come by row and column, and lexsort is stable, so that ties keep the lowest column
    order = np.lexsort((found, rows))
    starts = np.searchsorted(rows, np.arange(len(values)))
    chosen = order[starts[:, None] + np.arange(k)]
    return columns[chosen].astype(np.int64, copy=False), found[chosen]


def knn_similarity(
    indices: np.ndarray,
    d2: np.ndarray,
    bandwidth: float | np.ndarray | None = None,
    weight: Literal["rbf", "binary"] = "rbf",
) -> SparseSimilarity:
    """Similarity with an edge where either sample is among the other's nearest neighbours.

    Parameters
    ----------
    indices : ndarray of int, shape (n, k)
        Neighbours of each sample, without itself.
    d2 : ndarray, shape (n, k)
        Squared distances to them.
    bandwidth : float or ndarray, shape (n,), optional
        delta, or delta_i per sample, as in `sfs_cli.graph.kernels.rbf`; not used by binary weights.
    weight : {"rbf", "binary"}
        Gaussian weights, or 1.

    Returns
    -------
    SparseSimilarity
        S, 0 on the diagonal, symmetric to the last bit. A weight that underflows is no edge.

    Raises
    ------
    InputError
        When a bandwidth is not a positive finite number.
    """
    low, high, edges = _undirected(indices, d2)
    if weight == "binary":
        weights = np.ones(edges.size)
    elif bandwidth is None:
        raise ValueError("rbf weights need a bandwidth")
    else:
        delta = checked_bandwidth(bandwidth)
        weights = gaussian_weights(
            edges, delta * delta if delta.ndim == 0 else delta[low] * delta[high]
        )
    S = _symmetric(low, high, weights, len(indices))
    S.eliminate_zeros()
    return SparseSimilarity(S)


def knn_lengths(indices: np.ndarray, d2: np.ndarray) -> csr_array:
    """Euclidean lengths of the edges of the neighbour graph, for shortest paths.

    Parameters
    ----------
    indices : ndarray of int, shape (n, k)
        Neighbours of each sample, without itself.
    d2 : ndarray, shape (n, k)
        Squared distances to them.

    Returns
    -------
    csr_array, shape (n, n)
        Symmetric. An edge between identical samples is stored as an explicit 0, which
        `scipy.sparse.csgraph` takes for an edge of length 0; what is not stored is no edge.
    """
    low, high, edges = _undirected(indices, d2)
    return _symmetric(low, high, np.sqrt(edges), len(indices))


def approximate_neighbors(
    samples: np.ndarray | csr_array, k: int, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Find nearly all of the k nearest samples, by nearest-neighbour descent.

    Parameters
    ----------
    samples : ndarray or csr_array, shape (n, m)
        One row per sample.
    k : int
        Number of neighbours.
    seed : int
        The same seed gives the same neighbours. The search runs on one thread, because its result
        depends on their number.

    Returns
    -------
    indices : ndarray of int64, shape (n, k)
        Neighbours without the sample itself, ordered by (distance, index).
    d2 : ndarray of float64, shape (n, k)
        Their exact squared distances.

    Raises
    ------
    InputError
        When there are fewer than k other samples, or the search found fewer than k.
    MissingExtraError
        When pynndescent is not installed.
    """
    n = samples.shape[0]
    _check_count(k, n)
    found = _descend(samples, min(n, SEARCH_WIDTH * k + 1), seed)
    own = found == np.arange(n)[:, None]
    # where identical samples have crowded it out, the farthest goes in place of the sample itself
    own[~own.any(axis=1), -1] = True
    indices = found[~own].reshape(n, -1)[:, :k].astype(np.int64)
    lost = np.flatnonzero((indices < 0).any(axis=1))
    if lost.size:
        raise InputError(
            f"the approximate search found fewer than {k} neighbours for {lost.size:,} samples",
            where=name_samples(lost),
            hint="ask for fewer neighbours, or for an exact search",
        )
    d2 = _pair_distances(samples, indices)
    order = np.lexsort((indices, d2), axis=1)
    return np.take_along_axis(indices, order, axis=1), np.take_along_axis(d2, order, axis=1)


def _check_count(k: int, n: int) -> None:
    if k < 1:
        raise InputError(f"the number of neighbours is {k}", hint="ask for at least one neighbour")
    if k >= n:
        raise InputError(
            f"{k} neighbours need at least {k + 1} samples, there are {n}",
            hint=f"ask for at most {n - 1} neighbours",
        )


def _undirected(indices: np.ndarray, d2: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Edges (low, high, squared length), each once, ordered by (low, high)."""
    n, k = indices.shape
    source = np.repeat(np.arange(n, dtype=np.int64), k)
    target = indices.ravel()
    keys = np.minimum(source, target) * n + np.maximum(source, target)
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    starts = np.flatnonzero(np.diff(keys, prepend=-1))
    # both ends may have measured the edge, with another rounding
    lengths = np.minimum.reduceat(d2.ravel()[order].astype(np.float64), starts)
    low, high = np.divmod(keys[starts], n)
    return low, high, lengths


def _symmetric(low: np.ndarray, high: np.ndarray, values: np.ndarray, n: int) -> csr_array:
    from scipy.sparse import coo_array

    rows, columns = np.concatenate([low, high]), np.concatenate([high, low])
    matrix = coo_array((np.concatenate([values, values]), (rows, columns)), shape=(n, n)).tocsr()
    matrix.sort_indices()
    return matrix


def _descend(samples: np.ndarray | csr_array, n_neighbors: int, seed: int) -> np.ndarray:
    try:
        from pynndescent import NNDescent
    except ImportError as error:
        raise MissingExtraError(
            "the approximate neighbour search needs pynndescent, which is not installed",
            hint="pip install 'sfs-cli[singlecell]'",
        ) from error
    with warnings.catch_warnings():
        # incomplete neighbour lists are an error of ours
        warnings.filterwarnings("ignore", message="Failed to correctly find")
        index = NNDescent(
            samples, metric="euclidean", n_neighbors=n_neighbors, random_state=seed, n_jobs=1
        )
    return index.neighbor_graph[0]


def _pair_distances(samples: np.ndarray | csr_array, indices: np.ndarray) -> np.ndarray:
    n, k = indices.shape
    d2 = np.empty((n, k))
    step = max(1, PANEL_VALUES * n // (k * max(1, samples.size)))
    for low in range(0, n, step):
        targets = indices[low : low + step]
        sources = np.repeat(np.arange(low, low + len(targets)), k)
        difference = samples[sources] - samples[targets.ravel()]
        if isinstance(difference, np.ndarray):
            squares = np.square(difference, dtype=np.float64).sum(axis=1)
        else:
            squares = difference.astype(np.float64).power(2).sum(axis=1)
        d2[low : low + step] = np.asarray(squares).reshape(-1, k)
    return d2
