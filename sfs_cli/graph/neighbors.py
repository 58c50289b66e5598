"""Nearest neighbors of every sample, and the sparse graphs that are made of them.

Of few samples they are found among all distances, of more in the values, or the principal
components, that are held in memory: exactly by scikit-learn, or approximately in lists of samples
around centers.
"""

from __future__ import annotations

import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from math import isqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from sfs_cli.compute.engine import Engine
from sfs_cli.compute.limits import EPS, LIMITS, Limits
from sfs_cli.compute.matrix import DOUBLE, Arrays, BlockLike, NonZeros, Span
from sfs_cli.compute.memory import check_memory
from sfs_cli.errors import InputError
from sfs_cli.graph.distances import (
    NOISE_UNITS,
    SELF_TUNING_NEIGHBOR,
    Samples,
    center,
    checked_bandwidth,
    gaussian_weights,
    median_distance,
    pair_distances,
    positive_median,
    positive_widths,
    random_pairs,
)
from sfs_cli.graph.similarity import PANEL_VALUES, SparseSimilarity
from sfs_cli.options.graph import DEFAULT_NEIGHBORS, GraphOptions, parse_bandwidth

if TYPE_CHECKING:
    from scipy.sparse import csr_array

PROBES = 40
"""Lists that a sample is compared with: of 15 neighbors in 50 components they hold 99.6 % in
70,000 cells simulated from real ones, and 98 % in 200,000 without clusters."""
PROBES_OF_NEIGHBORS = 4
"""How many times the lists that k samples fill are added, for many neighbors."""
SAMPLES_OF_CENTER = 30
"""Samples of each center that k-means sees."""
TIES = 10
"""Candidates of the exact search beyond k. Where more samples than these may be as far as the k-th
neighbor, all distances of the sample are looked at."""
SPARE = 3
"""Candidates of the approximate search beyond k, so that float32 does not choose the k-th."""
COPIES = 2
"""Copies of the values, in float32, that the approximate search holds at most."""
NEIGHBOR_BYTES, SAMPLE_BYTES = 72, 240
"""Bytes that a search holds for each neighbor of each sample, and for each sample beside them."""
NONE_YET = np.int64(0x7F800000 << 32 | 0xFFFFFFFF)
"""A neighbor that is not known: infinitely far, behind all others."""
IDENTICAL = "identical samples"
IN_MEMORY = "all values, to be searched in memory"
GIVE_A_GRAPH = "give a graph that is made already (--similarity obsp:KEY or file:PATH)"


@dataclass
class Neighbors:
    """The nearest neighbors of every sample."""

    indices: np.ndarray  # (n, k): nearest first; equal distances are ordered by index
    d2: np.ndarray  # (n, k): their squared distances
    # (n,): bandwidth for the weights of the edges, where one was asked for
    bandwidth: float | np.ndarray | None
    facts: dict[str, Any]  # how they were found, for ``run.json``


def find_neighbors(options: GraphOptions, samples: Samples, *, weighted: bool) -> Neighbors:
    """Find the nearest neighbors of every sample.

    Parameters
    ----------
    options : GraphOptions
        Number of neighbors and rule of the bandwidth.
    samples : Samples
        The samples.
    weighted : bool
        Whether a bandwidth is needed, for the weights of the edges.

    Raises
    ------
    InputError
        When there are not more samples than neighbors.
    OutOfMemoryError
        When the search does not fit the memory allowed.
    """
    n, limits = samples.n, samples.run.limits
    k = options.neighbors or DEFAULT_NEIGHBORS
    if k >= n:
        raise InputError(
            f"{samples.name_option('neighbors', k)} is not less than the {n} samples",
            where=samples.run.where,
            hint=f"give at most {n - 1}",
            option="neighbors",
        )
    facts: dict[str, Any] = {"neighbors": k, "search": "exact"}
    if n <= limits.dense_distances or samples.squared is not None:
        d2 = samples.squared_distances(float64=True)
        indices, near = nearest_in_panel(d2, 0, k)
        bandwidth = samples.bandwidth(options, d2) if weighted else None
        return Neighbors(indices, near, bandwidth, facts)
    indices, d2, pairs = _search(samples, k)
    if n > limits.approximate_above:
        facts["search"] = "approximate (inverted file)"
    if not weighted:
        return Neighbors(indices[:, :k], d2[:, :k], None, facts)
    rule = parse_bandwidth(options.bandwidth or "median")
    if rule == "self-tuning":
        bandwidth = positive_widths(d2[:, SELF_TUNING_NEIGHBOR - 1])
    elif rule == "median":
        bandwidth = positive_median(median_distance(pairs))
    else:
        bandwidth = float(rule)
    return Neighbors(indices[:, :k], d2[:, :k], bandwidth, facts)


