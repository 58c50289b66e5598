"""Searching the nearest neighbours of every sample, in a way that fits their number."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sfs_cli.compute import passes
from sfs_cli.compute.identical import first_identical
from sfs_cli.compute.spans import Span, cut
from sfs_cli.errors import InputError, OutOfMemoryError
from sfs_cli.graph import neighbors
from sfs_cli.graph.options import DEFAULT_NEIGHBORS, parse_bandwidth
from sfs_cli.logs import Messages
from sfs_cli.sources.request import GraphRequest, bandwidth_of, distances

DENSE_DISTANCES = 4096
"""Up to this many samples all distances are held; neighbours come panel by panel above."""
PANEL = 512
"""Samples whose distances to all others a worker holds."""
APPROXIMATE_ABOVE = 50_000
"""More samples than this are searched approximately, where the extra is installed."""
COPIES = 3
"""Copies of the values, in float32, that an approximate search holds."""
CANDIDATE_BYTES = 24
"""Bytes of each candidate that it holds for each sample, as measured."""
SAMPLED_PAIRS = 65_536
BRACKET = 0.012
"""Half-width, in quantiles, of where the median of all pairs is looked for: six deviations."""
ROUNDING = 1e-9
"""Relative difference between a distance of a pair and the same distance of a panel."""
PANEL_COPIES = 5
"""Panels that a worker holds at a time: products, distances, and one to search in."""
SELF_TUNING = 7
"""The neighbour whose distance is a sample's own bandwidth."""


@dataclass
class Neighbours:
    """The k nearest of every sample, and the bandwidth for their weights (None: binary)."""

    indices: np.ndarray
    d2: np.ndarray
    bandwidth: float | np.ndarray | None
    facts: dict[str, Any]


def find_neighbours(request: GraphRequest, weighted: bool) -> Neighbours:
    """Search the nearest neighbours of every sample.

    Parameters
    ----------
    request : GraphRequest
        What is asked for, and the matrix.
    weighted : bool
        Whether a bandwidth for the weights of the edges is needed.

    Raises
    ------
    InputError
        When there are not more samples than neighbours.
    """
    n = request.n
    k = request.options.neighbors or DEFAULT_NEIGHBORS
    if k >= n:
        raise InputError(
            f"{request.flag('neighbors')} {k} is not less than the {n} samples",
            where=request.where,
            hint=f"give at most {n - 1}",
        )
    if n <= DENSE_DISTANCES or request.known is not None:
        d2 = distances(request, exact=True)
        indices, near = neighbors.nearest_in_panel(d2, 0, k)
        delta = bandwidth_of(request, d2) if weighted else None
        return Neighbours(indices, near, delta, {"neighbors": k, "search": "exact"})
    if n > APPROXIMATE_ABOVE and _has_pynndescent(request.messages):
        return _approximate(request, k, weighted)
    return _by_panels(request, k, weighted)


def approximates(n: int) -> bool:
    """Tell whether the neighbours of so many samples are searched approximately."""
    return n > APPROXIMATE_ABOVE and _is_installed()


def approximate_room(n: int, width: int, k: int) -> int:
    """Return the bytes that an approximate search of k neighbours takes, in `width` dimensions."""
    return n * (COPIES * 4 * width + CANDIDATE_BYTES * (neighbors.SEARCH_WIDTH * k + 1))


def _is_installed() -> bool:
    from importlib.util import find_spec

    return find_spec("pynndescent") is not None


def _has_pynndescent(messages: Messages) -> bool:
    if _is_installed():
        return True
    messages.warn(
        "an exact search of the neighbours of so many samples takes long; the extra "
        "sfs-cli[singlecell] searches approximately and fast"
    )
    return False


def _by_panels(request: GraphRequest, k: int, weighted: bool) -> Neighbours:
    """Search exactly, each worker with the distances from a few hundred samples to all."""
    rule = parse_bandwidth(request.options.bandwidth or "median")
    wanted = max(k, SELF_TUNING) if rule == "self-tuning" else k
    engine = request.engine
    executor = engine.executor.at_most(_panel_workers(request))
    over_panels = replace(engine, executor=executor, tick=None)
    bracket = _bracket(request) if weighted and rule == "median" else None
    first = first_identical(engine)

    def panel(span: Span) -> tuple[np.ndarray, ...]:
        d2 = passes.distance_panel(engine, span.lo, span.hi)
        _equalise_copies(d2, span, first)
        found = neighbors.nearest_in_panel(d2, span.lo, wanted)
        return (*found, *_count_pairs(d2, span, bracket))

    indices, d2, below, inside = over_panels.joined(panel, cut(request.n, PANEL))
    delta: float | np.ndarray | None = None
    if weighted and rule == "median":
        delta = _median_between(int(below.sum()), inside, request.n)
    elif weighted:
        delta = np.sqrt(d2[:, SELF_TUNING - 1]) if rule == "self-tuning" else float(rule)
    facts = {"neighbors": k, "search": "exact"}
    return Neighbours(indices[:, :k], d2[:, :k], delta, facts)


