"""``--stability``: how far the first features of a ranking depend on the samples.

The features are ranked again on subsets of the samples, each as a matrix of these samples alone
would be ranked, and what is counted is how often a feature is among the first.

Subsets are ranked one after the other, which goes for every method. Methods that score the features
one by one take all subsets together where they can (`sfs_cli.run.together`): one pass
finds the inner products of all samples, of which the sample graph of every subset is made, and
another one reads each block once and scores it on every subset.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from sfs_cli.compute.engine import Engine
from sfs_cli.compute.limits import EPS
from sfs_cli.compute.matrix import DOUBLE, Block, BlockLike
from sfs_cli.compute.workspace import Workspace
from sfs_cli.errors import InputError, SfsError, counted
from sfs_cli.graph.distances import (
    center,
    gram,
    profile_distances_of,
    profile_products,
    spread_of,
    squared_distances,
)
from sfs_cli.logs import Messages
from sfs_cli.methods.base import Scorer, Status
from sfs_cli.methods.blocks import CenteredScorer
from sfs_cli.methods.pieces import pieces, rows_of
from sfs_cli.options.samples import DEFAULT_TOP, SUBSETS
from sfs_cli.parts.stability_page import stability_pairs, stability_tables
from sfs_cli.parts.subsets import Subsets, draw_subsets, run_on_subset
from sfs_cli.provenance import StabilityFacts, StableFeatures
from sfs_cli.ranking.stability import false_selections, frequencies, nogueira
from sfs_cli.ranking.table import Ranking, rank_features
from sfs_cli.report.model import Section
from sfs_cli.run.guards import tell
from sfs_cli.run.load import Run
from sfs_cli.run.needs import SCORES, graph_asked, note_default_graph
from sfs_cli.run.scoring import RankResult, make_graph, problem_of, scorer_of
from sfs_cli.run.together import (
    made_of_distances,
    on_subsets,
    ranks_together,
    scored_together,
    subset_size,
)

UNEVEN = 0.35
"""The share of the samples in a half of whole donors below which a warning is given."""
THRESHOLDS = (0.6, 0.75, 0.9)
"""Shares of the subsets from which features are counted as selected."""
ENOUGH = 0.75
"""The one of them that messages name."""
FEW = 4
"""The list is at most this fraction (1/N) of the features."""
POOR = 0.4
"""Nogueira's measure below this is poor: agreement by chance-corrected measures is poor below 0.4
(Fleiss), which Nogueira et al. 2018 take over."""
SLACK = 1e-9
"""Scores that are worse than the last of a list by less than this part may be equal to it."""
ROUNDING = 4.0
"""Features that vary by fewer units of rounding are checked again: they may be constant."""


def add_frequencies(run: Run, found: RankResult, rank: Callable[[Run], Ranking]) -> None:
    """Rank on subsets of the samples; add frequencies to the ranking.

    `rank` ranks on the samples of a run.
    Raises InputError when the samples cannot be divided, the list is as long as the ranking, or
    a subset cannot be ranked.
    """
    ranking, m = found.ranking, run.matrix.n_features
    codes = ranking.status.positions
    candidates = int(np.isin(codes, (Status.OK, Status.NOT_SELECTED)).sum())
    top = _length(run, candidates)
    subsets = draw_subsets(run)
    if run.config.subset_count != run.config.subsets_asked:
        run.log.note(
            f"--stability half,subsets={run.config.subsets_asked}: halves of the samples come "
            f"in pairs, so that {run.config.subset_count} are drawn"
        )
    n = run.matrix.n_samples
    size = subset_size(run.config.subset_kind, n)
    note_default_graph(run.config, n, size, "a subset", run.log)
    _warn_of_uneven_halves(run, subsets)
    lists = _lists(run, subsets.samples, top, rank)
    frequency = frequencies(lists, m)[ranking.order]
    facts = _facts(run, subsets, lists, top, candidates, frequency)
    run.log.note(facts["summary"])
    tell(run, "unstable", unstable(facts, known=bool(run.config.given("labels", "source"))))
    found.ranking = replace(ranking, extra=ranking.extra | {"frequency": frequency})
    found.facts["stability"] = facts


def section(facts: dict[str, Any]) -> Section:
    """Return what the page says of the subsets, and how stable the list is."""
    words = facts["summary"]
    return Section(
        heading="Stability",
        pairs=stability_pairs(facts),
        tables=stability_tables(facts),
        sentences=[f"{words[0].upper()}{words[1:]}."],
    )


def _lists(
    run: Run, subsets: list[np.ndarray], top: int, rank: Callable[[Run], Ranking]
) -> list[np.ndarray]:
    """Rank on subsets of the samples; return the first features of each, by index."""
    if ranks_together(run.config, run.matrix.n_samples, run.matrix.n_features):
        return rank_together(run, subsets, top)
    return rank_in_turn(run, subsets, top, rank)


def _length(run: Run, candidates: int) -> int:
    """Return the length of the lists that are compared."""
    asked = run.config.stability_top
    if asked is None:
        most = min(DEFAULT_TOP, run.options.get("select") or DEFAULT_TOP)
        asked = max(1, min(most, candidates // FEW))
    if asked >= candidates:
        raise InputError(
            f"--stability counts the first {asked:,} features, and there are "
            f"{candidates:,} to choose from",
            where=run.config.matrix,
            hint="give a smaller top= of --stability"
            if candidates > 1
            else "leave out --stability",
            option=("stability_top", "stability"),
        )
    return asked


def _warn_of_uneven_halves(run: Run, subsets: Subsets) -> None:
    """Warn where halves of whole donors are far from halves of the samples."""
    least, n = min(map(len, subsets.samples)), run.matrix.n_samples
    if subsets.donors is not None and run.config.subset_kind == "half" and least < UNEVEN * n:
        run.log.warn(
            f"donors differ in their number of samples: the smallest half of whole donors has "
            f"{least:,} of {n:,} samples, which makes lists look less stable; take fewer samples "
            "of large donors, or average those of each donor"
        )


# ---- one after the other ------------------------------------------------------------------------


def rank_in_turn(
    run: Run, subsets: list[np.ndarray], top: int, rank: Callable[[Run], Ranking]
) -> list[np.ndarray]:
    """Rank on one subset after the other; return the first features of each, by index."""
    lists, quiet = [], Messages(verbosity=-1)
    for number, samples in enumerate(subsets, 1):
        with _located(run, number, subsets):
            found = rank(run_on_subset(run, samples, quiet))
        lists.append(np.asarray(found.order[: min(top, found.n_scored)], np.int64))
    _log_warnings(run, quiet)
    return lists


@contextmanager
def _located(run: Run, number: int, subsets: list[np.ndarray]) -> Iterator[None]:
    """Add the subset (from 1) to the place of an error, and what may be done about it."""
    try:
        yield
    except SfsError as error:
        size = len(subsets[number - 1])
        place = f"--stability, subset {number:,} of {len(subsets):,} ({counted(size, 'sample')})"
        error.where = place + (f"; {error.where}" if error.where else "")
        error.options = ("stability", *error.options)
        # a file that does not fit has its own remedy, and fits no larger subset either
        of_file = "similarity_file" in error.options
        if isinstance(error, InputError) and run.config.subset_kind == "half" and not of_file:
            error.hint = (
                "a half of so few samples may lack what the method needs: give --stability "
                "bootstrap, whose subsets are larger, or leave out --stability"
            )
        raise


def _log_warnings(run: Run, quiet: Messages) -> None:
    for text, times in Counter(quiet.warnings).items():
        run.log.detail(f"on {counted(times, 'subset')} of the samples: {text}")


# ---- all of them together -----------------------------------------------------------------------


def rank_together(run: Run, subsets: list[np.ndarray], top: int) -> list[np.ndarray]:
    """Score on all subsets by one or two passes; return the first features of each, by index."""
    engine = replace(run.context.engine.of(on_subsets(run.config)), parts=None)
    run.log.phase("sample graphs of the subsets")
    distances = _distances(run, engine, subsets)
    lists: list[np.ndarray] = []
    together = scored_together(run.config, run.matrix.n_samples, run.context.memory)
    quiet = Messages(verbosity=-1)
    for lo in range(0, len(subsets), together):
        scorers = SubsetScorers(
            [
                (samples, scorer_on(run, samples, distances(number), number, subsets, quiet))
                for number, samples in enumerate(subsets[lo : lo + together], lo)
            ]
        )
        run.log.phase("scores on the subsets")
        best = [_Best(top, scorer.larger_is_better) for _, scorer in scorers.scorers]
        for span, scores in engine.at(SCORES).run(scorers.score_block, scorers.dtype):
            for each, column in zip(best, scores.T):
                each.add(span.lo, column)
        for number, each in enumerate(best, lo + 1):
            with _located(run, number, subsets):
                lists.append(each.first(run))
    _log_warnings(run, quiet)
    return lists


def scorer_on(
    run: Run,
    samples: np.ndarray,
    distances: np.ndarray | None,
    number: int,
    subsets: list[np.ndarray],
    log: Messages,
) -> Scorer:
    """Return what scores the features on a subset, whose squared distances are (l, l)."""
    with _located(run, number + 1, subsets):
        part = run_on_subset(run, samples, log)
        part = replace(part, context=replace(part.context, beside=len(subsets)))
        graph = make_graph(part, distances)
        return scorer_of(part.config, problem_of(part, graph.similarity if graph else None))


class SubsetScorers:
    """Scores each block on several subsets of the samples: pairs of these and their scorers."""

    def __init__(self, scorers: list[tuple[np.ndarray, Scorer]]) -> None:
        self.scorers = scorers
        self.dtype = np.result_type(*(scorer.dtype for _, scorer in scorers))
        self.work = Workspace()
        for _, scorer in scorers:
            if isinstance(scorer, CenteredScorer):
                scorer.work = self.work  # one at a time needs it

    def score_block(self, block: BlockLike) -> np.ndarray:
        """Return the scores of a block, shape (b, subsets), NaN where there is none."""
        found = np.empty((len(block.values), len(self.scorers)))
        # a few features at a time: they stay in cache from one subset to the next
        for rows in pieces(*block.values.shape):
            piece = rows_of(block, rows)
            for column, (samples, scorer) in zip(found[rows].T, self.scorers):
                own = self.work.array("own", len(piece.values), len(samples), self.dtype)
                np.take(piece.values, samples, axis=1, out=own, mode="clip")
                values = own.astype(scorer.dtype, copy=False)
                column[:] = scorer.score_block(Block(values, piece.left_out))[0]
        return found


class _Best:
    """The best features so far, of blocks that come in their order, and those as good."""

    def __init__(self, top: int, larger_is_better: bool) -> None:
        self.top, self.larger_is_better = top, larger_is_better
        self.features, self.scores = np.empty(0, np.int64), np.empty(0)

    def add(self, lo: int, scores: np.ndarray) -> None:
        """Add the scores of features from `lo` on, shape (b,)."""
        rows = np.flatnonzero(~np.isnan(scores))
        features = np.concatenate([self.features, lo + rows])
        scores = np.concatenate([self.scores, scores[rows]])
        if len(scores) > self.top:
            size = -scores if self.larger_is_better else scores
            last = np.partition(size, self.top - 1)[self.top - 1]
            near = size <= (last + SLACK * abs(last) if np.isfinite(last) else last)
            features, scores = features[near], scores[near]
        self.features, self.scores = features, scores

    def first(self, run: Run) -> np.ndarray:
        """Return the best features by index; those of equal score in the order of the input."""
        size = len(self.features)
        if not size:
            raise InputError(
                "no feature can be scored",
                where=run.config.matrix,
                hint="give more samples, or leave out --stability",
            )
        status, names = np.zeros(size, np.int8), [""] * size
        better = self.larger_is_better
        found = rank_features(names, self.scores, status, ["ok"], larger_is_better=better)
        return self.features[found.order[: self.top]]


def _distances(
    run: Run, engine: Engine, subsets: list[np.ndarray]
) -> Callable[[int], np.ndarray | None]:
    """Return what gives the squared distances of a subset, by one pass over all samples."""
    config, n = run.config, run.matrix.n_samples
    if not made_of_distances(config, n):
        return lambda _: None
    name = graph_asked(config, subset_size(config.subset_kind, n)).name
    if name == "knn-correlation":
        total, sums, used = profile_products(
            engine, lambda values: len(values) - constant_among(values, subsets)
        )

        def of_profiles(number: int) -> np.ndarray:
            own = subsets[number]
            return profile_distances_of(total[np.ix_(own, own)], sums[own], int(used[number]))

        return of_profiles
    products = gram(replace(engine, dtype=DOUBLE))

    def of_products(number: int) -> np.ndarray:
        own = subsets[number]
        with np.errstate(invalid="ignore"):
            return squared_distances(products[np.ix_(own, own)])

    return of_products


def constant_among(values: np.ndarray, subsets: list[np.ndarray]) -> np.ndarray:
    """Count the features (b, n) that are constant in each subset of the samples, shape (B,)."""
    n, least = values.shape[1], min(map(len, subsets))
    ordered = np.sort(values, axis=1)
    # a feature that is constant in a subset has as many values in a row that are nearly equal
    width = (ordered[:, least - 1 :] - ordered[:, : n - least + 1]).min(axis=1)
    near = values[width <= ROUNDING * n * EPS * spread_of(ordered)]
    found = np.zeros(len(subsets))
    for number, samples in enumerate(subsets if len(near) else []):
        own = near[:, samples]
        rounding = len(samples) * EPS * np.abs(own[:, 0])
        center(own)
        found[number] = np.count_nonzero(spread_of(own) <= rounding)
    return found


# ---- what was found -----------------------------------------------------------------------------


def _facts(
    run: Run,
    subsets: Subsets,
    lists: list[np.ndarray],
    top: int,
    candidates: int,
    frequency: np.ndarray,
) -> StabilityFacts:
    """Return what the record says; `frequency` is in the order of the ranking."""
    config, count = run.config, len(lists)
    half = config.subset_kind == "half"
    measured = nogueira(lists, candidates)
    low, high = measured.interval
    mean = sum(map(len, lists)) / count
    stable: list[StableFeatures] = []
    for threshold in THRESHOLDS:
        often = frequency >= threshold - SLACK
        bounds: dict[str, float | None] = {}
        if half:
            bounds = asdict(false_selections(mean, candidates, threshold, count // 2))
        stable.append(
            StableFeatures(
                threshold=threshold,
                features=int(often.sum()),
                of_first=int(often[:top].sum()),
                false_selections=bounds,
            )
        )
    told = stable[THRESHOLDS.index(ENOUGH)]
    sizes = [len(samples) for samples in subsets.samples]
    whole = "" if subsets.donors is None else " of whole donors"
    summary = (
        f"of the first {counted(top, 'feature')}, {told['of_first']:,} "
        f"{'is' if told['of_first'] == 1 else 'are'} selected in at least {ENOUGH:.0%} of "
        f"{count:,} {SUBSETS[config.subset_kind]}{whole}; "
        f"stability {measured.value:.2f} ({low:.2f} to {high:.2f})"
    )
    return StabilityFacts(
        subsets=count,
        how=config.subset_kind,
        samples=[min(sizes), max(sizes)],
        strata=subsets.strata,
        donors=subsets.donors,
        top=top,
        mean_length=mean,
        features=candidates,
        stability=measured.value,
        interval=[low, high],
        variance=measured.variance,
        stable=stable,
        summary=summary,
    )


def unstable(found: StabilityFacts, *, known: bool) -> str | None:
    """Warn of first features that depend on the samples.

    `known` says whether labels or sources were used.
    """
    if not found["stability"] < POOR:
        return None
    low, high = found["interval"]
    measured = f"{found['stability']:.2f} ({low:.2f} to {high:.2f})"
    kept = next(each for each in found["stable"] if each["threshold"] == ENOUGH)["features"]
    text = (
        f"the first {found['top']:,} features depend on the samples: their stability is "
        f"{measured}, and below {POOR} it is poor; report the {kept:,} with a frequency of "
        f"{ENOUGH:g} or more instead of the list, and add samples"
    )
    return text if known else f"{text}, or use labels or sources (--labels, --source)"
