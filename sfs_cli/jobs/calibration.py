"""Timing, on this machine, what a planned run does: on some of its own blocks where it has them."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from sfs_cli.compute import passes
from sfs_cli.compute.centred_blocks import by_sample, product, read_centred
from sfs_cli.compute.engine import Engine
from sfs_cli.compute.executor import ThreadExecutor
from sfs_cli.compute.principal import OVERSAMPLING
from sfs_cli.compute.spans import Span
from sfs_cli.config import RankConfig
from sfs_cli.graph import kernels, neighbors
from sfs_cli.graph.options import (
    DEFAULT_COMPONENTS,
    DEFAULT_NEIGHBORS,
    NEIGHBOUR_GRAPHS,
    GraphOptions,
    parse_components,
)
from sfs_cli.graph.similarity import DenseSimilarity, Similarity
from sfs_cli.io.writers import ranking_bytes
from sfs_cli.jobs.graph import graph_options
from sfs_cli.jobs.plan import Plan
from sfs_cli.logs import Messages
from sfs_cli.methods.base import Context
from sfs_cli.methods.catalog import METHODS
from sfs_cli.ranking.table import rank_features
from sfs_cli.sources.neighbours import DENSE_DISTANCES, PANEL, SAMPLED_PAIRS, approximates
from sfs_cli.sources.request import GraphRequest
from sfs_cli.sources.sample_graph import sample_graph
from sfs_cli.store.matrix import DenseMatrix, Ids, Matrix
from sfs_cli.store.nonzeros import NonZeroSource
from sfs_cli.store.prepared import PreparedMatrix
from sfs_cli.store.transforms import parse
from sfs_cli.store.view import FeatureView

BLOCKS = 4
"""Blocks of every worker that are timed."""
PLACES = 4
"""Places of a store that they are read from."""
SIDE = 512
"""Samples at most of the dense graph that is timed for those of many."""
THIN = 16
"""Columns of the products of a solver."""
DESCENT_SECONDS = 1e-4
"""Of an approximate search, for each sample: a guess from one machine."""
ROWS = 20_000
"""Rows of a ranking whose writing is timed."""


@dataclass
class Timed:
    """Seconds that parts of a run take here.

    Attributes
    ----------
    passes : dict
        Of one pass over the whole matrix, by its kind.
    fixed : float
        Of what does not depend on the features: the sample graph and its spectrum.
    writing : float
        Of ranking and writing all features.
    read_rate : float
        Bytes per second of the first read of the sampled blocks.
    cached : bool
        Whether those blocks were in memory already, as far as the rates tell.
    """

    passes: dict[str, float]
    fixed: float
    writing: float
    read_rate: float
    cached: bool


def calibrate(
    config: RankConfig, plan: Plan, matrix: Matrix | None, graph: str | None, kinds: set[str]
) -> Timed:
    """Time a run's own work on a sample of its blocks.

    Parameters
    ----------
    config : RankConfig
        What is asked for.
    plan : Plan
        Shape, blocks and workers.
    matrix : Matrix, optional
        The store; without it (text) random values of the same shape are taken.
    graph : str, optional
        The sample graph, where one is needed.
    kinds : set of str
        Kinds of passes, as in `sfs_cli.jobs.planned.Pass`.
    """
    sample = _sampled(plan, matrix)
    first, again = _reading(sample, plan), _reading(sample, plan)
    source = PreparedMatrix(
        sample, missing="drop", steps=parse(config.transform), where=config.matrix
    )
    executor = ThreadExecutor(plan.workers)
    engine = Engine(source, executor, plan.dtype, plan.block_size)
    scale = plan.n_features / sample.n_features
    numbers = _seconds(lambda: source.fit(engine.total_over))
    found = {"numbers": max(numbers, again) * scale}
    codes = np.arange(plan.n_samples) % 2
    similarity, fixed = None, 0.0
    if graph is not None or "gram" in kinds:
        gram = 0.0
        if plan.n_samples <= DENSE_DISTANCES or "gram" in kinds:
            gram = _seconds(lambda: passes.gram(_exact(engine, graph)))
            found["gram"] = gram * scale
        similarity, fixed = _graph(config, engine, codes, graph, gram)
    if "pairs" in kinds:
        found["pairs"] = _seconds(lambda: _pairs(engine)) * scale
    if "panels" in kinds:
        found["panels"] = _panels(engine, plan) * scale
    if "components" in kinds:
        width = (parse_components(config.components or DEFAULT_COMPONENTS) or 0) + OVERSAMPLING
        found["components"] = _components(engine, plan, width) * scale
    if "score" in kinds:
        prepared, seconds = _score(config, engine, codes, similarity)
        fixed, found["score"] = fixed + prepared, seconds * scale
    if "solve" in kinds:
        found["solve"] = _seconds(lambda: _product(engine)) * scale
    size = sample.n_features * sample.n_samples * sample.dtype.itemsize
    rate = size / first
    cold = first > 3 * again
    if matrix is not None and cold:  # the disk is the limit of every pass
        slowest = plan.n_samples * plan.n_features * sample.dtype.itemsize / rate
        found = {kind: max(seconds, slowest) for kind, seconds in found.items()}
    return Timed(found, fixed, _writing(config, plan), rate, not cold)


def _sampled(plan: Plan, matrix: Matrix | None) -> Matrix:
    """Return some blocks of the matrix, or blocks of random values like them."""
    rows = min(plan.n_features, BLOCKS * plan.workers * plan.block_size)
    if matrix is not None:
        edges = np.linspace(0, plan.n_features - rows // PLACES, PLACES).astype(int)
        chosen = np.unique(np.concatenate([lo + np.arange(rows // PLACES) for lo in edges]))
        return FeatureView(matrix, chosen if len(chosen) > 1 else np.arange(plan.n_features))
    values = np.random.default_rng(0).random((rows, plan.n_samples), np.float32)  # none negative
    names = [str(i) for i in range(max(rows, plan.n_samples))]
    return DenseMatrix(values, Ids(names[:rows], names[: plan.n_samples]))


def _reading(sample: Matrix, plan: Plan) -> float:
    """Return the seconds of reading the sample, all workers at a time."""
    engine = Engine(PreparedMatrix(sample, missing="drop"), ThreadExecutor(1), sample.dtype)

    def read(span: Span) -> None:
        engine.source.read(span, sample.dtype)

    spans = replace(engine, block_size=plan.block_size).spans()
    return _seconds(lambda: list(ThreadExecutor(plan.workers).map(read, spans)))


def _seconds(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _exact(engine: Engine, graph: str | None) -> Engine:
    """Return the engine of the arithmetic that distances of this graph are found in."""
    return engine if graph == "rbf" else replace(engine, dtype=np.dtype(np.float64))


def _graph(
    config: RankConfig, engine: Engine, codes: np.ndarray, graph: str | None, gram: float
) -> tuple[Similarity, float]:
    """Return a sample graph like the one of the run, and the seconds beside its pass."""
    n = engine.source.n_samples
    name = graph if graph is not None and graph in _MADE else "rbf"
    if n <= DENSE_DISTANCES:
        asked = graph_options(config)
        all_features = replace(asked, name=name, components=None, variable_genes=None)
        options = all_features if name == graph else GraphOptions(name)
        quiet = Messages(verbosity=-1)
        request = GraphRequest(options, engine, codes, 1 << 62, quiet, ["a", "b"])
        start = time.perf_counter()
        made = sample_graph(request).similarity
        return made, max(0.0, time.perf_counter() - start - gram)
    if name in ("knn", "geodesic", "diffusion", "relieff"):
        k = config.neighbors or DEFAULT_NEIGHBORS
        rng = np.random.default_rng(0)
        indices = (np.arange(n)[:, None] + rng.integers(1, n, (n, k))) % n
        descent = DESCENT_SECONDS * n if approximates(n) and name in NEIGHBOUR_GRAPHS else 0.0
        return neighbors.knn_similarity(indices, np.ones((n, k)), 1.0), descent
    values = np.random.default_rng(0).standard_normal((SIDE, SIDE))
    start = time.perf_counter()
    d2 = kernels.squared_distances(values @ values.T)
    kernels.rbf(d2, kernels.median_bandwidth(d2))
    return DenseSimilarity(np.ones((n, n))), (time.perf_counter() - start) * (n / SIDE) ** 2


_MADE = ("rbf", "knn", "geodesic", "diffusion", "label", "relieff", "linear", "correlation")


def _pairs(engine: Engine) -> None:
    rng = np.random.default_rng(0)
    passes.pair_distances(engine, *rng.integers(0, engine.source.n_samples, (2, SAMPLED_PAIRS)))


def _panels(engine: Engine, plan: Plan) -> float:
    """Return the seconds of one panel over the sample, the workers beside each other."""
    at = [Span(i * PANEL, (i + 1) * PANEL) for i in range(plan.workers)]
    wall = _seconds(
        lambda: list(
            engine.executor.map(lambda s: passes.distance_panel(engine, s.lo, s.hi)[0, 0], at)
        )
    )
    return wall / plan.workers


def _score(
    config: RankConfig, engine: Engine, codes: np.ndarray, similarity: Similarity | None
) -> tuple[float, float]:
    """Return the seconds of preparing the scores, and of scoring the sample."""
    method, options = METHODS[config.scorer], config.method_options()
    prepare = method.load("prepare")
    assert prepare is not None
    context = Context(
        n_samples=engine.source.n_samples,
        dtype=engine.dtype,
        similarity=similarity,
        codes=codes,
        class_names=("a", "b"),
        options=options,
        engine=engine,
        exact=cast(PreparedMatrix, engine.source).exact,
    )
    start = time.perf_counter()
    scorer = prepare(context)
    prepared = time.perf_counter() - start
    engine.columns(lambda block: scorer.score_block(block)[:2], scorer.dtype)  # warms up
    return prepared, _seconds(lambda: engine.columns(scorer.score_block, scorer.dtype))


def _components(engine: Engine, plan: Plan, width: int) -> float:
    """Return the seconds of multiplying the sample by `width` of its features."""
    source = cast(PreparedMatrix, engine.source)
    if source.keeps_zeros:
        engine = replace(engine, source=NonZeroSource(source))
    rows = min(width, source.n_features)
    own, whole = by_sample(*read_centred(engine, Span(0, rows))), Span(0, source.n_features)
    wall = _seconds(lambda: product(*read_centred(engine, whole), *own))
    return wall * width / rows / plan.workers


def _product(engine: Engine) -> None:
    """Centre the blocks and multiply them by a few columns, as solvers do."""
    columns = np.ones((engine.source.n_samples, THIN), engine.dtype)

    def part(block: Any) -> tuple[np.ndarray]:
        passes.center(block.values)
        return (block.values.T @ (block.values @ columns),)

    engine.total(part)


def _writing(config: RankConfig, plan: Plan) -> float:
    rows = min(ROWS, plan.n_features)
    score = np.random.default_rng(0).random(rows)
    names = [f"feature{i}" for i in range(rows)]

    def work() -> None:
        ranking = rank_features(
            names, score, np.zeros(rows, np.int8), ["ok"], larger_is_better=True
        )
        ranking_bytes(ranking, config.format, config.digits)

    return _seconds(work) * plan.n_features / rows
