"""``sfs evaluate`` and ``sfs compare``: what a list of features is worth, or several.

The matrix is read once. All lists are measured on all samples, for what needs no test samples. In
each fold the features are ranked anew on the training samples alone, as a matrix of these samples
would be (`sfs_cli.run.part`), and models that have learned from the first of them predict the
others: classifiers, or a ridge regression where labels are numbers or times.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial, reduce
from itertools import chain, combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sfs_cli.compute import memory as memory_of
from sfs_cli.compute.engine import Engine
from sfs_cli.compute.memory import format_size
from sfs_cli.errors import InputError, OutOfMemoryError, UsageError, counted, listed, within
from sfs_cli.evaluation.classify import Fold, standard_error
from sfs_cli.evaluation.held_out import CLASSES, NUMBERS, TIMES, Task
from sfs_cli.evaluation.measures import (
    clustering,
    enrichment,
    jaccard,
    overlap,
    points_of,
    redundancy,
)
from sfs_cli.evaluation.verdict import Verdict, corrected_interval, verdicts_of
from sfs_cli.io.knowledge.gene_sets import read_gene_list
from sfs_cli.knowledge.matching import SAME_IDS, FeatureIndex, Matched, check_found
from sfs_cli.logs import AT_ONCE, FIRST, Messages
from sfs_cli.options.compare import (
    ALL,
    CONTROLS,
    RANDOM,
    VARIABLE,
    CompareConfig,
    check_different,
)
from sfs_cli.options.evaluate import DEFAULT_LENGTHS, EvaluateConfig, JudgeConfig
from sfs_cli.options.fields import flag
from sfs_cli.options.grammar import method_text
from sfs_cli.options.rank import RankConfig
from sfs_cli.parts import covariates
from sfs_cli.parts.sets import given_sets
from sfs_cli.ranking.stability import nogueira
from sfs_cli.ranking.table import Ranking
from sfs_cli.run.config import input_files
from sfs_cli.run.guards import guard_labels, guard_names, guard_raw
from sfs_cli.run.identity import Identity, matrix_identity, same_matrix
from sfs_cli.run.load import Run, loaded
from sfs_cli.run.needs import needed
from sfs_cli.run.part import prepared_on
from sfs_cli.workflow import outputs
from sfs_cli.workflow.folds import (
    FoldRankings,
    Found,
    Measure,
    by_length,
    fold_facts,
    in_fold,
    inner_products,
    lengths_up_to,
    note_leakage_of_graph,
    note_leakage_of_lists,
    outcome_folds,
    predictor,
    strata_of,
    stratified_folds,
)
from sfs_cli.workflow.judged import (
    GIVEN,
    IN_FOLDS,
    ONCE,
    SHOWN_LENGTH,
    Judged,
    JudgedList,
    Measured,
    file_names,
    log_summary,
    page_of,
    tables_of,
)
from sfs_cli.workflow.lists import RankedList, Source, list_names, matrix_of, read_lists
from sfs_cli.workflow.recorded import defaults_of, recorded

DRAWS = 5
"""Random lists whose mean is shown."""
FOR_VARIABLE = ", for the most variable features"
SQUARES = 4
"""Arrays (n, n) of float64 that a thread holds while it judges a list."""
MEMORY_SHARE = 2
"""They take at most this fraction (1/N) of the memory."""


def run(config: JudgeConfig, messages: Messages) -> bytes:
    """Evaluate or compare, write what is asked for, and return what belongs on stdout."""
    evaluating = isinstance(config, EvaluateConfig)  # whose record repeats the run

    def make() -> outputs.Made:
        found = judge(config, messages)
        if evaluating:
            found.facts["config"] = recorded(config, config.pinned)
        tables = tables_of(found)

        def complete(_record: dict[str, Any]) -> outputs.Writers:
            page = page_of(found, config, messages)
            return outputs.writing(tables) | outputs.page_files(page)

        summary = partial(log_summary, found, messages)
        return outputs.Made(found.facts, lambda: next(iter(tables.values())), complete, summary)

    options = recorded(config) if evaluating else None
    describe = partial(outputs.describe_files, _inputs(config))
    return outputs.make_result(
        config, messages, file_names(config), describe, make, options=options
    )


def judge(config: JudgeConfig, messages: Messages) -> Judged:
    """Judge rankings and given lists beside random, variable and all features.

    Raises
    ------
    InputError
        When a list, the labels or the sets do not fit the matrix, a class has fewer samples than
        there are folds, or a length exceeds what a list ranks.
    UsageError
        When two lists have the same name.
    """
    sources = [Source.of(path) for _, path in config.given_lists]
    found_names = list_names(sources)
    names = [name or found for (name, _), found in zip(config.given_lists, found_names)]
    check_different([*config.rankings, *names])
    tables = read_lists(sources, names, config, messages)
    with _loaded(config, messages) as runs:
        found = _prepared(config, runs, tables)
        with found.run.progress("evaluating"):
            _judge_once(found)
            for fold in found.inner.folds:
                _judge_in(fold, found)
        if found.folds:  # what these tell stands before what all samples do
            found.measures = [*_averages(found), *_stability(found), *found.measures]
            found.verdicts = _verdicts(found)
            _warn_of_worse_than_random(found)
        found.facts |= _facts(found)
    return found


# ---- what is read --------------------------------------------------------------------------------


def _inputs(config: JudgeConfig) -> list[Any]:
    """Return the files that are read: those of several rankings and lists under their names."""
    files = list(input_files(config))
    common = {role for role, *_ in files}
    for name, ranking in config.rankings.items():
        own = [each for each in input_files(ranking) if each[0] not in common]
        files += [(f"ranking.{name}.{role}", path, part) for role, path, part in own]
    for i, (_, path) in enumerate(config.given_lists, 1):
        role = f"list.{i}" if isinstance(config, CompareConfig) else "list"
        files.append(Source.of(path).as_read(role))
    if config.drivers is not None:
        files.append(("drivers", Path(config.drivers), {}))
    return files


@contextmanager
def _loaded(config: JudgeConfig, messages: Messages) -> Iterator[dict[str, Run]]:
    """Give a run of each ranking, on one matrix and the same samples; without any, one of \"\"."""
    asked: Mapping[str, RankConfig] = {"": config}
    if isinstance(config, CompareConfig):
        asked = config.rankings or {"": replace(config, method="variance")}
    runs: dict[str, Run] = {}
    with ExitStack() as stack:
        for name, each in asked.items():
            if isinstance(config, CompareConfig) and each.rank_sources is not None:
                what = f"ranking {name}: lists are compared on the features of one matrix"
                raise UsageError(what, hint="leave out --rank-sources", option="ranking_of")
            # what is said of the matrix is said once
            log = Messages(verbosity=-1) if runs else messages
            opened = next((run.opened for run in runs.values()), None)
            with within(f"ranking {name}" if name else ""):
                made = stack.enter_context(
                    loaded(each, log, labeled=config.labels is not None, matrix=opened)
                )
            for warning in log.warnings if runs else ():
                if warning not in messages.warnings:
                    messages.warn(f"ranking {name}: {warning}")
            if isinstance(config, EvaluateConfig) and config.ranks:
                name = method_text(config, made.config.ranker)  # the data may have chosen it
            # lists are judged, not columns beside them
            alone, context = replace(made.config, also=()), replace(made.context, log=messages)
            runs[name] = replace(made, config=alone, context=context)
        yield _on_common_samples(runs, config, messages)


