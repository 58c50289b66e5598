"""``sfs rank``: load, score, rank, write.

`run` is the command: it claims the output, tells whether the result is there already, ranks and
writes. `rank` is the same without files, for Python. `score` is what shards do, too.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from sfs_cli import provenance
from sfs_cli.catalog import METHODS, Method
from sfs_cli.compute import memory as memory_of
from sfs_cli.compute.engine import ThreadExecutor
from sfs_cli.compute.matrix import LeftOut
from sfs_cli.compute.memory import format_size
from sfs_cli.errors import UsageError, listed
from sfs_cli.features import ordering_steps, steps_of
from sfs_cli.features.step import Step
from sfs_cli.graph.groups import Groups, read_groups
from sfs_cli.graph.spectral import DIRECT_LIMIT
from sfs_cli.io.files.text import split_member
from sfs_cli.io.matrix.base import is_anndata
from sfs_cli.logs import Messages
from sfs_cli.methods.base import Solution, Status
from sfs_cli.options import RankConfig
from sfs_cli.options.fields import options_of, stated
from sfs_cli.options.files import resolved, written
from sfs_cli.options.grammar import text_of
from sfs_cli.options.paths import check_suffix
from sfs_cli.options.replaced import refuse_recorded
from sfs_cli.provenance import (
    InputFile,
    RunFacts,
    RunRecord,
    without_parts,
)
from sfs_cli.ranking.table import Picked, Ranking, rank_features
from sfs_cli.report.model import Pictures
from sfs_cli.run import guards
from sfs_cli.run.config import input_files
from sfs_cli.run.load import Run, Shared, loaded
from sfs_cli.run.outputs import (
    Beside,
    Made,
    Writers,
    describe_inputs,
    log_ranking,
    make_result,
    ranking_facts,
    ranking_files,
    ranking_writers,
)
from sfs_cli.run.pictures import pictures_of
from sfs_cli.run.pipes import as_given
from sfs_cli.run.report_data import page_facts, report_data
from sfs_cli.run.scoring import Scored, make_graph, score_on
from sfs_cli.run.top import TopFeatures, read_top
from sfs_cli.store.ids import free_names, unique_features
from sfs_cli.tables import CHANGES, COEFFICIENTS, RANKING

if TYPE_CHECKING:
    from distributed import Client


def run(
    config: RankConfig,
    messages: Messages,
    *,
    describe: Callable[[], list[InputFile]] | None = None,
    shared: Shared | None = None,
    home: Path | None = None,
) -> bytes:
    """Rank, write what the configuration asks for, and return what belongs on stdout.

    With ``--out``, nothing is done where exactly this result is there already. What `sfs shard
    merge` does otherwise: `describe` checks and returns the input files, `shared` is what shards
    have made, and `home` is the folder that the command was given in.
    """
    check_outputs(config)
    copies = copies_of(config)
    for each in copies:
        refuse_recorded(each.option, each.path, input_files(config))

    def make() -> Made:
        if config.write_h5ad is not None:
            from sfs_cli.io.matrix.h5ad_copy import look_into

            look_into(Path(config.matrix))
        result = rank(config, messages, shared=shared)
        # one that fails leaves no result that lacks it
        _write_copies(copies, config, result, messages)
        return _made(config, result, messages, home)

    return make_result(
        config,
        messages,
        ranking_files(config),
        describe or partial(describe_inputs, config),
        make,
        options=_recorded(config),
        beside=copies,
    )


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
    steps : list of Step
        The optional parts that were made.
    warnings : list of str
        Warnings that the user was given.
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
    """

    config: RankConfig
    scored: Scored
    ranking: Ranking
    facts: RunFacts
    steps: list[Step]
    warnings: list[str] = field(default_factory=list)
    seconds: float = 0.0
    peak_memory: int = 0
    coefficients: tuple[list[str], np.ndarray] | None = None
    groups: Groups | None = None
    pictures: Pictures | None = None

    @property
    def method(self) -> Method:
        """The method of the configuration."""
        return METHODS[self.config.ranker]

    def members(self, names: Sequence[str]) -> dict[str, object]:
        """Return what an AnnData gets in ``uns``, whose features have these names, in order."""
        return {key: value for step in self.steps for key, value in step.members(names).items()}


