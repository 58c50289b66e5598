"""``sfs rank``: load, score, rank, write.

`run` is the command: it claims the output, tells whether the result is there already, ranks and
writes. `rank` is the same without files, for Python. `score` is what shards do, too.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from sfs_cli import parts, provenance
from sfs_cli.catalog import SIGNED, Method
from sfs_cli.compute import memory as memory_of
from sfs_cli.compute.matrix import LeftOut
from sfs_cli.compute.memory import format_size
from sfs_cli.errors import UsageError, listed
from sfs_cli.graph.groups import read_groups
from sfs_cli.graph.spectral import DIRECT_LIMIT
from sfs_cli.io.files.text import split_member
from sfs_cli.io.matrix.base import is_anndata
from sfs_cli.logs import Messages
from sfs_cli.methods.base import Solution, Status
from sfs_cli.options import RankConfig
from sfs_cli.options.grammar import text_of
from sfs_cli.options.parts import others
from sfs_cli.options.paths import check_suffix, refuse_recorded
from sfs_cli.options.testing import adjusts, moderates, on_scales, tested
from sfs_cli.provenance import InputFile, RunFacts, RunRecord
from sfs_cli.ranking.table import Picked, Ranking, rank_features
from sfs_cli.report.model import Section
from sfs_cli.run import guards
from sfs_cli.run.config import input_files
from sfs_cli.run.load import Run, Shared, loaded
from sfs_cli.run.pictures import pictures_of
from sfs_cli.run.raw_values import refuse_logarithms
from sfs_cli.run.scoring import RankResult, Scored, make_graph, score_on
from sfs_cli.run.top import TOP, values_of
from sfs_cli.store.ids import free_names, unique_features
from sfs_cli.tables import CHANGES, COEFFICIENTS, RANKING
from sfs_cli.workflow.outputs import (
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
from sfs_cli.workflow.recorded import chosen_by_data, defaults_of, recorded, with_names
from sfs_cli.workflow.report_data import command_words, report_data

if TYPE_CHECKING:
    from distributed import Client

    from sfs_cli.methods.markers import MarkerTests


def run(
    config: RankConfig,
    messages: Messages,
    *,
    describe: Callable[[], list[InputFile]] | None = None,
    shared: Shared | None = None,
    home: Path | None = None,
    ranked: RankResult | None = None,
) -> bytes:
    """Rank, write what the configuration asks for, and return what belongs on stdout.

    With ``--out``, nothing is done where exactly this result is there already. What `sfs shard
    merge` does otherwise: `describe` checks and returns the input files, `shared` is what shards
    have made, and `home` is the folder that the command was given in. What a function of Python has
    `ranked` is written as it is.
    """
    copy = _copy_of(config)
    if copy is not None:
        refuse_recorded(copy.option, copy.path, input_files(config))

    def make() -> Made:
        if copy is not None:
            from sfs_cli.io.matrix.h5ad_copy import look_into

            look_into(Path(config.matrix))
        result = ranked or rank(config, messages, shared=shared)
        if copy is not None:  # one that fails leaves no result that lacks it
            _write_copy(copy, config, result, messages)
        made = _made(config, result, messages, home)
        if ranked is not None:  # by no command line: the record has the one of the page
            words = command_words(result.config, result.facts["graph"])
            made.facts.update(command=words, started=ranked.started)
        return made

    return make_result(
        config,
        messages,
        ranking_files(config),
        describe or partial(describe_inputs, config),
        make,
        options=recorded(config),
        beside=[] if copy is None else [copy],
    )


def rank(
    config: RankConfig,
    messages: Messages | None = None,
    *,
    client: Client | None = None,
    shared: Shared | None = None,
    page: bool = False,
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
    page : bool
        Find what the page of the result shows too, as with ``--out``.

    Raises
    ------
    SfsError
        For anything the user can correct.
    """
    started, begun = time.perf_counter(), datetime.now(UTC)
    messages = messages or Messages(verbosity=-1)
    page = page or config.out is not None
    with loaded(config, messages, shared, client) as run:
        config = run.config  # with the method that suits the samples
        guards.guard_filled(run)
        guards.before_ranking(run)
        before = checked(run)
        with run.progress("ranking"):
            scored = score(run)
            scored.solution = _solved(run, scored.solution)
            ranking = _by_score(run, scored.solution)
            found = RankResult(config, scored, ranking, facts_of(run, scored))
            _find_parts(run, found, before, page)
            found.ranking = replace(_annotated(run, found), top=config.top)
            scored.solution = replace(scored.solution, scorer=None)  # which may hold a graph
        best = found.ranking.order[: min(TOP, found.ranking.n_scored)]
        # fewer say little of batches
        top = values_of(run, best if page or len(best) == TOP else best[:0])
        _warn(run, found, top)
        if (spectrum := scored.spectrum) is not None:
            found.groups = read_groups(spectrum.values, spectrum.vectors)
        if page:
            found.pictures = pictures_of(run, found.ranking, top, spectrum, found.groups)
        if scored.solution.coefficients is not None:
            indices, rows = scored.solution.coefficients
            features = run.matrix.ids.features
            found.coefficients = ([features[int(i)] for i in indices], rows)
            found.facts["solver"]["coefficients"] = len(indices)
        found.facts["plan"]["passes"] = run.passes.executed
        found.facts["passes"] = run.passes.facts()
    found.warnings = list(messages.warnings)
    found.started = begun.isoformat(timespec="seconds")
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


