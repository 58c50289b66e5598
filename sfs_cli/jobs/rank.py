"""``sfs rank``: read a matrix, make the sample graph, score, and hand over the ranking."""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from sfs_cli.compute import memory as memory_of
from sfs_cli.compute.executor import ThreadExecutor
from sfs_cli.compute.passes import Engine
from sfs_cli.config import LABEL_GRAPHS, RankConfig
from sfs_cli.errors import InputError, located
from sfs_cli.graph.similarity import Similarity
from sfs_cli.io.scratch import scratch_folder
from sfs_cli.jobs import inputs
from sfs_cli.jobs.graph import Graph, default_graph, make_graph
from sfs_cli.jobs.plan import Plan, make_plan
from sfs_cli.jobs.request import GraphRequest
from sfs_cli.jobs.threads import thread_count
from sfs_cli.logs import Messages
from sfs_cli.methods.base import Context, Method, Scorer, Status
from sfs_cli.methods.registry import get_method
from sfs_cli.ranking.table import Ranking, rank_features
from sfs_cli.store.prepared import PreparedMatrix
from sfs_cli.store.transforms import parse as parse_transform

SPARSE_GRAPHS = ("knn", "relieff", "label")
SPECTRUM_SAMPLES = 5000
"""The spectrum is shown in the report up to this many samples."""
SPECTRUM_SIZE = 20


@dataclass
class RankResult:
    """A ranking and all that is known of how it was made.

    Attributes
    ----------
    ranking : Ranking
        The table.
    method : Method
        What was asked for.
    facts : dict
        ``input``, ``graph``, ``method``, ``plan`` and ``labels``, each a dict.
    eigenvalues : ndarray, optional
        Leading eigenvalues of the sample graph.
    warnings : list of str
        What the user was told.
    seconds : float
        Wall time.
    peak_memory : int
        Largest resident size of the process, bytes.
    """

    ranking: Ranking
    method: Method
    facts: dict[str, dict[str, Any]]
    eigenvalues: np.ndarray | None = None
    warnings: list[str] = field(default_factory=list)
    seconds: float = 0.0
    peak_memory: int = 0


def rank(config: RankConfig, messages: Messages | None = None) -> RankResult:
    """Rank the features of a matrix.

    Parameters
    ----------
    config : RankConfig
        What to rank and how.
    messages : Messages, optional
        Told of decisions and progress; silent by default.

    Raises
    ------
    SfsError
        For anything the user can mend.
    """
    started = time.perf_counter()
    messages = messages or Messages(verbosity=-1)
    memory = memory_budget(config)
    steps = parse_transform(config.transform)
    table = inputs.read_label_table(config)
    with ExitStack() as stack:
        scratch = Path(config.scratch) if config.scratch else None
        folder = stack.enter_context(scratch_folder(scratch))
        opened = inputs.load(config, list(table or ()), memory, folder, messages)
        stack.enter_context(located(config.matrix))
        work = _prepare(config, opened, table, steps, memory, messages)
        result = _score(work, opened.facts, messages)
    result.warnings = list(messages.warnings)
    result.seconds = time.perf_counter() - started
    result.peak_memory = memory_of.peak_resident()
    return result


def memory_budget(config: RankConfig) -> int:
    """Return the bytes a run may use."""
    return memory_of.parse_size(config.memory) if config.memory else memory_of.default_memory()


@dataclass
class _Work:
    """Everything a scoring pass needs."""

    config: RankConfig
    method: Method
    engine: Engine
    plan: Plan
    codes: np.ndarray | None
    labels: inputs.Labels | None
    graphs: tuple[str, ...]
    memory: int

    @property
    def source(self) -> PreparedMatrix:
        return self.engine.source  # type: ignore[return-value]


def _prepare(
    config: RankConfig,
    opened: inputs.Opened,
    table: dict[str, str] | None,
    steps: tuple[str, ...],
    memory: int,
    messages: Messages,
) -> _Work:
    matrix = opened.matrix
    method = get_method(config.method)
    labels = inputs.align_labels(config, matrix.ids, table, messages)
    labels_needed = "labels" in method.needs or config.graph in LABEL_GRAPHS
    if labels is not None and not labels_needed:
        messages.note(f"the labels are not used by --method {method.name}")
    chosen = inputs.choose_samples(config, labels, labels_needed, matrix.ids)
    codes = None
    if labels is not None and labels_needed:
        codes = inputs.check_classes(labels, chosen, str(config.labels))
    policy: Any = config.missing
    prepared = PreparedMatrix(
        matrix, samples=chosen, missing=policy, steps=steps, where=config.matrix
    )
    plan = plan_shape(
        config,
        method,
        prepared.n_samples,
        matrix.n_features,
        matrix.dtype,
        opened.graphs,
        memory,
    )
    executor = ThreadExecutor(plan.workers)
    engine = Engine(prepared, executor, plan.dtype, plan.block_size)
    prepared.fit(executor, plan.block_size)
    return _Work(config, method, engine, plan, codes, labels, opened.graphs, memory)


