"""What a run needs, which sample graph it makes, and its passes, listed before any is made."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from sfs_cli.catalog import METHODS, ON_SOURCES, ORDER_BLIND, SIGNED
from sfs_cli.compute.limits import LIMITS
from sfs_cli.compute.passes import Pass, PassList
from sfs_cli.graph.build import coordinate_passes, graph_passes
from sfs_cli.graph.pca import reduction_of
from sfs_cli.methods.centered_matrix import is_held
from sfs_cli.options import RankConfig
from sfs_cli.options.graph import (
    FROM_DISTANCES,
    GRAPH_FIELDS,
    LABELS_ALONE,
    GraphOptions,
    default_similarity,
)
from sfs_cli.options.source import SourceSpec
from sfs_cli.store import quantile
from sfs_cli.store.transforms import QUANTILE, SAMPLE_STEPS, before_fitting, parse

EXAMINED_FOR_EACH = 2
"""Features that pruning examines for each that it keeps: what is planned, as it depends on them."""
GRAPHS_OF_FILES = ("obsp:connectivities", "obsm:X_pca")
"""What is used of an AnnData file where it is there, the first of them: as scanpy names them."""
TOGETHER_SHARE, TOGETHER_SQUARES = 4, 2
"""What scores on subsets of the samples takes at most one part in so many of the memory; of a
sample graph that is so many n x n arrays."""
PRODUCTS = ("feature-similarity", "terms")
"""Kinds of sources whose distances come from products with what is known of the features."""


def pass_list(
    config: RankConfig,
    n: int,
    m: int,
    *,
    stored: np.dtype[Any],
    memory: int,
    batches: Mapping[str, int] | None = None,
    coordinates: int | None = None,
) -> PassList:
    """List the passes of a run in their order.

    Parameters
    ----------
    config : RankConfig
        What is asked for.
    n, m : int
        Samples in use and features.
    stored : dtype
        Type of the stored values.
    memory : int
        Bytes that may be used.
    batches : mapping of str to int, optional
        The batches that are ranked one after the other, and their samples.
    coordinates : int, optional
        Number of coordinates of a sample, where the graph is made of some.
    """
    passes = _scoring_passes(config, n, m, stored, memory, batches or {}, coordinates)
    if batches and wants_direction(config):
        # where there are two classes; without batches the pass of the scores finds it
        what = "differences between the classes, for --format rnk"
        passes.append(Pass(what, "score", 1, exact=False, sharing="merge"))
    passes += _pruning_passes(config, m)
    if config.modules:
        few = min(config.modules_of, m)
        what = f"correlations of the first {few:,} features, for --modules"
        passes.append(Pass(what, "modules", 1, sharing="merge", fraction=few / m))
    if config.stability is not None:
        passes += _subset_passes(config, n, m, stored, memory, batches or {}, coordinates)
    return PassList(passes, m)


def _scoring_passes(
    config: RankConfig,
    n: int,
    m: int,
    stored: np.dtype[Any],
    memory: int,
    batches: Mapping[str, int],
    coordinates: int | None,
) -> list[Pass]:
    """Return the passes until the features have scores."""
    passes, count = _fitting(config.transform, "", n, m, memory), len(config.source)
    for spec in config.source:
        passes += _source_passes(spec, config, n, m, stored, memory)
    if config.source and config.method == "kogs":
        passes += count * _method_passes(config, n, m, memory)
    elif config.source:
        ranking = _method_passes(config, n, m, memory)
        passes += ranking
        if config.leave_one_out and count > 1:
            # not exact: nothing is ranked where the other sources make no graph
            passes += [
                replace(each, purpose=f"{each.purpose}, without each source", exact=False)
                for each in ranking
                for _ in range(count)
            ]
    elif batches:
        for name, size in batches.items():
            of = f" within batch {name}"
            passes += _fitting(config.transform, of, size, m, memory)
            own = _ranking_passes(config, size, m, stored, memory, coordinates)
            passes += [replace(each, purpose=each.purpose + of) for each in own]
    elif config.split == "features":
        own = _ranking_passes(config, n, m, stored, memory, coordinates)
        for half in ("first", "other"):
            what = f", to test the {half} half of the features"
            passes += [replace(each, purpose=each.purpose + what) for each in own]
    elif config.split == "counts":
        for part in ("graph", "scores"):
            passes += _fitting(config.transform, f", of the counts for the {part}", n, m, memory)
        passes += _ranking_passes(config, n, m, stored, memory, coordinates)
    else:
        for member in config.member_configs() or [config]:
            passes += _ranking_passes(member, n, m, stored, memory, coordinates)
    return passes


def _pruning_passes(config: RankConfig, m: int) -> list[Pass]:
    """Return the pass of ``--max-correlation``."""
    if config.max_correlation is None:
        return []
    # every feature at most; how many there are until enough are kept shows as they are read
    typical = min(1.0, EXAMINED_FOR_EACH * config.kept_features / m)
    what = f"correlations, until {config.kept_features:,} features are kept"
    return [Pass(what, "prune", 1, exact=False, sharing="merge", fraction=typical)]


NOISE_SUBSETS = 10
"""At most so many subsets of the samples are ranked again with shuffled features."""


def of_noise(config: RankConfig) -> RankConfig | None:
    """Return how shuffled features are ranked, to compare the stability with.

    None where a method gives them the scores that they have.
    """
    if config.scorer in ORDER_BLIND:
        return None
    count = min(config.subset_count, NOISE_SUBSETS)
    return replace(config, stability=count, on_no_convergence="warn")


def _subset_passes(
    config: RankConfig,
    n: int,
    m: int,
    stored: np.dtype[Any],
    memory: int,
    batches: Mapping[str, int],
    coordinates: int | None,
) -> list[Pass]:
    """Return the passes of the rankings on subsets, and of those of shuffled features."""
    noise, given = of_noise(config), (n, m, stored, memory, batches, coordinates)
    if noise is None:
        return _passes_on_subsets(config, *given)
    fitting = _fitting(config.transform, OF_NOISE, n, m, memory)
    again = [
        replace(each, purpose=each.purpose + (OF_NOISE if at >= len(fitting) else ""))
        for at, each in enumerate(fitting + _passes_on_subsets(noise, *given))
    ]
    again = [replace(each, sharing="merge") for each in again]
    return _passes_on_subsets(config, *given) + again


OF_NOISE = ", with shuffled features"


def _passes_on_subsets(
    config: RankConfig,
    n: int,
    m: int,
    stored: np.dtype[Any],
    memory: int,
    batches: Mapping[str, int],
    coordinates: int | None,
) -> list[Pass]:
    """Return the passes of the rankings on subsets of the samples."""
    count, kind = config.subset_count, config.subset_kind
    size = max(1, subset_size(kind, n))
    of = f", on {count} {'half-samples' if kind == 'half' else 'bootstrap samples'}"
    if ranks_together(config, n, m):
        passes = []  # what the transformation needs of each sample is known
        if made_of_distances(config, n):
            what = f"inner products of the samples, for the sample graphs{of}"
            passes.append(Pass(what, "gram", sharing="merge"))
        groups = -(-count // scored_together(config, n, memory))
        work = count / groups * size / n
        passes.append(Pass(f"scores{of}", "score", groups, sharing="merge", work=work))
        return passes
    sizes = {name: max(1, subset_size(kind, each)) for name, each in batches.items()}
    config = replace(config, leave_one_out=not config.source and config.method != "kogs")
    one = _scoring_passes(config, size, m, stored, memory, sizes, coordinates)
    return [
        replace(
            each,
            purpose=f"{each.purpose}{of}",
            times=count * each.times,
            sharing="merge",
            rounds=count,
            work=size / n,
        )
        for each in [*one, *_pruning_passes(config, m)]
    ]


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


def _ranking_passes(
    config: RankConfig,
    n: int,
    m: int,
    stored: np.dtype[Any],
    memory: int,
    coordinates: int | None,
) -> list[Pass]:
    """Return the passes of a sample graph, where one is needed, and of the method."""
    passes: list[Pass] = []
    if "graph" in needed(config):
        options = graph_asked(config, n)
        if coordinates is None:
            passes += graph_passes(options, n, m, stored)
        else:
            passes += coordinate_passes(options, n, m, coordinates)
    return passes + _method_passes(config, n, m, memory)


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


def _fitting(transform: str | None, of: str, n: int, m: int, memory: int) -> list[Pass]:
    """Return the passes for the steps that need some of all features, in their order."""
    passes = []
    for step in parse(transform):
        what = f"of the samples for --transform {step}{of}"
        if step in SAMPLE_STEPS:
            passes.append(Pass(f"sums {what}", "sums"))
        elif step == QUANTILE:
            times = quantile.reads(n, m, memory)
            passes.append(Pass(f"values {what}", "sums", times, sharing="every"))
    return passes


def _source_passes(
    spec: SourceSpec, config: RankConfig, n: int, m: int, stored: np.dtype[Any], memory: int
) -> list[Pass]:
    """Return the passes over the matrix that one knowledge source takes."""
    of = f" for source {spec.name}"
    if spec.kind not in ("target", "genes", "interactions", *PRODUCTS):
        return []  # read from its own file, or a matrix of its own
    own = spec.transform is not None or spec.missing is not None
    transform = config.transform if spec.transform is None else spec.transform
    fitting = _fitting(transform, of, n, m, memory) if own else []
    if spec.kind in PRODUCTS:
        what = f"distances by what is known of the features{of}"
        # more where memory holds a part of the products at a time
        return [*fitting, Pass(what, "sums", 1, exact=False, sharing="every")]
    options = spec.graph_options(spec.similarity or default_similarity(n))
    passes = graph_passes(options, n, m, stored, of)
    if spec.kind != "target":  # some features, which are known when the source is matched
        varying = options.components is not None
        passes = [
            replace(each, sharing="every", exact=each.exact and not varying) for each in passes
        ]
    return fitting + passes


def _method_passes(config: RankConfig, n: int, m: int, memory: int) -> list[Pass]:
    """Return the passes of a method, once its graph is there."""
    method = METHODS[config.scorer]
    if not method.iterative:
        options = config.method_options()
        chosen = method.name == "sselect" and options["variant"] == "cut-value"
        mixed = Pass("scores and disagreements, to choose --lambda", "score")
        return [*([mixed] if chosen else []), Pass("scores", "score")]
    if method.passes.isdigit():
        return [Pass(method.title, "solve", int(method.passes), sharing="merge")]
    if is_held(n, m, memory):
        return [Pass(method.title, "solve", method.first_passes, sharing="merge")]
    times = method.typical_passes
    return [Pass(method.title, "solve", times, exact=False, sharing="merge")]
