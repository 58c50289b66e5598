"""Everything a ranking needs, put together from a configuration and an open matrix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfs_cli.compute.engine import Engine
from sfs_cli.compute.parts import PartFolder
from sfs_cli.compute.principal import room
from sfs_cli.config import RankConfig
from sfs_cli.graph.options import DEFAULT_NEIGHBORS, DENSE_SAMPLES, NEIGHBOUR_GRAPHS
from sfs_cli.jobs import inputs, samples
from sfs_cli.jobs.executors import Start
from sfs_cli.jobs.graph import default_graph, reductions
from sfs_cli.jobs.plan import (
    BUFFERS,
    FEATURE_BYTES,
    ID_BYTES,
    SENT_SQUARES,
    SERIES_BUFFERS,
    SQUARES,
    Load,
    Plan,
    make_plan,
)
from sfs_cli.jobs.threads import thread_count
from sfs_cli.logs import Messages
from sfs_cli.methods.catalog import METHODS
from sfs_cli.methods.entry import Method
from sfs_cli.sources.base import Source
from sfs_cli.sources.neighbours import (
    DENSE_DISTANCES,
    PANEL,
    PANEL_COPIES,
    approximate_room,
    approximates,
)
from sfs_cli.store.feature_ids import FeatureIds
from sfs_cli.store.prepared import PreparedMatrix

MEASURED = ("profile", "target", "genes", "interactions")
"""Kinds of sources that are made of measurements of the samples."""
SPARSE_GRAPHS = ("knn", "relieff", "label")
"""Similarities that are no n x n arrays."""


@dataclass
class Work:
    """What is ranked, by what, and with how much.

    Attributes
    ----------
    config : RankConfig
        What was asked for.
    method : Method
        The entry of what scores in the catalogue.
    options : dict
        The method's own options, defaults filled in.
    needs : set of str
        ``graph``, ``labels`` and ``some-labels``, as far as they are needed.
    source : PreparedMatrix
        The matrix.
    engine : Engine
        Passes over it.
    plan : Plan
        Memory, workers and block size.
    codes : ndarray of int, shape (n,), or None
        Classes of the samples, where they are needed; -1 where some have none.
    labels : Labels or None
        Labels of all samples in the file.
    graphs : tuple of str
        Names of the sample graphs that the file holds.
    memory : int
        Bytes that may be used.
    sources : list of Source
        The knowledge sources, opened.
    """

    config: RankConfig
    method: Method
    options: dict[str, Any]
    needs: set[str]
    source: PreparedMatrix
    engine: Engine
    plan: Plan
    codes: np.ndarray | None
    labels: inputs.Labels | None
    graphs: tuple[str, ...]
    memory: int
    sources: list[Source]


def put_together(
    config: RankConfig,
    opened: inputs.Opened,
    labels: inputs.Labels | None,
    sources: list[Source],
    steps: tuple[str, ...],
    memory: int,
    messages: Messages,
    start: Start,
    keeper: PartFolder | None = None,
) -> Work:
    """Choose samples, plan, and prepare the matrix.

    Parameters
    ----------
    config : RankConfig
        What is asked for.
    opened : Opened
        The matrix.
    labels : Labels, optional
        Classes of the samples.
    sources : list of Source
        The knowledge sources, opened.
    steps : tuple of str
        Transformations.
    memory : int
        Bytes that may be used.
    messages : Messages
        Told of decisions.
    start : callable
        Starts the executor.
    keeper : PartFolder, optional
        Keeps the parts of passes.

    Raises
    ------
    InputError
        When labels, samples or values do not do.
    OutOfMemoryError
        When the work does not fit.
    """
    needs = needed(config)
    chosen, codes = _samples(config, labels, needs, sources, opened.matrix.ids, messages)
    source, engine, plan = _prepare(config, opened, chosen, steps, memory, start, keeper)
    return Work(
        config,
        METHODS[config.scorer],
        config.method_options(),
        needs,
        source,
        engine,
        plan,
        codes,
        labels,
        opened.graphs,
        memory,
        sources,
    )


def needed(config: RankConfig) -> set[str]:
    """Return what a run needs: ``graph``, ``labels``, ``some-labels``."""
    configs = config.member_configs() or [config]
    needs: set[str] = set()
    for asked in configs:
        needs.update(METHODS[asked.scorer].needed(asked.method_options()))
    if any(asked.uses_classes for asked in configs):
        needs.add("labels")
    return needs


def _samples(
    config: RankConfig,
    labels: inputs.Labels | None,
    needs: set[str],
    sources: list[Source],
    ids: Any,
    messages: Messages,
) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Return which samples are used (None: all), and their classes where those are needed."""
    coverages = [samples.of_source(source, ids.samples) for source in sources]
    if labels is not None and "labels" in needs:
        coverages.append(samples.of_labels(config, labels))
    if config.graph == "file" and config.samples == "intersect":
        coverages += samples.of_file(str(config.similarity_file), ids.samples)
    chosen = samples.choose_samples(config, ids.samples, coverages)
    if labels is None:
        return chosen, None
    if "labels" in needs:
        return chosen, inputs.check_classes(labels, chosen, str(config.labels))
    codes = labels.codes if chosen is None else labels.codes[chosen]
    if "some-labels" in needs:
        inputs.check_classes(labels, _labelled(labels, chosen), str(config.labels))
        return chosen, codes
    messages.note(f"the labels are not used by --method {config.method}")
    return chosen, None


