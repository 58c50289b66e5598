"""Rankings in folds: features are ranked on the training samples of each fold, and nothing else.

`sfs evaluate`, `sfs compare` and `sfs select --cv` take from here the folds of their samples
(`stratified_folds`, `outcome_folds`), the rankings and values in a fold (`FoldRankings`), and what
the first features of a list tell of its test samples (`predictor`, `by_length`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, cast

import numpy as np

from sfs_cli.compute.context import Labels
from sfs_cli.compute.engine import Engine, PassList
from sfs_cli.compute.matrix import Arrays, Span, cut
from sfs_cli.errors import InputError, Options, listed, within
from sfs_cli.evaluation.classify import Fold, folds_of, standardized
from sfs_cli.evaluation.concordance import concordance_index
from sfs_cli.evaluation.held_out import CLASSES, NUMBERS, Task, predicted
from sfs_cli.graph.distances import GRAM
from sfs_cli.logs import Messages
from sfs_cli.options.evaluate import FoldFields
from sfs_cli.options.fields import names_file
from sfs_cli.ranking.table import Ranking
from sfs_cli.run.design import basis_by
from sfs_cli.run.load import Run
from sfs_cli.run.needs import Shape, memory_plan, needed, note_default_graph
from sfs_cli.run.part import prepared_on
from sfs_cli.store.adjust import Adjustment
from sfs_cli.store.filters import FeatureFilter
from sfs_cli.store.matrix import FilledMatrix, Matrix
from sfs_cli.store.prepared import PreparedMatrix
from sfs_cli.store.transforms import PER_TOTAL, RESIDUALS, before_fitting, kind
from sfs_cli.workflow.rank import ranked

READ_AT_ONCE = 64
"""Features of a list that are read at a time."""
BY_ALL_FEATURES = f"{GRAM} by all features"
_SCALING = ("zscore", "center", "unit")
_OF_COUNTS = (*PER_TOTAL, "log2cpm", "vst", *RESIDUALS)
_DOUBLE = np.dtype(np.float64)

Found = dict[tuple[str, str], float]
"""What is measured of a list, by the measure and the model; "" where none predicts."""
Measure = Callable[[np.ndarray, np.ndarray], Found]
"""Measures the values (k, n) of features, and their positions (k,)."""


# ---- which samples are in a fold -----------------------------------------------------------------


def class_sizes(labels: Labels, donors: np.ndarray | None) -> dict[str, int]:
    """Return how many samples each class has that is there, or donors where these are known."""
    codes = labels.codes if donors is None else np.unique([labels.codes, donors], axis=1)[0]
    there, sizes = np.unique(codes, return_counts=True)
    return {labels.classes[code]: int(size) for code, size in zip(there, sizes)}


def stratified_folds(
    labels: Labels,
    splits: int,
    repeats: int,
    seed: int,
    where: str,
    donors: np.ndarray | None = None,
) -> list[Fold]:
    """Return the folds of some splits of the samples, of whole donors (n,) where these are known.

    Raises InputError when there is one class, one has fewer samples, or donors, than there are
    folds, or donors cannot be dealt so that every fold has every class; `where` names the labels.
    """
    counts, units = class_sizes(labels, donors), "samples" if donors is None else "donors"
    if len(counts) < 2:
        raise InputError(
            f"all samples are of one class, {next(iter(counts))!r}",
            where=where,
            hint="give labels of at least two classes",
            option="labels",
        )
    few = {name: count for name, count in counts.items() if count < splits}
    folds = [] if few else list(folds_of(labels.codes, splits, repeats, seed, donors))
    lacking = [(place(fold), lacks) for fold in folds if (lacks := _lacking(labels, fold))]
    if not few and not lacking:
        return folds
    if few:
        sizes = listed([f"{name} ({count})" for name, count in few.items()])
        what = f"{len(few)} of {len(counts)} classes with fewer {units} than the {splits} folds of "
        what += f"--splits: {sizes}"
    else:
        what = f"no way was found to deal whole donors so that each of the {splits} folds of "
        what += "--splits has every class: {} lacks {}".format(*lacking[-1])
    fewer = min(few.values(), default=splits - 1)
    merge = "merge small classes, or leave their samples out (--samples intersect)"
    raise InputError(
        what,
        where=where,
        hint=f"give --splits {fewer}, {merge}" if fewer > 1 else merge,
        option=("splits", "labels") if donors is None else ("splits", "donors", "labels"),
    )


def _lacking(labels: Labels, fold: Fold) -> str:
    """Return the classes that no test sample of a fold has, in words."""
    lacking = np.setdiff1d(labels.codes, labels.codes[fold.test])
    return listed([labels.classes[code] for code in lacking]) if len(lacking) else ""


def outcome_folds(
    labels: Labels,
    splits: int,
    repeats: int,
    seed: int,
    where: str,
    donors: np.ndarray | None,
    strata: np.ndarray,
) -> list[Fold]:
    """Return the folds of numbers or times, of whole donors (n,) where these are known.

    Samples are dealt out at random, of times those with an event apart from the censored ones.
    Times are compared within `strata` (n,). Raises InputError where the labels of the test samples
    of a fold have no known order.
    """
    n = len(labels.codes)
    time, event = labels.survival or (labels.numbers, np.ones(n, bool))
    kinds = event.astype(np.int64)
    counts = class_sizes(Labels(kinds, ["censored", "event"]), donors)
    if min(counts.values()) < splits:
        kinds[:] = 0
    folds = []
    if counts.get("event", 0) >= splits:
        folds = list(folds_of(kinds, splits, repeats, seed, donors))
    data = np.stack([time, event, strata, strata])
    if not folds or np.isnan([concordance_index(*data[:, fold.test]) for fold in folds]).any():
        raise InputError(
            f"--splits {splits} is too large: in some fold, no two test samples have labels whose "
            "order is known",
            where=where,
            hint="give fewer --splits, or labels of more samples, of times more with an event",
            option=("splits", "labels"),
        )
    return folds


def fold_facts(config: FoldFields, labels: Labels, donors: np.ndarray | None) -> dict[str, Any]:
    """Return what the record says of the folds."""
    facts = {"splits": config.folds, "repeats": config.rounds, "classes": labels.counts()}
    return facts if donors is None else facts | {"donors": int(donors.max()) + 1}


def lengths_up_to(
    count: int,
    config: FoldFields,
    known: Sequence[int],
    there: str,
    where: str,
    option: Options = "lengths",
) -> tuple[int, ...]:
    """Return the lengths of lists of so many features: those asked for, or those known up to it.

    Raises InputError where more are asked for; `there` says what there is.
    """
    asked = config.asked_lengths
    if asked and asked[-1] > count:
        raise InputError(
            f"--lengths {asked[-1]:,}: {there}",
            where=where,
            hint=f"give lengths up to {count:,}",
            option=option,
        )
    return asked or tuple(k for k in known if k <= count)


# ---- features and values in a fold ---------------------------------------------------------------


class FoldRankings:
    """A run whose features are ranked anew in each fold of its samples.

    Parameters
    ----------
    run : Run
        The run on all samples.
    folds : list of Fold
        The folds.
    rankings : sequence of Run, optional
        The runs on all samples that rank, one after the other, of the same matrix and samples; none
        where lists are only judged. By default `run`.
    products : bool
        Whether the inner products of all samples are made, too.

    Attributes
    ----------
    run : Run
        The run, in memory that is planned for all folds.
    rankings : list of Run
        Those that rank, with the same list of passes and memory.
    steps : tuple of str
        The steps of the transformation before the first that compares samples: what is judged.
    """

    def __init__(
        self,
        run: Run,
        folds: list[Fold],
        *,
        rankings: Sequence[Run] | None = None,
        products: bool = False,
    ) -> None:
        self.folds, self.log = folds, run.log
        self.steps = before_fitting(run.matrix.steps)
        _note_steps(run, run.matrix.steps[len(self.steps) :])
        self._warned: set[str] = set()  # kinds of warnings that were given
        runs = [run, *([run] if rankings is None else rankings)]
        n, m, memory = run.matrix.n_samples, run.matrix.n_features, run.context.memory
        # a sparse graph of all samples may be a dense one of fewer
        parts = [{}, *({"training samples": len(fold.train)} for fold in folds[:1])]
        held = 16 * n * run.context.covariates  # bases of all samples, and of a fold
        plans = []
        for each in runs:
            width = None if each.coordinates is None else each.coordinates.shape[1]
            shapes = [Shape(n, m, run.matrix.dtype, memory, sizes, width) for sizes in parts]
            plans += [memory_plan(each.config, one, held, products=products) for one in shapes]
        plan, passes = min(plans, key=lambda each: each.workers), PassList(m)
        self.run, *self.rankings = [each.planned(plan).with_engine(passes=passes) for each in runs]
        for each in self.rankings if folds else ():
            note_default_graph(each.config, n, len(folds[0].train), "a fold", run.log)

    def part_in(self, fold: Fold | None, run: Run | None = None) -> Run:
        """Return the run of the training samples of a fold, with their own outcome and covariates.

        Of no fold that is the run on all samples. `run` is one of `rankings`, by default the one
        that all is about.
        """
        run = run or self.run
        if fold is None:
            return run
        with within(place(fold)):  # what is said of their columns was said of all samples
            part = prepared_on(run, fold.train, Messages(verbosity=-1))
        return part.of(in_fold(fold))

    def ranked(self, part: Run, fold: Fold | None, name: str = "") -> Ranking:
        """Rank the features on the samples of a run of a fold; its warnings are given once.

        `name` is that of the ranking, where there are several.
        """
        quiet, labels = Messages(verbosity=-1), part.context.labels
        needs = needed(part.config) & {"labels", "some-labels"}
        config = replace(part.config, leave_one_out=False)  # it is about all samples
        context = replace(part.context, labels=labels if needs else None, log=quiet)
        of = ", ".join(filter(None, (name and f"ranking {name}", place(fold))))
        with within(of):
            ranking = ranked(replace(part, config=config, context=context))
        for warning in quiet.warnings:  # most folds repeat what another has said
            self._warn_once(name + re.sub(r"[\d.,]+", "#", warning), of, warning)
        return ranking

    def _warn_once(self, key: str, of: str, text: str) -> None:
        if key not in self._warned:
            self.log.warn(f"{of}: {text}" if of else text)
            self._warned.add(key)

    def values(self, train: np.ndarray) -> Engine:
        """Return passes over the values that are judged; gaps are filled by training samples."""
        run, whole = self.run, self.run.matrix
        stored: Matrix = whole.matrix
        if stored.missing.values:
            stored = FilledMatrix(stored, train if whole.samples is None else whole.samples[train])
        by_id = FeatureFilter(whole.features.by_id)
        view = replace(whole.before_fitting(), matrix=stored, features=by_id, adjustment=None)
        engine = replace(run.context.engine, source=view, dtype=_DOUBLE)
        view.fit(engine, run.context.memory, run.context.scratch)
        return replace(engine, source=view.adjusted(run.cohort.adjustment))

    @cached_property
    def values_of_all(self) -> Engine:
        """Passes over the values that are judged on all samples."""
        return self.values(np.arange(self.run.matrix.n_samples))

    def values_in(self, fold: Fold) -> Engine:
        """Return the values that are judged in a fold: those of all samples, but for gaps.

        Covariates are taken out by the coefficients of the training samples, and the median total
        that samples are scaled to is theirs.
        """
        gaps = self.run.matrix.matrix.missing.values
        values = self.values(fold.train) if gaps else self.values_of_all
        view = cast(PreparedMatrix, values.source).targeting(fold.train)
        return replace(values, source=view.adjusted(self.adjustment_in(fold)))

    def adjustment_in(self, fold: Fold) -> Adjustment | None:
        """Return what is taken out of all samples, as the training samples of a fold know it.

        Raises InputError for blocks of test samples that no training sample has.
        """
        basis, unseen = basis_by(self.run.columns.covariates, self.run.cohort.samples, fold.train)
        for each, levels in unseen:
            what = f"no training sample of {place(fold)} is of {each.name} {listed(levels, 3)}, so "
            what += "that the effect on its test samples is not known"
            if not levels:
                what = f"the training samples of {place(fold)} do not tell {each.name} from the "
                what += "covariates before it, so that the effect on its test samples is not known"
            if each.option == "block" and levels:
                raise InputError(
                    what,
                    where=each.where,
                    hint="leave --block out, and keep the samples of a pair or patient in one fold "
                    "by --donors; --block of an evaluation is for blocks of many samples",
                    option="block",
                )
            text = f"{what}, and stays; other folds may lack levels, too"
            self._warn_once(each.where, "", text)
        return Adjustment(basis, fold.train) if len(basis) else None


def _note_steps(run: Run, rest: Sequence[str]) -> None:
    """Say that the last steps of the transformation compare samples, and are not judged."""
    if any(step not in _SCALING for step in rest):
        told = f"--transform {','.join(rest)} compares samples with each other: features are ranked"
        told += " with it inside each fold, and judged by their values before it"
        if len(rest) == len(run.matrix.steps) and kind(rest[0]) in _OF_COUNTS:
            raw = ", which are raw counts (--transform median,log1p judges by logarithms)"
            run.log.warn(told + raw)
        else:
            run.log.note(told)


def note_leakage_of_lists(run: Run) -> None:
    """Say that the features of a run may have been chosen on the test samples."""
    files = [text for text in (*run.config.include, *run.config.exclude) if names_file(text)]
    if files:
        run.log.note(
            f"{listed(files)} preselects the features: if that list was made from samples of "
            "this matrix, the accuracy is leaky, because the test samples were used"
        )


def note_leakage_of_graph(run: Run, about: str = "") -> None:
    """Say that the sample graph in the folds may know the test samples; the text is `about` it."""
    config = run.config
    of_file = config.coordinates_from or config.similarity_file
    if of_file is None and config.graph == "obsp":
        of_file = config.similarity
    if of_file is not None and "graph" in needed(config):
        run.log.note(
            f"{about}the sample graph in the folds is that of the training samples in {of_file}, "
            "which may have been built from the test samples, too (leakage)"
        )


def in_fold(fold: Fold | None) -> str:
    """Return where something is, for messages and passes: nothing is said of all samples."""
    return "" if fold is None else f" in {place(fold)}"


def place(fold: Fold | None) -> str:
    """Name a fold, for messages; "" stands for all samples."""
    return "" if fold is None else f"fold {fold.number} of repeat {fold.repeat}"


# ---- what a list tells of the samples ------------------------------------------------------------


def by_length(
    values: Engine,
    features: np.ndarray,
    lengths: Sequence[int],
    train: np.ndarray,
    measure: Measure,
    in_order: Callable[..., Iterator[Found]] = map,
) -> dict[int, Found]:
    """Measure the first features of a list, by their number.

    Parameters
    ----------
    values : Engine
        Passes over the values that are judged.
    features : ndarray of int, shape (l,)
        The list, best first, as long as the longest of `lengths`.
    lengths : sequence of int
        Numbers of features, ascending.
    train : ndarray of int
        The samples that give the mean and deviation of each feature.
    measure : callable
        What is measured.
    in_order : callable
        Calls `measure` for each length, as `map` does; that of a pool uses its threads.
    """
    first = features[: max(lengths, default=0)]
    Z = standardized(read_features(values, first), train)
    return dict(zip(lengths, in_order(lambda k: measure(Z[:k], first[:k]), lengths)))


def predictor(inner: FoldRankings, fold: Fold, task: Task) -> Callable[..., Found]:
    """Return what measures how well samples are predicted in a fold, a `Measure`.

    In place of values (k, n) it also takes inner products (n, n), as `accuracies` does. The outcome
    that it learns is that of the training samples by themselves, less their covariates; of the test
    samples it is less the covariates by the coefficients of the training samples.
    """
    run, labels = inner.run, inner.run.context.required_labels
    if task is CLASSES:
        learned = truth = labels.codes
    else:
        learned = inner.part_in(fold).context.required_labels.numbers
        truth = np.array([*(labels.survival or ()), strata_of(run)])
    if task is NUMBERS:
        assert run.labels is not None
        truth = run.labels.take(run.matrix.samples).numbers[None].copy()
        if adjustment := inner.adjustment_in(fold):
            adjustment.residuals(truth, 0)

    def predict(Z: np.ndarray, _chosen: Any = None, *, products: bool = False) -> Found:
        return predicted(task, Z.T, learned, truth, fold.train, fold.test, products=products)

    return predict


def strata_of(run: Run) -> np.ndarray:
    """Return the blocks of the samples (n,), within which times are compared."""
    blocks = run.context.blocks
    return np.zeros(run.matrix.n_samples) if blocks is None else blocks


def inner_products(values: Engine, features: np.ndarray, train: np.ndarray) -> np.ndarray:
    """Return the inner products (n, n) of samples by features that training samples scale."""
    used = np.zeros(values.source.n_features, bool)
    used[features] = True

    def products(span: Span) -> Arrays:
        Z = standardized(values.read(span, _DOUBLE).values, train)
        Z = Z[used[span.lo : span.hi]]
        return {"products": Z.T @ Z}

    return values.at(BY_ALL_FEATURES).total_over(products)["products"]


def read_features(values: Engine, features: np.ndarray) -> np.ndarray:
    """Return the values of some features, shape (l, n), in their order."""
    out = np.empty((len(features), values.source.n_samples))
    ascending = np.argsort(features, kind="stable")  # the matrix is read forwards
    view = values.source.selecting(features[ascending])
    for span in cut(len(features), READ_AT_ONCE):
        out[ascending[span.lo : span.hi]] = view.read(span, _DOUBLE).values
    return out
