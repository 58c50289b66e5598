"""Ranking on several knowledge sources, and the aggregate of several rankings.

MSFS fuses the sources into one similarity and ranks on that. KOGS ranks on each source alone (or
by each member method) and aggregates the rankings. Both rank again without each of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sfs_cli.errors import InputError, NotConvergedError
from sfs_cli.graph.kinds import Graph
from sfs_cli.graph.similarity import Similarity, check_degrees, similarity_of
from sfs_cli.knowledge.base import SourceContext
from sfs_cli.knowledge.fuse import Fusion, convert_sources
from sfs_cli.knowledge.weights.base import Weighting
from sfs_cli.logs import FIRST
from sfs_cli.methods.base import Solution, Status
from sfs_cli.options.source import WEIGHTINGS
from sfs_cli.ranking.aggregate import aggregate, midranks
from sfs_cli.ranking.agreement import agreement, compare_rankings
from sfs_cli.run.load import Run
from sfs_cli.run.scoring import (
    Scored,
    check_solution,
    score_on,
    solve,
)

TOP = 100
"""Number of best features whose overlap two rankings are compared by."""
DEFAULT_AGGREGATION = "borda"

Ranked = tuple[str, Run, Solution, dict[str, Any]]
"""One of several rankings: its name, its run, what it has found, and facts about it."""


@dataclass(frozen=True)
class Fused:
    """The global similarity, and the sources and weights that it was made from."""

    fusion: Fusion
    weighting: Weighting
    similarity: Similarity

    def facts(self) -> dict[str, Any]:
        """Return what ``run.json`` says of it."""
        learned = self.weighting
        sources = [
            {"name": source.spec.name, "weight": float(weight)} | source.facts
            for source, weight in zip(self.fusion.sources, learned.weights)
        ]
        how = {
            "weights": self.fusion.weighting,
            "objective": learned.objective,
            "converged": learned.converged,
            "stop": learned.stop or None,
            "objectives": learned.objectives or None,
        }
        return {"sources": sources, "fusion": how | learned.facts}


def make_fusion(run: Run) -> Fusion:
    """Turn the sources of a run into similarities between its samples."""
    config = run.config
    # sources are about the matrix, whatever else is ranked
    target = replace(run.context, engine=replace(run.context.engine, source=run.matrix.target))
    context = SourceContext(target, config.id_map)
    sources = convert_sources(run.sources, context, frobenius=config.normalize == "frobenius")
    options: dict[str, Any] = dict(config.fusion_options())
    if config.weighting == "given":
        options["weights"] = config.source_weights
    labels = run.context.labels
    codes = None if labels is None else labels.codes
    return Fusion(sources, list(run.matrix.ids.samples), config.weighting, options, codes)


def fuse(run: Run) -> Fused:
    """Convert, weigh and fuse the sources of a run.

    Raises InputError when a source cannot be turned into a similarity, or the global one is not a
    graph.
    """
    fusion = make_fusion(run)
    learned = fusion.learn_weights()
    for warning in learned.warnings:
        run.log.warn(warning)
    if not learned.converged:
        run.log.warn(
            f"--weights {fusion.weighting} has not converged: {learned.stop}; a larger "
            "lambda= of --weights often helps",
            FIRST,
        )
    similarity = fusion.fused(learned)
    if not run.method.kernel:
        check_degrees(similarity, fusion.sample_ids, "the fused similarity")
    if learned.fused is not None:
        run.log.note(f"fused by {WEIGHTINGS[fusion.weighting].title}")
    else:
        weights = ", ".join(
            f"{source.spec.name} {weight:.4g}"
            for source, weight in zip(fusion.sources, learned.weights)
        )
        run.log.note(f"weights ({fusion.weighting}): {weights}")
    return Fused(fusion, learned, similarity)


def rank_on_sources(run: Run) -> Scored:
    """Score every feature on the fused similarity, and again without each source if that is asked.

    Raises InputError when a source cannot be used, or nothing can be scored.
    """
    fused = fuse(run)
    fusion = fused.fusion
    names = [source.spec.name for source in fusion.sources]
    graph = Graph(fused.similarity, {"similarity": "sources", "sources": len(names)})
    scored = score_on(run, graph)
    scored.sources = fused.facts()
    if not run.config.leave_one_out or len(names) < 2:
        return scored
    run = replace(run, config=replace(run.config, **run.config.unset("pvalues")))
    without = [
        None
        if fusion.weighting == "given" and not np.delete(fused.weighting.weights, k).any()
        else _ranks_on(run, ", without each source", f"without source {name}", fusion, k)
        for k, name in enumerate(names)
    ]
    alone = without[::-1]  # of two sources
    if len(names) > 2:
        each = [replace(fusion, sources=[of], weighting="uniform") for of in fusion.sources]
        alone = [
            _ranks_on(run, f" on source {n}", f"on source {n}", of) for n, of in zip(names, each)
        ]
    whole = ranks_of(scored.solution)
    rows = [left_out_row(name, whole, *of) for name, *of in zip(names, without, alone)]
    scored.sources["leave_one_out"] = rows
    columns = {f"rank_{name}": ranks for name, ranks in zip(names, alone) if ranks is not None}
    scored.solution = replace(scored.solution, extra=scored.solution.extra | columns)
    return scored


def _ranks_on(
    run: Run, purpose: str, where: str, fusion: Fusion, without: int | None = None
) -> np.ndarray | None:
    """Return the ranks of the features (m,) on fused sources; None when these give no ranking."""
    try:
        similarity = fusion.fused(fusion.learn_weights(without=without), without=without)
        if not (run.method.kernel or (similarity.degrees > 0).all()):
            return None
        solution = solve(run.of(purpose), similarity)
    except (InputError, NotConvergedError) as error:
        # the ranking of all sources is there: a failure without one of them is no reason to stop
        run.log.note(f"no ranking {where}: {error.what}")
        return None
    if not solution.converged:
        run.log.note(f"{where}: {solution.stop}")
    return ranks_of(solution)


def left_out_row(
    name: str, whole: np.ndarray, without: np.ndarray | None, alone: np.ndarray | None
) -> dict[str, Any]:
    """Return how much of a ranking, shape (m,), stays without a source, and on it alone.

    The best of both are compared: `TOP` of them, or half of a list that has no more. None stands
    for what could not be ranked.
    """
    ranked = int(np.count_nonzero(~np.isnan(whole)))
    first = TOP if ranked > TOP else max(1, ranked // 2)
    correlation, overlap, same = None, None, None
    if without is not None:
        correlation, overlap = compare_rankings(whole, without, first)
    if alone is not None:
        _, same = compare_rankings(whole, alone, first)
    return {
        "without": name,
        "first": first,
        "rank_correlation": correlation,
        "overlap": overlap,
        "overlap_alone": same,
        "by_chance": first / ranked,
    }


def ranks_of(solution: Solution) -> np.ndarray:
    """Return the rank of each feature, shape (m,).

    1 is best, equal scores share their mean rank as in `aggregate`, NaN without a score.
    """
    scores, order = solution.score, solution.order
    if order is None:
        return midranks(scores, larger_is_better=solution.larger_is_better)
    order = order[~np.isnan(scores[order])]
    ranks = np.full(len(scores), np.nan)
    ranks[order] = np.arange(1, len(order) + 1)
    return ranks


def rank_on_each_source(run: Run) -> Scored:
    """Rank on each source alone, and aggregate the rankings.

    Raises InputError when a source is not a graph, or a ranking has no score at all.
    """
    fusion, rankings = make_fusion(run), list[Ranked]()
    for source in fusion.sources:
        name, similarity = source.spec.name, similarity_of(source.matrix)
        if not run.method.kernel:
            check_degrees(similarity, fusion.sample_ids, f"source {name}")
        solution = solve(run.of(f" on source {name}"), similarity)
        rankings.append((name, run, solution, source.facts))
    return aggregate_rankings(run, "sources", rankings)


def aggregate_rankings(run: Run, kind: str, rankings: Iterable[Ranked]) -> Scored:
    """Aggregate rankings as the configuration of a run asks for (Eq. 5.7-5.8).

    `kind` is what the record calls them. Raises InputError when one has no score at all.
    """
    config = run.config
    names, solutions, described = [], [], []
    for name, member, solution, facts in rankings:
        for warning in solution.warnings:
            run.log.warn(f"{name}: {warning}")
        check_solution(member, solution)
        names.append(name)
        solutions.append(solution)
        described.append(facts)
    weights = np.array(config.source_weights)
    how = config.how or DEFAULT_AGGREGATION
    made, ranks = aggregate_solutions(how, solutions, names, weights)
    alike = agreement(ranks)
    knowledge: dict[str, Any] = {
        kind: [
            {"name": name, "weight": float(w)} | facts
            for name, w, facts in zip(names, weights, described)
        ],
        "aggregation": {
            "how": how,
            "names": names,
            "kendall_tau": alike.kendall,
            "overlap": {str(k): matrix for k, matrix in alike.overlap.items()},
        },
    }
    if config.leave_one_out:
        expected = ranks_of(made)
        rows = knowledge["leave_one_out"] = []
        for k, name in enumerate(names):
            rest, others = np.delete(weights, k), None
            if rest.any():
                found = aggregate(how, np.delete(ranks, k, axis=1), rest)
                others = midranks(found.score, larger_is_better=found.larger_is_better)
            rows.append(left_out_row(name, expected, others, ranks[:, k]))
    return Scored(made, {}, None, knowledge)


def aggregate_solutions(
    how: str, solutions: Sequence[Solution], names: Sequence[str], weights: np.ndarray | None = None
) -> tuple[Solution, np.ndarray]:
    """Aggregate the rankings of solutions, and return their ranks (m, L) too.

    A feature without any score has the status of the first ranking that says why.
    """
    ranks = np.column_stack([ranks_of(solution) for solution in solutions])
    whole = aggregate(how, ranks, weights)
    reasons = solutions[0].status.copy()
    for solution in solutions[1:]:
        reasons = np.where(reasons == Status.OK, solution.status, reasons)
    status = np.where(np.isnan(whole.score), reasons, Status.OK).astype(np.int8)
    extra = whole.extra | {f"rank_{name}": ranks[:, k] for k, name in enumerate(names)}
    return Solution(whole.score, status, whole.larger_is_better, extra=extra), ranks