def _panel_workers(request: GraphRequest) -> int:
    """Return how many panels may be held at a time."""
    each = PANEL_COPIES * 8 * PANEL * request.n
    if each > request.memory:
        raise OutOfMemoryError(
            f"the search of the neighbours of {request.n:,} samples needs {each / 2**20:,.0f} MiB",
            where=f"--memory allows {request.memory / 2**20:,.0f} MiB",
            hint="raise --memory, or give a graph that is made already (--similarity obsp:KEY or "
            "--similarity-file)",
        )
    return min(request.engine.executor.workers, request.memory // each)


def _equalise_copies(d2: np.ndarray, span: Span, first: np.ndarray) -> None:
    """Give identical samples the same distances, in place, so that ties between them are ties.

    The rounding of a product depends on where in the panel a sample stands.
    """
    copies = np.flatnonzero(first != np.arange(len(first)))
    d2[:, copies] = d2[:, first[copies]]
    for i in np.flatnonzero(np.isin(first[span.lo : span.hi], first[copies])):
        d2[i, first == first[span.lo + i]] = 0


def _sample_pairs(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    first = rng.integers(0, n, SAMPLED_PAIRS)
    second = (first + rng.integers(1, n, SAMPLED_PAIRS)) % n
    return first, second


def _bracket(request: GraphRequest) -> tuple[float, float]:
    """Return squared distances between which the median of all pairs lies almost surely."""
    pairs = passes.pair_distances(request.engine, *_sample_pairs(request.n, request.seed))
    low, high = np.quantile(pairs, [0.5 - BRACKET, 0.5 + BRACKET])
    return float(low) * (1 - ROUNDING), float(high) * (1 + ROUNDING)


def _count_pairs(
    d2: np.ndarray, span: Span, bracket: tuple[float, float] | None
) -> tuple[np.ndarray, np.ndarray]:
    """Count the pairs i < j below the bracket, shape (1,), and collect those inside."""
    if bracket is None:
        return np.zeros(1, np.int64), np.empty(0)
    low, high = bracket
    below, inside = 0, []
    for row, i in enumerate(range(span.lo, span.hi)):
        later = d2[row, i + 1 :]
        below += int(np.count_nonzero(later < low))
        inside.append(later[(later >= low) & (later <= high)])
    return np.array([below]), np.concatenate(inside)


def _median_between(below: int, inside: np.ndarray, n: int) -> float:
    pairs = n * (n - 1) // 2
    first, second = (pairs - 1) // 2 - below, pairs // 2 - below
    if first < 0 or second >= len(inside):
        raise InputError(
            "the median distance could not be bracketed by a sample of the pairs",
            hint="give --bandwidth as a number, or take another --seed",
        )
    middle = np.partition(inside, [first, second])[[first, second]]
    delta = float(np.sqrt(middle).mean())
    if delta == 0:
        raise InputError(
            "at least half of the pairs of samples are identical: their median distance is 0",
            hint="give --bandwidth as a number",
        )
    return delta


def _approximate(request: GraphRequest, k: int, weighted: bool) -> Neighbours:
    """Search with nearest-neighbour descent, on all samples in memory."""
    n, m = request.n, request.source.n_features
    needed = approximate_room(n, m, k)
    if needed > request.memory:
        raise OutOfMemoryError(
            f"an approximate search of {n:,} samples x {m:,} features needs "
            f"{needed / 2**30:.1f} GiB",
            where=f"--memory allows {request.memory / 2**30:.1f} GiB",
            hint="raise --memory, select features first, or give a graph that is made already "
            "(--similarity obsp:KEY or --similarity-file)",
        )
    rule = parse_bandwidth(request.options.bandwidth or "median")
    wanted = max(k, SELF_TUNING) if rule == "self-tuning" else k

    def search(_all: Span) -> tuple[np.ndarray, np.ndarray]:
        samples = np.empty((n, m), np.float32)
        for span in request.engine.spans():
            values = request.source.read(span, np.dtype(np.float64)).values
            passes.center(values)
            samples[:, span.lo : span.hi] = values.T
        return neighbors.approximate_neighbors(samples, wanted, request.seed)

    # one task for all: it is kept as a whole, and runs in this process
    engine = request.engine
    indices, d2 = replace(engine, executor=engine.executor.nearby, tick=None).joined(
        search, [Span(0, n)]
    )
    delta: float | np.ndarray | None = None
    facts: dict[str, Any] = {"neighbors": k, "search": "approximate (pynndescent)"}
    if weighted and rule == "median":
        first, second = _sample_pairs(n, request.seed)
        delta = float(np.sqrt(np.median(passes.pair_distances(request.engine, first, second))))
        facts["bandwidth_from"] = f"{SAMPLED_PAIRS:,} random pairs"
    elif weighted:
        delta = np.sqrt(d2[:, SELF_TUNING - 1]) if rule == "self-tuning" else float(rule)
    return Neighbours(indices[:, :k], d2[:, :k], delta, facts)
