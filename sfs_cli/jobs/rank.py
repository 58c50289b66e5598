"""``sfs rank`` from a configuration to a ranking, without writing anything."""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from sfs_cli.compute import memory as memory_of
from sfs_cli.config import RankConfig
from sfs_cli.errors import located
from sfs_cli.io.scratch import scratch_folder
from sfs_cli.jobs import inputs
from sfs_cli.jobs.scoring import Scored, run_method
from sfs_cli.jobs.work import Work, put_together
from sfs_cli.logs import Messages
from sfs_cli.methods.base import Status
from sfs_cli.methods.entry import Method
from sfs_cli.ranking.table import Ranking, rank_features
from sfs_cli.store.transforms import parse as parse_transform


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
        ``input``, ``graph``, ``method``, ``solver``, ``plan`` and ``labels``, each a dict.
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
        work = put_together(config, opened, table, steps, memory, messages)
        result = _result(work, run_method(work, messages), opened.facts)
    result.warnings = list(messages.warnings)
    result.seconds = time.perf_counter() - started
    result.peak_memory = memory_of.peak_resident()
    return result


def memory_budget(config: RankConfig) -> int:
    """Return the bytes a run may use."""
    return memory_of.parse_size(config.memory) if config.memory else memory_of.default_memory()


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
        "method": {"name": work.method.name} | work.options | solution.facts,
        "solver": _solver_facts(work, scored),
        "plan": _plan_facts(work),
        "labels": _label_facts(work),
    }
    coefficients = None
    if solution.coefficients is not None:
        indices, rows = solution.coefficients
        coefficients = ([features[int(i)] for i in indices], rows)
    return RankResult(ranking, work.method, facts, scored.eigenvalues, coefficients)


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
