"""Ranking on several knowledge sources: fused, scored, and again without each of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sfs_cli.config.sources import weighting
from sfs_cli.errors import InputError, NotConvergedError
from sfs_cli.fusion.base import Weighting
from sfs_cli.fusion.catalog import WEIGHTINGS
from sfs_cli.graph.similarity import Similarity, check_degrees
from sfs_cli.jobs.scoring import (
    Scored,
    check_solution,
    solve,
    spectrum_of,
    tell_unconverged,
)
from sfs_cli.jobs.sources import Fusion, convert
from sfs_cli.jobs.work import Work
from sfs_cli.logs import Messages
from sfs_cli.methods.base import Solution
from sfs_cli.ranking.aggregate import midranks
from sfs_cli.ranking.agreement import compare_rankings
from sfs_cli.sources.base import Target

TOP = 100
"""Features of two rankings that are held against each other."""


@dataclass
class Fused:
    """The global similarity, and how it came to be.

    Attributes
    ----------
    fusion : Fusion
        The sources.
    weighting : Weighting
        Their weights.
    similarity : Similarity
        The global one.
    """

    fusion: Fusion
    weighting: Weighting
    similarity: Similarity

    def facts(self) -> dict[str, Any]:
        """Return what ``run.json`` says of it."""
        learned = self.weighting
        sources = [
            {"name": part.spec.name, "weight": float(weight)} | part.facts
            for part, weight in zip(self.fusion.parts, learned.weights)
        ]
        how = {
            "weights": weighting(self.fusion.config),
            "objective": learned.objective,
            "converged": learned.converged,
            "stop": learned.stop or None,
            "objectives": learned.objectives or None,
        }
        return {"sources": sources, "fusion": how | learned.facts}


def convert_sources(work: Work, messages: Messages) -> Fusion:
    """Turn the sources of a run into similarities of its samples."""
    config = work.config
    classes = None
    if work.labels is not None:
        classes = work.labels.of(work.source.matrix.ids.samples)
    target = Target(
        work.source,
        work.engine.executor,
        work.memory,
        messages,
        classes,
        config.id_map,
        config.allow_unmatched,
        config.seed,
        work.engine.keeper,
    )
    return convert(config, work.sources, target, work.codes)


def fuse(work: Work, messages: Messages) -> Fused:
    """Convert, weigh and fuse the sources of a run.

    Raises
    ------
    InputError
        When a source cannot be turned into a similarity, or the global one is no graph.
    """
    fusion = convert_sources(work, messages)
    learned = fusion.weigh()
    for warning in learned.warnings:
        messages.warn(warning)
    if not learned.converged:
        tell_unconverged(
            work,
            f"--weights {weighting(work.config)} has not converged: {learned.stop}",
            "--on-no-convergence warn takes the weights as they are; a larger --fusion-lambda "
            "often helps",
            messages,
        )
    similarity = fusion.graph(learned)
    if not work.method.kernel:
        check_degrees(similarity, work.source.ids.samples, "the fused similarity")
    messages.note(_told(fusion, learned))
    return Fused(fusion, learned, similarity)


def _told(fusion: Fusion, learned: Weighting) -> str:
    name = weighting(fusion.config)
    if learned.fused is not None:
        return f"fused by {WEIGHTINGS[name].title}"
    weights = ", ".join(
        f"{part.spec.name} {weight:.4g}" for part, weight in zip(fusion.parts, learned.weights)
    )
    return f"weights ({name}): {weights}"


def rank_on_sources(work: Work, messages: Messages) -> Scored:
    """Score every feature on the fused similarity.

    Raises
    ------
    InputError
        When a source cannot be used, or nothing can be scored.
    NotConvergedError
        When a solver, of scores or of weights, has not converged, under
        ``--on-no-convergence error``.
    """
    fused = fuse(work, messages)
    solution = solve(work, fused.similarity, messages)
    for warning in solution.warnings:
        messages.warn(warning)
    check_solution(work, solution, messages)
    eigenvalues = solution.facts.pop("eigenvalues", None)
    if eigenvalues is None:
        eigenvalues = spectrum_of(fused.similarity)
    facts = fused.facts()
    if work.config.leave_one_out and len(fused.fusion.parts) > 1:
        facts["leave_one_out"] = _left_out(work, fused, solution, messages)
    graph = {"similarity": "sources", "sources": len(fused.fusion.parts)}
    return Scored(solution, graph, eigenvalues, facts)


def _left_out(
    work: Work, fused: Fused, whole: Solution, messages: Messages
) -> list[dict[str, Any]]:
    """Rank without each source in turn, and hold the rankings against the whole one."""
    table = []
    expected = positions(whole)
    for k, part in enumerate(fused.fusion.parts):
        similarity = _fused_without(work, fused, k, messages)
        ranks = None
        if similarity is not None:
            solution = solve(work, similarity, messages)
            ranks = positions(solution)
            if not solution.converged:
                messages.note(f"without source {part.spec.name}: {solution.stop}")
        table.append(left_out_row(part.spec.name, expected, ranks))
    return table


def _fused_without(work: Work, fused: Fused, k: int, messages: Messages) -> Similarity | None:
    """Return the global similarity of the other sources; None where they make none."""
    fusion = fused.fusion
    given = weighting(fusion.config) == "given"
    if given and not np.delete(fused.weighting.weights, k).any():
        return None
    try:
        similarity = fusion.graph(fusion.weigh(without=k), without=k)
    except (InputError, NotConvergedError) as error:
        # the run itself has done: what the other sources lack is worth telling, not an end
        name = fusion.parts[k].spec.name
        messages.note(f"nothing can be ranked without source {name}: {error.what}")
        return None
    return similarity if work.method.kernel or (similarity.degrees > 0).all() else None


def left_out_row(name: str, whole: np.ndarray, ranks: np.ndarray | None) -> dict[str, Any]:
    """Return how much a ranking changes without a source; empty where nothing is left to rank on.

    Parameters
    ----------
    name : str
        The source.
    whole, ranks : ndarray, shape (m,)
        Rank of each feature with it and without it.
    """
    if ranks is None:
        return {"without": name, "rank_correlation": None, "overlap": None}
    correlation, overlap = compare_rankings(whole, ranks, TOP)
    return {"without": name, "rank_correlation": correlation, "overlap": overlap}


def positions(solution: Solution) -> np.ndarray:
    """Return the rank of each feature, shape (m,).

    1 is best, equal scores share their mean rank as in `aggregate`, NaN where there is no score.
    """
    scores, order = solution.score, solution.order
    if order is None:
        return midranks(scores, larger_is_better=solution.larger_is_better)
    order = order[~np.isnan(scores[order])]
    ranks = np.full(len(scores), np.nan)
    ranks[order] = np.arange(1, len(order) + 1)
    return ranks
