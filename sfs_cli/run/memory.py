"""How a run fits into memory: what it holds beside the matrix, from its configuration."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfs_cli.catalog import METHODS
from sfs_cli.compute.matrix import arithmetic_dtype, block_features
from sfs_cli.compute.memory import default_memory, parse_size, processor_limits
from sfs_cli.errors import OutOfMemoryError
from sfs_cli.graph.kinds import graph_memory
from sfs_cli.graph.neighbors import GraphMemory
from sfs_cli.graph.spatial import kernel_bytes
from sfs_cli.options import RankConfig
from sfs_cli.options.graph import default_similarity
from sfs_cli.options.parts import GROUPED, others, ranked_sources
from sfs_cli.options.source import KINDS
from sfs_cli.options.testing import LINEAR, on_scales, scales_of
from sfs_cli.run.needs import Shape, graph_asked, is_dense, needed
from sfs_cli.run.together import ranks_together, scored_at_once, subset_size
from sfs_cli.store import quantile
from sfs_cli.store.transforms import QUANTILE
from sfs_cli.store.transforms import parse as parse_transform

BUFFERS = 5
"""Blocks of one worker: as read, prepared, centered and their products."""
SERIES_BUFFERS = 12
"""Blocks of one worker where a series or an iteration takes the place of a matrix."""
SQUARES = 4
"""n x n arrays of a dense sample graph: products, distances, weights, operator; before that, the
sums of products that wait for each other."""
DOUBLE_SQUARES = 2
"""n x n arrays of finished tasks, beside one for each worker, where sums are in float64."""
SENT_SQUARES = 3
"""n x n arrays of a worker in another process, which adds up several blocks and sends the sum."""
SCORED_BYTES, SOLVED_BYTES, RANKED_BYTES = 72, 180, 280
"""A feature with its id: and its score; and what a solver knows of it, or p-values and class means
before and after they are put in order; and its ranks in several rankings."""
SCALE_BYTES = 104
"""A feature and scale of ``--scales``: its test, before and after it is put in order."""
MARKER_BYTES = 120
"""A feature and class of ``--markers``: what is measured, before and after it is joined."""
PERMUTED, PERMUTED_BYTES = 2_000_000, 24
"""Permuted ratios that a worker holds (`judge.TOGETHER`), three arrays of them at once."""


@dataclass(frozen=True)
class MemoryPlan:
    """How a run fits into memory."""

    dtype: np.dtype[Any]  # of the dense arithmetic
    block_size: int  # features in a block
    workers: int  # threads that run at a time, as far as the memory allows
    needed: int  # bytes of anonymous memory, without the matrix itself


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


def memory_plan(
    config: RankConfig, shape: Shape, held: int = 0, *, products: bool = False
) -> MemoryPlan:
    """Fit a run into memory, with fewer workers than there are threads where it must.

    `held` are the bytes of what is taken out of the features, and of given ones. `products` tells
    that inner products of the samples are made, whether the graph needs them or not.

    Raises
    ------
    OutOfMemoryError
        When one worker alone does not fit.
    """
    n, m, memory = shape.n, shape.m, shape.memory
    if QUANTILE in parse_transform(config.transform):
        held += quantile.held(n, m, memory)
    scales = scales_of(config) if on_scales(config) else ()
    of_feature, method = SCORED_BYTES, METHODS[config.scorer]
    if config.source or config.members or others(config):
        of_feature = RANKED_BYTES
    elif method.iterative or method.by_class or config.max_correlation is not None:
        of_feature = SOLVED_BYTES
    held += m * (of_feature + SCALE_BYTES * len(scales))

    # the graphs of parts are smaller, but may be dense where that of all would be sparse
    largest = max(shape.parts.values(), default=n)
    stages = [_graph_bytes(config, shape, largest, products=products)]
    # what comes later, when the graph of all is gone, may need more
    if config.stability is not None:
        together = 0
        if ranks_together(config, n, m):
            _, together = scored_at_once(config, n, m, memory)
        size = subset_size(config, largest)
        stages.append(_graph_bytes(config, shape, size, together, products=products))
    if scales:
        kernels = kernel_bytes(largest, [float(name) for name in scales if name != LINEAR])
        stages.append((kernels, 0))

    dtype = arithmetic_dtype(n, m, shape.stored)
    block = min(m, block_features(n, dtype.itemsize))
    # a function of a sparse graph is applied term by term
    gamma = str(config.method_options().get("gamma", ""))
    series = gamma in ("exp", "inverse") or gamma.startswith("heat")
    buffers = SERIES_BUFFERS if series and not is_dense(config, largest) else BUFFERS
    of_blocks = buffers * block * n * 8
    if config.pvalues is not None:
        of_blocks += PERMUTED_BYTES * min(PERMUTED, block * (config.permutations or 10_000))

    def total(workers: int) -> int:
        return held + max(once + (each + of_blocks) * workers for once, each in stages)

    workers = min(thread_count(config.threads), max(1, -(-m // block)))
    # blocks are not made smaller: they decide how sums are rounded, and memory must not
    while workers > 1 and total(workers) > memory:
        workers -= 1
    if total(workers) > memory:
        dense = is_dense(config, largest) and SQUARES * 8 * largest**2 > memory
        ways = ", or take --similarity knn, which stays sparse" * dense
        # values that are searched are held once; components, which are made by workers, are few
        made = _graphs_made(config, shape, largest)
        searched = any(2 * each.held > memory and not each.of_worker for each in made)
        ways += ", or search among principal components (components=50)" * searched
        raise OutOfMemoryError(
            f"{n:,} samples x {m:,} features need {total(1) / 2**20:,.0f} MiB beside the matrix",
            where=f"--memory allows {memory / 2**20:,.0f} MiB",
            hint=f"raise --memory{ways}",
        )
    return MemoryPlan(dtype, block, workers, total(workers))


def _graph_bytes(
    config: RankConfig, shape: Shape, size: int, held: int = 0, *, products: bool
) -> tuple[int, int]:
    """Return the bytes for a sample graph of `size` samples, and those of each worker.

    `held` are taken beside it.
    """
    making = _graphs_made(config, shape, size)
    products = products or any(each.products for each in making)
    square, squares, sums = 8 * size * size, 0, 0
    # a sparse graph of few samples comes from all their distances, which are dense for a while
    if is_dense(config, size) or products:
        # the similarities of all sources are held beside the fused one
        squares = SQUARES + (config.sample_weights is not None)  # the weighted graph
        squares += len(config.source) * (2 if config.weights == "snf" else 1)
    if products:
        sums = 1 if config.dask is None else SENT_SQUARES
        doubles = arithmetic_dtype(size, shape.m, shape.stored).itemsize == 8
        squares += DOUBLE_SQUARES if doubles else 0
    beside = max([_later(config, shape), *(each.held for each in making)])
    of_worker = sums * square + max((each.of_worker for each in making), default=0)
    return held + squares * square + beside, of_worker


def _later(config: RankConfig, shape: Shape) -> int:
    """Return the bytes that are held for a while, once the features have scores."""
    grouped = markers = 0
    if config.modules:  # correlations, their absolute values and the distances of each pair
        lists = 1 + len(ranked_sources(config)) if config.rank_sources else 1
        grouped = 72 * min(GROUPED * lists, shape.m) ** 2
    if config.markers is not None:
        markers = MARKER_BYTES * shape.m * shape.classes
    return max(grouped, markers)


def _graphs_made(config: RankConfig, shape: Shape, size: int) -> list[GraphMemory]:
    """Return what each sample graph takes while it is made of `size` samples.

    Tests on several scales have graphs of their own (`kernel_bytes`).
    """
    if on_scales(config):
        return []
    asked = [each for each in (*config.each_ranking(), *others(config)) if "graph" in needed(each)]
    if not config.source:
        width = shape.m if shape.coordinates is None else shape.coordinates
        return [graph_memory(graph_asked(each, size), size, width) for each in asked]
    measured = [each for each in config.source if KINDS[each.kind].of_matrix]
    return [
        graph_memory(each.graph_options(each.similarity or default_similarity(size)), size, shape.m)
        for each in measured
        if not KINDS[each.kind].by_products
    ]
