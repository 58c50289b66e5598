"""What a run needs, which sample graph it makes, and the passes that it is made of.

Every pass is declared once, here or beside the code that makes it, and is named by that code.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sfs_cli.catalog import METHODS
from sfs_cli.compute.passes import Pass, PassList
from sfs_cli.features import FEATURES, steps_of
from sfs_cli.features.also import others
from sfs_cli.graph.build import coordinate_passes, graph_passes
from sfs_cli.logs import Messages
from sfs_cli.methods.centered_matrix import is_held
from sfs_cli.options import RankConfig
from sfs_cli.options.graph import (
    DENSE_SAMPLES,
    GRAPH_FIELDS,
    SPARSE_GRAPHS,
    GraphOptions,
)
from sfs_cli.options.source import KINDS
from sfs_cli.store.prepared import COUNTING, fitting_passes
from sfs_cli.store.transforms import parse

GRAPHS_OF_FILES = ("obsp:connectivities", "obsm:X_pca")
"""What is used of an AnnData file where it is there, the first of them: as scanpy names them."""
SCORES = Pass("scores", "score")
SIMPLE, SOLVED = 30, 16
"""Columns that cost as much as what is done to a feature to score it, without a graph; and those
that a solver multiplies the matrix with in a pass."""
TESTED, PERMUTED, DENSE_PERMUTED = 3, 250, 0.25
"""Times that a score costs with its p-value; and columns that a permutation costs, most of it for
the shuffling, and with a dense graph for each sample, as most features stop early."""
WITHOUT_EACH = ", without each source"
"""What passes of this part of a run are made for, after their purpose; others depend on names."""


@dataclass(frozen=True)
class Shape:
    """What the passes and the memory of a run depend on, beside its configuration."""

    n: int  # samples in use
    m: int  # features
    stored: np.dtype[Any]  # type of the stored values
    memory: int  # bytes that may be used
    # the parts of the samples that are ranked one after the other, and their numbers of samples
    parts: Mapping[str, int] = field(default_factory=dict)
    coordinates: int | None = None  # of a sample, where the graph is made of some
    classes: int = 0  # of the labels


def pass_list(config: RankConfig, shape: Shape) -> PassList:
    """List the passes of a run in their order."""
    passes = scoring_passes(config, shape)
    for step in steps_of(config):
        passes += step.passes(shape)
    return PassList(passes, shape.m)


def passes_of(passes: list[Pass], whose: str) -> list[Pass]:
    """Return the same passes for a part of the run, which ends their purpose."""
    return [each.of(whose) for each in passes]


def scoring_passes(config: RankConfig, shape: Shape) -> list[Pass]:
    """Return the passes until the features have scores."""
    for step in steps_of(config):
        if (own := step.scoring_passes(shape)) is not None:
            return own
    return [*fitting(config, shape), *ranking_passes(config, shape)]


def fitting(config: RankConfig, shape: Shape) -> list[Pass]:
    """Return the passes for filters and steps that need some of all features."""
    steps = fitting_passes(parse(config.transform), shape.n, shape.m, shape.memory)
    return [COUNTING, *steps] if config.min_count is not None else steps


def ranking_passes(config: RankConfig, shape: Shape) -> list[Pass]:
    """Return the passes of one ranking: of its sample graph, and of its method."""
    return [*passes_of_graph(config, shape), *passes_of_method(config, shape)]


def passes_of_graph(config: RankConfig, shape: Shape) -> list[Pass]:
    """Return the passes of a sample graph, where one is needed."""
    if "graph" not in needed(config):
        return []
    options = graph_asked(config, shape.n)
    if shape.coordinates is not None:
        return coordinate_passes(options, shape.n, shape.m, shape.coordinates)
    return graph_passes(options, shape.n, shape.m, shape.stored)


def passes_of_method(config: RankConfig, shape: Shape) -> list[Pass]:
    """Return the passes of a method, once its graph is there."""
    found = [method_pass(config, shape.n, shape.m, shape.memory)]
    if config.scorer == "sselect" and config.method_options()["variant"] == "cut-value":
        from sfs_cli.methods.sselect import TO_CHOOSE

        return [replace(TO_CHOOSE, columns=found[0].columns), *found]
    return found


def method_pass(config: RankConfig, n: int, m: int, memory: int) -> Pass:
    """Return the passes of the scores, or of a solver."""
    method = METHODS[config.scorer]
    if not method.iterative:
        of_graph = n if is_dense(config, n) else 0
        columns: float = SIMPLE + of_graph
        if config.pvalues is not None:
            columns *= TESTED
            columns += (PERMUTED + DENSE_PERMUTED * of_graph) * config.permutations
        return replace(SCORES, columns=columns)
    solving = Pass(method.title, "solve", sharing="merge", columns=SOLVED)
    if method.passes.isdigit():
        return replace(solving, times=int(method.passes))
    if is_held(n, m, memory):
        return replace(solving, times=method.first_passes)
    return replace(solving, times=method.typical_passes, exact=False)


def needed(config: RankConfig, *, beside: bool = True) -> set[str]:
    """Return what a run needs: ``graph``, ``labels``, ``some-labels``.

    With `beside`, what the ranks of other methods beside the ranking need is among it.
    """
    configs = config.each_ranking()
    needs: set[str] = set()
    for asked in configs:
        needs.update(METHODS[asked.scorer].needed(asked.method_options()))
    for asked in others(config) if beside else ():  # they make sample graphs of their own
        needs |= METHODS[asked.scorer].needed(asked.method_options()) - {"graph"}
    if config.markers is not None or any(asked.uses_classes for asked in configs):
        needs.add("labels")
    return needs


def with_defaults(
    config: RankConfig, n: int, classes: int, sparse: bool, graphs: tuple[str, ...]
) -> RankConfig:
    """Return the configuration for n samples: the method filled in, and a graph of the file used.

    `classes` and `sparse` are as in `RankConfig.for_samples`. `graphs` are what the file holds to
    compare samples by. They are used where nothing is said of the graph, and where it would be made
    of the values as they are in the file, all of them.
    """
    own = config.graph is None and not config.given("split", *GRAPH_FIELDS)
    config = config.for_samples(n, classes, sparse)
    own = own and not any(each.adjusts and each.asked(config) for each in FEATURES)
    found = [name for name in GRAPHS_OF_FILES if name in graphs]
    if own and found and "graph" in needed(config):
        return replace(config, similarity=found[0])
    return config


def graph_asked(config: RankConfig, n: int) -> GraphOptions:
    """Return the sample graph to make: as asked for, or what suits the number of samples.

    The name is one of `SIMILARITIES`, ``obsp:KEY``, ``file`` or ``sources``.
    """
    name = config.similarity if config.graph == "obsp" else config.graph
    return config.default_sample_graph(n) if name is None else config.graph_options(name)


def note_default_graph(config: RankConfig, n: int, size: int, of: str, log: Messages) -> None:
    """Say where the default sample graph of `size` of n samples is of another kind."""
    if config.source or "graph" not in needed(config):
        return
    whole, own = graph_asked(config, n), graph_asked(config, size)
    if whole.name != own.name:
        log.note(
            f"the default graph of all {n:,} samples is {whole.name}, that of {of} of {size:,} "
            f"samples {own.name}; a ranking with --similarity NAME has one kind on both"
        )


def is_dense(config: RankConfig, n: int) -> bool:
    """Tell whether the graph of n samples is an n x n array; given ones are taken for sparse."""
    if "graph" not in needed(config):
        return False
    name = graph_asked(config, n).name
    if name == "sources":
        return n <= DENSE_SAMPLES or not all(
            each.kind == "similarity"
            or (KINDS[each.kind].measured and each.similarity in (None, "knn"))
            for each in config.source
        )
    return name not in (*SPARSE_GRAPHS, "file") and not name.startswith("obsp:")
