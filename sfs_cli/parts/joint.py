"""The work of ``--rank-sources``: whose features were ranked where, and which of them correlate."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import numpy as np

from sfs_cli.methods.shared import r_squared_tests
from sfs_cli.options.parts import CORRELATION, GROUPED
from sfs_cli.parts.pruning import standardized_features
from sfs_cli.ranking.false_discovery import q_values
from sfs_cli.ranking.table import Picked, Ranking
from sfs_cli.report.model import Pairs, Section, Table
from sfs_cli.run.load import Run
from sfs_cli.run.scoring import RankResult
from sfs_cli.store.joined import JoinedPrepared
from sfs_cli.tables import header

PAIRS = "pairs.tsv"
FIRST = 100
"""Features at the top of the ranking that are counted by source."""
SHOWN = 20
"""Pairs that ``run.json`` and the report list."""


def add_sources(run: Run, found: RankResult) -> None:
    """Add the columns of the sources, and find the pairs where ``--modules`` asks for them.

    Of the facts, `of` counts those of each source among the `first` features.
    """
    members, ranking = cast(JoinedPrepared, run.matrix).members, found.ranking
    names, sizes = zip(*((each.name, each.size) for each in members))
    codes = np.repeat(np.arange(len(names)), sizes)[ranking.order]
    before = (codes[:, None] == np.arange(len(names))).cumsum(axis=0)
    ranking.extra["source"] = Picked(names, codes)
    ranking.extra["rank_in_source"] = np.take_along_axis(before, codes[:, None], 1)[:, 0]
    first = codes[: min(FIRST, ranking.n_scored)]
    counts = np.bincount(first, minlength=len(names)).tolist()
    facts = found.facts["joint"] = {"first": len(first), "of": dict(zip(names, counts))}
    for name, value in _counts(facts):
        run.log.note(f"{name.lower()}: {value}")
    if run.config.modules:
        facts["pairs"], pairs = _pairs(run, ranking, codes)
        found.add_table(PAIRS, pairs)


def _pairs(
    run: Run, ranking: Ranking, codes: np.ndarray
) -> tuple[dict[str, Any], list[tuple[Any, ...]]]:
    """Return the facts, and all, of pairs of the first features of each source (`codes`)."""
    of_each = cast(np.ndarray, ranking.extra["rank_in_source"])[: ranking.n_scored]
    rows, least = np.flatnonzero(of_each <= GROUPED), CORRELATION
    what = "correlations of features of different sources"
    with standardized_features(what, ranking.order[rows], run) as values:
        R = np.clip(values @ values.T, -1, 1)
    one, other = np.nonzero(codes[rows, None] < codes[rows])
    r = R[one, other]
    p = r_squared_tests(r**2, 1, run.context.n - 2 - run.context.covariates)
    far = np.argsort(-np.abs(r), kind="stable")[: np.count_nonzero(np.abs(r) > least)]
    named = ranking.feature, cast(Picked, ranking.extra["source"])
    of = [*zip(*(list(column.reordered(rows)) for column in named))]
    columns = (column[far].tolist() for column in (one, other, r, p, q_values(p)))
    pairs = [(*of[i], *of[j], *numbers) for i, j, *numbers in zip(*columns)]
    what = f"of {len(r):,} pairs of features of different sources (the first {GROUPED:,} of "
    what += f"each), {len(far):,} have an absolute correlation above {least:g}"
    run.log.note(what)
    return {"what": what, "found": pairs[:SHOWN]}, pairs


def section(facts: dict[str, Any]) -> Section:
    """Return what the page says of features of several sources."""
    made = Section(heading="Features of several sources", pairs=_counts(facts))
    if "pairs" not in facts:
        return made
    pairs = facts["pairs"]
    table = Table(
        heading="Correlated features of different sources",
        columns=header(PAIRS),
        rows=pairs["found"],
        note=f"{pairs['what'].capitalize()}; up to {SHOWN} are shown, the strongest first. "
        "Features that follow one sample graph correlate for that reason alone: their p-values "
        "are too small to show that something else connects the two.",
        digits=3,
    )
    file = (PAIRS, "correlated pairs of features of different sources")
    return replace(made, tables=[table], files=[file])


def _counts(facts: dict[str, Any]) -> Pairs:
    """Return how many of the first features each source has."""
    counts = ", ".join(f"{count:,} of {name}" for name, count in facts["of"].items())
    return [(f"Of the first {facts['first']:,} features", counts)]
