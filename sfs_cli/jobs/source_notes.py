"""What a user is told of what became of a source."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfs_cli.sources.base import Source

_LEFT_OUT = {
    "self_loops": ("self-loop", "self-loops"),
    "repeated_edges": ("repeated edge", "repeated edges"),
    "below_min_score": ("edge below min-score", "edges below min-score"),
    "without_score": ("edge without a score", "edges without a score"),
    "without_symbol": ("edge without a symbol", "edges without a symbol"),
    "negated_annotations": ("negated annotation", "negated annotations"),
    "other_evidence": ("annotation of other evidence", "annotations of other evidence"),
    "terms_without_genes": ("term without genes", "terms without genes"),
}
"""What readers leave out of a file: one, and several."""


def what_became(source: Source, facts: Mapping[str, Any], n: int) -> str:
    """Return what a source became, what was found of it and what did not count.

    Parameters
    ----------
    source : Source
        The source, opened.
    facts : mapping
        How its similarity was made.
    n : int
        Number of samples in use.
    """
    parts = [f"source {source.spec.name} ({source.spec.kind}): {facts['similarity']}"]
    if "features" in facts:
        parts.append(f" on {facts['features']:,} features")
    if "genes" in facts:
        parts.append(f", {facts['genes_found']:,} of {facts['genes']:,} genes found")
    used = facts["samples"]
    if used != n:
        parts.append(f", {used:,} of {n:,} samples")
    others = 0 if source.samples is None else len(source.samples) - used
    if others > 0:
        parts.append(f" ({others:,} other samples left out)")
    return "".join(parts) + _left_out(facts)


def _left_out(facts: Mapping[str, Any]) -> str:
    counts = [(facts.get(fact, 0), nouns) for fact, nouns in _LEFT_OUT.items()]
    shown = [f"{count:,} {nouns[count > 1]}" for count, nouns in counts if count]
    return f" (left out: {', '.join(shown)})" if shown else ""
