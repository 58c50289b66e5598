"""What ``--stability`` takes: the sizes of subsets, and which are ranked by passes for all of them.

Subsets are ranked one after the other, which goes for every method. Methods that score the features
one by one take all subsets together where they can (`ranks_together`).
"""

from __future__ import annotations

import math

from sfs_cli.catalog import METHODS, ON_SOURCES
from sfs_cli.compute.limits import LIMITS
from sfs_cli.graph.pca import reduction_of
from sfs_cli.options import RankConfig
from sfs_cli.options.graph import FROM_DISTANCES, LABELS_ALONE, GraphOptions
from sfs_cli.options.parts import SUBSETS
from sfs_cli.options.testing import adjusts, moderates
from sfs_cli.run.needs import graph_asked, needed
from sfs_cli.store.transforms import MEDIAN, before_fitting, parse

SHARE = 4
"""The fraction (1/N) of the memory for subsets that are scored by one pass."""
PROFILES = "knn-correlation"
"""The sample graph that is made of correlations, and not of distances."""


def on_subsets(config: RankConfig) -> str:
    """Return whose passes those on subsets of the samples are."""
    return f", on {config.subset_count} {SUBSETS[config.subset_kind]}"


def subset_size(config: RankConfig, n: int) -> int:
    """Return how many of n samples a subset has, typically."""
    return n // 2 if config.subset_kind == "half" else round(n * (1 - math.exp(-1)))


def graph_of_subset(config: RankConfig, n: int) -> GraphOptions | None:
    """Return the sample graph of a subset of n samples; None where none is needed."""
    return graph_asked(config, subset_size(config, n)) if "graph" in needed(config) else None


def ranks_together(config: RankConfig, n: int, m: int) -> bool:
    """Tell whether subsets of n samples are ranked together: by one or two passes for all of them.

    So it is for methods that score the features one by one, if what is done to a value before does
    not depend on other samples, and the sample graph of a subset follows from the inner products of
    all samples. Else they are ranked one after the other.
    """
    method, steps = METHODS[config.scorer], parse(config.transform)
    if (
        method.iterative
        or config.ranker in ON_SOURCES
        or (method.name == "sselect" and config.method_options()["variant"] == "cut-value")
        # the median is that of a subset, and a zero feature may vary after clr
        or before_fitting(steps) != steps
        or not {MEDIAN, "clr"}.isdisjoint(steps)
        or adjusts(config)
        or moderates(config)
        or config.voom
        or config.missing != "error"
        or config.events is not None
        or config.given("batch", "max_correlation", "min_samples", "min_count")
    ):
        return False
    graph = graph_of_subset(config, n)
    if graph is None:
        return True
    of_products = graph.name in (PROFILES, *FROM_DISTANCES) and config.coordinates_from is None
    return n <= LIMITS.dense_distances and (
        graph.name in LABELS_ALONE
        or (of_products and reduction_of(graph, subset_size(config, n), m) is None)
    )


def scored_at_once(config: RankConfig, n: int, m: int, memory: int) -> tuple[int, int]:
    """Return on how many subsets of n samples m features are scored by one pass, and its bytes."""
    each = 8 * m  # the scores; and a graph with its Laplacian
    if "graph" in needed(config):
        each += 2 * 8 * subset_size(config, n) ** 2
    count = max(1, min(config.subset_count, memory // SHARE // each))
    return count, count * each


def held_at_once(config: RankConfig, n: int, m: int, memory: int) -> int:
    """Return the bytes of what is scored by one pass on subsets; 0 where each has its own."""
    if config.stability is None or not ranks_together(config, n, m):
        return 0
    return scored_at_once(config, n, m, memory)[1]
