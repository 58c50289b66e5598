"""What the report says of the knowledge sources of a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sfs_cli.fusion.catalog import WEIGHTINGS
from sfs_cli.ranking.hows import HOWS
from sfs_cli.report.model import Table

_LEFT_OUT_NOTE = (
    "The ranking was made again without each in turn, its weights included. A correlation of ranks "
    "near 1, and a share of the top 100 kept near 1, say that it changed little."
)


def knowledge_tables(knowledge: dict[str, Any]) -> list[Table]:
    """Return the tables on sources (or members), their agreement and what each changed.

    Parameters
    ----------
    knowledge : dict
        What ``run.json`` says of them; empty where there are none.
    """
    tables = []
    if "sources" in knowledge:
        tables.append(_sources(knowledge))
    if "members" in knowledge:
        tables.append(_members(knowledge["members"]))
    if "aggregation" in knowledge:
        tables.append(_agreement(knowledge["aggregation"]))
    if "leave_one_out" in knowledge:
        tables.append(_left_out(knowledge["leave_one_out"]))
    return tables


def weighing(knowledge: dict[str, Any]) -> dict[str, Any]:
    """Return how the sources were put together, as the facts of a section."""
    fusion = knowledge.get("fusion", {})
    if not fusion:
        how = knowledge.get("aggregation", {}).get("how")
        return {} if how is None else {"aggregated_by": HOWS[how].title}
    entry = WEIGHTINGS[fusion["weights"]]
    return (
        {"weights": entry.title}
        | {
            name: value
            for name, value in fusion.items()
            if name != "weights" and isinstance(value, str | int | float | bool)
        }
        | {"reference": entry.reference or None}
    )


def _sources(knowledge: dict[str, Any]) -> Table:
    rows = [_source(source) for source in knowledge["sources"]]
    fused = "fusion" in knowledge and knowledge["fusion"]["weights"] == "snf"
    return Table(
        heading="The knowledge sources",
        note="Each became a similarity between the samples, brought to one scale."
        + ("" if fused else " The weights say how much each counts."),
        columns=("source", "kind", "weight", "similarity", "samples", "features", "genes found"),
        rows=rows,
        digits=4,
    )


def _source(source: dict[str, Any]) -> Sequence[object]:
    found = ""
    if "genes" in source:
        found = f"{source['genes_found']:,} of {source['genes']:,}"
    distance = f" of {source['distance']} distances" if "distance" in source else ""
    return (
        source["name"],
        source["kind"],
        source["weight"],
        f"{source['similarity']}{distance}",
        source["samples"],
        source.get("features"),
        found,
    )


def _members(members: list[dict[str, Any]]) -> Table:
    return Table(
        heading="The rankings that were aggregated",
        columns=("method", "weight"),
        rows=[(member["name"], member["weight"]) for member in members],
    )


def _agreement(aggregation: dict[str, Any]) -> Table:
    names = aggregation["names"]
    rows = [(name, *row) for name, row in zip(names, aggregation["kendall_tau"])]
    return Table(
        heading="How far the rankings agree",
        note="Kendall's tau-b: 1 where two rankings agree, 0 where they have nothing in common, "
        "-1 where one is the other reversed.",
        columns=("ranking", *names),
        rows=rows,
        digits=3,
        shade=1.0,
    )


def _left_out(rows: list[dict[str, Any]]) -> Table:
    return Table(
        heading="What each source changed",
        note=_LEFT_OUT_NOTE,
        columns=("without", "rank correlation", "top 100 kept"),
        rows=[(row["without"], row["rank_correlation"], row["overlap"]) for row in rows],
        digits=3,
    )
