"""``sfs evaluate`` and ``sfs compare``: what a list of features is worth, or several.

The matrix is read once. All lists are measured on all samples, for what needs no test samples. In
each fold the features are ranked anew on the training samples alone, as a matrix of these samples
would be (`sfs_cli.run.part`), and models that have learned from the first of them predict the
others: classifiers, or a ridge regression where labels are numbers or times.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial, reduce
from itertools import chain, combinations
from pathlib import Path
from typing import Any

import numpy as np

from sfs_cli.compute import memory as memory_of
from sfs_cli.compute.engine import Engine
from sfs_cli.compute.matrix import Span
from sfs_cli.compute.memory import format_size
from sfs_cli.errors import InputError, OutOfMemoryError, UsageError, counted, listed, within
from sfs_cli.evaluation.classify import Fold, accuracies, standard_error, standardized
from sfs_cli.evaluation.concordance import concordance_index
from sfs_cli.evaluation.held_out import CLASSES, NUMBERS, TIMES, Task, fit_of, least_of, ridge
from sfs_cli.evaluation.measures import (
    clustering,
    enrichment,
    jaccard,
    overlap,
    points_of,
    redundancy,
)
from sfs_cli.evaluation.verdict import corrected_interval, verdicts_of
from sfs_cli.graph.distances import GRAM
from sfs_cli.io.knowledge.gene_sets import Study, read_gene_list, read_sets
from sfs_cli.logs import AT_ONCE, Messages
from sfs_cli.options.compare import (
    ALL,
    CONTROLS,
    RANDOM,
    VARIABLE,
    CompareConfig,
    ListSpec,
    check_different,
)
from sfs_cli.options.evaluate import DEFAULT_LENGTHS, EvaluateConfig, JudgeConfig
from sfs_cli.options.fields import flag
from sfs_cli.options.grammar import method_text
from sfs_cli.options.rank import RankConfig
from sfs_cli.parts import covariates
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
    fold_facts,
    in_fold,
    lengths_up_to,
    outcome_folds,
    place,
    read_features,
    stratified_folds,
)
from sfs_cli.workflow.judged import (
    GIVEN,
    IN_FOLDS,
    ONCE,
    SHOWN_LENGTH,
    Judged,
    JudgedList,
    Key,
    Measured,
    file_names,
    log_summary,
    tables_of,
)
from sfs_cli.workflow.lists import RankedList, Source, list_names, matrix_of, read_lists
from sfs_cli.workflow.recorded import defaults_of, recorded

DRAWS = 5
"""Random lists whose mean is shown."""
LEAST_FOUND = 0.1
"""Share of a list in the matrix below which the list is of another matrix."""
FOR_VARIABLE = ", for the most variable features"
BY_ALL_FEATURES = f"{GRAM} by all features"
SQUARES = 4
"""Arrays (n, n) of float64 that a thread holds while it judges a list."""
MEMORY_SHARE = 2
"""They take at most this fraction (1/N) of the memory."""
_DOUBLE = np.dtype(np.float64)

Measure = Callable[[np.ndarray, np.ndarray], dict[tuple[str, str], float]]
"""Measures the values (k, n) of features, and their positions: by the measure and the model."""


def run(config: JudgeConfig, messages: Messages) -> bytes:
    """Evaluate or compare, write what is asked for, and return what belongs on stdout."""
    evaluating = isinstance(config, EvaluateConfig)  # whose record repeats the run

    def make() -> outputs.Made:
        found = judge(config, messages)
        if evaluating:
            found.facts["config"] = recorded(config, config.pinned)
        summary = partial(log_summary, found, messages)
        return outputs.Made.of_tables(tables_of(found, config, messages), found.facts, summary)

    options = recorded(config) if evaluating else None
    describe = partial(outputs.describe_files, _inputs(config))
    return outputs.make_result(
        config, messages, file_names(config), describe, make, options=options
    )


# ---- what is read --------------------------------------------------------------------------------


def _given(config: JudgeConfig) -> list[ListSpec]:
    """Return where the given lists are."""
    if isinstance(config, CompareConfig):
        return list(config.list_)
    path = config.list_ if isinstance(config, EvaluateConfig) else None
    return [] if path is None else [ListSpec("", path)]


def _inputs(config: JudgeConfig) -> list[Any]:
    """Return the files that are read: those of several rankings and lists under their names."""
    files, given = list(input_files(config)), [Source.of(each.path) for each in _given(config)]
    if isinstance(config, CompareConfig):
        common = {role for role, _, _ in files}
        for name, ranking in config.rankings.items():
            own = [each for each in input_files(ranking) if each[0] not in common]
            files += [(f"ranking.{name}.{role}", path, part) for role, path, part in own]
        files += [each.as_read(f"list.{i}") for i, each in enumerate(given, 1)]
    else:
        files += [each.as_read("list") for each in given]
    if config.drivers is not None:
        files.append(("drivers", Path(config.drivers), {}))
    return files


@contextmanager
def _loaded(config: JudgeConfig, messages: Messages) -> Iterator[dict[str, Run]]:
    """Give a run of each ranking, on one matrix and the same samples; without any, one of \"\"."""
    several = isinstance(config, CompareConfig)
    asked: dict[str, RankConfig] = {"": config}
    if isinstance(config, CompareConfig):
        asked = config.rankings or {"": replace(config, method="variance")}
    runs: dict[str, Run] = {}
    with ExitStack() as stack:
        for name, each in asked.items():
            if several and each.rank_sources is not None:
                what = f"ranking {name}: lists are compared on the features of one matrix"
                raise UsageError(what, hint="leave out --rank-sources", option="ranking_of")
            log, opened = messages, None
            if runs:  # what is said of the matrix is said once
                log, opened = Messages(verbosity=-1), next(iter(runs.values())).opened
            with within(f"ranking {name}" if name else ""):
                made = stack.enter_context(
                    loaded(each, log, labeled=config.labels is not None, matrix=opened)
                )
            for warning in log.warnings if log is not messages else ():
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
    samples = {
        name: np.arange(run.matrix.n_samples) if run.matrix.samples is None else run.matrix.samples
        for name, run in runs.items()
    }
    common = reduce(np.intersect1d, samples.values())
    if all(len(each) == len(common) for each in samples.values()):
        return runs
    if len(common) < 2:
        raise InputError(
            f"{counted(len(common), 'sample')} can be used by all rankings: too few",
            where=config.matrix,
            hint="give the sources of the rankings more common samples",
            option="samples",
        )
    sizes = ", ".join(f"{name} {len(each):,}" for name, each in samples.items())
    messages.note(
        f"the rankings can use different samples ({sizes}): they are compared on the "
        f"{len(common):,} that all can use"
    )
    # in the order of the first: above a number of samples a run has that of the file
    first = next(iter(samples.values()))
    wanted = first[np.isin(first, common)].tolist()
    found = {}
    for name, run in runs.items():
        at = {sample: i for i, sample in enumerate(samples[name].tolist())}
        chosen = np.array([at[sample] for sample in wanted])
        found[name] = prepared_on(run, chosen, Messages(verbosity=-1))
    return found


