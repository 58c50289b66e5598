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
from sfs_cli.graph.build import coordinate_passes, graph_passes
from sfs_cli.knowledge.base import BY_FEATURES, of_source
from sfs_cli.methods.centered_matrix import is_held
from sfs_cli.options import RankConfig
from sfs_cli.options.graph import (
    GRAPH_FIELDS,
    GraphOptions,
    default_similarity,
)
from sfs_cli.options.source import KINDS, SourceSpec
from sfs_cli.store.prepared import fitting_passes
from sfs_cli.store.transforms import parse

GRAPHS_OF_FILES = ("obsp:connectivities", "obsm:X_pca")
"""What is used of an AnnData file where it is there, the first of them: as scanpy names them."""
SCORES = Pass("scores", "score")
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
    passes = fitting(config, shape)
    if config.source:
        return passes + _passes_on_sources(config, shape)
    passes += ranking_passes(config, shape)
    return passes


def on_source(name: str) -> str:
    """Return whose passes those of a ranking on one source are."""
    return f" on source {name}"


def _passes_on_sources(config: RankConfig, shape: Shape) -> list[Pass]:
    """Return the passes of the knowledge sources, and those of the rankings on them."""
    passes: list[Pass] = []
    for spec in config.source:
        passes += passes_of(_source_passes(spec, config, shape), of_source(spec))
    ranking = passes_of_method(config, shape)
    if config.method == "kogs":
        for spec in config.source:
            passes += passes_of(ranking, on_source(spec.name))
        return passes
    passes += ranking
    count = len(config.source)
    if config.leave_one_out and count > 1:
        # not exact: nothing is ranked where the other sources make no graph
        again = [replace(each, times=count * each.times, exact=False) for each in ranking]
        passes += passes_of(again, WITHOUT_EACH)
    return passes


def _source_passes(spec: SourceSpec, config: RankConfig, shape: Shape) -> list[Pass]:
    """Return the passes over the matrix that one knowledge source takes."""
    n, m = shape.n, shape.m
    if not KINDS[spec.kind].of_matrix:
        return []  # read from its own file, or a matrix of its own
    passes: list[Pass] = []
    if spec.transform is not None or spec.missing is not None:
        transform = config.transform if spec.transform is None else spec.transform
        passes += fitting_passes(parse(transform), n, m, shape.memory)
    if KINDS[spec.kind].by_products:
        return [*passes, BY_FEATURES]
    options = spec.graph_options(spec.similarity or default_similarity(n))
    of_graph = graph_passes(options, n, m, shape.stored)
    if spec.kind == "target":
        return passes + of_graph
    # of some features, which are known when the source is matched
    varying = options.components is not None
    return passes + [
        replace(each, sharing="every", exact=each.exact and not varying) for each in of_graph
    ]


def fitting(config: RankConfig, shape: Shape) -> list[Pass]:
    """Return the passes for the steps of the transformation that need some of all features."""
    return fitting_passes(parse(config.transform), shape.n, shape.m, shape.memory)


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

        return [TO_CHOOSE, *found]
    return found


def method_pass(config: RankConfig, n: int, m: int, memory: int) -> Pass:
    """Return the passes of the scores, or of a solver."""
    method = METHODS[config.scorer]
    if not method.iterative:
        return SCORES
    solving = Pass(method.title, "solve", sharing="merge")
    if method.passes.isdigit():
        return replace(solving, times=int(method.passes))
    if is_held(n, m, memory):
        return replace(solving, times=method.first_passes)
    return replace(solving, times=method.typical_passes, exact=False)


def needed(config: RankConfig) -> set[str]:
    """Return what a run needs: ``graph``, ``labels``, ``some-labels``."""
    configs = config.each_ranking()
    needs: set[str] = set()
    for asked in configs:
        needs.update(METHODS[asked.scorer].needed(asked.method_options()))
    if any(asked.uses_classes for asked in configs):
        needs.add("labels")
    return needs


def with_defaults(config: RankConfig, n: int, graphs: tuple[str, ...]) -> RankConfig:
    """Return the configuration for n samples: the method filled in, and a graph of the file used.

    `graphs` are what the file holds to compare samples by. They are used where nothing is said of
    the graph, and where it would be made of the values as they are in the file, all of them.
    """
    config = config.for_samples(n)
    own = config.graph is None and not config.given("split", *GRAPH_FIELDS)
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
