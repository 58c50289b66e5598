"""Ranking within batches: the same method on the samples of each batch, and one list of all lists.

A batch is ranked as a matrix of its samples alone would be: filters, missing values, totals, sample
graph and method see no other sample. What is asked about the aggregated ranking (pruning, warnings)
is asked about all samples, without the means of the batches.
"""

from __future__ import annotations

from typing import Any

from sfs_cli.provenance import BatchFacts
from sfs_cli.ranking.agreement import agreement
from sfs_cli.run.batches import Batch, Batches, located_in
from sfs_cli.run.fused_rank import DEFAULT_AGGREGATION, aggregate_solutions
from sfs_cli.run.load import Run
from sfs_cli.run.part import run_on
from sfs_cli.run.passes import within_batch
from sfs_cli.run.scoring import Scored, make_graph, score_on

MOST_COMPARED = 20
"""Largest number of batches whose rankings are compared in pairs."""


def rank_in_batches(run: Run, batches: Batches) -> Scored:
    """Score every feature in each batch, and aggregate the rankings.

    Raises InputError, which names the batch, when one has no graph or no score at all.
    """
    solutions, ranked = [], []
    for batch in batches.ranked:
        part = _within(run, batch).of(within_batch(batch.name))
        with located_in(batch.name), run.log.about(f"batch {batch.name}"):
            part.fit_matrix()
            scored = score_on(part, make_graph(part))
        solutions.append(scored.solution)
        facts: dict[str, Any] = {"name": batch.name, "samples": len(batch.samples)}
        if batch.labels is not None:
            facts["classes"] = batch.labels.counts()
        ranked.append(facts | {"graph": scored.graph, "method": scored.solution.facts})
    how = run.config.how or DEFAULT_AGGREGATION
    solution, ranks = aggregate_solutions(how, solutions, [batch.name for batch in batches.ranked])
    found = BatchFacts(
        column=batches.column,
        how=how,
        ranked=ranked,
        left_out=batches.left_out,
    )
    if len(ranked) <= MOST_COMPARED:
        found["kendall_tau"] = agreement(ranks).kendall
    return Scored(solution, batches=found)


def _within(run: Run, batch: Batch) -> Run:
    """Return the run of one batch."""
    if batch.design is None:
        return run_on(run, batch.samples, batch.labels)
    basis = batch.design.basis
    return run_on(run, batch.samples, batch.labels, batch.design.adjustment, len(basis))
