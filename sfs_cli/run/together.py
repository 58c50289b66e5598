"""What ``--stability`` takes: the sizes of subsets, how they are ranked, and in which passes.

Subsets are ranked one after the other, which goes for every method. Methods that score the features
one by one take all subsets together where they can (`ranks_together`).
"""

from __future__ import annotations

import math

from sfs_cli.catalog import METHODS, ON_SOURCES
from sfs_cli.compute.limits import LIMITS
from sfs_cli.graph.pca import reduction_of
from sfs_cli.options import RankConfig
from sfs_cli.options.graph import FROM_DISTANCES, LABELS_ALONE
from sfs_cli.options.samples import SUBSETS
from sfs_cli.options.testing import adjusts, moderates
from sfs_cli.run.needs import graph_asked, needed
from sfs_cli.store.transforms import MEDIAN, before_fitting, parse

TOGETHER_SHARE, TOGETHER_SQUARES = 4, 2
"""The fraction (1/N) of the memory for scores on subsets of the samples, and the n x n arrays of a
sample graph."""


def on_subsets(config: RankConfig) -> str:
    """Return whose passes those on subsets of the samples are."""
    return f", on {config.subset_count} {SUBSETS[config.subset_kind]}"


def subset_size(kind: str, n: int) -> int:
    """Return how many of n samples a subset of a kind (`RankConfig.subset_kind`) has, typically."""
    return n // 2 if kind == "half" else round(n * (1 - math.exp(-1)))


def ranks_together(config: RankConfig, n: int, m: int) -> bool:
    """Tell whether subsets of n samples are ranked together: by one or two passes for all of them.

    So it is for methods that score the features one by one, if what is done to a value before does
    not depend on other samples, and the sample graph of a subset follows from the inner products of
    all samples. Else they are ranked one after the other.
    """
    method, steps = METHODS[config.scorer], parse(config.transform)
    own_passes = method.name == "sselect" and config.method_options()["variant"] == "cut-value"
    if method.iterative or config.ranker in ON_SOURCES or own_passes:
        return False
    # the median is that of a subset, and a zero feature may vary after clr
    fitted = before_fitting(steps) != steps or not {MEDIAN, "clr"}.isdisjoint(steps)
    alone = adjusts(config) or moderates(config) or config.voom or config.events is not None
    alone = alone or config.batch is not None or config.max_correlation is not None
    if fitted or alone or config.missing != "error":
        return False
    if config.given("min_samples", "min_count"):
        return False
    if "graph" not in needed(config):
        return True
    options = graph_asked(config, subset_size(config.subset_kind, n))
    if options.name in LABELS_ALONE:
        return n <= LIMITS.dense_distances
    return (
        made_of_distances(config, n)
        and n <= LIMITS.dense_distances
        and config.coordinates_from is None
        and reduction_of(options, subset_size(config.subset_kind, n), m) is None
    )


def made_of_distances(config: RankConfig, n: int) -> bool:
    """Tell whether the sample graphs of subsets of n samples are built from distances."""
    if "graph" not in needed(config):
        return False
    name = graph_asked(config, subset_size(config.subset_kind, n)).name
    return name == "knn-correlation" or name in FROM_DISTANCES


def scored_together(config: RankConfig, n: int, memory: int) -> int:
    """Return on how many subsets of n samples the features are scored by one pass."""
    if "graph" not in needed(config):
        return config.subset_count
    return max(1, min(config.subset_count, memory // TOGETHER_SHARE // _subset_bytes(config, n)))


def bytes_together(config: RankConfig, n: int, memory: int) -> int:
    """Return the bytes of what scores on subsets of n samples by one pass."""
    if "graph" not in needed(config):
        return 0
    return scored_together(config, n, memory) * _subset_bytes(config, n)


def _subset_bytes(config: RankConfig, n: int) -> int:
    return TOGETHER_SQUARES * 8 * max(1, subset_size(config.subset_kind, n)) ** 2