def rank(
    config: RankConfig,
    messages: Messages | None = None,
    *,
    client: Client | None = None,
    shared: Shared | None = None,
) -> RankResult:
    """Rank the features of a matrix.

    Parameters
    ----------
    config : RankConfig
        What to rank and how.
    messages : Messages, optional
        Receives messages and progress; silent by default.
    client : distributed.Client, optional
        Of a Dask cluster to run on; it stays open.
    shared : Shared, optional
        What shards have made.

    Raises
    ------
    SfsError
        For anything the user can correct.
    """
    started = time.perf_counter()
    messages = messages or Messages(verbosity=-1)
    with loaded(config, messages, shared, client) as run:
        config = run.config  # with the method that suits the samples
        guards.guard_filled(run)
        guards.before_ranking(run)
        steps = steps_of(config)
        for step in steps:
            step.check(run)
        with run.progress("ranking"):
            scored = _score(run)
            scored.solution = _solved(run, scored.solution, steps)
            ranking = _by_score(run, scored.solution)
            found = RankResult(config, scored, ranking, _facts(run, scored), steps)
            for step in steps:
                step.find(run, found)
            found.ranking = replace(_annotated(run, found), top=config.top)
            scored.solution = replace(scored.solution, scorer=None)  # which may hold a graph
        top = read_top(run, found.ranking)
        _warn(run, found, top)
        if scored.spectrum is not None:
            found.groups = read_groups(scored.spectrum.values, scored.spectrum.vectors)
        if config.out is not None and top is not None:
            found.pictures = pictures_of(run, found.ranking, top, scored.spectrum, found.groups)
        if scored.solution.coefficients is not None:
            indices, rows = scored.solution.coefficients
            features = run.matrix.ids.features
            found.coefficients = ([features[int(i)] for i in indices], rows)
            found.facts["solver"]["coefficients"] = len(indices)
        found.facts["plan"]["passes"] = run.passes.executed
        found.facts["passes"] = run.passes.facts()
    found.warnings = list(messages.warnings)
    found.seconds = time.perf_counter() - started
    found.peak_memory = memory_of.peak_resident()
    return found


def _annotated(run: Run, found: RankResult) -> Ranking:
    """Return the ranking with the annotations that the matrix has of its features."""
    ranking, var = found.ranking, run.matrix.ids.var
    if not var:
        return ranking
    # a column of that name is read for that of a ranking, also where this one has none
    names = free_names(var, {*ranking.columns(0, 0), *RANKING, *CHANGES})
    if again := [f"{name} as {own}" for name, own in zip(var, names) if name != own]:
        run.log.note(f"annotations under another name, which a ranking has: {listed(again)}")
    found.facts["input"]["annotations"] = names
    columns = (Picked(texts, ranking.order) for texts in var.values())
    return replace(ranking, extra={**ranking.extra, **dict(zip(names, columns))})


def _warn(run: Run, found: RankResult, top: TopFeatures | None) -> None:
    """Warn of an unreliable ranking."""
    solution, ranking = found.scored.solution, found.ranking
    guards.guard_batches(run, top)
    guards.guard_ranking(run, ranking, top)
    if (leading := solution.facts.get("response_rank")) is not None:
        run.log.note(
            f"the response is the {leading} leading eigenvectors of the similarity of "
            f"{run.context.n:,} samples, which are more than {DIRECT_LIMIT:,}; response-rank= "
            "takes another number of them"
        )


def score(run: Run) -> Scored:
    """Score the features as the configuration asks, making the passes of the list."""
    with run.progress("ranking"):
        return _score(run)


def _score(run: Run) -> Scored:
    run.fit()
    for step in steps_of(run.config):
        if (scored := step.score(run)) is not None:
            return scored
    return score_on(run, make_graph(run))


def ranked(run: Run) -> Ranking:
    """Score and order the features of a run as `rank` does, and find out nothing else."""
    ranking = _by_score(run, _solved(run, _score(run).solution, steps_of(run.config)))
    for step in ordering_steps(run.config):
        ranking, _ = step.order(run, ranking)
    return ranking


def _solved(run: Run, solution: Solution, steps: list[Step]) -> Solution:
    """Return what a method has found as the optional parts rank it."""
    for step in steps:
        solution = step.solved(run, solution)
    return solution


def _by_score(run: Run, solution: Solution) -> Ranking:
    """Return the features of a run by their scores."""
    return rank_features(
        run.matrix.ids.features,
        solution.score,
        solution.status,
        [s.text for s in Status],
        larger_is_better=solution.larger_is_better,
        order=solution.order,
        extra=solution.extra,
    )