def _labelled(labels: inputs.Labels, chosen: np.ndarray | None) -> np.ndarray:
    """Return the samples in use that have a label."""
    known = np.flatnonzero(labels.codes >= 0)
    return known if chosen is None else np.intersect1d(known, chosen)


def _prepare(
    config: RankConfig,
    opened: inputs.Opened,
    chosen: np.ndarray | None,
    steps: tuple[str, ...],
    memory: int,
    start: Start,
    keeper: PartFolder | None,
) -> tuple[PreparedMatrix, Engine, Plan]:
    """Plan passes over the samples in use, and find what the transformations need to know."""
    matrix = opened.matrix
    policy: Any = config.missing
    source = PreparedMatrix(
        matrix, samples=chosen, missing=policy, steps=steps, where=config.matrix
    )
    plan = plan_shape(
        config,
        source.n_samples,
        matrix.n_features,
        matrix.dtype,
        opened.graphs,
        memory,
        matrix.ids.features,
    )
    engine = Engine(source, start(plan.workers), plan.dtype, plan.block_size, keeper=keeper)
    source.fit(engine.total_over)
    return source, engine, plan


def plan_shape(
    config: RankConfig,
    n: int,
    m: int,
    stored: np.dtype[Any],
    graphs: tuple[str, ...],
    memory: int,
    ids: Sequence[str] = (),
) -> Plan:
    """Return the plan of a run on a matrix of a given shape.

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
    ids : sequence of str, optional
        Those of the features, where they are known.
    """
    return make_plan(
        n,
        m,
        stored,
        _load(config, n, m, graphs, ids),
        threads=thread_count(config.threads),
        memory=memory,
        block_size=config.block_size,
    )


def _load(config: RankConfig, n: int, m: int, graphs: tuple[str, ...], ids: Sequence[str]) -> Load:
    """Return what a run holds in memory beside the matrix."""
    id_bytes = -(-ids.nbytes // m) if isinstance(ids, FeatureIds) else ID_BYTES
    name = default_graph(config, n, graphs) if "graph" in needed(config) else None
    given = name is not None and (name == "file" or name.startswith("obsp:"))
    sparse = name in SPARSE_GRAPHS or (name == "sources" and _sparse_sources(config, n))
    dense = name is not None and not sparse and not given
    sums, held = _components(config, name, n, m)
    searched = name in ("knn", "relieff") and (name == "relieff" or n <= DENSE_DISTANCES)
    panels = name in NEIGHBOUR_GRAPHS and not searched and not approximates(n)
    return Load(
        dense_graph=dense or searched,  # of all distances, for a while
        # components, too, take one pass over all features: to find those that vary most
        distances=name is not None and name not in ("label", "sources") and not given,
        squares=SQUARES + _kept_squares(config),
        buffers=SERIES_BUFFERS if _takes_series(config, dense) else BUFFERS,
        panel=max(PANEL_COPIES * 8 * PANEL * n if panels else 0, sums),
        held=held,
        sums=1 if config.executor == "local" else SENT_SQUARES,
        feature_bytes=id_bytes + FEATURE_BYTES[_kind(config)],
    )


def _components(config: RankConfig, name: str | None, n: int, m: int) -> tuple[int, int]:
    """Return the bytes of a worker, and of all, that principal components and a search take."""
    counts = [reduced.components for _, reduced in reductions(config, name, n, m)]
    width = max(counts, default=m)
    searched = name in NEIGHBOUR_GRAPHS and approximates(n)
    k = config.neighbors or DEFAULT_NEIGHBORS
    search = approximate_room(n, width, k) if searched else 0
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
    return "score" if METHODS[config.scorer].load("solve") is None else "solve"


def _sparse_sources(config: RankConfig, n: int) -> bool:
    """Tell whether no source of many samples is an n x n array; given ones are taken for sparse."""
    return n > DENSE_SAMPLES and all(
        spec.kind == "similarity" or (spec.kind in MEASURED and spec.similarity in (None, "knn"))
        for spec in config.source
    )