# ---- the work ------------------------------------------------------------------------------------


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
    specs = _given(config)
    sources = [Source.of(each.path) for each in specs]
    names = [each.name or name for each, name in zip(specs, list_names(sources))]
    if isinstance(config, CompareConfig):
        check_different([*config.rankings, *names])
    tables = read_lists(sources, names, config, messages)
    with _loaded(config, messages) as runs:
        return _judged(config, runs, tables)


def _judged(config: JudgeConfig, runs: dict[str, Run], tables: Sequence[RankedList]) -> Judged:
    """Judge every list on all samples, and in every fold."""
    run = next(iter(runs.values()))
    if isinstance(config, EvaluateConfig):  # the data may have chosen the method
        check_different([*filter(None, runs), *(each.name for each in tables)])
    log, labels, ids, seed = run.log, run.context.labels, run.matrix.ids.features, config.seed
    n, m = run.matrix.n_samples, run.matrix.n_features
    task, folds = _folds(config, run)
    judges = _judges(config, run)
    ranking = [each for name, each in runs.items() if name]
    inner = FoldRankings(run, folds, rankings=ranking, products=judges > 0)
    run, rankers = inner.run, dict(zip(filter(None, runs), inner.rankings))
    label = {name: name if len(rankers) > 1 else "" for name in rankers}  # of messages
    guard_raw(run, "what is ranked and judged")
    guard_names(run)
    guard_labels(run)
    for fold in folds:
        inner.adjustment_in(fold)  # which says what is wrong before anything is ranked

    there = f"the matrix has {counted(m, 'feature')}"
    lengths = lengths_up_to(m, config, DEFAULT_LENGTHS, there, config.matrix) or (max(1, m // 2),)
    same_matrix = _warn_of_leakage(config, inner, rankers, label, tables)
    given = []
    for table in tables:
        chosen = _positions(table, ids, log)
        about = {
            "path": str(table.path),
            "not_in_matrix": table.n_ranked - len(chosen),
            "made_from_this_matrix": same_matrix[table.name],
        }
        given.append(JudgedList(table.name, GIVEN, [chosen], about))
    if not config.asked_lengths:  # a short list is judged whole, beside others
        counts = [each.n_ranked for each in given]
        counts += [each.options.get("select") or 0 for each in rankers.values()]
        short = {count for count in counts if 0 < count < SHOWN_LENGTH}
        lengths = tuple(sorted({*lengths, *short}))
    facts: dict[str, Any] = {}
    drivers: set[str] | None = None
    sets: Mapping[str, Sequence[str]] = {}
    if config.drivers is not None:
        asked = read_gene_list(Path(config.drivers))
        drivers = _in_matrix("drivers", asked, ids)
        facts["drivers"] = {"listed": len(asked), "found": len(drivers)}
        there = f"{len(drivers):,} of {counted(len(asked), 'feature')} are in the matrix"
        log.note(f"--drivers {config.drivers}: {there}")
    if config.sets:
        sets = read_sets(config.sets, Study(ids, log.note_once))
        members = _in_matrix("sets", {*chain(*sets.values())}, ids)
        tested = sum(not members.isdisjoint(names) for names in sets.values())
        facts["sets"] = {"listed": len(sets), "tested": tested}
        log.note(
            "--sets: over-representation among the first features of each list (hypergeometric "
            "test)"
        )
    codes = labels.codes if labels is not None and labels.values is None else None

    found = Judged(task)

    def ranked_in(fold: Fold | None) -> tuple[list[JudgedList], np.ndarray]:
        """Return the lists that are judged in a fold, or on all samples, and what varies there."""
        part, selection = inner.part_in(fold), ONCE if fold is None else IN_FOLDS
        lists = []
        for name, ranker in rankers.items():
            started = time.perf_counter()
            with memory_of.measured_peak() as peak:
                order = _scored(inner.ranked_in(fold, ranker, label[name]))
                cost = time.perf_counter() - started, peak()
            found.costs.setdefault(name, []).append(cost)
            lists.append(JudgedList(name, selection, [order], {"method": ranker.config.ranker}))
        by_variance = RankConfig(config.matrix, method="variance")
        plain = part.with_engine(source=part.matrix.before_fitting()).of(FOR_VARIABLE)
        variable = _scored(inner.ranked(replace(plain, config=by_variance, sources=[]), fold))
        pool, count = np.sort(variable), min(lengths[-1], len(variable))
        seeds = [seed] if fold is None else [seed, fold.repeat, fold.number]
        drawn = [
            np.random.default_rng([*seeds, draw]).choice(pool, count, replace=False)
            for draw in range(DRAWS)
        ]
        lists += [*given, JudgedList(VARIABLE, selection, [variable], {})]
        return [*lists, JudgedList(RANDOM, selection, drawn, {})], variable

    def lengths_of(each: JudgedList, of: str = "") -> tuple[int, ...]:
        """Return the lengths that a list has; one that is asked for and too long is refused."""
        there = f"{each.name} ranks {counted(each.n_ranked, 'feature')} of the matrix{of}"
        if each.name in rankers and "select" in rankers[each.name].options:
            there += ", which --select can raise"
        option = ("lengths", "list_" if each.selection == GIVEN else "select")
        where = each.facts.get("path", config.matrix)
        return lengths_up_to(each.n_ranked, config, lengths, there, where, option)

    def measured(
        each: JudgedList, values: Engine, train: np.ndarray, measure: Measure, of: str = ""
    ) -> dict[Key, float]:
        """Return what is measured of the first features of a list, the mean over its orders."""
        of_orders: dict[Key, list[float]] = {}
        of_list = lengths_of(each, of)
        for chosen in each.orders:
            first = chosen[: max(of_list, default=0)]
            Z = standardized(read_features(values, first), train)
            for k in of_list:
                for of_what, value in measure(Z[:k], first[:k]).items():
                    of_orders.setdefault(Key(*each[:2], k, *of_what), []).append(value)
        return {key: float(np.mean(own)) for key, own in of_orders.items()}

    def without_test(
        Z: np.ndarray, chosen: np.ndarray, K: np.ndarray | None = None
    ) -> dict[tuple[str, str], float]:
        """Measure features (k, n) by what needs no test samples."""
        of = {"redundancy": redundancy(Z)}
        if K is not None:
            of["jaccard"] = jaccard(Z.T @ Z, K)
        if codes is not None:
            of["nmi"], of["ari"] = clustering(Z.T, codes, seed)
        if drivers is not None:
            hits = drivers.intersection(ids[i] for i in chosen.tolist())
            of["hit_ratio"] = len(hits) / len(drivers)
        return {(name, ""): value for name, value in of.items()}

    once: dict[Key, float] = {}
    of_folds: dict[str, list[np.ndarray]] = {}  # the first features of each fold, by list
    with run.progress("evaluating"):
        values, everyone = inner.values(np.arange(n)), np.arange(n)
        found.lists, variable = ranked_in(None)
        background = len(variable)
        K = _inner_products(values, variable, everyone) if judges else None
        for each in found.lists:
            once |= measured(each, values, everyone, partial(without_test, K=K))
            if sets and each.name not in (VARIABLE, RANDOM):
                # those of the list, and after them the other features that take part
                order = np.append(each.orders[0], np.setdiff1d(variable, each.orders[0]))
                ranked = [ids[i] for i in order.tolist()]
                for k in lengths_of(each):
                    tests = enrichment(ranked, k, sets)
                    found.enriched += [(each.name, each.selection, k, test) for test in tests]
        if K is not None and codes is not None:
            for name, value in zip(("nmi", "ari"), clustering(points_of(K), codes, seed)):
                once[Key(ALL, ONCE, background, name, "")] = value

        for fold in folds:
            lists, variable = ranked_in(fold)
            if config.leaky:  # those of all samples beside them
                lists[len(rankers) : len(rankers)] = found.lists[: len(rankers)]
            of_fold, predict = inner.values_in(fold, values), _predictor(inner, fold)
            of = f" in {place(fold)}"
            test = partial(measured, values=of_fold, train=fold.train, measure=predict, of=of)
            of_lists: dict[Key, float] = {}
            with ThreadPoolExecutor(min(run.plan.workers, judges)) as pool:
                for of_list in pool.map(test, lists):
                    of_lists |= of_list
            K = _inner_products(of_fold.of(in_fold(place(fold))), variable, fold.train)
            for of_what, value in predict(K, products=True).items():
                of_lists[Key(ALL, IN_FOLDS, background, *of_what)] = value
            for each in lists:
                if each.selection == IN_FOLDS and isinstance(config, CompareConfig):
                    drawn = each._replace(orders=each.orders[:1])  # each fold has another
                    of_lists |= measured(drawn, of_fold, everyone, without_test)
                if each.selection == IN_FOLDS and each.name != RANDOM:
                    of_folds.setdefault(each.name, []).append(each.orders[0][: lengths[-1]])
            found.folds.append((fold, of_lists))

    if folds:
        _average(found, config, same_matrix, log)
    for k in lengths if folds else ():
        stable = [
            (name, nogueira([each[:k] for each in own], background).value)
            for name, own in of_folds.items()
            if min(map(len, own)) >= k
        ]
        # the measure is made so that this is its mean; of lists of all features it has none
        stable.append((RANDOM, 0.0 if k < background else float("nan")))
        found.measures += [Measured(n, IN_FOLDS, k, "stability", "", v) for n, v in stable]
    found.measures += [Measured(*key, value) for key, value in once.items()]
    if isinstance(config, CompareConfig):
        found.overlaps = [
            (a.name, b.name, k, overlap(a.orders[0][:k], b.orders[0][:k], background))
            for a, b in combinations([each for each in found.lists if each.name != RANDOM], 2)
            for k in lengths
            if k <= min(a.n_ranked, b.n_ranked)
        ]

    of_rankings = IN_FOLDS if folds else ONCE
    found.facts = facts | {
        "n_samples": n,
        "n_features": m,
        "background": background,
        "lengths": list(lengths),
        "classifier_steps": list(inner.steps),
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
        found.facts |= fold_facts(config, labels, run.donors)
        if "labels" in run.taken:
            found.facts["label_column"] = run.taken["labels"]
    if run.design is not None:
        found.facts["covariates"] = run.cohort.covariates
    if isinstance(config, EvaluateConfig):
        # the sample graph is not among them: each fold has the default one of its samples
        found.facts["defaults"] = defaults_of(config, run.config, {}) if rankers else {}
    return found


def _average(
    found: Judged, config: JudgeConfig, same_matrix: Mapping[str, bool | None], log: Messages
) -> None:
    """Put what the folds tell of each list, over all of them, and the verdicts."""
    task, ratio = found.task, 1 / (config.folds - 1)
    of_folds: dict[Key, list[float]] = {}
    for _, of_lists in found.folds:
        for key, value in of_lists.items():
            of_folds.setdefault(key, []).append(value)
    held_out: dict[tuple[int, str], dict[str, np.ndarray]] = {}  # by length and model
    for key, own in of_folds.items():
        name, selection, k, measure, model = key
        if len(own) < config.folds * config.rounds:
            log.note_once(
                f"{name}: some folds rank fewer than {k:,} features: this length is left out"
            )
            continue
        values = np.array(own)
        repeats = values.reshape(config.rounds, -1).mean(axis=1)
        low = high = float("nan")
        # what test samples had a part in has no interval
        if model and selection != ONCE and not (selection == GIVEN and same_matrix[name]):
            _, low, high, _ = corrected_interval(values, ratio)
            if low == high:  # equal folds tell nothing of chance
                low = high = float("nan")
            low, high = max(low, least_of(measure)), min(high, 1.0)
            if measure == task.measures[-1]:
                held_out.setdefault((k, model), {})[name] = values
        mean, error = float(repeats.mean()), standard_error(repeats)
        found.measures.append(Measured(*key, mean, error, low, high))
    everything = {model: lists[ALL] for (_, model), lists in held_out.items() if ALL in lists}
    for (k, model), lists in held_out.items():
        compared = verdicts_of(lists | {ALL: everything[model]}, CONTROLS, ratio)
        found.verdicts += [(k, model, each) for each in compared]
    below: dict[str, list[str]] = {}
    for k, model, v in found.verdicts:
        if (v.b, model) == (RANDOM, task.models[-1]) and v.mean_a < v.mean_b:
            text = f"{v.mean_a:.3f} against {v.mean_b:.3f} with {k:,} features"
            text += "" if v.better else " (this may be chance)"
            below.setdefault(v.a, []).append(text)
    for name, texts in below.items():
        log.warn(f"{name} is below {RANDOM}: {task.best_known} {listed(texts)}")


def _folds(config: JudgeConfig, run: Run) -> tuple[Task, list[Fold]]:
    """Return what is predicted, and the folds; without labels there are none."""
    labels = run.context.labels
    if labels is None:
        return CLASSES, []
    how = (config.folds, config.rounds, config.seed, str(config.labels), run.donors)
    if labels.values is None:
        return CLASSES, stratified_folds(labels, *how)
    task = NUMBERS if labels.survival is None else TIMES
    return task, outcome_folds(labels, *how, _strata(run))


def _strata(run: Run) -> np.ndarray:
    """Return the blocks of the samples (n,), within which times are compared."""
    blocks = run.context.blocks
    return np.zeros(run.matrix.n_samples) if blocks is None else blocks


def _judges(config: JudgeConfig, run: Run) -> int:
    """Return how many threads may hold inner products of the samples (n, n); 0 if none may."""
    n, memory, log = run.matrix.n_samples, run.context.memory, run.log
    size = SQUARES * 8 * n * n
    if size <= memory // MEMORY_SHARE:
        return memory // MEMORY_SHARE // size
    if config.labels is not None:
        raise OutOfMemoryError(
            f"the inner products of {n:,} samples take {format_size(size)}, more than a half of "
            f"--memory {format_size(memory)}",
            where=config.matrix,
            hint="give more --memory, or labels of fewer samples with --samples intersect",
            option=("memory", "labels"),
        )
    log.note(
        f"the Jaccard index is left out: the inner products of {n:,} samples do not fit in a half "
        "of --memory"
    )
    return 0


def _predictor(inner: FoldRankings, fold: Fold) -> Callable[..., dict[tuple[str, str], float]]:
    """Return what measures how well samples are predicted in a fold, a `Measure`.

    In place of values (k, n) it also takes inner products (n, n), as `accuracies` does. The outcome
    that it learns is that of the training samples by themselves, less their covariates; of the test
    samples it is less the covariates by the coefficients of the training samples.
    """
    run, train, test = inner.run, fold.train, fold.test
    labels, truth = run.context.required_labels, np.zeros((1, 0))
    learned = inner.part_in(fold).context.required_labels
    if labels.values is not None and labels.survival is None:
        assert run.labels is not None
        truth = run.labels.take(run.matrix.samples).numbers[None].copy()
        if adjustment := inner.adjustment_in(fold):
            adjustment.residuals(truth, 0)

    def predict(Z: np.ndarray, _chosen: Any = None, **how: Any) -> dict[tuple[str, str], float]:
        if labels.values is None:
            return CLASSES.named(accuracies(Z.T, labels.codes, train, test, **how))
        guess = ridge(Z.T, learned.numbers, train, test, **how)
        if labels.survival is None:
            return NUMBERS.named([fit_of(truth[0, test], guess, learned.numbers.mean())])
        times, event = (each[test] for each in labels.survival)
        return TIMES.named([[concordance_index(times, event, guess, _strata(run)[test])]])

    return predict


def _scored(ranking: Ranking) -> np.ndarray:
    """Return the features with a score, best first."""
    return np.asarray(ranking.order[: ranking.n_scored], np.int64)


def _inner_products(values: Engine, features: np.ndarray, train: np.ndarray) -> np.ndarray:
    """Return the inner products (n, n) of samples by features that training samples scale."""
    used = np.zeros(values.source.n_features, bool)
    used[features] = True

    def products(span: Span) -> tuple[np.ndarray]:
        Z = standardized(values.read(span, _DOUBLE).values, train)
        Z = Z[used[span.lo : span.hi]]
        return (Z.T @ Z,)

    return values.at(BY_ALL_FEATURES).total_over(products)[0]


# ---- what does not fit, and what is said -------------------------------------------------------


def _positions(given: RankedList, ids: Sequence[str], log: Messages) -> np.ndarray:
    """Return the features of a list by index, best first."""
    order = np.argsort(given.ranks, kind="stable")[: given.n_ranked].tolist()
    place_of = {name: i for i, name in enumerate(ids)}
    at = [place_of.get(given.features[i], -1) for i in order]
    found = np.array([i for i in at if i >= 0], np.int64)
    if len(found) < LEAST_FOUND * len(at):
        raise InputError(
            f"--list {given.path}: the matrix has {len(found):,} of its "
            f"{counted(len(at), 'feature')}",
            where=f"{given.path}: features there are {listed(given.features, 3)}; those of the "
            f"matrix are {listed(list(ids[:3]), 3)}, ...",
            hint="check that both use the same kind of ids (--feature-column), and --rows",
            option="list_",
        )
    if len(found) < len(at):
        log.warn(
            f"{given.path}: {len(at) - len(found):,} of {len(at):,} features are not in the matrix "
            "and are left out"
        )
    return found


def _in_matrix(option: str, genes: Collection[str], ids: Sequence[str]) -> set[str]:
    """Return those of the genes of an option that the matrix has; it has to have one."""
    if found := set(ids).intersection(genes):
        return found
    raise InputError(
        f"{flag(option)}: none of its {counted(len(genes), 'feature')} is in the matrix",
        where=f"features of the matrix are {listed(list(ids[:3]), 3)}, ...",
        hint="check that both use the same kind of ids",
        option=option,
    )


def _warn_of_leakage(
    config: JudgeConfig,
    inner: FoldRankings,
    rankers: Mapping[str, Run],
    label: Mapping[str, str],
    tables: Sequence[RankedList],
) -> dict[str, bool | None]:
    """Warn of what the test samples had a part in; return which lists are of this matrix."""
    own = matrix_identity(config.matrix) if tables else Identity()
    same = {each.name: same_matrix(own, matrix_of(each.path)) for each in tables}
    for each in tables if config.labels is not None else ():
        leaky = f"if {each.path} was ranked on samples of this matrix, its accuracy is leaky, "
        leaky += "because the test samples were used"
        if same[each.name]:
            leaky = f"{each.path} was ranked on this matrix, test samples included: its accuracy "
            leaky += "is leaky"
        if same[each.name] is not False:  # at once: before the sentences on accuracy
            inner.log.warn(f"{leaky}; --method in place of --list ranks inside folds", AT_ONCE)
    if inner.folds:
        inner.note_leakage_of_lists(config)
    for name, run in rankers.items():
        if inner.folds:
            inner.note_leakage_of_graph(run, label[name])
        if run.design is not None:
            covariates.tell_unadjusted(run)
        labels = run.context.labels
        by_class = config.labels is not None and labels is not None and labels.values is None
        if by_class and needed(run.config) & {"labels", "some-labels"}:
            inner.log.note(
                f"{name} uses the labels of all samples: NMI and ARI of its clusters are optimistic"
            )
    return same
