"""How a run fits into memory: what it holds beside the matrix, from its configuration."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from sfs_cli.catalog import METHODS
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
from sfs_cli.graph.pca import room
from sfs_cli.options import RankConfig
from sfs_cli.options.graph import DEFAULT_NEIGHBORS, DENSE_SAMPLES, NEIGHBOR_GRAPHS
from sfs_cli.run.passes import default_graph, needed, reductions

MEASURED = ("profile", "target", "genes", "interactions")
"""Kinds of sources that are made of measurements of the samples."""
SPARSE_GRAPHS = ("knn", "relieff", "label")
"""Similarities that are not n x n arrays."""


def memory_budget(config: RankConfig) -> int:
    """Return the bytes a run may use."""
    return parse_size(config.memory) if config.memory else default_memory()


def thread_count(asked: int | None = None) -> int:
    """Return the number of threads: what was asked for, else what the environment says.

    In order: the argument, OMP_NUM_THREADS, SLURM_CPUS_PER_TASK, the processors that this process
    may use.
    """
    if asked:
        return asked
    for name in ("OMP_NUM_THREADS", "SLURM_CPUS_PER_TASK"):
        value = os.environ.get(name, "")
        if value.isdigit() and int(value) > 0:
            return int(value)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def memory_plan(
    config: RankConfig,
    n: int,
    m: int,
    stored: np.dtype[Any],
    graphs: tuple[str, ...],
    memory: int,
    passes: PassList,
) -> MemoryPlan:
    """Fit a run on a matrix of a given shape into memory.

    Parameters
    ----------
    config : RankConfig
        What is asked for.
    n, m : int
        Samples and features.
    stored : dtype
        Type of the stored values.
    graphs : tuple of str
        Names of the sample graphs that the input holds.
    memory : int
        Bytes that may be used.
    passes : PassList
        The passes of the run, which say what is summed.
    """
    return plan_memory(
        n,
        m,
        stored,
        memory_model(config, n, m, graphs, passes),
        threads=thread_count(config.threads),
        memory=memory,
        block_size=config.block_size,
    )


def memory_model(
    config: RankConfig, n: int, m: int, graphs: tuple[str, ...], passes: PassList
) -> MemoryModel:
    """Return what a run holds in memory beside the matrix."""
    kinds = {each.kind for each in passes}
    name = default_graph(config, n, graphs) if "graph" in needed(config) else None
    given = name is not None and (name == "file" or name.startswith("obsp:"))
    sparse = name in SPARSE_GRAPHS or (name == "sources" and _sparse_sources(config, n))
    dense = name is not None and not sparse and not given
    sums, held = _components(config, name, n, m)
    return MemoryModel(
        # a sparse graph of few samples comes from all their distances, which are dense for a while
        dense_graph=dense or "gram" in kinds,
        distances="gram" in kinds,
        squares=SQUARES + _kept_squares(config),
        buffers=SERIES_BUFFERS if _takes_series(config, dense) else BUFFERS,
        panel=max(panel_bytes(n) if "panels" in kinds else 0, sums),
        held=held,
        sums=1 if config.executor == "local" else SENT_SQUARES,
        feature_bytes=ID_BYTES + FEATURE_BYTES[_kind(config)],
    )


def _components(config: RankConfig, name: str | None, n: int, m: int) -> tuple[int, int]:
    """Return the bytes of a worker, and of all, that principal components and a search take."""
    counts = [reduced.components for reduced in reductions(config, name, n, m)]
    width = max(counts, default=m)
    searched = name in NEIGHBOR_GRAPHS and searches_approximately(n)
    k = config.neighbors or DEFAULT_NEIGHBORS
    search = descent_bytes(n, width, k) if searched else 0
    if not counts:
        return 0, search
    fixed = room(n, width, 0)
    return room(n, width, 1) - fixed, max(fixed, search + 8 * n * width)


def _kept_squares(config: RankConfig) -> int:
    """Return how many similarities of sources are held beside the fused one."""
    return len(config.source) * (2 if config.weights == "snf" else 1)


def _takes_series(config: RankConfig, dense: bool) -> bool:
    """Tell whether a function of a sparse graph is applied term by term."""
    options = config.method_options()
    gamma = str(options.get("gamma", ""))
    return not dense and (gamma in ("exp", "inverse") or gamma.startswith("heat"))


def _kind(config: RankConfig) -> str:
    """Return what is kept of every feature, as `FEATURE_BYTES` has it."""
    if config.method == "kogs" or (config.leave_one_out and len(config.source) > 1):
        return "compare"
    return "solve" if METHODS[config.scorer].iterative else "score"


def _sparse_sources(config: RankConfig, n: int) -> bool:
    """Tell whether no source of many samples is an n x n array; given ones are taken for sparse."""
    return n > DENSE_SAMPLES and all(
        spec.kind == "similarity" or (spec.kind in MEASURED and spec.similarity in (None, "knn"))
        for spec in config.source
    )