def _warn(run: Run, found: RankResult, top: np.ndarray) -> None:
    """Warn of an unreliable ranking."""
    solution, ranking = found.scored.solution, found.ranking
    guards.guard_batches(run, top)
    guards.guard_ranking(run, ranking)
    if (leading := solution.facts.get("response_rank")) is not None:
        run.log.note(
            f"the response is the {leading} leading eigenvectors of the similarity of "
            f"{run.context.n:,} samples, which are more than {DIRECT_LIMIT:,}; response-rank= "
            "takes another number of them"
        )


def score(run: Run, *, alone: bool = True) -> Scored:
    """Score the features as the configuration asks, and, `alone`, test them by what suits them."""
    run.fit()
    facts: dict[str, Any] = {}
    if alone and tested(run.config):
        run, facts = parts.theory.with_null(run)
    within = run.config.batch is not None
    scored = parts.batches.rank_within(run, _on_samples) if within else _on_samples(run)
    scored.solution.facts.update(facts)
    return scored


def _on_samples(run: Run) -> Scored:
    """Score the features on all samples of a run, in the way that its configuration asks for."""
    config = run.config
    if config.source:
        return parts.knowledge.rank_by_knowledge(run)
    if config.voom:
        return parts.voom.rank_counts(run)
    if config.split is not None:
        return parts.split.rank_split(run)
    if config.members:
        return parts.members.rank_members(run)
    if on_scales(config):
        return parts.scales.rank_on_scales(run)
    return score_on(run, make_graph(run))


def ranked(run: Run) -> Ranking:
    """Score and order the features of a run as `rank` does, and find out nothing else."""
    ranking = _by_score(run, _solved(run, score(run, alone=False).solution))
    if run.config.given_ is not None:
        ranking = parts.given.put_last(ranking)
    if run.config.max_correlation is not None:
        ranking, _ = parts.pruning.pruned_by_correlation(run, ranking)
    return ranking


def _solved(run: Run, solution: Solution) -> Solution:
    """Return what a method has found, as it is ranked: given features last, classes compared."""
    if run.config.given_ is not None:
        solution = parts.given.without_scores(run, solution)
    columns: dict[str, Any] = parts.classes.class_columns(run, solution)
    return replace(solution, extra=solution.extra | columns) if columns else solution


