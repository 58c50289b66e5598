"""How a run fits into memory: what it holds beside the matrix, from its configuration."""

from __future__ import annotations

import os
from dataclasses import replace

from sfs_cli.catalog import BY_CLASS, METHODS
from sfs_cli.compute.cgroups import processor_limits
from sfs_cli.compute.matrix import arithmetic_dtype
from sfs_cli.compute.memory import (
    BUFFERS,
    FEATURE_BYTES,
    ID_BYTES,
    SENT_SQUARES,
    SERIES_BUFFERS,
    SQUARES,
    MemoryModel,
    MemoryPlan,
    default_memory,
    parse_size,
    plan_memory,
)
from sfs_cli.compute.passes import PassList
from sfs_cli.graph.neighbors import descent_bytes, panel_bytes, searches_approximately
from sfs_cli.graph.pca import reduction_of, room
from sfs_cli.options import RankConfig
from sfs_cli.options.graph import (
    DEFAULT_NEIGHBORS,
    DENSE_SAMPLES,
    NEIGHBOR_GRAPHS,
    SIMILARITIES,
    GraphOptions,
    default_similarity,
)
from sfs_cli.run.passes import (
    Shape,
    bytes_together,
    graph_asked,
    needed,
    ranks_together,
    subset_size,
)
from sfs_cli.store import quantile
from sfs_cli.store.transforms import QUANTILE
from sfs_cli.store.transforms import parse as parse_transform

MEASURED = ("profile", "target", "genes", "interactions")
"""Kinds of sources that are made of measurements of the samples."""
SPARSE_GRAPHS = ("knn", "knn-correlation", "relieff", "label")
"""Similarities that are not n x n arrays."""


def memory_budget(config: RankConfig) -> int:
    """Return the bytes a run may use."""
    return parse_size(config.memory) if config.memory else default_memory()


def thread_count(asked: int | None = None) -> int:
    """Return the number of threads: what was asked for, else what the environment says.

    In order: the argument, OMP_NUM_THREADS (its first number), SLURM_CPUS_PER_TASK, the processors
    that this process may use, or fewer where a container limits their time.
    """
    if asked:
        return asked
    for name in ("OMP_NUM_THREADS", "SLURM_CPUS_PER_TASK"):
        value = os.environ.get(name, "").partition(",")[0].strip()  # others are of inner levels
        if value.isdigit() and int(value) > 0:
            return int(value)
    if hasattr(os, "sched_getaffinity"):
        count = len(os.sched_getaffinity(0))
    else:
        count = os.cpu_count() or 1
    return min([count, *processor_limits()])


def memory_plan(config: RankConfig, shape: Shape, passes: PassList, held: int = 0) -> MemoryPlan:
    """Fit a run into memory.

    `held` are the bytes of what is taken out of the features, and of given ones.
    """
    n, m, memory = shape.n, shape.m, shape.memory
    plan = _memory_plan(config, shape, passes, held)
    if config.stability is None:
        return plan
    # subsets of the samples come when the graph of all is gone; theirs may be dense where that is
    # sparse, and several are held where they are ranked together
    sizes = {name: subset_size(config.subset_kind, size) for name, size in shape.batches.items()}
    sizes = sizes or {"subset": subset_size(config.subset_kind, n)}
    more = bytes_together(config, n, memory) if ranks_together(config, n, m) else 0
    other = _memory_plan(config, replace(shape, batches=sizes), passes, held + more)
    return min((plan, other), key=lambda each: (each.workers, -each.needed))


def _memory_plan(config: RankConfig, shape: Shape, passes: PassList, held: int) -> MemoryPlan:
    """Fit a run into memory whose sample graphs are of the largest of the batches, or of all."""
    n, m, stored, memory = shape.n, shape.m, shape.stored, shape.memory
    # within batches the graphs are smaller, but may be dense where that of all would be sparse
    largest = max(shape.batches.values(), default=n)
    model = memory_model(config, largest, m, passes, shape.coordinates)
    if largest < n:
        room = model.graph_bytes(largest, arithmetic_dtype(largest, m, stored))
        sums = model.worker_bytes(largest, 0)
        model = replace(model, dense_graph=False, held=room, panel=sums)
    if QUANTILE in parse_transform(config.transform):
        held += quantile.held(n, m, memory)
    return plan_memory(
        n,
        m,
        stored,
        replace(model, held=model.held + held),
        threads=thread_count(config.threads),
        memory=memory,
        block_size=config.block_size,
    )


