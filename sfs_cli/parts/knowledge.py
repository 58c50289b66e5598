"""Rankings on knowledge sources: on all of them together, or on each."""

from __future__ import annotations

from typing import Any

from sfs_cli.parts.knowledge_page import changes, combination, tables, without_effect
from sfs_cli.report.model import Section, as_pairs
from sfs_cli.run.fused_rank import rank_on_each_source, rank_on_sources
from sfs_cli.run.load import Run
from sfs_cli.run.scoring import Scored


def rank_by_knowledge(run: Run) -> Scored:
    """Rank on the fused sources, or aggregate the rankings on each."""
    return rank_on_each_source(run) if run.config.method == "kogs" else rank_on_sources(run)


def section(known: dict[str, Any]) -> Section:
    """Return what the page says of sources, or of the members of an aggregate, by the facts."""
    return Section(
        heading="Combination",
        pairs=as_pairs(combination(known)),
        tables=tables(known),
        sentences=[*filter(None, [changes(known)]), *without_effect(known)],
    )
