"""Rankings in folds: features are ranked on the training samples of each fold, and nothing else.

`sfs evaluate` and `sfs select --cv` use it to evaluate lists on held-out samples.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np

from sfs_cli.compute.context import Labels
from sfs_cli.compute.engine import Engine, PassList
from sfs_cli.compute.matrix import cut
from sfs_cli.errors import InputError, Options, listed, within
from sfs_cli.evaluation.classify import Fold, folds_of
from sfs_cli.evaluation.concordance import concordance_index
from sfs_cli.logs import Messages
from sfs_cli.options.evaluate import FoldFields
from sfs_cli.options.fields import names_file
from sfs_cli.options.rank import RankConfig
from sfs_cli.ranking.table import Ranking
from sfs_cli.run.design import basis_by
from sfs_cli.run.load import Run
from sfs_cli.run.memory import memory_plan
from sfs_cli.run.needs import Shape, needed, note_default_graph
from sfs_cli.run.part import prepared_on
from sfs_cli.store.adjust import Adjustment
from sfs_cli.store.filters import FeatureFilter
from sfs_cli.store.matrix import FilledMatrix, Matrix
from sfs_cli.store.prepared import PreparedMatrix
from sfs_cli.store.transforms import PER_TOTAL, RESIDUALS, before_fitting, kind
from sfs_cli.workflow.rank import ranked

READ_AT_ONCE = 64
"""Features of a list that are read at a time."""
_SCALING = ("zscore", "center", "unit")
_OF_COUNTS = (*PER_TOTAL, "log2cpm", "vst", *RESIDUALS)
_DOUBLE = np.dtype(np.float64)


def class_sizes(labels: Labels, donors: np.ndarray | None) -> dict[str, int]:
    """Return how many samples each class has that is there, or donors where these are known."""
    codes = labels.codes if donors is None else np.unique([labels.codes, donors], axis=1)[0]
    sizes = np.bincount(codes, minlength=len(labels.classes)).tolist()
    return {name: count for name, count in zip(labels.classes, sizes) if count}


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
    fewer, what, folds = min(few.values(), default=splits - 1), "", list[Fold]()
    if few:
        sizes = listed([f"{name} ({count})" for name, count in few.items()])
        what = f"{len(few)} of {len(counts)} classes with fewer {units} than the {splits} folds of "
        what += f"--splits: {sizes}"
    else:
        folds = list(folds_of(labels.codes, splits, repeats, seed, donors))
    for fold in folds:
        there = set(labels.codes[fold.test].tolist())
        if lacking := [k for i, k in enumerate(labels.classes) if k in counts and i not in there]:
            what = f"no way was found to deal whole donors so that each of the {splits} folds of "
            what += f"--splits has every class: {place(fold)} lacks {listed(lacking)}"
    if what:
        merge = "merge small classes, or leave their samples out (--samples intersect)"
        raise InputError(
            what,
            where=where,
            hint=f"give --splits {fewer}, {merge}" if fewer > 1 else merge,
            option=("splits", "labels") if donors is None else ("splits", "donors", "labels"),
        )
    return folds


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
        rest = run.matrix.steps[len(self.steps) :]
        if any(step not in _SCALING for step in rest):
            raw = ", which are raw counts (--transform median,log1p judges by logarithms)"
            of_counts = not self.steps and kind(rest[0]) in _OF_COUNTS
            run.log.note(
                f"--transform {','.join(rest)} compares samples with each other: features are "
                f"ranked with it inside each fold, and judged by their values before it"
                f"{raw * of_counts}"
            )
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

    def note_leakage_of_graph(self, run: Run, name: str = "") -> None:
        """Say what may leak from the test samples into a ranking in the folds.

        `name` is that of the ranking, where there are several.
        """
        config, about = run.config, f"{name}: " if name else ""
        of_file = config.coordinates_from or config.similarity_file
        if of_file is None and config.graph == "obsp":
            of_file = config.similarity
        if of_file is not None and "graph" in needed(config):
            self.log.note(
                f"{about}the sample graph in the folds is that of the training samples in "
                f"{of_file}, which may have been built from the test samples, too (leakage)"
            )

    def note_leakage_of_lists(self, config: RankConfig) -> None:
        """Say that lists of features may have been chosen on the test samples."""
        files = [text for text in (*config.include, *config.exclude) if names_file(text)]
        if files:
            self.log.note(
                f"{listed(files)} preselects the features: if that list was made from samples of "
                "this matrix, the accuracy is leaky, because the test samples were used"
            )

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
        return part.of(in_fold(place(fold)))

    def ranked_in(self, fold: Fold | None, run: Run | None = None, name: str = "") -> Ranking:
        """Rank the features on the training samples of a fold, or on all samples.

        `name` is that of the ranking, where there are several.
        """
        return self.ranked(self.part_in(fold, run), fold, name)

    def ranked(self, part: Run, fold: Fold | None, name: str = "") -> Ranking:
        """Rank the features on the samples of a run of a fold; its warnings are given once."""
        quiet, labels = Messages(verbosity=-1), part.context.labels
        needs = needed(part.config) & {"labels", "some-labels"}
        config = replace(part.config, leave_one_out=False)  # it is about all samples
        context = replace(part.context, labels=labels if needs else None, log=quiet)
        of = ", ".join([f"ranking {name}"] * bool(name) + ([] if fold is None else [place(fold)]))
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

    def values_in(self, fold: Fold, values: Engine) -> Engine:
        """Return the values that are judged in a fold: those of all samples, but for gaps.

        Covariates are taken out by the coefficients of the training samples, and the median total
        that samples are scaled to is theirs.
        """
        if self.run.matrix.matrix.missing.values:
            values = self.values(fold.train)
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


def in_fold(of: str) -> str:
    """Return whose passes those in a fold are, by the `place` of it; of none, of all samples."""
    return f" in {of}" if of else ""


def place(fold: Fold) -> str:
    """Name a fold, for messages."""
    return f"fold {fold.number} of repeat {fold.repeat}"


def read_features(values: Engine, features: np.ndarray) -> np.ndarray:
    """Return the values of some features, shape (l, n), in their order."""
    out = np.empty((len(features), values.source.n_samples))
    ascending = np.argsort(features, kind="stable")  # the matrix is read forwards
    view = values.source.selecting(features[ascending])
    for span in cut(len(features), READ_AT_ONCE):
        out[ascending[span.lo : span.hi]] = view.read(span, _DOUBLE).values
    return out
