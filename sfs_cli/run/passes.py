"""What a run needs, which sample graph it makes, and the passes that it is made of.

Every pass is declared once, here or beside the code that makes it, and is named by that code.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sfs_cli.catalog import METHODS, ON_SOURCES, ORDER_BLIND, SIGNED
from sfs_cli.compute.limits import LIMITS
from sfs_cli.compute.passes import Pass, PassList
from sfs_cli.graph.build import coordinate_passes, graph_passes
from sfs_cli.graph.distances import GRAM
from sfs_cli.graph.pca import reduction_of
from sfs_cli.knowledge.base import BY_FEATURES, of_source
from sfs_cli.methods.centered_matrix import is_held
from sfs_cli.options import RankConfig
from sfs_cli.options.graph import (
    FROM_DISTANCES,
    GRAPH_FIELDS,
    LABELS_ALONE,
    GraphOptions,
    default_similarity,
)
from sfs_cli.options.source import KINDS, SourceSpec
from sfs_cli.store.prepared import fitting_passes
from sfs_cli.store.transforms import before_fitting, parse

EXAMINED_FOR_EACH = 2
"""Features that pruning examines for each that it keeps: what is planned, as it depends on them."""
GRAPHS_OF_FILES = ("obsp:connectivities", "obsm:X_pca")
"""What is used of an AnnData file where it is there, the first of them: as scanpy names them."""
TOGETHER_SHARE, TOGETHER_SQUARES = 4, 2
"""What scores on subsets of the samples takes at most one part in so many of the memory; of a
sample graph that is so many n x n arrays."""
NOISE_SUBSETS = 10
"""At most so many subsets of the samples are ranked again with shuffled features."""
SCORES = Pass("scores", "score")
DIRECTION = Pass(
    "differences between the classes, for --format rnk",
    "score",
    exact=False,  # made where there are two classes; without batches the pass of the scores does it
    sharing="merge",
)
WITHOUT_EACH = ", without each source"
OF_NOISE = ", with shuffled features"
OF_COUNTS = ", of the counts for the graph", ", of the counts for the scores"
"""What passes of these parts of a run are made for, after their purpose; others depend on names."""


@dataclass(frozen=True)
class Shape:
    """What the passes and the memory of a run depend on, beside its configuration."""

    n: int  # samples in use
    m: int  # features
    stored: np.dtype[Any]  # type of the stored values
    memory: int  # bytes that may be used
    # the batches that are ranked one after the other, and their samples
    batches: Mapping[str, int] = field(default_factory=dict)
    coordinates: int | None = None  # of a sample, where the graph is made of some


def pass_list(config: RankConfig, shape: Shape) -> PassList:
    """List the passes of a run in their order."""
    passes = _scoring_passes(config, shape)
    if shape.batches and wants_direction(config):
        passes.append(DIRECTION)
    passes += _pruning_passes(config, shape)
    if config.modules:
        passes.append(modules_pass(config, shape.m))
    if config.stability is not None:
        passes += _passes_on_subsets(config, shape)
        noise = of_noise(config)
        if noise is not None:
            again = [
                *(replace(each, sharing="merge") for each in _fitting(config, shape)),
                *_passes_on_subsets(noise, shape),
            ]
            passes += _of(again, OF_NOISE)
    return PassList(passes, shape.m)


def _of(passes: list[Pass], whose: str) -> list[Pass]:
    return [each.of(whose) for each in passes]


def _scoring_passes(config: RankConfig, shape: Shape) -> list[Pass]:
    """Return the passes until the features have scores."""
    passes = _fitting(config, shape)
    if config.source:
        return passes + _passes_on_sources(config, shape)
    if shape.batches:
        for name, size in shape.batches.items():
            part = replace(shape, n=size)
            own = [*_fitting(config, part), *_graph_passes(config, part)]
            passes += _of([*own, *_method_passes(config, part)], within_batch(name))
    elif config.split == "features":
        own = [*_graph_passes(config, shape), *_method_passes(config, shape)]
        for half in ("first", "other"):
            passes += _of(own, to_test(half))
    elif config.split == "counts":
        of_graph, of_scores = OF_COUNTS
        passes += _of(passes, of_graph) + _of(passes, of_scores)
        passes += _of(_graph_passes(config, shape), of_graph)
        passes += _of(_method_passes(config, shape), of_scores)
    elif config.members:
        for member in config.member_configs():
            own = [*_graph_passes(member, shape), *_method_passes(member, shape)]
            passes += _of(own, for_member(member))
    else:
        passes += [*_graph_passes(config, shape), *_method_passes(config, shape)]
    return passes


def within_batch(name: str) -> str:
    """Return whose passes those of a batch are."""
    return f" within batch {name}"


def to_test(half: str) -> str:
    """Return whose passes those of a half of the features are: ``first`` or ``other``."""
    return f", to test the {half} half of the features"


def for_member(config: RankConfig) -> str:
    """Return whose passes those of a member of an aggregate are."""
    return f" for {config.ranker}"


def on_source(name: str) -> str:
    """Return whose passes those of a ranking on one source are."""
    return f" on source {name}"


def _passes_on_sources(config: RankConfig, shape: Shape) -> list[Pass]:
    """Return the passes of the knowledge sources, and those of the rankings on them."""
    passes: list[Pass] = []
    for spec in config.source:
        passes += _of(_source_passes(spec, config, shape), of_source(spec))
    ranking = _method_passes(config, shape)
    if config.method == "kogs":
        for spec in config.source:
            passes += _of(ranking, on_source(spec.name))
        return passes
    passes += ranking
    count = len(config.source)
    if config.leave_one_out and count > 1:
        # not exact: nothing is ranked where the other sources make no graph
        again = [replace(each, times=count * each.times, exact=False) for each in ranking]
        passes += _of(again, WITHOUT_EACH)
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


def _fitting(config: RankConfig, shape: Shape) -> list[Pass]:
    """Return the passes for the steps of the transformation that need some of all features."""
    return fitting_passes(parse(config.transform), shape.n, shape.m, shape.memory)


def _graph_passes(config: RankConfig, shape: Shape) -> list[Pass]:
    """Return the passes of a sample graph, where one is needed."""
    if "graph" not in needed(config):
        return []
    options = graph_asked(config, shape.n)
    if shape.coordinates is not None:
        return coordinate_passes(options, shape.n, shape.m, shape.coordinates)
    return graph_passes(options, shape.n, shape.m, shape.stored)


def _method_passes(config: RankConfig, shape: Shape) -> list[Pass]:
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


def pruning_pass(config: RankConfig, m: int) -> Pass:
    """Return the pass of ``--max-correlation``."""
    # every feature at most; how many there are until enough are kept shows as they are read
    typical = min(1.0, EXAMINED_FOR_EACH * config.kept_features / m)
    what = f"correlations, until {config.kept_features:,} features are kept"
    return Pass(what, "prune", exact=False, sharing="merge", fraction=typical)


def _pruning_passes(config: RankConfig, shape: Shape) -> list[Pass]:
    return [] if config.max_correlation is None else [pruning_pass(config, shape.m)]


def modules_pass(config: RankConfig, m: int) -> Pass:
    """Return the pass of ``--modules``."""
    few = min(config.modules_of, m)
    what = f"correlations of the first {few:,} features, for --modules"
    return Pass(what, "modules", sharing="merge", fraction=few / m)


def of_noise(config: RankConfig) -> RankConfig | None:
    """Return how shuffled features are ranked, to compare the stability with.

    None where a method gives them the scores that they have.
    """
    if config.scorer in ORDER_BLIND:
        return None
    count = min(config.subset_count, NOISE_SUBSETS)
    return replace(config, stability=count, on_no_convergence="warn")


def on_subsets(config: RankConfig) -> str:
    """Return whose passes those on subsets of the samples are."""
    what = "half-samples" if config.subset_kind == "half" else "bootstrap samples"
    return f", on {config.subset_count} {what}"


def _passes_on_subsets(config: RankConfig, shape: Shape) -> list[Pass]:
    """Return the passes of the rankings on subsets of the samples."""
    count, kind, n = config.subset_count, config.subset_kind, shape.n
    size = max(1, subset_size(kind, n))
    if ranks_together(config, n, shape.m):
        # what the transformation needs of each sample is known
        groups = -(-count // scored_together(config, n, shape.memory))
        work = count / groups * size / n
        passes = [GRAM] if made_of_distances(config, n) else []
        passes.append(replace(SCORES, times=groups, work=work))
    else:
        sizes = {name: max(1, subset_size(kind, each)) for name, each in shape.batches.items()}
        part = replace(shape, n=size, batches=sizes)
        alone = not config.source and config.method != "kogs"
        one = _scoring_passes(replace(config, leave_one_out=alone), part)
        passes = [
            replace(each, times=count * each.times, rounds=count, work=size / n)
            for each in [*one, *_pruning_passes(config, part)]
        ]
    return _of([replace(each, sharing="merge") for each in passes], on_subsets(config))


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
    fitted = before_fitting(steps) != steps or "clr" in steps  # a zero feature may vary after clr
    fitted = fitted or config.missing != "error" or bool(config.adjust)
    if fitted or config.batch is not None or config.max_correlation is not None:
        return False
    if config.min_samples is not None or config.min_total is not None:
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
    """Tell whether the sample graphs of subsets of n samples are made of distances."""
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


def wants_direction(config: RankConfig) -> bool:
    """Tell whether the metric of an rnk file has a sign, where there are two classes."""
    return config.format == "rnk" and config.signed and config.method in SIGNED


def needed(config: RankConfig) -> set[str]:
    """Return what a run needs: ``graph``, ``labels``, ``some-labels``."""
    configs = config.member_configs() or [config]
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
    own = config.graph is None and not config.given("adjust", "split", *GRAPH_FIELDS)
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
