"""Rankings on knowledge sources: on all of them together, or on each."""

from __future__ import annotations

from typing import Any

from sfs_cli.features.knowledge.page import changes, combination, tables, without_effect
from sfs_cli.features.step import Pairs, Step, as_pairs
from sfs_cli.provenance import RunFacts
from sfs_cli.report.model import Table
from sfs_cli.run.fused_rank import rank_on_each_source, rank_on_sources
from sfs_cli.run.load import Run
from sfs_cli.run.scoring import Scored


class KnowledgeStep(Step):
    """Ranks on the sources together, or on each of them (`kogs`)."""

    heading = "Combination"

    def score(self, run: Run) -> Scored:
        """Return the ranking on the fused sources, or the aggregate of the rankings on each."""
        return rank_on_each_source(run) if run.config.method == "kogs" else rank_on_sources(run)

    @staticmethod
    def section(facts: dict[str, Any]) -> Pairs:
        """Return how the sources, or the rankings, were combined."""
        return as_pairs(combination(facts))

    @staticmethod
    def sentences(facts: RunFacts) -> list[str]:
        """Say how much of the top each source changes, and which add nothing."""
        known = facts["knowledge"]
        return [*filter(None, [changes(known)]), *without_effect(known)]

    @staticmethod
    def tables(facts: dict[str, Any]) -> list[Table]:
        """Return the tables of the sources, or of the members of an aggregate."""
        return tables(facts)


STEP = KnowledgeStep
