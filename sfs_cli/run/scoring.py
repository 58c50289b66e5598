"""Running a method: the sample graph, then a pass of scores or the iterations of a solver."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from sfs_cli.catalog import METHODS, Method
from sfs_cli.compute.matrix import Arrays, BlockLike
from sfs_cli.errors import InputError, counts_text
from sfs_cli.graph.groups import Groups
from sfs_cli.graph.kinds import Graph, on_coordinates, sample_graph
from sfs_cli.graph.laplacian import NormalizedLaplacian
from sfs_cli.graph.similarity import Similarity, check_degrees, weighted_similarity
from sfs_cli.graph.spectral import Spectrum, leading
from sfs_cli.logs import FIRST
from sfs_cli.methods.base import Problem, Scorer, Solution, Status
from sfs_cli.methods.class_means import ClassMeans
from sfs_cli.methods.shared import least_p_value
from sfs_cli.methods.stored import best_read
from sfs_cli.options import RankConfig
from sfs_cli.options.graph import LABELS_ALONE
from sfs_cli.options.testing import moderates
from sfs_cli.provenance import RunFacts
from sfs_cli.ranking.table import Ranking
from sfs_cli.run.guards import guard_graph
from sfs_cli.run.load import Run
from sfs_cli.run.marker_table import Markers
from sfs_cli.run.needs import SCORES, graph_asked, needed
from sfs_cli.run.pictures import Pictures
from sfs_cli.tables import header

SPECTRUM_SAMPLES = 5000
"""The spectrum is shown in the report up to this many samples."""
SPECTRUM_SIZE = 20


@dataclass
class Scored:
    """What a method found."""

    solution: Solution
    graph: dict[str, Any] = field(default_factory=dict)  # facts of the sample graph
    eigenvalues: np.ndarray | None = None  # leading ones of the sample graph, or of the method
    sources: dict[str, Any] = field(default_factory=dict)  # what became of the knowledge sources
    facts: dict[str, Any] = field(default_factory=dict)  # of an optional part, by its name
    spectrum: Spectrum | None = None  # leading eigenpairs of the sample graph, where they are known


def make_graph(run: Run, distances: np.ndarray | None = None) -> Graph | None:
    """Make or read the sample graph of a run; None where its method needs none.

    Squared `distances` between the samples, shape (n, n), save the pass over the matrix.

    Raises InputError when it does not fit the matrix, or a sample has a zero or negative degree.
    """
    config, matrix = run.config, run.matrix
    if "graph" not in needed(config):
        return None
    run.log.phase("sample graph")
    asked, where = graph_asked(config, matrix.n_samples), ""
    name = asked.name
    if name == "file" or name.startswith("obsp:"):
        from sfs_cli.io.knowledge.similarity import open_similarity
        from sfs_cli.knowledge.samples import graph_as_given

        of_file, ids = name == "file", matrix.ids.samples
        where = str(config.similarity_file) if of_file else f"{config.matrix}: {name}"
        given = open_similarity(where if of_file else name, config.matrix)
        in_file = matrix.matrix.ids.samples
        graph = graph_as_given(given, name, ids, where, run.log, in_file)
        if of_file:
            graph.facts["file"] = where
    else:
        replace(config, similarity=name)  # checks options that were given without a similarity
        context, facts = run.context, {}
        if run.coordinates is not None:
            where = str(config.coordinates_from)
            context = on_coordinates(context, run.coordinates, f"{config.matrix}: {where}")
            facts = {"coordinates": where, "dimensions": run.coordinates.shape[1]}
            if "coordinates" in run.taken:
                facts["columns"] = run.taken["coordinates"]
        graph = sample_graph(asked, context, distances=distances)
        graph.facts |= facts
    if not run.method.kernel:  # the degrees of a kernel may be zero or negative
        # the ids of a store are read during the pass above
        check_degrees(graph.similarity, matrix.ids.samples, where or name)
    guard_graph(run, graph.similarity)
    return graph


@dataclass
class RankResult:
    """A ranking and all that is known of how it was made.

    Attributes
    ----------
    config : RankConfig
        What was done: as asked for, with the default method filled in.
    scored : Scored
        What the method has found.
    ranking : Ranking
        The table.
    facts : RunFacts
        What ``run.json`` and the report say of the run.
    files : dict
        What writes each of the files beside the ranking, by name.
    warnings : list of str
        Warnings that the user was given.
    started : str
        When the run began, as in run.json.
    seconds : float
        Wall time.
    peak_memory : int
        Largest resident size of the process, bytes.
    coefficients : (list of str, ndarray), optional
        Features with non-zero coefficients and their rows, for methods that have some.
    groups : Groups, optional
        Groups of the samples that the eigenvalues of the sample graph show.
    pictures : Pictures, optional
        What the pictures of the report show, where one is written.
    markers : Markers, optional
        The features that tell each class from all others, where they are asked for.
    """

    config: RankConfig
    scored: Scored
    ranking: Ranking
    facts: RunFacts
    files: dict[str, Callable[[Path], object]] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    started: str = ""
    seconds: float = 0.0
    peak_memory: int = 0
    coefficients: tuple[list[str], np.ndarray] | None = None
    groups: Groups | None = None
    pictures: Pictures | None = None
    markers: Markers | None = None

    @property
    def method(self) -> Method:
        """The method of the configuration."""
        return METHODS[self.config.ranker]

    def uns(self, names: Sequence[str]) -> dict[str, object]:
        """Return what an AnnData gets in ``uns``, whose features have these names, in order."""
        return {} if self.markers is None else self.markers.to_uns(names)

    def add_table(
        self, name: str, rows: Iterable[Sequence[Any]], columns: Sequence[str] = ()
    ) -> None:
        """Add a table that is written under a name, whose columns are those of `header`."""
        # pickled with the result of a function of Python, and perhaps written twice
        self.files[name] = partial(_write_table, columns or header(name), list(rows))


def _write_table(columns: Sequence[str], rows: Sequence[Sequence[Any]], path: Path) -> None:
    from sfs_cli.io.results.writers import table_bytes

    path.write_bytes(table_bytes(columns, rows))


Prepare = Callable[[Problem], Scorer]


def score_on(run: Run, graph: Graph | None, prepare: Prepare | None = None) -> Scored:
    """Score every feature on a sample graph, where the method needs one.

    `prepare` makes the scorer in place of the method.

    Raises InputError when nothing can be scored.
    """
    solution = solve(run, graph.similarity if graph else None, prepare)
    for warning in solution.warnings:
        if warning not in run.log.warnings:  # halves of the features have the same samples
            run.log.warn(warning)
    for note in solution.notes:
        run.log.note(note)
    check_solution(run, solution)
    spectrum = solution.facts.pop("spectrum", None)
    eigenvalues = solution.facts.pop("eigenvalues", None)
    if spectrum is None and eigenvalues is None and graph is not None:
        spectrum = spectrum_of(graph.similarity)
    if spectrum is not None:
        eigenvalues = spectrum.values
    return Scored(solution, graph.facts if graph else {}, eigenvalues, spectrum=spectrum)


def solve(run: Run, similarity: Similarity | None, prepare: Prepare | None = None) -> Solution:
    """Score every feature by the method of a run, on a sample graph where it needs one."""
    run.log.phase("scores")
    context = run.context
    engine = context.engine.at(run.method.title if run.method.iterative else SCORES)
    run = run.on(engine)
    problem = problem_of(run, similarity)
    solver = run.method.load("solve")
    if solver is not None:
        if engine.parts is not None:
            engine.parts.stop_sharing()
        return solver(problem)
    scorer = scorer_of(run.config, problem, prepare)
    engine, reads = best_read(engine, scorer)
    task = reads.score_block
    if run.method.by_class and not scorer.has_means and (means := ClassMeans.of(problem)):
        task = partial(_with_means, scorer, means)
    found = engine.columns(task, reads.dtype)
    columns = scorer.columns(found)
    return Solution(
        columns.pop("score", found["score"]),
        found["status"],
        scorer.larger_is_better,
        extra=columns,
        class_means=found.get("class_means"),
        facts=scorer.facts,
        warnings=scorer.warnings,
        scorer=scorer,
    )


def problem_of(run: Run, similarity: Similarity | None) -> Problem:
    """Return what the method of a run is given, on a sample graph where it needs one."""
    weights = run.context.sample_weights
    if similarity is not None and weights is not None:
        similarity = weighted_similarity(similarity, weights)
    return Problem(run.context, similarity, run.options)


def scorer_of(config: RankConfig, problem: Problem, prepare: Prepare | None = None) -> Scorer:
    """Return what scores blocks by the method of a configuration, and what else is asked for."""
    prepare = prepare or METHODS[config.scorer].load("prepare")
    assert prepare is not None
    scorer: Scorer = prepare(problem)
    if moderates(config):
        from sfs_cli.methods.moderated_tests import moderated

        scorer = moderated(problem, scorer, trend=config.moderate == "trend")
    if config.pvalues is None:
        return scorer
    from sfs_cli.methods.significance.tested import GraphTest, TestedScorer

    if isinstance(scorer, GraphTest):  # it is tested already
        return scorer
    least, labels, method = 0.0, problem.context.labels, METHODS[config.scorer]
    of_labels = problem.graph is None or graph_asked(config, problem.n_samples).name in LABELS_ALONE
    if labels is not None and of_labels:
        least = least_p_value(labels.target, problem.context.blocks)
    null = str(config.pvalues)
    if method.tested:
        return TestedScorer(scorer, problem, null, config.permutations, least)
    from sfs_cli.methods.significance.permuted import PermutedTest

    return PermutedTest(scorer, problem, null, config.permutations, least)


def _with_means(scorer: Scorer, means: ClassMeans, block: BlockLike) -> Arrays:
    """Return what a scorer makes of a block, and what the class means show."""
    found = means.measure(block.values)  # first, because scoring may overwrite the block
    return scorer.score_block(block) | {"class_means": found}


def check_solution(run: Run, solution: Solution) -> None:
    """Refuse a solution without any score, and say where a solver has not converged."""
    check_scored(run, solution)
    if not solution.converged:
        run.log.warn(
            f"--method {run.method.name} has not converged: {solution.stop}; centering and scaling "
            "(--transform zscore) often helps",
            FIRST,
        )


def check_scored(run: Run, solution: Solution) -> None:
    """Refuse a solution without any score."""
    if np.isnan(solution.score).all():
        codes, counts = np.unique(solution.status, return_counts=True)
        reasons = dict(zip((Status(code).text for code in codes), counts.tolist()))
        raise InputError(
            f"no feature can be scored: {counts_text(reasons)}",
            where=run.config.matrix,
            hint="check that values differ between samples (and --rows, --transform, --missing); "
            "values that differ beyond their seventh digit alone need --dtype float64",
        )


def spectrum_of(similarity: Similarity) -> Spectrum | None:
    """Return a few eigenpairs for the report, where they cost little."""
    n = similarity.n
    if n > SPECTRUM_SAMPLES or not (similarity.degrees > 0).all():
        return None
    return leading(NormalizedLaplacian(similarity), min(SPECTRUM_SIZE, n))
