"""``--stability``: how far the first features of a ranking depend on the samples.

The features are ranked again on subsets of the samples, each as a matrix of these samples alone
would be ranked, and what is counted is how often a feature is among the first.

Subsets are ranked one after the other, which goes for every method. Methods that score the features
one by one take all subsets together where they can (`sfs_cli.run.together`): one pass finds the
inner products of all samples, of which the sample graph of every subset is made, and another one
reads each block once and scores it on every subset.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from functools import partial
from typing import Any

import numpy as np

from sfs_cli.compute.engine import Engine
from sfs_cli.compute.limits import EPS
from sfs_cli.compute.matrix import DOUBLE, Arrays, Block, BlockLike, Workspace, pieces, rows_of
from sfs_cli.errors import InputError, counted
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
from sfs_cli.methods.kernel import KernelScorer
from sfs_cli.options.graph import LABELS_ALONE
from sfs_cli.options.parts import DEFAULT_TOP, SUBSETS
from sfs_cli.parts.subsets import Subsets, draw_subsets, run_on_subset
from sfs_cli.ranking.stability import false_selections, frequencies, nogueira
from sfs_cli.ranking.table import Ranking, rank_features
from sfs_cli.report.model import Section, Table
from sfs_cli.run.guards import tell
from sfs_cli.run.load import Run
from sfs_cli.run.needs import SCORES, note_default_graph
from sfs_cli.run.scoring import RankResult, make_graph, problem_of, scorer_of
from sfs_cli.run.together import (
    PROFILES,
    graph_of_subset,
    on_subsets,
    ranks_together,
    scored_at_once,
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
"""What shares of the subsets may lack of a threshold, for rounding."""


def add_frequencies(run: Run, found: RankResult, rank: Callable[[Run], Ranking]) -> None:
    """Rank on subsets of the samples; add frequencies to the ranking.

    `rank` ranks on the samples of a run. Raises InputError when the samples cannot be divided, the
    list is as long as the ranking, or a subset cannot be ranked.
    """
    config, ranking, log = run.config, found.ranking, run.log
    n, m = run.context.n, run.context.m
    ranked = np.isin(ranking.status.positions, (Status.OK, Status.NOT_SELECTED))
    candidates = int(ranked.sum())
    top = _length(run, candidates)
    subsets = draw_subsets(run)
    if config.subset_count != config.subsets_asked:
        log.note(
            f"--stability half,subsets={config.subsets_asked}: halves of the samples come in "
            f"pairs, so that {config.subset_count} are drawn"
        )
    note_default_graph(config, n, subset_size(config, n), "a subset", log)
    least = min(map(len, subsets.samples))
    if subsets.donors is not None and config.subset_kind == "half" and least < UNEVEN * n:
        log.warn(
            f"donors differ in their number of samples: the smallest half of whole donors has "
            f"{least:,} of {n:,} samples, which makes lists look less stable; take fewer "
            "samples of large donors, or average those of each donor"
        )
    quiet = Messages(verbosity=-1)
    if ranks_together(config, n, m):
        lists = list(rank_together(run, subsets, top, quiet))
    else:
        lists = list(rank_in_turn(run, subsets, top, quiet, rank))
    for text, times in Counter(quiet.warnings).items():
        log.detail(f"on {counted(times, 'subset')} of the samples: {text}")
    frequency = frequencies(lists, m)[ranking.order]
    facts = _facts(run, subsets, lists, top, candidates, frequency)
    log.note(facts["summary"])
    tell(run, "unstable", unstable(facts, known=bool(config.given("labels", "source"))))
    found.ranking = replace(ranking, extra=ranking.extra | {"frequency": frequency})
    found.facts["stability"] = facts


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


# ---- the rankings on the subsets -----------------------------------------------------------------


def rank_in_turn(
    run: Run, subsets: Subsets, top: int, log: Messages, rank: Callable[[Run], Ranking]
) -> Iterator[np.ndarray]:
    """Rank on one subset after the other; yield the first features of each, by index."""
    for number, samples in enumerate(subsets.samples):
        with subsets.located(run, number):
            found = rank(run_on_subset(run, samples, log))
        yield found.order[: min(top, found.n_scored)]


def rank_together(run: Run, subsets: Subsets, top: int, log: Messages) -> Iterator[np.ndarray]:
    """Yield the first features of the ranking on each subset, by index."""
    config, (m, n) = run.config, (run.matrix.n_features, run.matrix.n_samples)
    engine = replace(run.context.engine.of(on_subsets(config)), parts=None)
    run.log.phase("sample graphs of the subsets")
    distances = _distances(run, engine, subsets.samples)
    count, _ = scored_at_once(config, n, m, run.context.memory)
    for lo in range(0, len(subsets.samples), count):
        numbers = range(lo, min(lo + count, len(subsets.samples)))
        scorers = []
        for number in numbers:
            with subsets.located(run, number):
                part = run_on_subset(run, subsets.samples[number], log)
                part = replace(part, context=replace(part.context, beside=len(subsets.samples)))
                graph = make_graph(part, distances(number))
                problem = problem_of(part, graph.similarity if graph else None)
                scorers.append((subsets.samples[number], scorer_of(part.config, problem)))
        run.log.phase("scores on the subsets")
        dtype, work = np.result_type(*(scorer.dtype for _, scorer in scorers)), Workspace()
        for _, scorer in scorers:
            if isinstance(scorer, KernelScorer):
                scorer.work = work  # one at a time needs it
        found = engine.at(SCORES).columns(partial(_scores, scorers, dtype, work), dtype)
        for number, (_, scorer), column in zip(numbers, scorers, found["scores"].T):
            if np.isnan(column).all():
                with subsets.located(run, number):
                    what, hint = "no feature can be scored", "leave out --stability"
                    raise InputError(what, where=config.matrix, hint=hint)
            ranked = rank_features(
                *(run.matrix.ids.features, column, np.zeros(m, np.int8), ["ok"]),
                larger_is_better=scorer.larger_is_better,
            )
            yield ranked.order[: min(top, ranked.n_scored)]


def _scores(
    scorers: list[tuple[np.ndarray, Scorer]],
    dtype: np.dtype[np.floating],
    work: Workspace,
    block: BlockLike,
) -> Arrays:
    """Return the scores of a block, shape (b, subsets), NaN where there is none."""
    found = np.empty((len(block.values), len(scorers)))
    # a few features at a time: they stay in cache from one subset to the next
    for rows in pieces(*block.values.shape):
        piece = rows_of(block, rows)
        for column, (samples, scorer) in zip(found[rows].T, scorers):
            own = work.array("own", len(piece.values), len(samples), dtype)
            np.take(piece.values, samples, axis=1, out=own, mode="clip")
            values = own.astype(scorer.dtype, copy=False)
            column[:] = scorer.score_block(Block(values, piece.left_out))["score"]
    return {"scores": found}


def _distances(
    run: Run, engine: Engine, subsets: list[np.ndarray]
) -> Callable[[int], np.ndarray | None]:
    """Return what gives the squared distances of a subset, by one pass over all samples."""
    graph = graph_of_subset(run.config, run.matrix.n_samples)
    if graph is None or graph.name in LABELS_ALONE:
        return lambda _: None
    if graph.name == PROFILES:
        total, sums, used = profile_products(engine, partial(_varying, subsets))

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


def _varying(subsets: list[np.ndarray], values: np.ndarray) -> np.ndarray:
    """Count the features (b, n) that vary in each subset of the samples, shape (B,)."""
    found = np.empty(len(subsets))
    for number, samples in enumerate(subsets):
        own = values[:, samples]
        rounding = len(samples) * EPS * np.abs(own[:, 0])
        center(own)
        found[number] = np.count_nonzero(spread_of(own) > rounding)
    return found


# ---- what was found ------------------------------------------------------------------------------


def _facts(
    run: Run,
    subsets: Subsets,
    lists: list[np.ndarray],
    top: int,
    candidates: int,
    frequency: np.ndarray,
) -> dict[str, Any]:
    """Return what the record says; `frequency` is in the order of the ranking."""
    config, count = run.config, len(lists)
    half = config.subset_kind == "half"
    measured = nogueira(lists, candidates)
    low, high = measured.interval
    mean = sum(map(len, lists)) / count
    stable: list[dict[str, Any]] = []
    for threshold in THRESHOLDS:
        often = frequency >= threshold - SLACK
        false = asdict(false_selections(mean, candidates, threshold, count // 2)) if half else {}
        stable.append(
            {
                "threshold": threshold,
                "features": int(often.sum()),
                "of_first": int(often[:top].sum()),
                "false_selections": false,
            }
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
    return {
        "subsets": count,
        "how": config.subset_kind,
        "samples": [min(sizes), max(sizes)],
        "strata": subsets.strata,
        "donors": subsets.donors,
        "top": top,
        "mean_length": mean,
        "features": candidates,
        "stability": measured.value,
        "interval": [low, high],
        "variance": measured.variance,
        "stable": stable,
        "summary": summary,
    }


def unstable(found: dict[str, Any], *, known: bool) -> str | None:
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


def section(facts: dict[str, Any]) -> Section:
    """Return what the page says of the subsets, and how stable the list is."""
    (low, high), (least, most) = facts["interval"], facts["samples"]
    size = counted(least, "sample") if least == most else f"{least:,} to {most:,} samples"
    pairs = [
        ("Summary", facts["summary"]),
        ("Subsets", f"{facts['subsets']:,} {SUBSETS[facts['how']]} of {size}"),
    ]
    if facts["strata"]:
        pairs.append(("Stratified by", " and ".join(facts["strata"])))
    if facts["donors"] is not None:
        pairs.append(("Whole donors", f"{facts['donors']:,}"))
    measured = (
        f"{facts['stability']:.3f} (95 % interval {low:.3f} to {high:.3f}): 1 for equal lists, "
        "0 for random ones (Nogueira et al. 2018)"
    )
    first = f"the first {facts['top']:,} of {facts['features']:,} features"
    pairs += [("List", first), ("Stability", measured)]
    bounds = {}
    note = (
        "Features that are among the first in at least that share of the subsets, and how many "
        f"of them are among the first {facts['top']:,} of the ranking."
    )
    if facts["how"] == "half":
        bounds = {"any": "any distribution", "unimodal": "unimodal", "r_concave": "r-concave"}
        share = f"{facts['mean_length']:g} of {facts['features']:,}"
        note += (
            " The other columns are upper bounds on how many of these are expected to be no "
            f"likelier in a list than a random feature ({share}), from the fewest "
            "assumptions to the most (Shah and Samworth 2013)."
        )
    rows = [
        (
            *(f"{row['threshold']:.0%}", row["features"], row["of_first"]),
            *(row["false_selections"][name] for name in bounds),
        )
        for row in facts["stable"]
    ]
    columns = ("in at least", "features", "of the first", *bounds.values())
    often = Table(
        heading="Features selected often", columns=columns, rows=rows, note=note, digits=3
    )
    summary = facts["summary"]
    return Section(
        heading="Stability",
        pairs=pairs,
        tables=[often],
        sentences=[f"{summary[0].upper()}{summary[1:]}."],
    )
