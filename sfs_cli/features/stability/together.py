"""Rankings on all subsets of the samples by one or two passes over the matrix.

One pass finds the inner products of all samples, of which the sample graph of every subset is made.
Another one reads each block once, and scores it on every subset.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from sfs_cli.catalog import METHODS, ON_SOURCES
from sfs_cli.compute.engine import Engine
from sfs_cli.compute.limits import EPS, LIMITS
from sfs_cli.compute.matrix import DOUBLE, Block, BlockLike
from sfs_cli.compute.workspace import Workspace
from sfs_cli.errors import InputError
from sfs_cli.features import FEATURES
from sfs_cli.features.stability.subsets import Subsets, on_subsets, run_on_subset, subset_size
from sfs_cli.graph.distances import (
    center,
    gram,
    profile_distances_of,
    profile_products,
    spread_of,
    squared_distances,
)
from sfs_cli.graph.pca import reduction_of
from sfs_cli.logs import Messages
from sfs_cli.methods.base import Scorer
from sfs_cli.methods.blocks import CenteredScorer, pieces, rows_of
from sfs_cli.options import RankConfig
from sfs_cli.options.graph import FROM_DISTANCES, LABELS_ALONE, GraphOptions
from sfs_cli.ranking.table import rank_features
from sfs_cli.run.load import Run
from sfs_cli.run.needs import SCORES, graph_asked, needed
from sfs_cli.run.scoring import make_graph, problem_of, scorer_of
from sfs_cli.store.transforms import MEDIAN, before_fitting, parse

SHARE = 4
"""The fraction (1/N) of the memory for subsets that are scored by one pass."""
PROFILES = "knn-correlation"


def goes_together(config: RankConfig, n: int, m: int) -> bool:
    """Tell whether subsets of n samples are ranked together.

    So it is for methods that score the features one by one, if what is done to a value before does
    not depend on other samples, and the sample graph of a subset follows from the inner products of
    all samples.
    """
    method, steps = METHODS[config.scorer], parse(config.transform)
    cut_value = method.name == "sselect" and config.method_options()["variant"] == "cut-value"
    # the median is that of a subset, and a zero feature may vary after clr
    fitted = before_fitting(steps) != steps or not {MEDIAN, "clr"}.isdisjoint(steps)
    if (
        method.iterative
        or config.ranker in ON_SOURCES
        or cut_value
        or fitted
        or any(each.one_by_one and each.asked(config) for each in FEATURES)
        or config.missing != "error"
        or config.given("min_samples", "min_count")
    ):
        return False
    graph = _graph(config, n)
    if graph is None:
        return True
    of_products = graph.name in (PROFILES, *FROM_DISTANCES) and config.coordinates_from is None
    return n <= LIMITS.dense_distances and (
        graph.name in LABELS_ALONE
        or (of_products and reduction_of(graph, subset_size(config, n), m) is None)
    )


def _graph(config: RankConfig, n: int) -> GraphOptions | None:
    """Return the sample graph of a subset of n samples; None where none is needed."""
    return graph_asked(config, subset_size(config, n)) if "graph" in needed(config) else None


def scored_at_once(config: RankConfig, n: int, m: int, memory: int) -> tuple[int, int]:
    """Return on how many subsets of n samples m features are scored by one pass, and its bytes."""
    each = 8 * m  # the scores; and a graph with its Laplacian
    if "graph" in needed(config):
        each += 2 * 8 * subset_size(config, n) ** 2
    count = max(1, min(config.subset_count, memory // SHARE // each))
    return count, count * each


def rank_together(run: Run, subsets: Subsets, top: int, log: Messages) -> Iterator[np.ndarray]:
    """Yield the first features of the ranking on each subset, by index."""
    config, (m, n) = run.config, (run.matrix.n_features, run.matrix.n_samples)
    engine = replace(run.context.engine.of(on_subsets(config)), parts=None)
    run.log.phase("sample graphs of the subsets")
    distances = _distances(run, engine, subsets.samples)
    count, _ = scored_at_once(config, n, m, run.context.memory)
    for lo in range(0, len(subsets.samples), count):
        numbers = range(lo, min(lo + count, len(subsets.samples)))
        scorers = []
        for number in numbers:
            with subsets.located(run, number):
                part = run_on_subset(run, subsets.samples[number], log)
                part = replace(part, context=replace(part.context, beside=len(subsets.samples)))
                graph = make_graph(part, distances(number))
                problem = problem_of(part, graph.similarity if graph else None)
                scorers.append((subsets.samples[number], scorer_of(part.config, problem)))
        run.log.phase("scores on the subsets")
        dtype, work = np.result_type(*(scorer.dtype for _, scorer in scorers)), Workspace()
        for _, scorer in scorers:
            if isinstance(scorer, CenteredScorer):
                scorer.work = work  # one at a time needs it
        (scores,) = engine.at(SCORES).columns(partial(_scores, scorers, dtype, work), dtype)
        for number, (_, scorer), column in zip(numbers, scorers, scores.T):
            found = rank_features(
                run.matrix.ids.features,
                column,
                np.zeros(m, np.int8),
                ["ok"],
                larger_is_better=scorer.larger_is_better,
            )
            with subsets.located(run, number):
                if not found.n_scored:
                    what, hint = "no feature can be scored", "leave out --stability"
                    raise InputError(what, where=config.matrix, hint=hint)
            yield found.order[: min(top, found.n_scored)]


def _scores(
    scorers: list[tuple[np.ndarray, Scorer]],
    dtype: np.dtype[np.floating],
    work: Workspace,
    block: BlockLike,
) -> tuple[np.ndarray]:
    """Return the scores of a block, shape (b, subsets), NaN where there is none."""
    found = np.empty((len(block.values), len(scorers)))
    # a few features at a time: they stay in cache from one subset to the next
    for rows in pieces(*block.values.shape):
        piece = rows_of(block, rows)
        for column, (samples, scorer) in zip(found[rows].T, scorers):
            own = work.array("own", len(piece.values), len(samples), dtype)
            np.take(piece.values, samples, axis=1, out=own, mode="clip")
            values = own.astype(scorer.dtype, copy=False)
            column[:] = scorer.score_block(Block(values, piece.left_out))[0]
    return (found,)


def _distances(
    run: Run, engine: Engine, subsets: list[np.ndarray]
) -> Callable[[int], np.ndarray | None]:
    """Return what gives the squared distances of a subset, by one pass over all samples."""
    graph = _graph(run.config, run.matrix.n_samples)
    if graph is None or graph.name in LABELS_ALONE:
        return lambda _: None
    if graph.name == PROFILES:
        total, sums, used = profile_products(engine, partial(_varying, subsets))

        def of_profiles(number: int) -> np.ndarray:
            own = subsets[number]
            return profile_distances_of(total[np.ix_(own, own)], sums[own], int(used[number]))

        return of_profiles
    products = gram(replace(engine, dtype=DOUBLE))

    def of_products(number: int) -> np.ndarray:
        own = subsets[number]
        with np.errstate(invalid="ignore"):
            return squared_distances(products[np.ix_(own, own)])

    return of_products


def _varying(subsets: list[np.ndarray], values: np.ndarray) -> np.ndarray:
    """Count the features (b, n) that vary in each subset of the samples, shape (B,)."""
    found = np.empty(len(subsets))
    for number, samples in enumerate(subsets):
        own = values[:, samples]
        rounding = len(samples) * EPS * np.abs(own[:, 0])
        center(own)
        found[number] = np.count_nonzero(spread_of(own) > rounding)
    return found