def plan_shape(
    config: RankConfig,
    method: Method,
    n: int,
    m: int,
    stored: np.dtype[Any],
    graphs: tuple[str, ...],
    memory: int,
) -> Plan:
    """Return the plan of a run on a matrix of a given shape.

    Parameters
    ----------
    config, method : RankConfig, Method
        What is asked for.
    n, m : int
        Samples and features.
    stored : dtype
        Type of the stored values.
    graphs : tuple of str
        Names of the sample graphs that the input holds.
    memory : int
        Bytes that may be used.
    """
    name = default_graph(config, n, graphs) if "graph" in method.needs else None
    given = name is not None and (name == "file" or name.startswith("obsp:"))
    return make_plan(
        n,
        m,
        stored,
        dense_graph=name is not None and name not in SPARSE_GRAPHS and not given,
        distances=name is not None and name != "label" and not given,
        threads=thread_count(config.threads),
        memory=memory,
        block_size=config.block_size,
    )


def _score(work: _Work, read: dict[str, Any], messages: Messages) -> RankResult:
    m = work.source.n_features
    with messages.progress("ranking", m * work.plan.passes) as advance:
        work.engine = Engine(
            work.source, work.engine.executor, work.plan.dtype, work.plan.block_size, advance
        )
        graph = _graph(work, messages)
        scorer = work.method.prepare(_context(work, graph))
        score, status = score_features(work.engine, scorer)
    for warning in scorer.warnings:
        messages.warn(warning)
    if not np.isfinite(score[status == Status.OK]).any():
        raise _nothing_scored(status, work.config.matrix)
    ranking = rank_features(
        work.source.ids.features,
        score,
        status,
        [s.text for s in Status],
        larger_is_better=scorer.larger_is_better,
    )
    eigenvalues = scorer.facts.pop("eigenvalues", None)
    if eigenvalues is None and graph is not None:
        eigenvalues = _spectrum(graph.similarity)
    facts = {
        "input": _input_facts(work, read),
        "graph": graph.facts if graph is not None else {},
        "method": {"name": work.method.name} | _method_options(work) | scorer.facts,
        "plan": _plan_facts(work.plan),
        "labels": _label_facts(work),
    }
    return RankResult(ranking, work.method, facts, eigenvalues)


def _graph(work: _Work, messages: Messages) -> Graph | None:
    if "graph" not in work.method.needs:
        return None
    request = GraphRequest(
        work.config,
        work.engine,
        work.codes,
        work.graphs,
        work.memory,
        messages,
        work.labels.classes if work.labels is not None else None,
    )
    return make_graph(request)


def score_features(engine: Engine, scorer: Scorer) -> tuple[np.ndarray, np.ndarray]:
    """Score every feature by one pass.

    Returns
    -------
    score : ndarray, shape (m,), float64
        NaN where there is none.
    status : ndarray of int8, shape (m,)
        Values of `Status`.
    """
    m = engine.source.n_features
    score, status = np.empty(m), np.empty(m, np.int8)
    for span, (values, states) in engine.run(scorer.score_block, scorer.dtype):
        score[span.lo : span.hi] = values
        status[span.lo : span.hi] = states
    return score, status


def _context(work: _Work, graph: Graph | None) -> Context:
    return Context(
        n_samples=work.source.n_samples,
        dtype=work.plan.dtype,
        similarity=graph.similarity if graph is not None else None,
        codes=work.codes,
        options=_method_options(work),
    )


def _method_options(work: _Work) -> dict[str, Any]:
    """Return the method's own options with their defaults."""
    defaults = {"ranking": "phi2", "gamma": "power", "gamma_power": 1, "clusters": None}
    given = {name: getattr(work.config, name) for name in work.method.options}
    return {k: defaults[k] if v is None else v for k, v in given.items()}


def _nothing_scored(status: np.ndarray, where: str) -> InputError:
    counts = {Status(s).text: int((status == s).sum()) for s in np.unique(status)}
    return InputError(
        "no feature can be scored: " + ", ".join(f"{v:,} {k}" for k, v in counts.items()),
        where=where,
        hint="check that values differ between samples (and --rows, --transform, --missing)",
    )


def _spectrum(similarity: Similarity) -> np.ndarray | None:
    """Return a few eigenvalues for the report, where they cost little."""
    from sfs_cli.graph.laplacian import NormalizedLaplacian
    from sfs_cli.graph.spectrum import leading

    n = similarity.n
    if n > SPECTRUM_SAMPLES:
        return None
    return leading(NormalizedLaplacian(similarity), min(SPECTRUM_SIZE, n)).values


def _input_facts(work: _Work, read: dict[str, Any]) -> dict[str, Any]:
    source = work.source
    return read | {
        "n_samples": source.n_samples,
        "n_samples_in_file": source.matrix.n_samples,
        "n_features": source.n_features,
        "dtype": source.dtype.name,
        "sparse": source.matrix.sparse,
        "missing_values": source.matrix.missing.values,
        "features_with_missing_values": source.matrix.missing.features,
        "transform": list(source.steps),
    }


def _plan_facts(plan: Plan) -> dict[str, Any]:
    return {
        "arithmetic": plan.dtype.name,
        "block_size": plan.block_size,
        "threads": plan.workers,
        "passes": plan.passes,
    }


def _label_facts(work: _Work) -> dict[str, Any]:
    if work.labels is None:
        return {}
    return {
        "from": work.config.labels,
        "classes": work.labels.counts(),
        "used": work.codes is not None,
    }