def _on_common_samples(
    runs: dict[str, Run], config: JudgeConfig, messages: Messages
) -> dict[str, Run]:
    """Return the runs on the samples that all of them use, in the order of the first."""
    used = [
        np.arange(run.matrix.n_samples) if run.matrix.samples is None else run.matrix.samples
        for run in runs.values()
    ]
    common = reduce(np.intersect1d, used)
    if all(len(own) == len(common) for own in used):
        return runs
    if len(common) < 2:
        raise InputError(
            f"{counted(len(common), 'sample')} can be used by all rankings: too few",
            where=config.matrix,
            hint="give the sources of the rankings more common samples",
            option="samples",
        )
    sizes = ", ".join(f"{name} {len(own):,}" for name, own in zip(runs, used))
    messages.note(
        f"the rankings can use different samples ({sizes}): they are compared on the "
        f"{len(common):,} that all can use"
    )
    # in the order of the first: above a number of samples a run has that of the file
    common, quiet = used[0][np.isin(used[0], common)], Messages(verbosity=-1)
    return {
        name: prepared_on(run, pd.Index(own).get_indexer(pd.Index(common)), quiet)
        for (name, run), own in zip(runs.items(), used)
    }


# ---- what is judged, and by what -----------------------------------------------------------------


def _prepared(config: JudgeConfig, runs: dict[str, Run], tables: Sequence[RankedList]) -> Judged:
    """Return what is judged, and how; what does not fit is refused before anything is ranked."""
    run = next(iter(runs.values()))
    names = [name for name in runs if name]
    if isinstance(config, EvaluateConfig):  # the data may have chosen the method
        check_different([*names, *(each.name for each in tables)])
    task, folds = _folds(config, run)
    judges = _judges(config, run)
    inner = FoldRankings(run, folds, rankings=[runs[name] for name in names], products=judges > 0)
    run, rankers = inner.run, dict(zip(names, inner.rankings))
    guard_raw(run, "what is ranked and judged")
    guard_names(run)
    guard_labels(run)
    for fold in folds:
        inner.adjustment_in(fold)  # which says what is wrong before anything is ranked

    m = run.matrix.n_features
    there = f"the matrix has {counted(m, 'feature')}"
    lengths = lengths_up_to(m, config, DEFAULT_LENGTHS, there, config.matrix) or (max(1, m // 2),)
    same = _same_matrices(config, tables, run.log)
    _note_leakage(config, inner, rankers)
    given = [_given_list(table, run, same[table.name]) for table in tables]
    if not config.asked_lengths:  # a short list is judged whole, beside others
        counts = [each.n_ranked for each in given]
        counts += [each.options.get("select") or 0 for each in rankers.values()]
        short = {count for count in counts if 0 < count < SHOWN_LENGTH}
        lengths = tuple(sorted({*lengths, *short}))
    found = Judged(config, inner, rankers, task, judges, given, lengths)
    if config.drivers is not None:  # those of the matrix
        ids = read_gene_list(Path(config.drivers))
        known = _found(run, "drivers", config.drivers, ids)
        found.drivers = {known.features[i] for i in known.feature.tolist()}
        found.facts["drivers"] = {"listed": known.n_ids, "found": known.found}
    if config.sets:
        features = run.matrix.ids.features
        found.sets, here = given_sets(config.sets, features, run.log)[1], {*features}
        tested = sum(not here.isdisjoint(members) for members in found.sets.values())
        found.facts["sets"] = {"listed": len(found.sets), "tested": tested}
        run.log.note(
            "--sets: over-representation among the first features of each list "
            "(hypergeometric test)"
        )
    return found


def _folds(config: JudgeConfig, run: Run) -> tuple[Task, list[Fold]]:
    """Return what is predicted, and the folds; without labels there are none."""
    labels = run.context.labels
    if labels is None:
        return CLASSES, []
    how = (config.folds, config.rounds, config.seed, str(config.labels), run.donors)
    if labels.values is None:
        return CLASSES, stratified_folds(labels, *how)
    task = NUMBERS if labels.survival is None else TIMES
    return task, outcome_folds(labels, *how, strata_of(run))


def _judges(config: JudgeConfig, run: Run) -> int:
    """Return how many threads may hold inner products of the samples (n, n); 0 if none may."""
    n, memory = run.matrix.n_samples, run.context.memory
    size = SQUARES * 8 * n * n
    judges = memory // MEMORY_SHARE // size
    if not judges and config.labels is not None:
        raise OutOfMemoryError(
            f"the inner products of {n:,} samples take {format_size(size)}, more than a half of "
            f"--memory {format_size(memory)}",
            where=config.matrix,
            hint="give more --memory, or labels of fewer samples with --samples intersect",
            option=("memory", "labels"),
        )
    if not judges:
        run.log.note(
            f"the Jaccard index is left out: the inner products of {n:,} samples do not fit in a "
            "half of --memory"
        )
    return judges


def _given_list(table: RankedList, run: Run, same_matrix: bool | None) -> JudgedList:
    """Return a given list by the features of the matrix, best first."""
    rows = np.argsort(table.ranks, kind="stable")[: table.n_ranked].tolist()
    ranked = [table.features[row] for row in rows]
    hint = f"{SAME_IDS} (--feature-column), and --rows"
    matched = _found(run, "list_", str(table.path), ranked, hint)
    found = matched.feature[np.argsort(matched.source)]
    facts = {
        "path": str(table.path),
        "not_in_matrix": len(ranked) - len(found),
        "made_from_this_matrix": same_matrix,
    }
    return JudgedList(table.name, GIVEN, [found], facts)


def _found(run: Run, option: str, path: str, ids: Sequence[str], hint: str = SAME_IDS) -> Matched:
    """Find the ids of a list among the features, and say how many are there; none is refused."""
    matched, name = FeatureIndex(run.matrix.ids.features).find(ids), f"{flag(option)} {path}"
    if told := check_found(matched, name, path, hint, option):
        run.log.warn(told, FIRST)
    there = f"{matched.found:,} of {counted(matched.n_ids, 'feature')} are in the matrix"
    run.log.note(f"{name}: {there}")
    return matched


def _same_matrices(
    config: JudgeConfig, tables: Sequence[RankedList], log: Messages
) -> dict[str, bool | None]:
    """Return which given lists are of this matrix, and warn that these know the test samples."""
    own = matrix_identity(config.matrix) if tables else Identity()
    same = {each.name: same_matrix(own, matrix_of(each.path)) for each in tables}
    for each in tables if config.labels is not None else ():
        leaky = f"if {each.path} was ranked on samples of this matrix, its accuracy is leaky, "
        leaky += "because the test samples were used"
        if same[each.name]:
            leaky = f"{each.path} was ranked on this matrix, test samples included: its accuracy "
            leaky += "is leaky"
        if same[each.name] is not False:  # at once: before the sentences on accuracy
            log.warn(f"{leaky}; --method in place of --list ranks inside folds", AT_ONCE)
    return same


def _note_leakage(config: JudgeConfig, inner: FoldRankings, rankers: Mapping[str, Run]) -> None:
    """Say what the test samples had a part in, beside given lists."""
    if inner.folds:
        note_leakage_of_lists(inner.run)
    for name, run in rankers.items():
        if inner.folds:
            note_leakage_of_graph(run, f"{name}: " if len(rankers) > 1 else "")
        if run.design is not None:
            covariates.tell_unadjusted(run)
        labels = run.context.labels
        by_class = config.labels is not None and labels is not None and labels.values is None
        if by_class and needed(run.config) & {"labels", "some-labels"}:
            run.log.note(
                f"{name} uses the labels of all samples: NMI and ARI of its clusters are optimistic"
            )


# ---- the work ------------------------------------------------------------------------------------


def _judge_once(found: Judged) -> None:
    """Judge every list on all samples, by what needs no test samples."""
    everyone = np.arange(found.run.matrix.n_samples)
    values = found.inner.values_of_all
    found.lists, variable = _ranked(None, found)
    found.background = len(variable)
    K = inner_products(values, variable, everyone) if found.judges else None
    measured = partial(_measured, found, None, values, everyone, partial(_without_test, found, K))
    found.measures = [*chain(*map(measured, found.lists))]
    for each in found.lists:
        if found.sets and each.name not in (VARIABLE, RANDOM):
            _test_sets(each, variable, found)
    if K is not None and found.codes is not None:
        of_all = clustering(points_of(K), found.codes, found.config.seed)
        for name, value in zip(("nmi", "ari"), of_all):
            found.measures.append(Measured(ALL, ONCE, found.background, name, "", value))
    if isinstance(found.config, CompareConfig):
        found.overlaps = [
            (a.name, b.name, k, overlap(a.orders[0][:k], b.orders[0][:k], found.background))
            for a, b in combinations([each for each in found.lists if each.name != RANDOM], 2)
            for k in found.lengths
            if k <= min(a.n_ranked, b.n_ranked)
        ]


def _judge_in(fold: Fold, found: Judged) -> None:
    """Judge every list in a fold, by what models that learned from it tell of the test samples."""
    own, variable = _ranked(fold, found)
    count = len(found.rankers)
    of_all = found.lists[:count] if found.config.leaky else []  # beside those of the fold
    values, predict = found.inner.values_in(fold), predictor(found.inner, fold, found.task)
    predicted = partial(_measured, found, fold, values, fold.train, predict)
    with ThreadPoolExecutor(min(found.run.plan.workers, found.judges)) as pool:
        rows = [*chain(*pool.map(predicted, [*own[:count], *of_all, *own[count:]]))]
    K = inner_products(values.of(in_fold(fold)), variable, fold.train)
    for (measure, model), value in predict(K, products=True).items():
        rows.append(Measured(ALL, IN_FOLDS, found.background, measure, model, value))
    everyone, without_test = np.arange(len(K)), partial(_without_test, found, None)
    for each in own:
        if each.selection == IN_FOLDS and isinstance(found.config, CompareConfig):
            drawn = each._replace(orders=each.orders[:1])  # each fold draws others
            rows += _measured(found, fold, values, everyone, without_test, drawn)
        if each.selection == IN_FOLDS and each.name != RANDOM:
            found.selected.setdefault(each.name, []).append(each.orders[0][: found.lengths[-1]])
    found.folds.append((fold, rows))


def _ranked(fold: Fold | None, found: Judged) -> tuple[list[JudgedList], np.ndarray]:
    """Return the lists that are judged in a fold, or on all samples, and what varies there."""
    inner, selection = found.inner, ONCE if fold is None else IN_FOLDS
    lists = []
    for name, ranker in found.rankers.items():
        started = time.perf_counter()
        label = name if len(found.rankers) > 1 else ""
        with memory_of.measured_peak() as peak:
            order = _scored(inner.ranked(inner.part_in(fold, ranker), fold, label))
            cost = time.perf_counter() - started, peak()
        found.costs.setdefault(name, []).append(cost)
        lists.append(JudgedList(name, selection, [order], {"method": ranker.config.ranker}))
    part = inner.part_in(fold)
    plain = part.with_engine(source=part.matrix.before_fitting()).of(FOR_VARIABLE)
    by_variance = RankConfig(found.config.matrix, method="variance")
    variable = _scored(inner.ranked(replace(plain, config=by_variance, sources=[]), fold))
    pool, count = np.sort(variable), min(found.lengths[-1], len(variable))
    seeds = [found.config.seed] if fold is None else [found.config.seed, fold.repeat, fold.number]
    drawn = [
        np.random.default_rng([*seeds, draw]).choice(pool, count, replace=False)
        for draw in range(DRAWS)
    ]
    lists += [*found.given, JudgedList(VARIABLE, selection, [variable], {})]
    return [*lists, JudgedList(RANDOM, selection, drawn, {})], variable


def _scored(ranking: Ranking) -> np.ndarray:
    """Return the features with a score, best first."""
    return np.asarray(ranking.order[: ranking.n_scored], np.int64)


def _measured(
    found: Judged,
    fold: Fold | None,
    values: Engine,
    train: np.ndarray,
    measure: Measure,
    each: JudgedList,
) -> list[Measured]:
    """Return what is measured of the first features of a list, the mean over its orders."""
    lengths = found.lengths_of(each, fold)
    of_orders = [by_length(values, order, lengths, train, measure) for order in each.orders]
    return [
        Measured(*each[:2], k, *what, float(np.mean([own[k][what] for own in of_orders])))
        for k in lengths
        for what in of_orders[0][k]
    ]


def _without_test(found: Judged, K: np.ndarray | None, Z: np.ndarray, chosen: np.ndarray) -> Found:
    """Measure features (k, n) by what needs no test samples; `K` is by all features, (n, n)."""
    measured = {"redundancy": redundancy(Z)}
    if K is not None:
        measured["jaccard"] = jaccard(Z.T @ Z, K)
    if found.codes is not None:
        measured["nmi"], measured["ari"] = clustering(Z.T, found.codes, found.config.seed)
    if found.drivers:
        ids = found.run.matrix.ids.features
        hits = found.drivers.intersection(ids[i] for i in chosen.tolist())
        measured["hit_ratio"] = len(hits) / len(found.drivers)
    return {(name, ""): value for name, value in measured.items()}


def _test_sets(each: JudgedList, variable: np.ndarray, found: Judged) -> None:
    """Test sets among the first features of a list; after them the others that vary take part."""
    order = np.append(each.orders[0], np.setdiff1d(variable, each.orders[0]))
    ids = found.run.matrix.ids.features
    ranked = [ids[i] for i in order.tolist()]
    for k in found.lengths_of(each):
        for test in enrichment(ranked, k, found.sets):
            found.enriched.append((each.name, each.selection, k, test))


# ---- over all folds ------------------------------------------------------------------------------


def _averages(found: Judged) -> Iterator[Measured]:
    """Yield the mean over the folds of each measure, with its error and interval."""
    config, unknown = found.config, float("nan")
    for key, own in found.in_folds.items():
        name, _, k, measure, model = key
        if len(own) < len(found.folds):
            found.run.log.note_once(
                f"{name}: some folds rank fewer than {k:,} features: this length is left out"
            )
            continue
        repeats = np.reshape(own, (config.rounds, -1)).mean(axis=1)
        low = high = unknown
        if model and not found.is_leaky(key):
            _, low, high, _ = corrected_interval(np.array(own), found.ratio)
            if low == high:  # equal folds tell nothing of chance
                low = high = unknown
            least = {"r2": -np.inf, "spearman": -1.0}.get(measure, 0.0)
            low, high = max(low, least), min(high, 1.0)
        yield Measured(*key, float(repeats.mean()), standard_error(repeats), low, high)


def _verdicts(found: Judged) -> list[tuple[int, str, Verdict]]:
    """Compare the lists of each length by each model, and with the controls."""
    of_lists = defaultdict[tuple[int, str], dict[str, np.ndarray]](dict)
    of_all = {}
    for key, own in found.in_folds.items():
        name, _, k, measure, model = key
        if measure == found.task.measures[-1] and not found.is_leaky(key):
            if name == ALL:
                of_all[model] = np.array(own)
            elif len(own) == len(found.folds):
                of_lists[k, model][name] = np.array(own)
    return [
        (k, model, each)
        for (k, model), values in of_lists.items()
        for each in verdicts_of(values | {ALL: of_all[model]}, CONTROLS, found.ratio)
    ]


def _warn_of_worse_than_random(found: Judged) -> None:
    """Warn of lists that the last model predicts worse by than by random features."""
    below = defaultdict[str, list[str]](list)
    for k, model, v in found.verdicts:
        if (v.b, model) == (RANDOM, found.task.models[-1]) and v.mean_a < v.mean_b:
            chance = "" if v.better else " (this may be chance)"
            text = f"{v.mean_a:.3f} against {v.mean_b:.3f} with {k:,} features{chance}"
            below[v.a].append(text)
    for name, texts in below.items():
        found.run.log.warn(f"{name} is below {RANDOM}: {found.task.best_known} {listed(texts)}")


def _stability(found: Judged) -> Iterator[Measured]:
    """Yield the stability over the folds of each list that is ranked in them, by length."""
    for k in found.lengths:
        for name, own in found.selected.items():
            if min(map(len, own)) >= k:
                value = nogueira([each[:k] for each in own], found.background).value
                yield Measured(name, IN_FOLDS, k, "stability", "", value)
        # the measure is made so that this is its mean; of lists of all features it has none
        by_chance = 0.0 if k < found.background else float("nan")
        yield Measured(RANDOM, IN_FOLDS, k, "stability", "", by_chance)


def _facts(found: Judged) -> dict[str, Any]:
    """Return what the record says of all that was judged."""
    config, run, labels = found.config, found.run, found.run.context.labels
    of_rankings = IN_FOLDS if found.folds else ONCE
    facts = {
        "n_samples": run.matrix.n_samples,
        "n_features": run.matrix.n_features,
        "background": found.background,
        "lengths": list(found.lengths),
        "classifier_steps": list(found.inner.steps),
        "lists": [
            {
                "name": each.name,
                "selection": GIVEN if each.selection == GIVEN else of_rankings,
                "n_ranked": each.n_ranked,
                **each.facts,
            }
            for each in found.lists
            if each.name not in CONTROLS
        ],
        "threads": run.plan.workers,
        "passes": run.passes.executed,
    }
    if labels is not None:
        facts |= fold_facts(config, labels, run.donors)
        if "labels" in run.taken:
            facts["label_column"] = run.taken["labels"]
    if run.design is not None:
        facts["covariates"] = run.cohort.covariates
    if isinstance(config, EvaluateConfig):
        # the sample graph is not among them: each fold has the default one of its samples
        facts["defaults"] = defaults_of(config, run.config, {}) if found.rankers else {}
    return facts
