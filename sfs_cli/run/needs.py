"""What a run needs: labels, which sample graph, and memory beside the matrix."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sfs_cli.catalog import METHODS
from sfs_cli.compute.matrix import arithmetic_dtype, block_features
from sfs_cli.compute.memory import default_memory, parse_size, processor_limits
from sfs_cli.errors import OutOfMemoryError
from sfs_cli.graph.kinds import graph_memory
from sfs_cli.graph.neighbors import GraphMemory
from sfs_cli.graph.spatial import kernel_bytes
from sfs_cli.logs import Messages
from sfs_cli.options import RankConfig
from sfs_cli.options.graph import (
    DENSE_SAMPLES,
    GRAPH_FIELDS,
    SPARSE_GRAPHS,
    GraphOptions,
    default_similarity,
)
from sfs_cli.options.parts import GROUPED, others, ranked_sources
from sfs_cli.options.source import KINDS
from sfs_cli.options.testing import LINEAR, adjusts, on_scales, scales_of
from sfs_cli.store import quantile
from sfs_cli.store.matrix import Matrix, look
from sfs_cli.store.transforms import QUANTILE
from sfs_cli.store.transforms import parse as parse_transform

GRAPHS_OF_FILES = ("obsp:connectivities", "obsm:X_pca")
"""What is used of an AnnData file where it is there, the first of them: as scanpy names them."""
MANY, OF_MANY = 20_000, ("1.5", "3", LINEAR)
"""Above so many samples of a slide ``--spatial`` leaves out the widest scale: its time and memory
grow with its square; of 50,000 it takes 9 GB and minutes."""
SLIDES = ("library_id", "slide", "slide_id", "section_id")
"""Columns of the samples that name slides, as scanpy, squidpy and others write them."""
SCORES = "scores"
"""What the pass of the scores is made for, as run.json has it."""

BUFFERS, SERIES_BUFFERS = 5, 12
"""Blocks of one worker: as read, prepared, centered and their products; and where a function of a
sparse graph is applied term by term."""
SQUARES, DOUBLE_SQUARES = 4, 2
"""n x n arrays of a dense sample graph: products, distances, weights, operator; before that, the
sums of products that wait for each other. The second are more where these are in float64."""
SENT_SQUARES = 3
"""n x n arrays of a worker in another process, which adds up several blocks and sends the sum."""
FEATURE_BYTES, SCALE_BYTES, MARKER_BYTES = 280, 104, 120
"""A feature: its id, score, p-values, class means and ranks, before and after they are put in
order; its test on each scale of ``--scales``; and what ``--markers`` measures of a class."""
PERMUTED, PERMUTED_BYTES = 2_000_000, 24
"""Permuted ratios that a worker holds (`judge.TOGETHER`), three arrays of them at once."""


@dataclass(frozen=True)
class Shape:
    """What the memory of a run depends on, beside its configuration."""

    n: int  # samples in use
    m: int  # features
    stored: np.dtype[Any]  # type of the stored values
    memory: int  # bytes that may be used
    # the parts of the samples that are ranked one after the other, and their numbers of samples
    parts: Mapping[str, int] = field(default_factory=dict)
    coordinates: int | None = None  # of a sample, where the graph is made of some
    classes: int = 0  # of the labels


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
    made = config.for_samples(n, classes, sparse)
    found = next((name for name in GRAPHS_OF_FILES if name in graphs), None)
    said = config.graph is not None or config.given("split", *GRAPH_FIELDS) or adjusts(made)
    if said or found is None or "graph" not in needed(made):
        return made
    with_graph = replace(made, similarity=found)
    # what has no effect with the method that was chosen by the number of samples
    with_graph.ignored.update(made.ignored)
    return with_graph


def spatial_settled(config: RankConfig, matrix: Matrix) -> RankConfig:
    """Return the configuration with the scales, transformation and slides of ``--spatial``.

    Pearson residuals alone have calibrated p-values where depth follows the tissue, and no other
    transformation has more power where it does not (``tools/benchmarks/spatial.py``).
    """
    changes: dict[str, Any] = {}
    largest, obs = matrix.n_samples, matrix.ids.obs
    columns = {} if obs is None or config.batch else obs.to_pydict()
    for name in SLIDES:
        if len(sizes := Counter(columns.get(name, ()))) > 1:
            changes["batch"], largest = f"obs:{name}", max(sizes.values())
            break
    if not config.scales and largest > MANY:
        changes["scales"] = OF_MANY
    if config.transform is None:
        values = look(matrix)
        if (values % 1 == 0).all() and values.min() >= 0:
            changes["transform"] = "pearson-residuals"
    return replace(config, **changes)


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
    config: RankConfig,
    shape: Shape,
    held: int = 0,
    *,
    products: bool = False,
    of_subsets: int = 0,
) -> MemoryPlan:
    """Fit a run into memory, with fewer workers than there are threads where it must.

    `held` are the bytes of what is taken out of the features, and of given ones. `products` tells
    that inner products of the samples are made, whether the graph needs them or not. `of_subsets`
    are the bytes of what is scored together on subsets of the samples.

    Raises
    ------
    OutOfMemoryError
        When one worker alone does not fit.
    """
    n, m, memory = shape.n, shape.m, shape.memory
    scales = scales_of(config) if on_scales(config) else ()
    held += m * (FEATURE_BYTES + SCALE_BYTES * len(scales))
    if QUANTILE in parse_transform(config.transform):
        held += quantile.held(n, m, memory)

    # the graphs of parts are smaller, but may be dense where that of all would be sparse
    largest = max(shape.parts.values(), default=n)
    making = _graphs_made(config, shape, largest)
    of_all = of_worker = 0
    products = products or any(each.products for each in making)
    # a sparse graph of few samples comes from all their distances, which are dense for a while
    if is_dense(config, largest) or products:
        # the similarities of all sources are held beside the fused one
        squares = SQUARES + len(config.source) * (2 if config.weights == "snf" else 1)
        squares += config.sample_weights is not None  # the weighted graph
        doubles = arithmetic_dtype(largest, m, shape.stored).itemsize == 8
        squares += DOUBLE_SQUARES * (products and doubles)
        sums = 1 if config.dask is None else SENT_SQUARES
        of_worker = 8 * largest**2 * sums * products
        of_all = 8 * largest**2 * squares
    # subsets come when the graph of all is gone, and one of theirs takes less than half of it
    held += max(of_all, of_subsets + of_all // 2 if of_subsets else 0)
    held += max((each.held for each in making), default=0)
    if config.modules:  # correlations, their absolute values and the distances of each pair
        lists = 1 + len(ranked_sources(config)) if config.rank_sources else 1
        held += 72 * min(GROUPED * lists, m) ** 2
    if config.markers is not None:
        held += MARKER_BYTES * m * shape.classes
    # graphs on scales are made when the graph of all is gone
    held += kernel_bytes(largest, [float(name) for name in scales if name != LINEAR])
    of_worker += max((each.of_worker for each in making), default=0)

    dtype = arithmetic_dtype(n, m, shape.stored)
    block = min(m, block_features(n, dtype.itemsize))
    gamma = str(config.method_options().get("gamma", ""))
    series = gamma.startswith(("exp", "inverse", "heat")) and not is_dense(config, largest)
    of_worker += (SERIES_BUFFERS if series else BUFFERS) * block * n * 8
    if config.pvalues is not None:
        of_worker += PERMUTED_BYTES * min(PERMUTED, block * (config.permutations or 10_000))
    # blocks are not made smaller: they decide how sums are rounded, and memory must not
    workers = min(thread_count(config.threads), max(1, -(-m // block)))
    workers = max(1, min(workers, (memory - held) // of_worker))
    total = held + of_worker * workers
    if total > memory:
        dense = is_dense(config, largest) and SQUARES * 8 * largest**2 > memory
        ways = ", or take --similarity knn, which stays sparse" * dense
        # values that are searched are held once; components, which are made by workers, are few
        searched = any(2 * each.held > memory and not each.of_worker for each in making)
        ways += ", or search among principal components (components=50)" * searched
        raise OutOfMemoryError(
            f"{n:,} samples x {m:,} features need {total / 2**20:,.0f} MiB beside the matrix",
            where=f"--memory allows {memory / 2**20:,.0f} MiB",
            hint=f"raise --memory{ways}",
        )
    return MemoryPlan(dtype, block, workers, total)


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