def _facts(run: Run, scored: Scored) -> RunFacts:
    """Return what ``run.json`` and the report say of a run, once the features have scores.

    The steps add what they find.
    """
    config, matrix, solution = run.config, run.matrix, scored.solution
    read = run.opened.facts | {
        "n_samples": matrix.n_samples,
        "n_samples_in_file": matrix.matrix.n_samples,
        "n_features": matrix.n_features,
        "dtype": matrix.dtype.name,
        "sparse": matrix.matrix.sparse,
        "missing_values": matrix.matrix.missing.values,
        "features_with_missing_values": matrix.matrix.missing.features,
        "left_out": {
            Status(why).text: count
            for why in LeftOut
            if (count := int(np.count_nonzero(solution.status == why)))
        },
        "transform": list(matrix.steps),
    }
    if matrix.dispersion is not None:
        read["dispersion"] = matrix.dispersion
    method: dict[str, Any] = {"name": config.method}
    if config.method == "kogs":
        method["how"] = scored.sources["aggregation"]["how"]
    if run.options and config.method != config.scorer:  # members have options of their own
        method["then"] = config.scorer
    keys = {name: each.word or name.rstrip("_") for name, each in run.method.parameters.items()}
    method |= {keys[name]: value for name, value in run.options.items()}
    method |= solution.facts  # such as fewer neighbors than were asked for
    facts: RunFacts = {
        "input": read,
        "graph": scored.graph,
        "method": method,
        "knowledge": scored.sources,
        "solver": {},
        **without_parts(),
        "plan": {
            "arithmetic": run.plan.dtype.name,
            "block_size": run.plan.block_size,
            "dask": config.dask,
            "threads": run.plan.workers,
            "passes": 0,
        },
        "passes": [],
        "labels": {},
    }
    facts |= scored.facts
    if solution.stop or solution.objective:
        facts["solver"] = {
            "converged": solution.converged,
            "stop": solution.stop,
            "objective": solution.objective,
        }
    if run.labels is not None:
        facts["labels"] = {
            "from": config.labels,
            "type": config.label_type,
            "classes": run.labels.counts(),
            "used": run.labels_used,
        }
        if "labels" in run.taken:
            facts["labels"]["column"] = run.taken["labels"]
        if config.label_type == "continuous":
            facts["labels"] |= run.labels.range()
    return facts


def check_outputs(config: RankConfig) -> None:
    """Refuse outputs that cannot be written for this input."""
    copy = config.write_h5ad
    if copy is None:
        return
    if not is_anndata(config.matrix):
        raise UsageError(
            "--write-h5ad copies an h5ad, h5mu or AnnData zarr; the matrix is none of these",
            hint="use --out, or convert the matrix to h5ad first",
            option="write_h5ad",
        )
    source = split_member(Path(config.matrix))[0].suffix.lower()
    check_suffix("write_h5ad", "--write-h5ad", copy, f"a copy of the {source[1:]}", source)


def copies_of(config: RankConfig) -> list[Beside]:
    """Return the copy of the input that is asked for beside the output folder, if one is."""
    if config.write_h5ad is None:
        return []
    folder = split_member(Path(config.matrix))[0].is_dir()
    return [Beside("write_h5ad", Path(config.write_h5ad), folder)]


def _write_copies(
    copies: list[Beside], config: RankConfig, result: RankResult, messages: Messages
) -> None:
    """Write the copy of the input with the scores, if one is asked for."""
    from sfs_cli.io.results.writers import write_scores

    for copy in copies:
        assert copy.partial is not None
        notes = write_scores(
            Path(config.matrix),
            copy.partial,
            result.ranking,
            about_ranking(result.config, result.facts, config.top),
            lambda names: unique_features(names)[0],
            result.members,
            top=config.top,
            layer=config.layer,
        )
        for note in notes:
            messages.note(note)


def about_ranking(config: RankConfig, facts: Mapping[str, Any], top: int | None) -> dict[str, Any]:
    """Return what ``uns`` of AnnData tells of how a ranking was made.

    ``params`` are the options that were given, lists as JSON, and the method; ``record`` is all of
    it, as JSON.
    """
    options = config.result_options() | {"top": top}
    default = RankConfig(config.matrix).result_options()
    given = {name: value for name, value in options.items() if value != default[name]}
    record = {"config": options, **facts} | ({} if top is None else {"top": top})
    params = {
        name: value if isinstance(value, str | int | float) else provenance.dumps(value)
        for name, value in provenance.plain(given).items()
    }
    return {"params": params, "record": provenance.dumps(record)}


def _recorded(config: RankConfig, without: Collection[str] = ()) -> dict[str, Any]:
    """Return the options as ``run.json`` has them, with paths from the folder of the result."""
    return {} if config.out is None else resolved(as_given(config), config.out, without)


