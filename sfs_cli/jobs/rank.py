"""``sfs rank`` from a configuration to a ranking, without writing anything."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sfs_cli.compute import memory as memory_of
from sfs_cli.config import RankConfig
from sfs_cli.jobs.fused_rank import rank_on_sources
from sfs_cli.jobs.kogs import DEFAULT_HOW, run_kogs
from sfs_cli.jobs.opening import NOTHING, Kept, opened_work
from sfs_cli.jobs.scoring import Scored, run_method
from sfs_cli.jobs.work import Work
from sfs_cli.logs import Messages
from sfs_cli.methods.base import Status
from sfs_cli.methods.catalog import METHODS
from sfs_cli.methods.entry import Method
from sfs_cli.ranking.table import Ranking, rank_features

if TYPE_CHECKING:
    from distributed import Client


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
        ``input``, ``graph``, ``method``, ``knowledge``, ``solver``, ``plan`` and ``labels``, each
        a dict.
    eigenvalues : ndarray, optional
        Leading eigenvalues of the sample graph.
    coefficients : (list of str, ndarray), optional
        Features with non-zero coefficients and their rows, of methods that have some.
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
    coefficients: tuple[list[str], np.ndarray] | None = None
    warnings: list[str] = field(default_factory=list)
    seconds: float = 0.0
    peak_memory: int = 0


def rank(
    config: RankConfig,
    messages: Messages | None = None,
    *,
    client: Client | None = None,
    kept: Kept = NOTHING,
) -> RankResult:
    """Rank the features of a matrix.

    Parameters
    ----------
    config : RankConfig
        What to rank and how.
    messages : Messages, optional
        Told of decisions and progress; silent by default.
    client : distributed.Client, optional
        Of a Dask cluster to run on; it stays open.
    kept : Kept
        What outlives the run.

    Raises
    ------
    SfsError
        For anything the user can mend.
    """
    started = time.perf_counter()
    messages = messages or Messages(verbosity=-1)
    with opened_work(config, messages, kept, client) as (work, read):
        result = _result(work, score(work, messages), read)
    result.warnings = list(messages.warnings)
    result.seconds = time.perf_counter() - started
    result.peak_memory = memory_of.peak_resident()
    return result


def score(work: Work, messages: Messages) -> Scored:
    """Score the features as the configuration asks.

    Raises
    ------
    SfsError
        For anything the user can mend.
    """
    on_sources = work.config.method == "kogs" or work.sources
    passes = None if on_sources else work.source.n_features * work.plan.passes
    with messages.progress("ranking", passes) as advance:
        work.engine = replace(work.engine, tick=advance)
        if work.config.method == "kogs":
            return run_kogs(work, messages)
        return rank_on_sources(work, messages) if work.sources else run_method(work, messages)


def _result(work: Work, scored: Scored, read: dict[str, Any]) -> RankResult:
    solution, features = scored.solution, work.source.ids.features
    ranking = rank_features(
        features,
        solution.score,
        solution.status,
        [s.text for s in Status],
        larger_is_better=solution.larger_is_better,
        order=solution.order,
        extra=solution.extra,
    )
    facts = {
        "input": _input_facts(work, read),
        "graph": scored.graph,
        "method": _method_facts(work) | solution.facts,
        "knowledge": scored.sources,
        "solver": _solver_facts(work, scored),
        "plan": _plan_facts(work),
        "labels": _label_facts(work),
    }
    coefficients = None
    if solution.coefficients is not None:
        indices, rows = solution.coefficients
        coefficients = ([features[int(i)] for i in indices], rows)
    method = METHODS[work.config.method]
    return RankResult(ranking, method, facts, scored.eigenvalues, coefficients)


def _method_facts(work: Work) -> dict[str, Any]:
    config = work.config
    facts: dict[str, Any] = {"name": config.method}
    if config.method == "kogs":
        facts["how"] = config.how or DEFAULT_HOW
    if config.members:
        return facts | {"members": list(config.members)}
    then = {} if config.method == config.scorer else {"then": config.scorer}
    return facts | then | work.options


def _input_facts(work: Work, read: dict[str, Any]) -> dict[str, Any]:
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


def _solver_facts(work: Work, scored: Scored) -> dict[str, Any]:
    """Return what an iterative method says of its end; nothing for the others."""
    solution = scored.solution
    if not solution.stop and not solution.objective:
        return {}
    return {
        "converged": solution.converged,
        "stop": solution.stop,
        "objective": solution.objective,
    }


def _plan_facts(work: Work) -> dict[str, Any]:
    plan = work.plan
    return {
        "arithmetic": plan.dtype.name,
        "block_size": plan.block_size,
        "executor": work.config.executor,
        "threads": plan.workers,
        "passes": plan.passes,
    }


def _label_facts(work: Work) -> dict[str, Any]:
    if work.labels is None:
        return {}
    return {
        "from": work.config.labels,
        "classes": work.labels.counts(),
        "used": work.codes is not None,
    }
