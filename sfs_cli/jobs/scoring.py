"""Running a method: the sample graph, then a pass of scores or the iterations of a solver."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sfs_cli.compute.engine import Engine
from sfs_cli.errors import InputError, NotConvergedError
from sfs_cli.graph.similarity import Similarity
from sfs_cli.jobs.graph import graph_options, make_graph
from sfs_cli.jobs.reading import best_read
from sfs_cli.jobs.work import Work
from sfs_cli.logs import Messages
from sfs_cli.methods.base import Context, Scorer, Solution, Status
from sfs_cli.methods.nonzero_scorers import NonZeroScorer
from sfs_cli.sources.request import GraphRequest
from sfs_cli.sources.sample_graph import Graph

SPECTRUM_SAMPLES = 5000
"""The spectrum is shown in the report up to this many samples."""
SPECTRUM_SIZE = 20


@dataclass
class Scored:
    """What a method found.

    Attributes
    ----------
    solution : Solution
        Scores and statuses, and the rest of what a solver tells.
    graph : dict
        Facts of the sample graph.
    eigenvalues : ndarray, optional
        Leading eigenvalues of the sample graph.
    sources : dict
        What became of the knowledge sources.
    """

    solution: Solution
    graph: dict[str, Any] = field(default_factory=dict)
    eigenvalues: np.ndarray | None = None
    sources: dict[str, Any] = field(default_factory=dict)


def run_method(work: Work, messages: Messages) -> Scored:
    """Make the sample graph and score every feature.

    Raises
    ------
    InputError
        When nothing can be scored.
    NotConvergedError
        When a solver has not converged, under ``--on-no-convergence error``.
    """
    graph = make_work_graph(work, messages)
    solution = solve(work, graph.similarity if graph else None, messages)
    for warning in solution.warnings:
        messages.warn(warning)
    check_solution(work, solution, messages)
    eigenvalues = solution.facts.pop("eigenvalues", None)
    if eigenvalues is None and graph is not None:
        eigenvalues = spectrum_of(graph.similarity)
    return Scored(solution, graph.facts if graph is not None else {}, eigenvalues)


def make_work_graph(work: Work, messages: Messages) -> Graph | None:
    """Return the sample graph, where one is needed."""
    if "graph" not in work.needs:
        return None
    messages.phase("sample graph")
    request = GraphRequest(
        graph_options(work.config),
        work.engine,
        work.codes,
        work.memory,
        messages,
        work.labels.classes if work.labels is not None else None,
        where=work.config.matrix,
        seed=work.config.seed,
    )
    return make_graph(work.config, request, work.graphs, work.method.kernel)


def solve(work: Work, similarity: Similarity | None, messages: Messages) -> Solution:
    """Score every feature on a sample graph.

    Parameters
    ----------
    work : Work
        The matrix, the method and its options.
    similarity : Similarity, optional
        The sample graph, where one is needed.
    messages : Messages
        Told of progress.
    """
    messages.phase("scores")
    context = Context(
        n_samples=work.source.n_samples,
        dtype=work.plan.dtype,
        similarity=similarity,
        codes=work.codes,
        class_names=work.labels.classes if work.labels is not None else (),
        options=work.options,
        engine=work.engine,
        memory=work.memory,
        seed=work.config.seed,
        exact=work.source.exact,
        tell=messages.detail,
    )
    run = work.method.load("solve")
    if run is not None:
        if work.engine.keeper is not None:
            work.engine.keeper.leave()
        return run(context)
    prepare = work.method.load("prepare")
    assert prepare is not None
    scorer: Scorer = prepare(context)
    score, status = score_features(*best_read(work.engine, scorer, messages))
    return Solution(
        score,
        status,
        scorer.larger_is_better,
        extra=getattr(scorer, "extra", {}),
        facts=scorer.facts,
        warnings=scorer.warnings,
    )


def score_features(engine: Engine, scorer: Scorer | NonZeroScorer) -> tuple[np.ndarray, np.ndarray]:
    """Score every feature by one pass.

    Returns
    -------
    score : ndarray, shape (m,), float64
        NaN where there is none.
    status : ndarray of int8, shape (m,)
        Values of `Status`.
    """
    score, status = engine.columns(scorer.score_block, scorer.dtype)
    return score.astype(np.float64, copy=False), status.astype(np.int8, copy=False)


def check_solution(work: Work, solution: Solution, messages: Messages) -> None:
    """Refuse a solution without any score, and say where a solver has not converged."""
    if np.isnan(solution.score).all():
        counts = {
            Status(s).text: int((solution.status == s).sum()) for s in np.unique(solution.status)
        }
        raise InputError(
            "no feature can be scored: " + ", ".join(f"{v:,} {k}" for k, v in counts.items()),
            where=work.config.matrix,
            hint="check that values differ between samples (and --rows, --transform, --missing); "
            "values that differ beyond their seventh digit alone need --dtype float64",
        )
    if not solution.converged:
        tell_unconverged(
            work,
            f"--method {work.method.name} has not converged: {solution.stop}",
            "--on-no-convergence warn keeps the ranking as it is; centring and scaling "
            "(--transform zscore) often helps",
            messages,
        )


def tell_unconverged(work: Work, text: str, hint: str, messages: Messages) -> None:
    """Warn that a solver has not converged, or end the run where that is asked for.

    Raises
    ------
    NotConvergedError
        Under ``--on-no-convergence error``; `hint` says what helps.
    """
    if work.config.on_no_convergence == "error":
        raise NotConvergedError(text, where=work.config.matrix, hint=hint)
    messages.warn(text)


def spectrum_of(similarity: Similarity) -> np.ndarray | None:
    """Return a few eigenvalues for the report, where they cost little."""
    from sfs_cli.graph.laplacian import NormalizedLaplacian
    from sfs_cli.graph.spectrum import leading

    n = similarity.n
    if n > SPECTRUM_SAMPLES or not (similarity.degrees > 0).all():
        return None
    return leading(NormalizedLaplacian(similarity), min(SPECTRUM_SIZE, n)).values