def _made(config: RankConfig, result: RankResult, messages: Messages, home: Path | None) -> Made:
    """Return the files of a ranking, and the facts for ``run.json``."""
    from sfs_cli.io.results.writers import as_written, ranking_bytes, write_coefficients

    threads = result.facts["plan"]["threads"]

    def complete(record: dict[str, Any]) -> Writers:
        # the page is made of what the other files hold, so that `sfs report` makes the same
        in_order = ThreadExecutor(threads).map
        ranking = as_written(result.ranking, config.format, in_order)
        record["result"] = ranking_facts(ranking) | {"eigenvalues": result.scored.eigenvalues}
        known = cast(RunRecord, provenance.plain(record))
        data = report_data(
            result.config, ranking, known, groups=result.groups, pictures=result.pictures
        )
        writers = ranking_writers(config, result.ranking, data, threads, home)
        for step in result.steps:
            writers |= step.writers()
        if result.coefficients is not None:
            writers[COEFFICIENTS] = partial(write_coefficients, *result.coefficients)
        return writers

    facts: dict[str, Any] = {
        **result.facts,
        "config": _recorded(config, config.pinned),
        "defaults": _defaults(config, result),
        "page": page_facts(result.config, result.facts["graph"]),
        "warnings": result.warnings,
        "seconds": round(result.seconds, 3),
        "peak_memory_bytes": result.peak_memory,
    }
    table = partial(ranking_bytes, result.ranking, config.format)
    return Made(facts, table, complete, partial(_log_summary, config, result, messages))


def _log_summary(config: RankConfig, result: RankResult, messages: Messages) -> None:
    ranking, samples = result.ranking, result.facts["input"]["n_samples"]
    messages.note(
        f"ranked {ranking.n_scored:,} of {len(ranking):,} features on {samples:,} samples by "
        f"{result.method.title} in {result.seconds:.2f} s "
        f"(peak memory {format_size(result.peak_memory)})"
    )
    if chosen := _chosen(config, result):
        options = _named(result.config, chosen)
        words = (f"--{key} {text_of(value)}" for key, value in options.items())
        messages.note(f"defaults: {' '.join(words)}")
    log_ranking(ranking, messages)
    if ranking.n_written < len(ranking):
        messages.note(
            f"wrote the first {ranking.n_written:,} of {len(ranking):,} features; without --top "
            "all are written"
        )


def _chosen(config: RankConfig, result: RankResult) -> dict[str, Any]:
    """Return the options that the run has chosen for itself, by the data, and their values."""
    used, graph = result.config, result.facts["graph"]
    names = ("method", "also", "response", "similarity")
    chosen = {n: getattr(used, n) for n in names if getattr(used, n) != getattr(config, n)}
    if used.graph is None and "similarity" in graph:
        chosen.setdefault("similarity", graph["similarity"])
    if config.components is None and "components" in graph:
        chosen["components"] = graph["components"]
        if config.variable_genes is None:
            chosen["variable_genes"] = graph["variable_genes"]
    return chosen


def _defaults(config: RankConfig, result: RankResult) -> dict[str, Any]:
    """Return the options that were left out and that the run has a value for.

    They are written, so that a later version, which may have other defaults, repeats the run.
    """
    used, graph = result.config, result.facts["graph"]
    found = {name: getattr(config, name) for name in config.pinned} | _chosen(config, result)
    for name, value in used.method_options().items():
        with suppress(UsageError):  # what would have no effect, as a power beside gamma=exp
            replace(used, **{name: value})
            found.setdefault(name, value)
    if "neighbors" in graph:
        found.setdefault("neighbors", graph["neighbors"])
    chosen = {
        o.name: found[o.name]
        for o in options_of(RankConfig)
        if (o.name in config.pinned or getattr(config, o.name) == o.default)
        and found.get(o.name) not in (None, o.default)
    }
    return _named(used, chosen)


def _named(used: RankConfig, chosen: dict[str, Any]) -> dict[str, Any]:
    """Return options by their keys; parameters stand with the name that they belong to."""
    hosts = {o.of for o in options_of(RankConfig) if o.of and o.name in chosen}
    names = {host: getattr(used, host) or used.users(host)[0] for host in hosts}
    if "method" in names:
        names["then"] = used.then  # it says which parameters there are
    found = stated(names) | chosen
    return written({o.name: found[o.name] for o in options_of(RankConfig) if o.name in found})