def memory_model(
    config: RankConfig,
    n: int,
    m: int,
    passes: PassList,
    coordinates: int | None = None,
) -> MemoryModel:
    """Return what a run holds in memory beside the matrix."""
    kinds = {each.kind for each in passes}
    asked = graph_asked(config, n) if "graph" in needed(config) else None
    name = None if asked is None else asked.name
    given = name is not None and (name == "file" or name.startswith("obsp:"))
    sparse = name in SPARSE_GRAPHS or (name == "sources" and _sparse_sources(config, n))
    dense = name is not None and not sparse and not given
    sums, held = _components(config, asked, n, m if coordinates is None else coordinates)
    held += 8 * n * (coordinates or 0)
    # a function of a sparse graph is applied term by term
    gamma = str(config.method_options().get("gamma", ""))
    series = not dense and (gamma in ("exp", "inverse") or gamma.startswith("heat"))
    feature = "solve" if METHODS[config.scorer].iterative else "score"
    if config.method == "kogs" or (config.leave_one_out and len(config.source) > 1):
        feature = "compare"
    # kept features come when the graph is gone, and take a quarter of the memory at most
    added = 0 if config.max_correlation is None else FEATURE_BYTES["prune"]
    if config.method in BY_CLASS:
        added += FEATURE_BYTES["classes"]
    return MemoryModel(
        # a sparse graph of few samples comes from all their distances, which are dense for a while
        dense_graph=dense or "gram" in kinds,
        distances="gram" in kinds,
        # the similarities of all sources are held beside the fused one
        squares=SQUARES
        + (config.sample_weights is not None)  # the weighted graph beside the graph itself
        + len(config.source) * (2 if config.weights == "snf" else 1),
        buffers=SERIES_BUFFERS if series else BUFFERS,
        panel=max(panel_bytes(n) if "panels" in kinds else 0, sums),
        held=held,
        sums=1 if config.executor == "local" else SENT_SQUARES,
        feature_bytes=ID_BYTES + FEATURE_BYTES[feature] + added,
    )


def _components(config: RankConfig, graph: GraphOptions | None, n: int, m: int) -> tuple[int, int]:
    """Return the bytes of a worker, and of all, that principal components and a search take.

    `graph` is that of `graph_asked`. Of sources other than the matrix itself, components are known
    only when the source has been read.
    """
    asked: list[GraphOptions] = []
    name = None if graph is None else graph.name
    if name == "sources":
        targets = [source for source in config.source if source.kind == "target"]
        default = default_similarity(n)
        asked = [source.graph_options(source.similarity or default) for source in targets]
    elif graph is not None and name in SIMILARITIES:
        asked = [graph]
    found = [reduction_of(options, n, m) for options in asked]
    counts = [reduction.components for reduction in found if reduction is not None]
    width = max(counts, default=m)
    searched = name in NEIGHBOR_GRAPHS and searches_approximately(n)
    k = config.neighbors or DEFAULT_NEIGHBORS
    search = descent_bytes(n, width, k) if searched else 0
    if not counts:
        return 0, search
    fixed = room(n, width, 0)
    return room(n, width, 1) - fixed, max(fixed, search + 8 * n * width)


def _sparse_sources(config: RankConfig, n: int) -> bool:
    """Tell whether no source of many samples is an n x n array; given ones are taken for sparse."""
    return n > DENSE_SAMPLES and all(
        spec.kind == "similarity" or (spec.kind in MEASURED and spec.similarity in (None, "knn"))
        for spec in config.source
    )