@dataclass(frozen=True)
class GraphMemory:
    """What a sample graph takes in memory while it is made, beside itself."""

    products: bool = False  # whether inner products of all samples, (n, n), are made
    held: int = 0  # bytes
    of_worker: int = 0  # bytes of each worker


def search_memory(options: GraphOptions, n: int, m: int) -> GraphMemory:
    """Return what `find_neighbors` takes in memory, among n samples of m features."""
    if n <= LIMITS.dense_distances:
        return GraphMemory(products=True)
    return GraphMemory(held=search_bytes(n, m, options.neighbors or DEFAULT_NEIGHBORS))


def search_bytes(n: int, width: int, k: int, limits: Limits = LIMITS) -> int:
    """Return the bytes that a search of k neighbors in `width` dimensions needs."""
    approximate = n > limits.approximate_above
    copies, found = 8 + 4 * COPIES * approximate, k + SPARE * approximate
    return n * (copies * width + NEIGHBOR_BYTES * found + SAMPLE_BYTES)


def _search(samples: Samples, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Search the values in memory for at least k and `SELF_TUNING_NEIGHBOR` neighbors.

    Returns them (n, k), nearest first, with their squared distances, and those of random pairs.
    """
    run, n, m = samples.run, samples.n, samples.run.m
    what = f"a search of the neighbors of {n:,} samples x {m:,} features needs"
    hint = f"raise --memory, search among principal components (components=50), or {GIVE_A_GRAPH}"
    check_memory(what, search_bytes(n, m, k, run.limits), run.memory, hint)
    engine, wanted = run.engine.at(IN_MEMORY), max(k, SELF_TUNING_NEIGHBOR)
    threads = engine.executor.nearby.workers  # the values are held here

    def search() -> Arrays:
        values = _held(engine)
        if n > run.limits.approximate_above:
            found = approximate_neighbors(values, wanted, run.seed, threads)
        else:
            found = exact_neighbors(values, wanted, threads)
        pairs = pair_distances(values, *random_pairs(n, run.seed))
        return {"indices": found[0], "d2": found[1], "pairs": pairs}

    found = engine.whole(search)
    return found["indices"], found["d2"], found["pairs"]


def _held(engine: Engine) -> np.ndarray:
    """Return all values, about centered, shape (n, m)."""

    def centered(block: BlockLike) -> np.ndarray:
        center(block.values)  # digits that an offset costs are missing in inner products
        return block.values

    values = np.empty((engine.source.n_samples, engine.source.n_features))
    # here and one block at a time: blocks that wait would take as much as the values themselves
    here = replace(engine, executor=engine.executor.nearby.at_most(1))
    for span, block in here.run(centered, DOUBLE):
        values[:, span.lo : span.hi] = block.T
    return values


def first_identical(engine: Engine) -> np.ndarray:
    """Return the first sample that is identical to each, shape (n,): itself, or an earlier one.

    Samples are distinguished by two random combinations of their features, in one pass: samples
    that differ by more than rounding agree in both with a probability below 1e-20.
    """
    m, n = engine.source.n_features, engine.source.n_samples
    weights = np.random.default_rng(0).normal(size=(2, m))
    engine = replace(engine, nonzeros=engine.source.keeps_zeros).at(IDENTICAL)

    def combine(span: Span) -> Arrays:
        block, along = engine.read(span, DOUBLE), weights[:, span.lo : span.hi]
        # not by BLAS, in which the rounding of a sum depends on the position of a sample
        if isinstance(block, NonZeros):
            products = (block.data * each[block.rows] for each in along)
            sums = [np.bincount(block.indices, each, n) for each in products]
        else:
            center(block.values)  # a huge number in all samples would hide how they differ
            sums = [(block.values * each[:, None]).sum(axis=0) for each in along]
        return {"sums": np.stack(sums)}

    combined = engine.total_over(combine)["sums"]
    _, position, inverse = np.unique(combined, axis=1, return_index=True, return_inverse=True)
    return position[inverse]


def nearest_in_panel(
    d2_panel: np.ndarray, first_row: int, k: int = DEFAULT_NEIGHBORS
) -> tuple[np.ndarray, np.ndarray]:
    """Find the k nearest samples of consecutive samples, themselves excluded.

    Parameters
    ----------
    d2_panel : ndarray, shape (p, n)
        Squared distances, finite, from samples ``first_row, ..., first_row + p - 1`` to all n.
    first_row : int
        Position of the panel's first sample among all.
    k : int
        Number of neighbors, less than n.

    Returns
    -------
    indices : ndarray of int64, shape (p, k)
        Neighbors, nearest first; equal distances are ordered by index, also in the k-th place.
    d2 : ndarray, shape (p, k)
        Their squared distances, in the dtype of the panel.
    """
    p, n = d2_panel.shape
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
    """Return columns and values, (p, k), of the k smallest of each row of `values`, (p, n).

    They are ordered by (value, column). There is no NaN.
    """
    # candidates: all values up to the k-th smallest, with the ties in the k-th place
    limits = np.partition(values, k - 1, axis=1)[:, k - 1 : k]
    rows, columns = np.nonzero(values <= limits)
    found = values[rows, columns]
    # candidates come by row and column, and lexsort is stable, so that ties keep the lowest column
    order = np.lexsort((found, rows))
    starts = np.searchsorted(rows, np.arange(len(values)))
    chosen = order[starts[:, None] + np.arange(k)]
    return columns[chosen].astype(np.int64, copy=False), found[chosen]


def knn_similarity(
    indices: np.ndarray, d2: np.ndarray, bandwidth: float | np.ndarray | None = None
) -> SparseSimilarity:
    """Return the graph with an edge where either sample is a nearest neighbor of the other.

    Parameters
    ----------
    indices : ndarray of int, shape (n, k)
        Neighbors of each sample, without itself.
    d2 : ndarray, shape (n, k)
        Squared distances to them.
    bandwidth : float or ndarray, shape (n,), optional
        delta, or delta_i per sample, as in `sfs_cli.graph.distances.rbf`, for Gaussian weights;
        without it every weight is 1.

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
    weights = np.ones(edges.size)
    if bandwidth is not None:
        delta = checked_bandwidth(bandwidth)
        scale = 2 * delta * delta if delta.ndim == 0 else delta[low] * delta[high]
        weights = gaussian_weights(edges, scale)
    S = _symmetric(low, high, weights, len(indices))
    S.eliminate_zeros()  # a stored 0 would be counted as an edge
    return SparseSimilarity(S)


def knn_lengths(indices: np.ndarray, d2: np.ndarray) -> csr_array:
    """Return the Euclidean lengths, (n, n), of the edges of the neighbor graph, for shortest paths.

    An edge between identical samples is stored as an explicit 0, which `scipy.sparse.csgraph` takes
    for an edge of length 0; what is not stored is no edge.
    """
    low, high, edges = _undirected(indices, d2)
    return _symmetric(low, high, np.sqrt(edges), len(indices))


def exact_neighbors(values: np.ndarray, k: int, threads: int) -> tuple[np.ndarray, np.ndarray]:
    """Find the k nearest samples of each, (n, m), by scikit-learn; returned as by `measured`."""
    from sklearn.neighbors import NearestNeighbors
    from threadpoolctl import threadpool_limits

    width = min(len(values), k + 1 + TIES)
    search = NearestNeighbors(n_neighbors=width, algorithm="brute")
    with threadpool_limits(threads, "openmp"):
        found = search.fit(values).kneighbors(values, return_distance=False)
    indices, d2 = measured(values, found, width - 1)
    sizes = np.vecdot(values, values)
    noise = NOISE_UNITS * EPS * (sizes + sizes[indices[:, -1]])
    kth, farthest = d2[:, k - 1], d2[:, -1]
    # which of many ties are found depends on rounding, and on the number of threads
    tied = np.flatnonzero((farthest <= kth + noise) & (width < len(values)))
    indices, d2 = indices[:, :k].copy(), d2[:, :k].copy()
    _look_at_all(values, tied, kth[tied], indices, d2)
    return indices, d2


def _look_at_all(
    values: np.ndarray, rows: np.ndarray, kth: np.ndarray, indices: np.ndarray, d2: np.ndarray
) -> None:
    """Put the nearest of all samples, (n, m), into p rows of `indices` and `d2`, both (n, k).

    `kth` (p,) is the squared distance, where it is known, as far as which samples come by index.
    """
    sizes, k = np.vecdot(values, values), indices.shape[1]
    step = max(1, PANEL_VALUES // len(values))
    for low in range(0, len(rows), step):
        some = rows[low : low + step]
        others = _first_of_ties(values, sizes, some, kth[low : low + step], k)
        indices[some], d2[some] = _ordered(values, some, others, k)


def _first_of_ties(
    values: np.ndarray, sizes: np.ndarray, rows: np.ndarray, kth: np.ndarray, k: int
) -> np.ndarray:
    """Return the k nearest of all samples, (p, k), of p rows with known squared distances `kth`.

    Those that are as far as the k-th one, but for rounding, come by index. `sizes` (n,) are the
    squares of all samples.
    """
    both = sizes[rows, None] + sizes
    beyond = both - 2 * (values[rows] @ values.T) - kth[:, None]
    both *= NOISE_UNITS * EPS
    beyond[np.abs(beyond) <= both] = 0
    beyond[beyond < 0] = -1  # all of these are among the k
    beyond[np.arange(len(rows)), rows] = np.inf
    return smallest_in_rows(beyond, k)[0]


def approximate_neighbors(
    values: np.ndarray, k: int, seed: int, threads: int
) -> tuple[np.ndarray, np.ndarray]:
    """Find nearly all of the k nearest samples of each, (n, m), in an inverted file.

    Samples are put into the lists of the nearest of sqrt(n) centers, of k-means on some of them,
    and each is compared with the samples of the lists of its `PROBES` nearest centers (Jegou et
    al., Product quantization for nearest neighbor search, 2011, Section IV, without the
    quantization). All samples are compared where those lists hold too few others. The same
    seed gives the same neighbors, with any number of threads. They are returned as by `measured`.
    """
    n, m = values.shape
    largest = max(values.max(), -values.min()) or 1  # of which a square would overflow float32
    centers = _centers(values, largest, seed)
    count = len(centers)
    probes = min(count, PROBES + PROBES_OF_NEIGHBORS * k * count // n)
    nearest = np.empty((n, probes), dtype=np.int32)
    squares, step = np.vecdot(centers, centers), max(1, PANEL_VALUES // max(count, m))

    def put(low: int) -> None:
        away = squares - 2 * (values[low : low + step] / largest @ centers.T)
        nearest[low : low + step] = smallest_in_rows(away, probes)[0]

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(put, range(0, n, step)))
    lists = _members(nearest[:, 0], count)
    # of each sample the best so far, ordered: bits of the squared distance, then the index
    width = min(n, k + 1 + SPARE)
    best = np.full((n, width), NONE_YET)

    def around(rows: np.ndarray, at: int) -> tuple[np.ndarray, np.ndarray]:
        """Return samples about their center, where float32 loses the fewest digits, and squares."""
        near = values[rows]
        near /= largest
        near -= centers[at]
        near = near.astype(np.float32)
        return near, np.vecdot(near, near)[:, None]

    def compare(rows: np.ndarray, at: int) -> None:
        members, squares = around(lists[at], at)
        # one product gives |x|^2 - 2 x'y + |y|^2
        theirs = np.hstack([members, squares, np.ones_like(squares)])
        step = max(1, PANEL_VALUES // max(len(members), m))
        for low in range(0, len(rows) if len(members) else 0, step):
            own = rows[low : low + step]
            ours, squares = around(own, at)
            d2 = np.hstack([-2 * ours, np.ones_like(squares), squares]) @ theirs.T
            limits = (best[own, -1:] >> 32).astype(np.int32).view(np.float32)
            row, column = np.divmod(np.flatnonzero(d2 <= limits), len(members))
            # bits of what is not negative are ordered as it is
            bits = np.maximum(d2[row, column], 0).view(np.int32).astype(np.int64)
            counts = np.bincount(row, minlength=len(own))
            own, counts = own[counts > 0], counts[counts > 0]
            # candidates of each sample side by side
            taken = np.arange(counts.max(initial=0)) < counts[:, None]
            candidates = np.full(taken.shape, NONE_YET)
            candidates[taken] = (bits << 32) + lists[at][column]
            best[own] = np.sort(np.hstack([best[own], candidates]), axis=1)[:, :width]

    with ThreadPoolExecutor(threads) as pool:
        for probe in range(probes):  # a sample is in one task of each, and its first lists are best
            list(pool.map(compare, _members(nearest[:, probe], count), range(count)))
    few = np.flatnonzero(best[:, -1] == NONE_YET)
    best[few] = np.arange(width)  # any, which the nearest replace
    indices, d2 = measured(values, best & 0xFFFFFFFF, k)
    _look_at_all(values, few, np.zeros(len(few)), indices, d2)
    return indices, d2


def _centers(values: np.ndarray, largest: float, seed: int) -> np.ndarray:
    """Return sqrt(n) centers of samples, (n, m), over `largest`, by k-means of some of them."""
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning
    from threadpoolctl import threadpool_limits

    n, count = len(values), isqrt(len(values))
    size = min(n, SAMPLES_OF_CENTER * count)
    some = np.sort(np.random.default_rng(seed).choice(n, size, replace=False))
    means = KMeans(count, init="random", n_init=1, max_iter=10, random_state=seed)
    # threads of k-means would add up in another order
    with threadpool_limits(1, "openmp"), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer distinct samples than centers
        return means.fit(values[some] / largest).cluster_centers_


def _members(labels: np.ndarray, count: int) -> list[np.ndarray]:
    """Return the indices that have each label, of `count` labels."""
    order = np.argsort(labels, kind="stable")
    return np.split(order, np.searchsorted(labels[order], np.arange(1, count)))


def measured(values: np.ndarray, found: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the k nearest of candidates, without the sample itself, ordered by (distance, index).

    Parameters
    ----------
    values : ndarray, shape (n, m)
        One row per sample.
    found : ndarray of int, shape (n, at least k + 1)
        Candidates of each sample, about nearest first. It is one of its own, but where identical
        samples have crowded it out.

    Returns
    -------
    indices : ndarray of int64, shape (n, k)
    d2 : ndarray of float64, shape (n, k)
        Squared distances, from differences of the values: inner products would round them, and tell
        apart what is equally far.
    """
    n = len(found)
    own = found == np.arange(n)[:, None]
    own[~own.any(axis=1), -1] = True
    others = found[~own].reshape(n, -1).astype(np.int64)
    return _ordered(values, np.arange(n), others, k)


def _ordered(
    values: np.ndarray, rows: np.ndarray, others: np.ndarray, k: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the k nearest of `others` (p, at least k) of p rows, as `measured` does."""
    count = others.shape[1]
    d2 = pair_distances(values, np.repeat(rows, count), others.ravel()).reshape(-1, count)
    order = np.lexsort((others, d2), axis=1)[:, :k]
    return np.take_along_axis(others, order, axis=1), np.take_along_axis(d2, order, axis=1)


def _undirected(indices: np.ndarray, d2: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return edges (low, high, squared length), each once, ordered by (low, high)."""
    n, k = indices.shape
    source = np.repeat(np.arange(n, dtype=np.int64), k)
    target = indices.ravel()
    keys = np.minimum(source, target) * n + np.maximum(source, target)  # one for both directions
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