def facts_of(run: Run, scored: Scored) -> RunFacts:
    """Return what ``run.json`` and the report say of a run, once the features have scores.

    The optional parts add what they find.
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
        **{name: {} for name in parts.FACTS},
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


class _Before(NamedTuple):
    """What parts have made before the features are scored."""

    sets: dict[str, dict[str, list[str]]]
    markers: MarkerTests | None


def checked(run: Run) -> _Before:
    """Refuse what optional parts cannot do, and return what they make before the scores."""
    config = run.config
    if config.voom:
        refuse_logarithms(run, "voom")
    tests = None if config.markers is None else parts.markers.tests_of(run)
    if config.stability is not None and run.columns.donors is not None:
        parts.subsets.draw_subsets(run)  # donors that cannot be divided
    if config.spatial:
        parts.scales.tell_spatial(run)
    if adjusts(config):
        parts.covariates.tell_unadjusted(run)
    known = {}
    if config.sets:
        ids = run.matrix.ids.features
        known = dict([parts.sets.given_sets(config.sets, ids, run.log)])
    return _Before(known, tests)


def _find_parts(run: Run, found: RankResult, before: _Before, page: bool) -> None:
    """Do what is asked for beside the scores: change the ranking, and add columns and facts."""
    config, facts = run.config, found.facts
    if config.given_ is not None:
        found.ranking = parts.given.put_last(found.ranking)
        chosen = found.scored.solution.status == Status.GIVEN
        facts["input"]["given"] = int(np.count_nonzero(chosen))
    if config.sample_weights is not None:
        parts.weights.tell_weights(run, found)
    parts.donors.count_donors(run, found)
    if config.voom:
        parts.voom.tell_trend(run, found)
    if moderates(config):
        parts.moderation.tell_prior(run, found)
    if tested(config) or config.how == "rra":  # which has p-values, too
        parts.significance.tell_significant(run, found)
    if config.members:
        facts["method"]["members"] = list(config.members)
    if config.labels is not None:
        parts.classes.tell_difference(run, found)
    if before.markers is not None:
        parts.markers.find_markers(run, found, before.markers)
    if config.format == "rnk" and config.method in SIGNED:
        parts.direction.add_direction(run, found)
    if others(config):
        parts.also.add_ranks(run, found)
    if config.max_correlation is not None:
        found.ranking, facts["pruning"] = parts.pruning.pruned_by_correlation(run, found.ranking)
    if config.rank_sources is not None:
        parts.joint.add_sources(run, found)
    if config.modules:
        parts.modules.add_modules(run, found)
    if config.stability is not None:
        parts.stability.add_frequencies(run, found, ranked)
    if config.batch is not None:
        parts.batches.tell_explained(run, found)
    if on_scales(config):
        parts.scales.tell_scales(run, found)
    if config.events is not None:
        parts.survival.tell_events(run, found)
    if adjusts(config):
        parts.covariates.tell_explained(run, found)
    if config.sets or (page and config.source):
        parts.sets.test_sets(run, found, before.sets)


def sections(facts: RunRecord, method: Method) -> Iterator[Section]:
    """Yield what the page says of each optional part of a run that was made."""
    read, known = facts["input"], facts["knowledge"]
    if count := read.get("given"):
        yield parts.given.section(count)
    if known:
        yield parts.knowledge.section(known)
    if read.get("sample_weights"):
        yield parts.weights.section(read["sample_weights"])
    if read.get("donors"):
        yield parts.donors.section(read)
    if facts["precision"]:
        yield parts.voom.section(facts["precision"], method)
    if facts["moderation"]:
        yield parts.moderation.section(facts["moderation"])
    if facts["significance"]:
        yield parts.significance.section(facts)
    if facts["markers"]:
        yield parts.markers.section(facts["markers"])
    if facts["pruning"]:
        yield parts.pruning.section(facts["pruning"])
    if facts["joint"]:
        yield parts.joint.section(facts["joint"])
    if facts["modules"]:
        yield parts.modules.section(facts["modules"])
    if facts["stability"]:
        yield parts.stability.section(cast("dict[str, Any]", facts["stability"]))
    if facts["batches"]:
        yield parts.batches.section(facts["batches"], method)
    if facts["scales"]:
        yield parts.scales.section(facts["scales"])
    if facts["survival"]:
        yield parts.survival.section(facts["survival"])
    if facts["covariates"]:
        yield parts.covariates.section(facts["covariates"])
    if known.get("enrichment"):
        yield parts.sets.section(known["enrichment"])


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


def _copy_of(config: RankConfig) -> Beside | None:
    """Return the copy of the input that is asked for beside the output folder, if one is.

    Raises UsageError for an input that no copy can be made of.
    """
    copy, source = config.write_h5ad, split_member(Path(config.matrix))[0]
    if copy is None:
        return None
    if not is_anndata(config.matrix):
        raise UsageError(
            "--write-h5ad copies an h5ad, h5mu or AnnData zarr; the matrix is none of these",
            hint="use --out, or convert the matrix to h5ad first",
            option="write_h5ad",
        )
    suffix = source.suffix.lower()
    check_suffix("write_h5ad", "--write-h5ad", copy, f"a copy of the {suffix[1:]}", suffix)
    return Beside("write_h5ad", Path(copy), source.is_dir())


def _write_copy(copy: Beside, config: RankConfig, result: RankResult, messages: Messages) -> None:
    """Write the copy of the input with the scores."""
    from sfs_cli.io.results.writers import write_scores

    assert copy.partial is not None
    notes = write_scores(
        Path(config.matrix),
        copy.partial,
        result.ranking,
        about_ranking(result.config, result.facts, config.top),
        lambda names: unique_features(names)[0],
        result.uns,
        top=config.top,
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


def _made(config: RankConfig, result: RankResult, messages: Messages, home: Path | None) -> Made:
    """Return the files of a ranking, and the facts for ``run.json``."""
    from sfs_cli.io.results.writers import ranking_bytes, write_coefficients

    def complete(record: dict[str, Any]) -> Writers:
        found = ranking_facts(result.ranking) | {"eigenvalues": result.scored.eigenvalues}
        record["result"] = found
        known = cast("RunRecord", provenance.plain(record))
        page = report_data(
            result.config,
            known,
            [*sections(known, result.method)],
            result.ranking,
            groups=result.groups,
            pictures=result.pictures,
        )
        threads = result.facts["plan"]["threads"]
        writers = ranking_writers(config, result.ranking, page, threads, home)
        writers |= result.files
        if result.coefficients is not None:
            writers[COEFFICIENTS] = partial(write_coefficients, *result.coefficients)
        return writers

    facts: dict[str, Any] = {
        **result.facts,
        "config": recorded(config, config.pinned),
        "defaults": defaults_of(config, result.config, result.facts["graph"]),
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
    if chosen := chosen_by_data(config, result.config, result.facts["graph"]):
        options = with_names(result.config, chosen)
        words = (f"--{key} {text_of(value)}" for key, value in options.items())
        messages.note(f"defaults: {' '.join(words)}")
    log_ranking(ranking, messages)
    if ranking.n_written < len(ranking):
        messages.note(
            f"wrote the first {ranking.n_written:,} of {len(ranking):,} features; without --top "
            "all are written"
        )
