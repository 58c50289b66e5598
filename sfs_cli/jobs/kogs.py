"""KOGS: one ranking per knowledge source, or per method, and then one of them all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from sfs_cli.config.sources import list_weights
from sfs_cli.graph.similarity import check_degrees
from sfs_cli.jobs.fused_rank import convert_sources, left_out_row, positions
from sfs_cli.jobs.scoring import Scored, check_solution, make_work_graph, solve
from sfs_cli.jobs.work import Work
from sfs_cli.logs import Messages
from sfs_cli.methods.base import Solution, Status
from sfs_cli.methods.catalog import METHODS
from sfs_cli.ranking.aggregate import aggregate
from sfs_cli.ranking.agreement import agreement

DEFAULT_HOW = "borda"


def run_kogs(work: Work, messages: Messages) -> Scored:
    """Rank on each source alone (or by each member), and aggregate the rankings (Eq. 5.7-5.8).

    Raises
    ------
    InputError
        When a source is no graph, or a ranking has no score at all.
    NotConvergedError
        When a solver has not converged, under ``--on-no-convergence error``.
    """
    config = work.config
    names, solutions, facts = [], [], []
    for name, member, solution, told in _members(work, messages):
        for warning in solution.warnings:
            messages.warn(f"{name}: {warning}")
        check_solution(member, solution, messages)
        names.append(name)
        solutions.append(solution)
        facts.append(told)
    ranks = np.column_stack([positions(solution) for solution in solutions])
    weights = np.array(list_weights(config))
    how = config.how or DEFAULT_HOW
    whole = aggregate(how, ranks, weights)
    extra = whole.extra | {f"rank_{name}": ranks[:, k] for k, name in enumerate(names)}
    status = np.where(np.isnan(whole.score), _reasons(solutions), Status.OK).astype(np.int8)
    made = Solution(whole.score, status, whole.larger_is_better, extra=extra)
    knowledge: dict[str, Any] = {
        "sources" if config.source else "members": [
            {"name": name, "weight": float(w)} | told
            for name, w, told in zip(names, weights, facts)
        ],
        "aggregation": {"how": how} | _agreement(ranks, names),
    }
    if config.leave_one_out:
        knowledge["leave_one_out"] = [
            left_out_row(name, positions(made), _without(how, ranks, weights, k))
            for k, name in enumerate(names)
        ]
    return Scored(made, {}, None, knowledge)


def _members(
    work: Work, messages: Messages
) -> Iterator[tuple[str, Work, Solution, dict[str, Any]]]:
    """Yield the name, the work, the solution and the facts of each ranking."""
    if work.config.source:
        fusion = convert_sources(work, messages)
        samples = work.source.ids.samples
        for k, part in enumerate(fusion.parts):
            similarity = fusion.alone(k)
            if not work.method.kernel:
                check_degrees(similarity, samples, f"source {part.spec.name}")
            yield part.spec.name, work, solve(work, similarity, messages), part.facts
        return
    for config in work.config.member_configs():
        method = METHODS[config.method]
        options = config.method_options()
        needs: set[str] = {*method.needed(options)}
        member = replace(work, config=config, method=method, options=options, needs=needs)
        graph = make_work_graph(member, messages)
        solution = solve(member, graph.similarity if graph else None, messages)
        yield config.method, member, solution, {} if graph is None else graph.facts


def _reasons(solutions: list[Solution]) -> np.ndarray:
    """Return why each feature has no score in the first of the rankings that leaves it out."""
    reasons = solutions[0].status.copy()
    for solution in solutions[1:]:
        reasons = np.where(reasons == Status.OK, solution.status, reasons)
    return reasons


def _agreement(ranks: np.ndarray, names: list[str]) -> dict[str, Any]:
    found = agreement(ranks)
    return {
        "names": names,
        "kendall_tau": found.kendall,
        "overlap": {str(k): matrix for k, matrix in found.overlap.items()},
    }


def _without(how: str, ranks: np.ndarray, weights: np.ndarray, k: int) -> np.ndarray | None:
    rest = np.delete(weights, k)
    if not rest.any():
        return None
    found = aggregate(how, np.delete(ranks, k, axis=1), rest)
    empty = np.zeros(len(ranks), np.int8)
    return positions(Solution(found.score, empty, found.larger_is_better))
