"""The work of ``--batch``: the same method on the samples of each batch, and one list of all lists.

A batch is ranked as a matrix of its samples alone would be: filters, missing values, totals, sample
graph and method see no other sample. What is asked about the aggregated ranking (pruning, warnings)
is asked about all samples, without the means of the batches.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from sfs_cli.catalog import Method
from sfs_cli.methods.base import Solution
from sfs_cli.methods.significance.tested import tested_columns
from sfs_cli.parts.explained import explained_by, pairs, words
from sfs_cli.ranking.aggregations import OF_BATCHES
from sfs_cli.ranking.agreement import agreement
from sfs_cli.ranking.combine import fisher, minus_log10
from sfs_cli.report.model import Section, Table, agreement_table
from sfs_cli.run.fused_rank import DEFAULT_AGGREGATION, aggregate_solutions
from sfs_cli.run.load import Run
from sfs_cli.run.part import run_on
from sfs_cli.run.scoring import RankResult, Scored

MOST_COMPARED = 20
"""Largest number of batches whose rankings are compared in pairs."""


def rank_within(run: Run, rank: Callable[[Run], Scored]) -> Scored:
    """Score every feature in each batch, and aggregate the rankings.

    `rank` ranks the samples of one. Of the facts, `left_out` are the batches that were not ranked,
    with the reason; `kendall_tau` tells how far the rankings agree, where they are few. Raises
    InputError, which names the batch, when one has no graph or no score at all.
    """
    cohort, solutions, ranked = run.cohort, [], []
    for part in cohort.parts:
        of_part = run_on(run, part.samples, part.labels, part.design)
        of_part = of_part.of(f" within {part.title}")
        with part.located(run.log):
            of_part.fit()
            scored = rank(of_part)
        solutions.append(replace(scored.solution, scorer=None))  # which may hold a graph
        facts: dict[str, Any] = {"name": part.name, "samples": len(part.samples)}
        if part.labels is not None:
            facts["classes"] = part.labels.counts()
        ranked.append(facts | {"graph": scored.graph, "method": scored.solution.facts})
    how = DEFAULT_AGGREGATION
    names = [part.name for part in cohort.parts]
    solution, ranks = aggregate_solutions(how, solutions, names)
    if tested := run.config.pvalues is not None:
        how, solution = "fisher", _tested(solution, solutions)
    (column,) = cohort.columns["batch"]
    found = {"column": column.name, "how": how, "ranked": ranked, "left_out": cohort.left_out}
    if len(ranked) <= MOST_COMPARED:
        found["kendall_tau"] = agreement(ranks).kendall
    return Scored(solution, scored.graph if tested else {}, facts={"batches": found})


def tell_explained(run: Run, found: RankResult) -> None:
    """Find how much of the best features the batches explain."""
    bare = run.matrix.adjusted(None)
    explained = explained_by(run.cohort.between, run, found.ranking, bare)
    found.facts["batches"]["explained"] = explained
    run.log.note(
        f"the batches explain {words(explained)} ({explained['by_chance']:.1%} by chance); "
        "rankings within batches exclude these differences"
    )


def section(facts: dict[str, Any], method: Method) -> Section:
    """Return what the page says of batches, and how to read what is aggregated."""
    meaning = OF_BATCHES[facts["how"]].meaning
    return Section(
        heading="Batches",
        pairs=pairs(facts["explained"]),
        tables=_tables(facts),
        how=f"The features were ranked by {method.title} within each batch. {meaning}",
    )


def _tables(facts: dict[str, Any]) -> list[Table]:
    """Return the tables of the batches, and of how far their rankings agree."""
    ranked = facts["ranked"]
    rows: list[tuple[object, ...]] = [(b["name"], b["samples"], "ranked") for b in ranked]
    rows += [(name, None, f"left out: {why}") for name, why in facts["left_out"].items()]
    tables = [
        Table(
            heading="Batches",
            columns=(facts["column"], "samples", "use"),
            rows=rows,
            note=f"The rankings within batches were aggregated: {OF_BATCHES[facts['how']].title}.",
        )
    ]
    if "kendall_tau" in facts:
        tables.append(agreement_table([b["name"] for b in ranked], facts["kendall_tau"]))
    return tables


def _tested(solution: Solution, batches: list[Solution]) -> Solution:
    """Return an aggregate with the p-values of the batches combined.

    The effect is the largest one in any of them.
    """
    p, effect = (np.array([each.extra[c] for each in batches]) for c in ("p_value", "effect"))
    columns, facts = tested_columns(fisher(p), np.fmax.reduce(effect), None)
    extra, score = columns | solution.extra, minus_log10(columns["p_value"])
    facts |= solution.facts
    return replace(solution, score=score, larger_is_better=True, extra=extra, facts=facts)
