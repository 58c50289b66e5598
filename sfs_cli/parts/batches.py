"""The work of ``--batch``: the same method on the samples of each batch, and one list of all lists.

A batch is ranked as a matrix of its samples alone would be: filters, missing values, totals, sample
graph and method see no other sample. What is asked about the aggregated ranking (pruning, warnings)
is asked about all samples, without the means of the batches. Where a ranking says more than ranks,
as that of a test or of classes, the rankings of the batches are a table, too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from sfs_cli.catalog import Method
from sfs_cli.errors import listed
from sfs_cli.methods.base import Solution
from sfs_cli.methods.shared import SIGNIFICANT
from sfs_cli.methods.significance.tested import tested_columns
from sfs_cli.options.testing import on_scales
from sfs_cli.parts.classes import tell_difference
from sfs_cli.parts.donors import doubt as about_donors
from sfs_cli.parts.explained import explained_by, pairs, words
from sfs_cli.ranking.aggregations import OF_BATCHES
from sfs_cli.ranking.agreement import agreement
from sfs_cli.ranking.combine import fisher, minus_log10
from sfs_cli.ranking.table import Picked, Ranking
from sfs_cli.report.model import Section, Table, agreement_table
from sfs_cli.run.fused_rank import DEFAULT_AGGREGATION, aggregate_solutions
from sfs_cli.run.guards import tell
from sfs_cli.run.load import Run
from sfs_cli.run.part import run_on
from sfs_cli.run.scoring import RankResult, Scored
from sfs_cli.tables import header

MOST_COMPARED = 20
"""Largest number of batches whose rankings are compared in pairs."""
TABLE = "batches.tsv"
TESTED = ("p_value", "effect")
"""The columns of batches that are combined where these are tested on scales."""
BEST = 5
"""Features of each batch that ``run.json`` and the report list."""


def rank_within(
    run: Run,
    rank: Callable[[Run], Scored],
    ranking_of: Callable[[Run, Solution], Ranking] | None,
) -> Scored:
    """Score every feature in each batch, and aggregate the rankings.

    `rank` ranks the samples of one, and `ranking_of` makes its table, where there is one. Of the
    facts, `left_out` are the batches that were not ranked, with the reason; `kendall_tau` tells how
    far the rankings agree, where they are few. Raises InputError, which names the batch, when one
    has no graph or no score at all.
    """
    cohort, solutions, ranked, within = run.cohort, [], [], dict[str, Ranking]()
    for part in cohort.parts:
        of_part = run_on(run, part.samples, part.labels, part.design)
        of_part = of_part.of(f" within {part.title}")
        with part.located(run.log):
            of_part.fit()
            scored = rank(of_part)
            ranking = None if ranking_of is None else ranking_of(of_part, scored.solution)
        facts: dict[str, Any] = {"name": part.name, "samples": len(part.samples)}
        if part.labels is not None:
            facts["classes"] = part.labels.counts()
        ranked.append(facts | {"graph": scored.graph, "method": scored.solution.facts})
        if ranking is not None:
            ranked[-1] |= _best(ranking)
            # rows that are not written, and what is told of the whole alone, take no memory
            extra = {name: each for name, each in ranking.extra.items() if name != "tied"}
            ranking = replace(ranking, extra=extra)
            if run.config.top is not None:
                ranking = ranking.reordered(np.arange(len(ranking))[: run.config.top])
            within[part.name] = ranking
        # what is aggregated: a scorer may hold a graph
        kept = {n: scored.solution.extra[n] for n in TESTED if on_scales(run.config)}
        solutions.append(replace(scored.solution, scorer=None, class_means=None, extra=kept))
    how = DEFAULT_AGGREGATION
    names = [part.name for part in cohort.parts]
    solution, ranks = aggregate_solutions(how, solutions, names)
    if tested := on_scales(run.config):
        how, solution = "fisher", _tested(solution, solutions)
    (column,) = cohort.columns["batch"]
    found = {"column": column.name, "how": how, "ranked": ranked, "left_out": cohort.left_out}
    if len(ranked) <= MOST_COMPARED:
        found["kendall_tau"] = agreement(ranks).kendall
    return Scored(
        solution,
        scored.graph if tested else {},
        facts={"batches": found},
        within=within,
    )


def tell_explained(run: Run, found: RankResult) -> None:
    """Find how much of the best features the batches explain."""
    bare = run.matrix.adjusted(None)
    explained = explained_by(run.cohort.between, run, found.ranking, bare)
    found.facts["batches"]["explained"] = explained
    run.log.note(
        f"the batches explain {words(explained)} ({explained['by_chance']:.1%} by chance); "
        "rankings within batches exclude these differences"
    )


def _best(ranking: Ranking) -> dict[str, Any]:
    """Return what the record and the page say of the ranking within a batch."""
    facts: dict[str, Any] = {"best": ranking.feature[: min(BEST, ranking.n_scored)]}
    if (q := ranking.extra.get("q_value")) is not None:
        facts["significant"] = int(np.count_nonzero(np.asarray(q) <= SIGNIFICANT))
    return facts


def add_table(run: Run, found: RankResult) -> None:
    """Add the table of the rankings within batches, and say what they find.

    A column that some of them have, as of a class that others lack, is empty in the others.
    """
    facts, rankings = found.facts["batches"], found.batches
    if counts := {b["name"]: b["significant"] for b in facts["ranked"] if "significant" in b}:
        told = ", ".join(f"{name} {count:,}" for name, count in counts.items())
        run.log.note(f"q-value of {SIGNIFICANT:g} or less within batches ({TABLE}): {told}")
        read, combined = found.facts["input"], "q_value" in found.ranking.extra  # whose test warns
        if read.get("donors") and not combined and (doubt := about_donors(read)):
            tell(run, doubt.guard, doubt.text)
    rows = np.zeros(max(map(len, rankings.values())), np.int32)
    empty: dict[str, np.ndarray | Picked] = {
        name: Picked([""], rows) if isinstance(column, Picked) else np.full(len(rows), np.nan)
        for each in rankings.values()
        for name, column in each.extra.items()
    }
    tell_difference(run, found, empty)
    for batch, ranking in rankings.items():
        extra = {name: ranking.extra.get(name, none) for name, none in empty.items()}
        rankings[batch] = replace(ranking, extra=extra)
    found.files[TABLE] = partial(_write, rankings)


def _write(rankings: dict[str, Ranking], path: Path) -> None:
    from sfs_cli.io.results.writers import write_rankings

    write_rankings(header(TABLE)[0], rankings, path)


def section(facts: dict[str, Any], method: Method) -> Section:
    """Return what the page says of batches, and how to read what is aggregated."""
    meaning = OF_BATCHES[facts["how"]].meaning
    return Section(
        heading="Batches",
        pairs=pairs(facts["explained"]),
        tables=_tables(facts),
        how=f"The features were ranked by {method.title} within each batch. {meaning}",
        files=[(TABLE, "the ranking within each batch")] * ("best" in facts["ranked"][0]),
    )


def _tables(facts: dict[str, Any]) -> list[Table]:
    """Return the tables of the batches, and of how far their rankings agree."""
    ranked = facts["ranked"]
    columns, note = [facts["column"], "samples", "use"], ""
    if tested := "significant" in ranked[0]:
        columns.append("significant")
        note = f" Significant: features with a q-value of {SIGNIFICANT:g} or less within the batch."
    if listing := "best" in ranked[0]:
        columns.append("best")
    rows: list[tuple[object, ...]] = [
        (b["name"], b["samples"], "ranked")
        + (b.get("significant"),) * tested
        + (listed(b.get("best", ()), BEST),) * listing
        for b in ranked
    ]
    rows += [
        (name, None, f"left out: {why}", *(None,) * (len(columns) - 3))
        for name, why in facts["left_out"].items()
    ]
    how = f"The rankings within batches were aggregated: {OF_BATCHES[facts['how']].title}."
    tables = [Table(heading="Batches", columns=columns, rows=rows, note=how + note)]
    if "kendall_tau" in facts:
        tables.append(agreement_table([b["name"] for b in ranked], facts["kendall_tau"]))
    return tables


def _tested(solution: Solution, batches: list[Solution]) -> Solution:
    """Return an aggregate with the p-values of the batches combined.

    The effect is the largest one in any of them.
    """
    p, effect = (np.array([each.extra[c] for each in batches]) for c in TESTED)
    columns, facts = tested_columns(fisher(p), np.fmax.reduce(effect), None)
    extra, score = columns | solution.extra, minus_log10(columns["p_value"])
    facts |= solution.facts
    return replace(solution, score=score, larger_is_better=True, extra=extra, facts=facts)
