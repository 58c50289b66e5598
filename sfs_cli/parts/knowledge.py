"""Rankings on knowledge sources, and what the page says of these or of members of an aggregate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfs_cli.errors import listed
from sfs_cli.options.source import WEIGHTINGS
from sfs_cli.ranking.aggregations import AGGREGATIONS
from sfs_cli.report.model import Section, Table, agreement_table, as_pairs
from sfs_cli.run.fused_rank import rank_on_each_source, rank_on_sources
from sfs_cli.run.load import Run
from sfs_cli.run.scoring import Scored

MUCH, LITTLE = 0.3, 0.1
"""A source dominates if `MUCH` of the top changes without it, and `LITTLE` without any other."""
ALL_STAYS, SAME = 0.95, 0.5
"""A source adds nothing if so much of the top stays without it; the others say the same if so much
of it, beyond chance, is at the top on the source alone, too."""

Facts = Mapping[str, Any]
"""The part ``knowledge`` of run.json."""


def rank_by_knowledge(run: Run) -> Scored:
    """Rank on the fused sources, or aggregate the rankings on each."""
    return rank_on_each_source(run) if run.config.method == "kogs" else rank_on_sources(run)


def section(known: Facts) -> Section:
    """Return what the page says of sources, or of the members of an aggregate, by the facts."""
    return Section(
        heading="Combination",
        pairs=as_pairs(_combination(known)),
        tables=_tables(known),
        sentences=[*filter(None, [changes(known)]), *without_effect(known)],
    )


def _combination(facts: Facts) -> dict[str, Any]:
    """Return how sources, or rankings, were combined."""
    fusion = facts.get("fusion")
    if not fusion:
        how = facts.get("aggregation", {}).get("how")
        return {} if how is None else {"aggregated_by": AGGREGATIONS[how].title}
    entry = WEIGHTINGS[fusion["weights"]]
    simple = {k: v for k, v in fusion.items() if isinstance(v, str | int | float | bool)}
    return simple | {"weights": entry.title, "reference": entry.reference or None}


def changes(facts: Facts) -> str:
    """Say how much of the top changes without each source, and which dominates."""
    rows = [row for row in facts.get("leave_one_out", []) if row["overlap"] is not None]
    if len(rows) < 2:
        return ""
    kind = _kind(facts)
    (most, name), (next_most, _), *_ = changed = sorted(
        ((1 - row["overlap"], row["without"]) for row in rows), reverse=True
    )
    shares = listed([f"{share:.0%} without {name}" for share, name in changed], 4)
    text = f"The top {rows[0]['first']} changes by {shares}."
    if most < LITTLE:
        return f"No {kind} dominates. {text}"
    if most >= MUCH and next_most <= LITTLE:
        return f"The {kind} {name} dominates. {text}"
    return text


def without_effect(facts: Facts) -> list[str]:
    """Say without which sources the top stays, whether these repeat others, and what to do."""
    noise: list[str] = []
    same: list[str] = []
    kind = _kind(facts)
    for row in facts.get("leave_one_out", []):
        alone, chance = row.get("overlap_alone"), row.get("by_chance")
        if alone is not None and (row["overlap"] or 0.0) >= ALL_STAYS:
            (same if alone - chance >= SAME * (1 - chance) else noise).append(row["without"])
    sentences = [
        f"The {kind} {name} adds nothing: without it the top stays, and on it alone it is another. "
        "It is noise here, or outweighed: leave it out, or raise its weight (--weights)."
        for name in noise
    ]
    if len(same) == 1:
        sentences.append(f"The {kind} {same[0]} repeats the others: leave it out.")
    elif same:
        names = f"{kind}s {listed(same, len(same))}"
        sentences.append(f"Each of the {names} repeats the others: leave one of them out.")
    return sentences


def _tables(facts: Facts) -> list[Table]:
    """Return tables of sources or members, of their agreement, and of what each changed."""
    tables = []
    if "sources" in facts:
        tables.append(_sources(facts))
    if "members" in facts:
        rows = [(member["name"], member["weight"]) for member in facts["members"]]
        tables.append(Table(heading="Aggregated rankings", columns=("method", "weight"), rows=rows))
    if agreed := facts.get("aggregation"):
        tables.append(agreement_table(agreed["names"], agreed["kendall_tau"]))
    if "leave_one_out" in facts:
        tables.append(_left_out(facts))
    return tables


def _kind(facts: Facts) -> str:
    """Return whether methods or sources were combined."""
    return "method" if "members" in facts else "source"


def _sources(facts: Facts) -> Table:
    rows: list[list[object]] = []
    for source in facts["sources"]:
        found, similarity = "", source["similarity"]
        if "genes" in source:
            found = f"{source['genes_found']:,} of {source['genes']:,}"
        if "distance" in source:
            similarity += f" of {source['distance']} distances"
        counts = source["samples"], source.get("features"), found
        rows.append([source["name"], source["kind"], source["weight"], similarity, *counts])
    note = "Each became a similarity of the samples, on a common scale."
    if facts.get("fusion", {}).get("weights") != "snf":
        note += " The weights are those of the sum."
    names = ["source", "kind", "weight", "similarity", "samples", "features", "genes found"]
    if not any(row[-1] for row in rows):
        names, rows = names[:-1], [row[:-1] for row in rows]
    return Table(heading="Knowledge sources", columns=names, rows=rows, note=note, digits=4)


def _left_out(facts: Facts) -> Table:
    rows, kind = facts["leave_one_out"], _kind(facts)
    how = f"The ranking was repeated without each {kind} in turn, with new weights."
    if "aggregation" in facts:
        how = f"The rankings were aggregated again without each {kind} in turn."
    top = f"top {rows[0]['first']}"
    return Table(
        heading=f"What each {kind} changed",
        columns=("without", "rank correlation", f"{top} kept", "same on it alone"),
        rows=[
            (row["without"], row["rank_correlation"], row["overlap"], row.get("overlap_alone"))
            for row in rows
        ],
        note=f"{how} If the rank correlation and the share of the {top} that is "
        f"kept are near 1, the {kind} changed little. The last column is the share of the {top} "
        f"that the {kind} alone ranks so, too.",
        digits=3,
    )
