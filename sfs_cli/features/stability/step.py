"""``--stability``: how far the first features of a ranking depend on the samples.

The features are ranked again on subsets of the samples, each as a matrix of these samples alone
would be ranked, and what is counted is how often a feature is among the first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from sfs_cli.errors import InputError, counted
from sfs_cli.features.stability import DEFAULT_TOP, SUBSETS
from sfs_cli.features.stability.subsets import Subsets, draw_subsets, run_on_subset, subset_size
from sfs_cli.features.stability.together import goes_together, rank_together, scored_at_once
from sfs_cli.features.step import Pairs, Step
from sfs_cli.logs import Messages
from sfs_cli.methods.base import Status
from sfs_cli.provenance import RunFacts, StabilityFacts, StableFeatures
from sfs_cli.ranking.stability import false_selections, frequencies, nogueira
from sfs_cli.report.model import Table
from sfs_cli.run.guards import tell
from sfs_cli.run.load import Run
from sfs_cli.run.needs import Shape, note_default_graph
from sfs_cli.run.rank import RankResult, ranked

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


class StabilityStep(Step):
    """Ranks on subsets of the samples, and counts how often a feature is among the first."""

    def graphs(self, shape: Shape) -> tuple[int, int]:
        """Return the samples of the largest subset, and the bytes of those ranked together.

        Their graphs may be dense where that of all samples would be sparse.
        """
        config, (n, m), more = self.config, (shape.n, shape.m), 0
        if goes_together(config, n, m):
            _, more = scored_at_once(config, n, m, shape.memory)
        return subset_size(config, max(shape.parts.values(), default=n)), more

    def check(self, run: Run) -> None:
        """Refuse donors that cannot be divided."""
        if run.columns.donors is not None:
            draw_subsets(run)

    def find(self, run: Run, found: RankResult) -> None:
        """Rank on subsets of the samples; add frequencies to the ranking.

        Raises InputError when the samples cannot be divided, the list is as long as the ranking, or
        a subset cannot be ranked.
        """
        config, ranking, log = run.config, found.ranking, run.log
        n, m = run.matrix.n_samples, run.matrix.n_features
        codes = ranking.status.positions
        candidates = int(np.isin(codes, (Status.OK, Status.NOT_SELECTED)).sum())
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
        rank_on = rank_together if goes_together(config, n, m) else rank_in_turn
        lists = list(rank_on(run, subsets, top, quiet))
        for text, times in Counter(quiet.warnings).items():
            log.detail(f"on {counted(times, 'subset')} of the samples: {text}")
        frequency = frequencies(lists, m)[ranking.order]
        facts = _facts(run, subsets, lists, top, candidates, frequency)
        log.note(facts["summary"])
        tell(run, "unstable", unstable(facts, known=bool(config.given("labels", "source"))))
        found.ranking = replace(ranking, extra=ranking.extra | {"frequency": frequency})
        found.facts["stability"] = facts

    @staticmethod
    def section(facts: dict[str, Any]) -> Pairs:
        """Return how the samples were divided, and how stable the list is."""
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
        return [*pairs, ("List", first), ("Stability", measured)]

    @staticmethod
    def sentences(facts: RunFacts) -> list[str]:
        """Return the summary."""
        words = facts["stability"]["summary"]
        return [f"{words[0].upper()}{words[1:]}."]

    @staticmethod
    def tables(facts: dict[str, Any]) -> list[Table]:
        """Return the table of the features that are selected often."""
        bounds = {"any": "any distribution", "unimodal": "unimodal", "r_concave": "r-concave"}
        note = (
            "Features that are among the first in at least that share of the subsets, and how many "
            f"of them are among the first {facts['top']:,} of the ranking."
        )
        if facts["how"] == "half":
            share = f"{facts['mean_length']:g} of {facts['features']:,}"
            note += (
                " The other columns are upper bounds on how many of these are expected to be no "
                f"likelier in a list than a random feature ({share}), from the fewest "
                "assumptions to the most (Shah and Samworth 2013)."
            )
        else:
            bounds = {}
        rows = []
        for row in facts["stable"]:
            false = [row["false_selections"][name] for name in bounds]
            share = f"{row['threshold']:.0%}"
            rows.append([share, row["features"], row["of_first"], *false])
        columns = ("in at least", "features", "of the first", *bounds.values())
        return [
            Table(
                heading="Features selected often", columns=columns, rows=rows, note=note, digits=3
            )
        ]


STEP = StabilityStep


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


def rank_in_turn(run: Run, subsets: Subsets, top: int, log: Messages) -> Iterator[np.ndarray]:
    """Rank on one subset after the other; yield the first features of each, by index."""
    for number, samples in enumerate(subsets.samples):
        with subsets.located(run, number):
            found = ranked(run_on_subset(run, samples, log))
        yield found.order[: min(top, found.n_scored)]


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
