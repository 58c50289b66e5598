"""What the page says of knowledge sources, or of the members of an aggregate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfs_cli.options.weightings import WEIGHTINGS
from sfs_cli.ranking.aggregations import AGGREGATIONS
from sfs_cli.report.model import Table, agreement_table

MUCH, LITTLE = 0.3, 0.1
"""A source dominates if `MUCH` of the top changes without it, and `LITTLE` without any other."""

Facts = Mapping[str, Any]
"""The part ``knowledge`` of run.json."""


def combination(facts: Facts) -> dict[str, Any]:
    """Return how sources, or rankings, were combined."""
    fusion = facts.get("fusion")
    if not fusion:
        how = facts.get("aggregation", {}).get("how")
        return {} if how is None else {"aggregated_by": AGGREGATIONS[how].title}
    entry = WEIGHTINGS[fusion["weights"]]
    simple = {k: v for k, v in fusion.items() if isinstance(v, str | int | float | bool)}
    return simple | {"weights": entry.title, "reference": entry.reference or None}


def changes(facts: Facts) -> str:
    """Say in a sentence or two how much of the top each source changes."""
    rows = [row for row in facts.get("leave_one_out", []) if row["overlap"] is not None]
    if len(rows) < 2:
        return ""
    changed = sorted(((1 - row["overlap"], row["without"]) for row in rows), reverse=True)
    (most, name), (next_most, second), *others = changed
    kind, top = _kind(facts), f"the top {rows[0]['first']}"
    if most < LITTLE:
        return f"No {kind} dominates: without any one of them at most {most:.0%} of {top} changes."
    if most >= MUCH and next_most <= LITTLE:
        return (
            f"The {kind} {name} dominates: without it {most:.0%} of {top} changes, "
            f"without any other {kind} at most {next_most:.0%}."
        )
    rest = f", without {kind} {second} {next_most:.0%}"
    if others:
        rest += f", without any other {kind} at most {others[0][0]:.0%}"
    return f"Without {kind} {name} {most:.0%} of {top} changes{rest}."


def tables(facts: Facts) -> list[Table]:
    """Return tables of sources or members, of their agreement, and of what each changed."""
    makers = {
        "sources": _sources,
        "members": _members,
        "aggregation": _agreement,
        "leave_one_out": _left_out,
    }
    return [make(facts) for name, make in makers.items() if name in facts]


def _kind(facts: Facts) -> str:
    """Return whether methods or sources were combined."""
    return "method" if "members" in facts else "source"


def _sources(facts: Facts) -> Table:
    rows = []
    for source in facts["sources"]:
        found, similarity = "", source["similarity"]
        if "genes" in source:
            found = f"{source['genes_found']:,} of {source['genes']:,}"
        if "distance" in source:
            similarity += f" of {source['distance']} distances"
        counts = source["samples"], source.get("features"), found
        rows.append((source["name"], source["kind"], source["weight"], similarity, *counts))
    note = "Each became a similarity of the samples, on a common scale."
    if facts.get("fusion", {}).get("weights") != "snf":
        note += " The weights are those of the sum."
    names = "source", "kind", "weight", "similarity", "samples", "features", "genes found"
    return Table(heading="Knowledge sources", columns=names, rows=rows, note=note, digits=4)


def _members(facts: Facts) -> Table:
    rows = [(member["name"], member["weight"]) for member in facts["members"]]
    return Table(heading="Aggregated rankings", columns=("method", "weight"), rows=rows)


def _agreement(facts: Facts) -> Table:
    return agreement_table(facts["aggregation"]["names"], facts["aggregation"]["kendall_tau"])


def _left_out(facts: Facts) -> Table:
    rows, kind = facts["leave_one_out"], _kind(facts)
    how = f"The ranking was repeated without each {kind} in turn, with new weights."
    if "aggregation" in facts:
        how = f"The rankings were aggregated again without each {kind} in turn."
    top = f"top {rows[0]['first']}"
    return Table(
        heading=f"What each {kind} changed",
        columns=("without", "rank correlation", f"{top} kept"),
        rows=[(row["without"], row["rank_correlation"], row["overlap"]) for row in rows],
        note=f"{changes(facts)} {how} If the rank correlation and the share of the {top} that is "
        f"kept are near 1, the {kind} changed little.",
        digits=3,
    )
