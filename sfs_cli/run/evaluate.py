"""``sfs evaluate``: accuracy, redundancy and enrichment of a list; `sfs compare`: of several.

The matrix is read once. In each fold the features are ranked anew on the training samples alone,
as a matrix of these samples would be (`sfs_cli.run.part`), and classifiers that were trained on
them are asked about the others, or a ridge regression where labels are numbers or times. Once on
all samples come the measures that need no test samples.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sfs_cli.compute import memory as memory_of
from sfs_cli.compute.engine import Engine
from sfs_cli.compute.matrix import Span
from sfs_cli.compute.memory import format_size
from sfs_cli.errors import InputError, OutOfMemoryError, counted, listed
from sfs_cli.evaluation.classify import Fold, accuracies, standardized
from sfs_cli.evaluation.classify import standard_error as error_of
from sfs_cli.evaluation.concordance import concordance_index
from sfs_cli.evaluation.held_out import CLASSES, NUMBERS, TIMES, Task, fit_of, least_of, ridge
from sfs_cli.evaluation.measures import (
    Enrichment,
    clustering,
    enrichment,
    jaccard,
    points_of,
    redundancy,
)
from sfs_cli.evaluation.verdict import corrected_interval
from sfs_cli.features.covariates.step import CovariateStep
from sfs_cli.graph.distances import GRAM
from sfs_cli.io.knowledge.gene_sets import Study, read_gene_list, read_sets
from sfs_cli.io.results.writers import table_bytes
from sfs_cli.logs import AT_ONCE, Messages
from sfs_cli.options.compare import ALL, RANDOM, VARIABLE
from sfs_cli.options.evaluate import DEFAULT_LENGTHS, EvaluateConfig, JudgeConfig
from sfs_cli.options.fields import flag
from sfs_cli.options.files import resolved
from sfs_cli.options.grammar import method_text
from sfs_cli.options.rank import RankConfig
from sfs_cli.provenance import EvaluatedList, InputFile
from sfs_cli.ranking.stability import nogueira
from sfs_cli.ranking.table import Ranking
from sfs_cli.report.multiqc import EVALUATED
from sfs_cli.run import outputs
from sfs_cli.run.config import ReadFile, input_files
from sfs_cli.run.folds import (
    FoldRankings,
    fold_facts,
    in_fold,
    lengths_up_to,
    outcome_folds,
    place,
    read_features,
    stratified_folds,
)
from sfs_cli.run.guards import guard_labels, guard_raw
from sfs_cli.run.identity import Identity, matrix_identity, same_matrix
from sfs_cli.run.lists import (
    RankedList,
    Source,
    list_names,
    matrix_of,
    read_lists,
)
from sfs_cli.run.load import Run, loaded
from sfs_cli.run.needs import needed
from sfs_cli.run.pipes import as_given
from sfs_cli.run.verdicts import (
    CONTROLS,
    Compared,
    below_random,
    sentences,
    verdict_bytes,
    verdicts_of,
)
from sfs_cli.tables import header

EVALUATION, FOLDS, ENRICHMENT = "evaluation.tsv", "folds.tsv", "enrichment.tsv"
VERDICTS = "verdicts.tsv"
DRAWS = 5
"""Random lists whose mean is shown."""
IN_FOLDS, ONCE, GIVEN = "in folds", "all samples", "given"
"""When the features of a list were chosen: by the training samples of each fold, or before."""
LEAST_FOUND = 0.1
"""Share of a list in the matrix below which the list is of another matrix."""
FOR_VARIABLE = ", for the most variable features"
BY_ALL_FEATURES = f"{GRAM} by all features"
SQUARES = 4
"""Arrays (n, n) of float64 that a thread holds while it judges a list."""
MEMORY_SHARE = 2
"""They take at most this fraction (1/N) of the memory."""
SHOWN_LENGTH = 50
"""The summary shows the greatest length up to this."""
_DOUBLE = np.dtype(np.float64)


class Measured(NamedTuple):
    """A row of the result: a measure of the first features of a list."""

    name: str
    selection: str
    length: int
    measure: str
    classifier: str
    value: float
    error: float = float("nan")
    low: float = float("nan")  # 95 % interval of a measure of held-out samples
    high: float = float("nan")


class InFold(NamedTuple):
    """What the first features of a list tell of the test samples of one fold."""

    fold: Fold
    name: str
    selection: str
    length: int
    found: np.ndarray  # (models, measures), as the task has them


@dataclass(frozen=True)
class Candidate:
    """A list that is judged: some orders of features, best first, whose results are averaged."""

    name: str
    selection: str
    orders: list[np.ndarray]
    path: str = ""  # of a given list

    @property
    def count(self) -> int:
        """How many features it ranks."""
        return min(map(len, self.orders))


@dataclass(frozen=True)
class Cost:
    """What a ranking on all samples took, and those in the folds."""

    seconds: float
    peak_memory: int | None  # bytes, resident, of the whole process; None where it is not known
    fold_seconds: list[float] = field(default_factory=list)


@dataclass
class Evaluated:
    """All that was found."""

    task: Task = CLASSES  # of the folds
    measures: list[Measured] = field(default_factory=list)
    folds: list[InFold] = field(default_factory=list)
    # of lists of folds, by name, length and measure: a value for each fold
    fold_measures: dict[tuple[str, int, str], list[float]] = field(default_factory=dict)
    verdicts: list[Compared] = field(default_factory=list)
    fold_lists: dict[str, list[np.ndarray]] = field(default_factory=dict)  # of each fold, by name
    lists: list[Candidate] = field(default_factory=list)  # those of all samples
    costs: dict[str, Cost] = field(default_factory=dict)  # of the rankings that were made
    enriched: list[tuple[str, str, int, Enrichment]] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)


def run(config: EvaluateConfig, messages: Messages) -> bytes:
    """Evaluate, write what is asked for, and return what belongs on stdout."""

    def make() -> outputs.Made:
        found = evaluate(config, messages)
        return outputs.Made.of_tables(
            tables_of(found, config, EVALUATION),
            found.facts,
            partial(log_summary, found, messages),
        )

    lists = [source.as_read("list") for source in _sources(config)]
    return outputs.make_result(
        config,
        messages,
        table_names(config, EVALUATION),
        lambda: describe_judged(config, [*input_files(config), *lists]),
        make,
        options=None if config.out is None else resolved(as_given(config), config.out),
    )


def _sources(config: EvaluateConfig) -> list[Source]:
    """Return where the given list is, if there is one."""
    return [] if config.list_ is None else [Source.of(config.list_)]


def table_names(config: JudgeConfig, first: str) -> list[str]:
    """Return the names of the tables that are written, the first of them with the measures."""
    of_folds = [VERDICTS, FOLDS] if config.labels is not None else []
    return [first, *of_folds] + [ENRICHMENT] * bool(config.sets) + [EVALUATED, *outputs.FOR_MULTIQC]


def tables_of(found: Evaluated, config: JudgeConfig, first: str) -> outputs.Tables:
    """Return the tables by their names, as `table_names` has them."""
    make = {
        first: _evaluation_bytes,
        VERDICTS: lambda found: verdict_bytes(found.verdicts, found.task),
        FOLDS: _folds_bytes,
        ENRICHMENT: _enrichment_bytes,
    }
    names = table_names(config, first)
    tables = {name: make[name](found) for name in names if name in make}
    return tables | files_for_multiqc(found, config)


def files_for_multiqc(found: Evaluated, config: JudgeConfig) -> outputs.Tables:
    """Return what MultiQC shows: a row for each list and control, at one length.

    Of a list that was also ranked on all samples (``--leaky``) that is what the folds have found.
    """
    rows: dict[str, dict[str, Any]] = {}
    shown = shown_measure(found)[1], ""
    main = shown_length((m.name, m.length) for m in found.measures if m.name not in CONTROLS)
    for m in reversed(found.measures):  # what the folds have found is the first of a list
        if m.length == main and m.classifier in shown:
            row = rows.setdefault(m.name, {"length": main})
            row |= {"selection": m.selection, m.measure: m.value}
    return outputs.for_multiqc(config, EVALUATED, rows)


def describe_judged(config: JudgeConfig, files: Iterable[ReadFile]) -> list[InputFile]:
    """Return the files of rankings and lists, and that of the drivers, with their digests."""
    drivers = [Path(config.drivers)] if config.drivers is not None else []
    return outputs.describe_files([*files, *(("drivers", path, {}) for path in drivers)])


def evaluate(config: EvaluateConfig, messages: Messages) -> Evaluated:
    """Evaluate a ranking, a method, or both, beside random, variable and all features.

    Raises
    ------
    InputError
        When a list, the labels or the sets do not fit the matrix, a class has fewer samples than
        there are folds, or a length exceeds what is ranked.
    """
    sources = _sources(config)
    given = read_lists(sources, list_names(sources), config, messages)
    with loaded(config, messages, labeled=config.labels is not None) as run:
        # lists are judged, not columns beside them
        run = replace(run, config=replace(run.config, also=()))
        runs = {method_text(config, run.config.ranker): run} if config.ranks else {}
        return Evaluation(config, run, runs, given).evaluate()


class Evaluation(FoldRankings):
    """One evaluation: the rankings on all samples, and what is known of the lists.

    Parameters
    ----------
    config : JudgeConfig
        What is measured.
    run : Run
        A run on all samples, for what is the same whatever ranks.
    runs : mapping
        From names to the runs that rank, of the same matrix and samples.
    given : sequence of RankedList
        The lists that are there already.
    in_folds : bool
        Whether redundancy and clusters are measured of the lists of folds, too.
    """

    def __init__(
        self,
        config: JudgeConfig,
        run: Run,
        runs: Mapping[str, Run],
        given: Sequence[RankedList],
        *,
        in_folds: bool = False,
    ) -> None:
        self.config, self.given, self.in_folds = config, given, in_folds
        self.drivers = None if config.drivers is None else read_gene_list(Path(config.drivers))
        self.ids = run.matrix.ids.features
        study = Study(self.ids, run.log.note_once)
        self.sets = read_sets(config.sets, study) if config.sets else None
        m = run.matrix.n_features
        there = f"the matrix has {counted(m, 'feature')}"
        lengths = lengths_up_to(m, config, DEFAULT_LENGTHS, there, config.matrix)
        self.lengths = lengths or (max(1, m // 2),)
        self.labels, self.everyone = run.context.labels, np.arange(run.matrix.n_samples)
        self.found, folds = Evaluated(), list[Fold]()
        blocks = run.context.blocks
        self.strata = np.zeros(run.matrix.n_samples) if blocks is None else blocks
        if self.labels is not None:
            how = (config.folds, config.rounds, config.seed, str(config.labels), run.donors)
            if self.labels.values is None:
                folds = stratified_folds(self.labels, *how)
            else:
                self.found.task = NUMBERS if self.labels.survival is None else TIMES
                folds = outcome_folds(self.labels, *how, self.strata)
        self.by_class = self.labels is not None and self.labels.values is None
        n, memory = run.matrix.n_samples, run.context.memory
        judges = memory // MEMORY_SHARE // (SQUARES * 8 * n * n)
        self.squares, self.judges = judges > 0, max(1, judges)
        if not self.squares and self.labels is not None:
            raise OutOfMemoryError(
                f"the inner products of {n:,} samples take {format_size(SQUARES * 8 * n * n)}, "
                f"more than a half of --memory {format_size(memory)}",
                where=config.matrix,
                hint="give more --memory, or labels of fewer samples with --samples intersect",
                option=("memory", "labels"),
            )
        if not self.squares:
            run.log.note(
                f"the Jaccard index is left out: the inner products of {n:,} samples do not fit in "
                "a half of --memory"
            )
        super().__init__(run, folds, rankings=list(runs.values()), products=self.squares)
        self.runs = dict(zip(runs, self.rankings))

    # ---- the work ------------------------------------------------------------------------------

    def evaluate(self) -> Evaluated:
        """Judge every list on all samples, and in every fold."""
        run = self.run
        guard_raw(run, "what is ranked and judged")
        guard_labels(run)
        for fold in self.folds:
            self.adjustment_in(fold)  # which says what is wrong before anything is ranked
        with run.progress("evaluating"):
            values = self.values(self.everyone)
            whole = {name: self._rank_once(name) for name in self.runs}
            variable = self._variable(run)
            given = [
                Candidate(each.name, GIVEN, [self._positions(each)], str(each.path))
                for each in self.given
            ]
            if not self.config.asked_lengths:  # a short list is judged whole, beside others
                short = {each.count for each in given if 0 < each.count < SHOWN_LENGTH}
                self.lengths = tuple(sorted({*self.lengths, *short}))
            self._warn_of_leakage()
            self._check_sets(variable)
            if self.sets is not None:
                self.log.note(
                    "--sets: over-representation among the first features of each list "
                    "(hypergeometric test)"
                )
            once = self._candidates(whole, ONCE, given, variable, [self.config.seed])
            self.found.lists = once
            self._judge_once(once, variable, values)
            for fold in self.folds:
                self._judge_in(fold, whole, given, values)
        if self.folds:
            self._average()
        self._set_facts(once, variable)
        return self.found

    def _label(self, name: str) -> str:
        """Return how messages name a ranking: not at all where there is only one."""
        return name if len(self.runs) > 1 else ""

    def _rank_once(self, name: str) -> np.ndarray:
        """Rank the features on all samples, and measure what it takes."""
        started = time.perf_counter()
        with memory_of.measured_peak() as peak:
            ranking = self.ranked(self.runs[name], "", self.labels, self._label(name))
            self.found.costs[name] = Cost(time.perf_counter() - started, peak())
        return _scored(ranking)

    def _variable(self, run: Run, of: str = "") -> np.ndarray:
        """Return the features that vary among the samples of a run, the most variable first."""
        plain = run.matrix.before_fitting()
        config = RankConfig(run.config.matrix, method="variance")
        part = replace(run.with_engine(source=plain), config=config, sources=[])
        return _scored(self.ranked(part.of(FOR_VARIABLE), of, None))

    def _candidates(
        self,
        orders: Mapping[str, np.ndarray],
        selection: str,
        given: Sequence[Candidate],
        variable: np.ndarray,
        seed: list[int],
    ) -> list[Candidate]:
        """Return the lists that are judged beside each other."""
        found = [Candidate(name, selection, [order]) for name, order in orders.items()]
        found += [*given, Candidate(VARIABLE, selection, [variable])]
        pool, count = np.sort(variable), min(self.lengths[-1], len(variable))
        drawn = [
            np.random.default_rng([*seed, draw]).choice(pool, count, replace=False)
            for draw in range(DRAWS)
        ]
        found.append(Candidate(RANDOM, selection, drawn))
        return found

    def _lengths_of(self, each: Candidate, of: str = "") -> list[int]:
        """Return the lengths that a list has; one that is asked for and too long is refused."""
        option = ("lengths", "list_" if each.selection == GIVEN else "select")
        there = f"{each.name} ranks {counted(each.count, 'feature')} of the matrix"
        there += f" in {of}" if of else ""
        if each.name in self.runs and "select" in self.runs[each.name].options:
            there += ", which --select can raise"
        where = each.path or self.config.matrix
        return list(lengths_up_to(each.count, self.config, self.lengths, there, where, option))

    def _judge_in(
        self,
        fold: Fold,
        once: Mapping[str, np.ndarray],
        given: Sequence[Candidate],
        values: Engine,
    ) -> None:
        """Rank on the training samples of a fold, and test every list on the others."""
        run, of = self.run, place(fold)
        part = self.part_in(fold)
        values = self.values_in(fold, values)
        tested = self._tested_in(fold, part)
        orders = {}
        for name, ranker in self.runs.items():
            started = time.perf_counter()
            orders[name] = _scored(self.ranked_in(fold, ranker, self._label(name)))
            self.found.costs[name].fold_seconds.append(time.perf_counter() - started)
        variable = self._variable(part, of)
        seed = [self.config.seed, fold.repeat, fold.number]
        lists = self._candidates(orders, IN_FOLDS, given, variable, seed)
        if self.config.leaky:
            leaky = [Candidate(name, ONCE, [order]) for name, order in once.items()]
            lists[len(orders) : len(orders)] = leaky

        def judge(each: Candidate) -> list[InFold]:
            lengths = self._lengths_of(each, of)
            task = self.found.task
            found = np.zeros((len(lengths), len(task.models), len(task.measures)))
            for chosen in each.orders:
                Z = standardized(
                    read_features(values, chosen[: max(lengths, default=0)]), fold.train
                )
                for i, k in enumerate(lengths):
                    found[i] += tested(Z[:k].T)
            found /= len(each.orders)
            return [
                InFold(fold, each.name, each.selection, k, of_length)
                for k, of_length in zip(lengths, found)
            ]

        with ThreadPoolExecutor(min(run.plan.workers, self.judges)) as pool:
            for rows in pool.map(judge, lists):
                self.found.folds += rows
        if self.squares:
            K = _inner_products(values.of(in_fold(of)), variable, fold.train)
            found = tested(K, products=True)
            self.found.folds.append(InFold(fold, ALL, IN_FOLDS, self.background, found))
        for each in lists:
            if each.selection != IN_FOLDS:
                continue
            chosen = each.orders[0]  # of random lists one: each fold has its own
            if each.name != RANDOM:
                self.found.fold_lists.setdefault(each.name, []).append(chosen[: self.lengths[-1]])
            for at, value in self._measures(each, chosen, values, None) if self.in_folds else ():
                self.found.fold_measures.setdefault((each.name, *at), []).append(value)

    def _tested_in(self, fold: Fold, part: Run) -> Callable[..., np.ndarray]:
        """Return what measures how well samples are predicted in a fold, (models, measures).

        It takes standardized samples (n, k), or their inner products, as `accuracies` does. The
        outcome that it learns is that of the training samples by themselves, less their covariates;
        of the test samples it is less the covariates by the coefficients of the training samples.
        """
        run, train, test = self.run, fold.train, fold.test
        labels, learned = self.labels, part.context.labels
        assert labels is not None
        if self.by_class:
            return partial(accuracies, codes=labels.codes, train=train, test=test)
        assert learned
        assert run.labels
        outcome = learned.numbers
        measured: Callable[[np.ndarray], Any]
        if labels.survival is not None:
            time, event = (each[test] for each in labels.survival)
            measured = partial(concordance_index, time, event, strata=self.strata[test])
        else:
            truth = run.labels.take(run.matrix.samples).numbers[None].copy()
            if adjustment := self.adjustment_in(fold):
                adjustment.residuals(truth, 0)
            measured = partial(fit_of, truth[0, test], baseline=outcome.mean())
        return lambda samples, **how: np.atleast_2d(
            measured(ridge(samples, outcome, train, test, **how))
        )

    def _judge_once(self, lists: list[Candidate], variable: np.ndarray, values: Engine) -> None:
        """Take the measures that need no test samples, of lists that all samples have made."""
        self.background = len(variable)
        K = _inner_products(values, variable, self.everyone) if self.squares else None
        for each in lists:
            sums: dict[tuple[int, str], float] = {}
            for chosen in each.orders:
                for at, value in self._measures(each, chosen, values, K):
                    sums[at] = sums.get(at, 0.0) + value / len(each.orders)
            self.found.measures += [
                Measured(each.name, each.selection, k, measure, "", value)
                for (k, measure), value in sums.items()
            ]
            if self.sets is not None and each.name not in (VARIABLE, RANDOM):
                chosen = each.orders[0]
                # those of the list, and after them the other features that take part
                order = np.concatenate([chosen, np.setdiff1d(variable, chosen)])
                names = [self.ids[i] for i in order.tolist()]
                for k in self._lengths_of(each):
                    self.found.enriched += [
                        (each.name, each.selection, k, t) for t in enrichment(names, k, self.sets)
                    ]
        if K is not None and self.labels is not None and self.by_class:
            agreement = clustering(points_of(K), self.labels.codes, self.config.seed)
            self.found.measures += [
                Measured(ALL, ONCE, self.background, name, "", value)
                for name, value in zip(("nmi", "ari"), agreement)
            ]

    def _measures(
        self,
        each: Candidate,
        chosen: np.ndarray,
        values: Engine,
        whole: np.ndarray | None,
    ) -> Iterator[tuple[tuple[int, str], float]]:
        """Yield the length and the name of each measure of a list, and its value."""
        lengths = self._lengths_of(each)
        Z = standardized(read_features(values, chosen[: max(lengths, default=0)]), self.everyone)
        for k in lengths:
            top = Z[:k]
            yield (k, "redundancy"), redundancy(top)
            if whole is not None:
                yield (k, "jaccard"), jaccard(top.T @ top, whole)
            if self.labels is not None and self.by_class:
                nmi, ari = clustering(top.T, self.labels.codes, self.config.seed)
                yield (k, "nmi"), nmi
                yield (k, "ari"), ari
            if self.drivers is not None:
                first = {self.ids[i] for i in chosen[:k].tolist()}
                hits = len(first.intersection(self.known_drivers))
                yield (k, "hit_ratio"), hits / len(self.known_drivers)

    def _sizes(self) -> np.ndarray:
        """Return the numbers of test and training samples of the folds, (2, J), or of donors."""
        donors = self.run.donors
        units = self.everyone if donors is None else donors
        return np.array(
            [[len(np.unique(units[s])) for s in (f.test, f.train)] for f in self.folds]
        ).T

    def _average(self) -> None:
        """Put what the folds tell of each list, over all of them, before the other measures."""
        task = self.found.task
        rows: dict[tuple[str, str, int], list[InFold]] = {}
        for each in self.found.folds:
            rows.setdefault((each.name, each.selection, each.length), []).append(each)
        found, held_out = [], {}
        sizes = self._sizes()
        for (name, selection, k), of_list in rows.items():
            if len(of_list) < len(self.folds):
                self.log.note(
                    f"{name}: some folds rank fewer than {k:,} features: this length is left out"
                )
                continue
            made = np.array([each.found for each in of_list])
            known = selection == GIVEN and self.same_matrix[name]  # the test samples, to the list
            if is_held_out := selection != ONCE and not known:
                held_out[name, k] = made
            by_repeat = made.reshape(self.config.rounds, self.config.folds, *made.shape[1:])
            means = by_repeat.mean(axis=1)
            for c, classifier in enumerate(task.models):
                for j, measure in enumerate(task.measures):
                    value, error = float(means[:, c, j].mean()), error_of(means[:, c, j])
                    low = high = float("nan")
                    if is_held_out:
                        _, low, high, *_ = corrected_interval(made[:, c, j], *sizes)
                        if low == high:  # equal folds tell nothing of chance
                            low = high = float("nan")
                        low, high = max(low, least_of(measure)), min(high, 1.0)
                    found.append(
                        Measured(name, selection, k, measure, classifier, value, error, low, high)
                    )
        self.found.verdicts = verdicts_of(held_out, sizes, task)
        for text in below_random(self.found.verdicts, task):
            self.log.warn(text)
        for (name, k, measure), of_measure in self.found.fold_measures.items():
            if len(of_measure) == len(self.folds):
                means = np.reshape(of_measure, (self.config.rounds, -1)).mean(axis=1)
                value, error = float(means.mean()), error_of(means)
                found.append(Measured(name, IN_FOLDS, k, measure, "", value, error))
        for k in self.lengths:
            of_lists = [
                (name, nogueira([each[:k] for each in lists], self.background).value)
                for name, lists in self.found.fold_lists.items()
                if min(map(len, lists)) >= k
            ]
            # the measure is made so that this is its mean; of lists of all features it has none
            of_lists.append((RANDOM, 0.0 if k < self.background else float("nan")))
            found += [Measured(n, IN_FOLDS, k, "stability", "", value) for n, value in of_lists]
        self.found.measures = found + self.found.measures

    # ---- what does not fit, and what is said ---------------------------------------------------

    def _positions(self, given: RankedList) -> np.ndarray:
        """Return the features of a list by index, best first."""
        place = {name: i for i, name in enumerate(self.ids)}
        order = np.argsort(given.ranks, kind="stable")[: given.n_ranked].tolist()
        names = [given.features[i] for i in order]
        found = [place[name] for name in names if name in place]
        where = (
            f"{given.path}: features there are {listed(names, 3)}; those of the matrix are "
            f"{listed(list(self.ids[:3]), 3)}, ..."
        )
        share = len(found) / len(names)
        if share < LEAST_FOUND:
            raise InputError(
                f"--list {given.path}: the matrix has {len(found):,} of its "
                f"{counted(len(names), 'feature')}",
                where=where,
                hint="check that both use the same kind of ids (--feature-column), and --rows",
                option="list_",
            )
        if len(found) < len(names):
            self.log.warn(
                f"{given.path}: {len(names) - len(found):,} of {len(names):,} features are not in "
                "the matrix and are left out"
            )
        return np.array(found, np.int64)

    def _check_sets(self, variable: np.ndarray) -> None:
        """Find the reference features and the sets among those of the matrix."""
        known = set(self.ids)

        def nothing(option: str, what: str) -> InputError:
            return InputError(
                f"{flag(option)}: {what} the matrix",
                where=f"features of the matrix are {listed(list(self.ids[:3]), 3)}, ...",
                hint="check that both use the same kind of ids",
                option=option,
            )

        if self.drivers is not None:
            self.known_drivers = known.intersection(self.drivers)
            if not self.known_drivers:
                raise nothing(
                    "drivers", f"none of its {counted(len(self.drivers), 'feature')} is in"
                )
            self.log.note(
                f"--drivers {self.config.drivers}: {len(self.known_drivers):,} of "
                f"{counted(len(self.drivers), 'feature')} are in the matrix"
            )
        if self.sets is not None:
            self.known_sets = sum(not known.isdisjoint(names) for names in self.sets.values())
            if not self.known_sets:
                raise nothing("sets", f"none of {counted(len(self.sets), 'set')} has a feature of")

    def _warn_of_leakage(self) -> None:
        """Warn of leakage: a list that was chosen on the test samples."""
        own = matrix_identity(self.config.matrix) if self.given else Identity()
        self.same_matrix = {
            each.name: same_matrix(own, matrix_of(each.path)) for each in self.given
        }
        for each in self.given if self.labels is not None else ():
            leaky = f"if {each.path} was ranked on samples of this matrix, its accuracy is leaky, "
            leaky += "because the test samples were used"
            if same := self.same_matrix[each.name]:
                leaky = f"{each.path} was ranked on this matrix, test samples included: its "
                leaky += "accuracy is leaky"
            if same is not False:  # at once: before the sentences on accuracy
                self.log.warn(f"{leaky}; --method in place of --list ranks inside folds", AT_ONCE)
        if self.folds:
            self.note_leakage_of_lists(self.config)
        for name, run in self.runs.items():
            if self.folds:
                self.note_leakage_of_graph(run, self._label(name))
            if run.design is not None:
                CovariateStep(run.config).check(run)
            if self.by_class and needed(run.config) & {"labels", "some-labels"}:
                self.log.note(
                    f"{name} uses the labels of all samples: NMI and ARI of its clusters are "
                    "optimistic"
                )

    def _set_facts(self, once: Sequence[Candidate], variable: np.ndarray) -> None:
        """Keep what the record says of the evaluation."""
        lists = [
            EvaluatedList(
                name=each.name,
                selection=IN_FOLDS if self.folds else ONCE,
                n_ranked=each.count,
                method=self.runs[each.name].config.ranker,
            )
            for each in once
            if each.name in self.runs
        ]
        lists += [
            EvaluatedList(
                name=each.name,
                selection=GIVEN,
                n_ranked=each.count,
                path=each.path,
                not_in_matrix=given.n_ranked - each.count,
                made_from_this_matrix=self.same_matrix[each.name],
            )
            for given, each in zip(self.given, [e for e in once if e.selection == GIVEN])
        ]
        facts: dict[str, Any] = {
            "n_samples": self.run.matrix.n_samples,
            "n_features": self.run.matrix.n_features,
            "background": len(variable),
            "lengths": list(self.lengths),
            "classifier_steps": list(self.steps),
            "lists": lists,
            "threads": self.run.plan.workers,
            "passes": self.run.passes.executed,
        }
        if self.labels is not None:
            facts |= fold_facts(self.config, self.labels, self.run.donors)
            if "labels" in self.run.taken:
                facts["label_column"] = self.run.taken["labels"]
        if self.run.design is not None:
            facts["covariates"] = self.run.cohort.covariates
        if self.drivers is not None:
            facts["drivers"] = {"listed": len(self.drivers), "found": len(self.known_drivers)}
        if self.sets is not None:
            facts["sets"] = {"listed": len(self.sets), "tested": self.known_sets}
        self.found.facts = facts


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


# ---- tables ------------------------------------------------------------------------------------


def _evaluation_bytes(found: Evaluated) -> bytes:
    rows = [(*m[:6], *("" if np.isnan(x) else x for x in m[6:])) for m in found.measures]
    return table_bytes(header(EVALUATION), rows)


def _folds_bytes(found: Evaluated) -> bytes:
    rows = [
        (each.fold.repeat, each.fold.number, len(each.fold.test), *each[1:-1], model, *measured)
        for each in found.folds
        for model, measured in zip(found.task.models, each.found.tolist())
    ]
    return table_bytes((*header(FOLDS)[:-1], *found.task.measures), rows)


def _enrichment_bytes(found: Evaluated) -> bytes:
    rows = [
        (name, selection, k, *each[:-1], ";".join(each.members))
        for name, selection, k, each in found.enriched
    ]
    return table_bytes(header(ENRICHMENT), rows)


def shown_length(lengths: Iterable[tuple[Hashable, int]]) -> int:
    """Return the length that the summary is about: the greatest up to `SHOWN_LENGTH`, if any.

    `lengths` are names of lists and a length of theirs. Those that all lists have go first.
    """
    of_lists: dict[Hashable, set[int]] = {}
    for name, length in lengths:
        of_lists.setdefault(name, set()).add(length)
    every = list(of_lists.values()) or [set()]
    known = set.intersection(*every) or set.union(*every)
    return max((k for k in known if k <= SHOWN_LENGTH), default=min(known, default=0))


def shown_measure(found: Evaluated) -> tuple[str, str]:
    """Return the measure that the summary is about, and its model: redundancy has none."""
    task = found.task
    return (task.measures[-1], task.models[-1]) if found.folds else ("redundancy", "")


def log_summary(found: Evaluated, messages: Messages) -> None:
    """Log one measure of each list at one length: of held-out samples, else redundancy."""
    measure, classifier = shown_measure(found)
    rows = [m for m in found.measures if (m.measure, m.classifier) == (measure, classifier)]
    shown = shown_length((m.name, m.length) for m in rows if m.name not in CONTROLS)
    for each in rows:
        if each.length == shown or each.name == ALL:
            by = found.task.best_known if classifier else measure
            interval = "" if np.isnan(each.low) else f" (95% {each.low:.3f} to {each.high:.3f})"
            messages.note(
                f"{each.name} ({each.selection}), {counted(each.length, 'feature')}: "
                f"{by} {each.value:.3f}{interval}"
            )
    for text in sentences(found.verdicts, shown, found.task):
        messages.note(text)
    stable = [
        f"{m.name} {m.value:.2f}"
        for m in found.measures
        if (m.measure, m.length) == ("stability", shown) and not np.isnan(m.value)
    ]
    if stable:
        texts = ", ".join(stable)
        messages.note(f"stability of the first {shown:,} features over the folds: {texts}")
