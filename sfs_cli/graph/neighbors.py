"""Nearest neighbors of every sample, and the sparse graphs that are made of them.

`find_neighbors` chooses the search by the number of samples: all distances at once, exact panels
of a few hundred samples, or nearest-neighbor descent.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from sfs_cli.compute.engine import Engine
from sfs_cli.compute.limits import LIMITS, Limits
from sfs_cli.compute.matrix import DOUBLE, BlockLike, Span, cut
from sfs_cli.compute.memory import check_memory
from sfs_cli.errors import InputError, need_extra
from sfs_cli.graph.distances import (
    SELF_TUNING_NEIGHBOR,
    Samples,
    center,
    checked_bandwidth,
    distance_panel,
    gaussian_weights,
    pair_distances,
    positive_median,
)
from sfs_cli.graph.similarity import PANEL_VALUES, SparseSimilarity, name_samples
from sfs_cli.options.graph import DEFAULT_NEIGHBORS, GraphOptions, parse_bandwidth

if TYPE_CHECKING:
    from scipy.sparse import csr_array

SAMPLED_PAIRS = 65_536
"""Random pairs that the median distance is estimated from."""
BRACKET = 0.012
"""Half-width, in quantiles of those pairs, of the bracket of the exact median: six deviations."""
ROUNDING = 1e-9
"""Relative difference between the distance of a pair and the same distance in a panel."""
PANEL_COPIES = 5
"""Panels that a worker holds at a time: products, distances, and copies to search in."""
SEARCH_WIDTH = 3
"""Factor on k for the descent: for k alone it misses a third of the neighbors in 50 dimensions,
for 3 k about 2 %."""
DESCENT_COPIES = 3
"""Copies of the values, in float32, that the descent holds."""
CANDIDATE_BYTES = 24
"""Bytes that the descent holds for each candidate of each sample, as measured."""
SIGNATURE_SEED = 0
MEDIAN = "median distance of the samples"
IDENTICAL = "identical samples"
COMPARED = "comparison of samples that seem identical"
BY_PANELS = "neighbors of the samples, by panels"
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
    if n <= limits.dense_distances or samples.squared is not None:
        d2 = samples.squared_distances(float64=True)
        indices, near = nearest_in_panel(d2, 0, k)
        bandwidth = samples.bandwidth(options, d2) if weighted else None
        return Neighbors(indices, near, bandwidth, {"neighbors": k, "search": "exact"})
    rule = parse_bandwidth(options.bandwidth or "median") if weighted else None
    wanted = max(k, SELF_TUNING_NEIGHBOR) if rule == "self-tuning" else k
    if searches_approximately(n, limits):
        indices, d2, median = _by_descent(samples, k, wanted, rule == "median")
        facts = {"neighbors": k, "search": "approximate (pynndescent)"}
        if median is not None:
            facts["bandwidth_from"] = f"{SAMPLED_PAIRS:,} random pairs"
    else:
        if n > limits.approximate_above:
            samples.run.log.warn(
                "an exact search of the neighbors of so many samples takes long; "
                "pip install 'sfs-cli[singlecell]' for a fast approximate one"
            )
        indices, d2, median = _by_panels(samples, wanted, rule == "median")
        facts = {"neighbors": k, "search": "exact"}
    if rule == "self-tuning":
        bandwidth = np.sqrt(d2[:, SELF_TUNING_NEIGHBOR - 1])
    else:
        bandwidth = median if rule in ("median", None) else float(rule)
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
    if searches_approximately(n):
        return GraphMemory(held=descent_bytes(n, m, options.neighbors or DEFAULT_NEIGHBORS))
    return GraphMemory(of_worker=panel_bytes(n))


def searches_approximately(n: int, limits: Limits = LIMITS) -> bool:
    """Return whether the neighbors of so many samples are searched approximately."""
    return n > limits.approximate_above and is_descent_installed()


def is_descent_installed() -> bool:
    """Return whether pynndescent is installed, which searches approximately."""
    return find_spec("pynndescent") is not None


def descent_bytes(n: int, width: int, k: int) -> int:
    """Return the bytes that an approximate search of k neighbors in `width` dimensions needs."""
    return n * (DESCENT_COPIES * 4 * width + CANDIDATE_BYTES * (SEARCH_WIDTH * k + 1))


def panel_bytes(n: int, limits: Limits = LIMITS) -> int:
    """Return the bytes that each worker of an exact search by panels needs."""
    return PANEL_COPIES * 8 * limits.panel * n


Found = tuple[np.ndarray, np.ndarray, float | None]
"""Neighbors (n, k), nearest first, their squared distances, and the median distance if wanted."""


def _by_panels(samples: Samples, k: int, with_median: bool) -> Found:
    """Search exactly; each worker holds the distances of a few hundred samples to all others."""
    engine, n = samples.run.engine, samples.n
    over_panels = replace(
        engine,
        executor=engine.executor.at_most(_panel_workers(samples)),
        features_per_task=lambda _panel: samples.run.m,  # a panel reads all of them
    )
    # the exact median of n(n-1)/2 distances that are never held together: random pairs give a
    # narrow bracket of it; while panels pass, distances below the bracket are counted and those
    # inside are collected; the count tells which of these few is the median
    bracket = None
    if with_median:
        # the pairs are measured value by value, panels through inner products: the bracket is
        # widened by what these may differ, so that no distance at its ends is missed
        low, high = np.quantile(_sampled_distances(samples), [0.5 - BRACKET, 0.5 + BRACKET])
        bracket = float(low) * (1 - ROUNDING), float(high) * (1 + ROUNDING)
    first = first_identical(engine.at(IDENTICAL))
    copies = np.flatnonzero(first != np.arange(n))

    def panel(span: Span) -> tuple[np.ndarray, ...]:
        d2 = distance_panel(engine, span.lo, span.hi)
        # the rounding of a product depends on the position of a sample in the panel: identical
        # samples get the same distances, so that ties between them are exact
        d2[:, copies] = d2[:, first[copies]]
        for i in np.flatnonzero(np.isin(first[span.lo : span.hi], first[copies])):
            d2[i, first == first[span.lo + i]] = 0
        found = nearest_in_panel(d2, span.lo, k)
        return (*found, *_count_pairs(d2, span, bracket))

    spans = cut(n, samples.run.limits.panel)
    indices, d2, below, inside = over_panels.at(BY_PANELS).joined(panel, spans)
    median = _median_in_bracket(int(below.sum()), inside, n) if with_median else None
    return indices, d2, median


def _panel_workers(samples: Samples) -> int:
    """Return how many panels may be held at a time; at least one must fit the memory allowed."""
    run = samples.run
    each = panel_bytes(run.n, run.limits)
    what = f"the search of the neighbors of {run.n:,} samples needs"
    check_memory(what, each, run.memory, f"raise --memory, or {GIVE_A_GRAPH}")
    return min(run.engine.executor.workers, run.memory // each)


def first_identical(engine: Engine) -> np.ndarray:
    """Return the first sample that is identical to each, shape (n,): itself, or an earlier one.

    Samples are distinguished by a random combination of their features; those that agree in it are
    then compared value by value, in a pass that is rarely needed.
    """
    # n signatures are compared in place of n^2 / 2 pairs of samples; samples that differ have the
    # same one only by rounding
    weights = np.random.default_rng(SIGNATURE_SEED).normal(size=engine.source.n_features)

    def combine(span: Span) -> tuple[np.ndarray]:
        values = engine.source.read(span, DOUBLE).values
        values *= weights[span.lo : span.hi, None]
        # not by BLAS, in which the rounding of a sum depends on the position of a sample
        return (values.sum(axis=0),)

    signature = engine.total_over(combine)[0]
    _, position, inverse = np.unique(signature, return_index=True, return_inverse=True)
    first = position[inverse]
    copies = np.flatnonzero(first != np.arange(len(first)))
    if len(copies):
        differ = pair_distances(engine.at(COMPARED), copies, first[copies]) != 0
        first[copies[differ]] = copies[differ]
    return first


def _sampled_distances(samples: Samples) -> np.ndarray:
    """Return the squared distances of random pairs of samples, by one pass."""
    n = samples.n
    rng = np.random.default_rng(samples.run.seed)
    first = rng.integers(0, n, SAMPLED_PAIRS)
    second = (first + rng.integers(1, n, SAMPLED_PAIRS)) % n
    return pair_distances(samples.run.engine.at(MEDIAN), first, second)


def _count_pairs(
    d2: np.ndarray, span: Span, bracket: tuple[float, float] | None
) -> tuple[np.ndarray, np.ndarray]:
    """Count the pairs i < j of a panel below the bracket, shape (1,), and collect those inside."""
    if bracket is None:
        return np.zeros(1, np.int64), np.empty(0)
    low, high = bracket
    below, inside = 0, []
    for row, i in enumerate(range(span.lo, span.hi)):
        later = d2[row, i + 1 :]
        below += int(np.count_nonzero(later < low))
        inside.append(later[(later >= low) & (later <= high)])
    return np.array([below]), np.concatenate(inside)


def _median_in_bracket(below: int, inside: np.ndarray, n: int) -> float:
    """Return the median distance of all pairs from the count below and the values inside."""
    pairs = n * (n - 1) // 2
    # the ranks of the two middle distances among those inside
    first, second = (pairs - 1) // 2 - below, pairs // 2 - below
    if first < 0 or second >= len(inside):
        raise InputError(
            "the median distance was not between the quantiles of the sampled pairs",
            hint="give bandwidth= as a number, or try another --seed",
            option="bandwidth",
        )
    middle = np.partition(inside, [first, second])[[first, second]]
    return positive_median(float(np.sqrt(middle).mean()))


def _by_descent(samples: Samples, k: int, wanted: int, with_median: bool) -> Found:
    """Search approximately, by nearest-neighbor descent on all samples in memory."""
    run, n, m = samples.run, samples.run.n, samples.run.m
    what = f"an approximate search of {n:,} samples x {m:,} features needs"
    hint = f"raise --memory, select features first, or {GIVE_A_GRAPH}"
    check_memory(what, descent_bytes(n, m, k), run.memory, hint)

    # of values far from zero, seven digits of float32 would leave few for the distances
    def centered(block: BlockLike) -> np.ndarray:
        center(block.values)
        return block.values

    engine = run.engine.at(IN_MEMORY)

    def search() -> list[np.ndarray]:
        # here and one block at a time: blocks that wait would take as much as the values themselves
        values = np.empty((n, m), np.float32)
        here = replace(engine, executor=engine.executor.nearby.at_most(1))
        for span, block in here.run(centered, DOUBLE):
            values[:, span.lo : span.hi] = block.T
        return list(approximate_neighbors(values, wanted, run.seed))

    indices, d2 = engine.whole(search)
    if not with_median:
        return indices, d2, None
    return indices, d2, float(np.sqrt(np.median(_sampled_distances(samples))))


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


def approximate_neighbors(samples: np.ndarray, k: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Find nearly all of the k nearest samples, by nearest-neighbor descent.

    Parameters
    ----------
    samples : ndarray, shape (n, m)
        One row per sample.
    k : int
        Number of neighbors.
    seed : int
        The same seed gives the same neighbors. The search runs on one thread, because its result
        depends on their number.

    Returns
    -------
    indices : ndarray of int64, shape (n, k)
        Neighbors without the sample itself, ordered by (distance, index).
    d2 : ndarray of float64, shape (n, k)
        Their exact squared distances.

    Raises
    ------
    InputError
        When the search found fewer than k.
    MissingExtraError
        When pynndescent is not installed.
    """
    n, m = samples.shape
    what = "the approximate search of neighbors needs pynndescent"
    need_extra("pynndescent", "singlecell", what)
    from pynndescent import NNDescent

    width = min(n, SEARCH_WIDTH * k + 1)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Failed to correctly find")  # refused below
        index = NNDescent(
            samples, metric="euclidean", n_neighbors=width, random_state=seed, n_jobs=1
        )
    found = index.neighbor_graph[0]
    own = found == np.arange(n)[:, None]
    # identical samples may have crowded out the sample itself: then the farthest one goes
    own[~own.any(axis=1), -1] = True
    indices = found[~own].reshape(n, -1)[:, :k].astype(np.int64)
    lost = np.flatnonzero((indices < 0).any(axis=1))
    if lost.size:
        raise InputError(
            f"the approximate search found fewer than {k} neighbors for {lost.size:,} samples",
            where=name_samples(lost),
            hint="use fewer neighbors=",
            option="neighbors",
        )
    # measured again in float64: in the descent's float32, near samples are at equal distances
    d2 = np.empty((n, k))
    step = max(1, PANEL_VALUES // (k * max(1, m)))
    for low in range(0, n, step):
        gaps = samples[low : low + step, None] - samples[indices[low : low + step]]
        d2[low : low + step] = np.square(gaps, dtype=np.float64).sum(axis=2)
    order = np.lexsort((indices, d2), axis=1)
    return np.take_along_axis(indices, order, axis=1), np.take_along_axis(d2, order, axis=1)


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
