"""The contents of the report of `sfs rank`, made from the facts of a run.

Nothing in it depends on the machine, the time or the number of threads, so that equal rankings have
equal pages.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sfs_cli.catalog import METHODS
from sfs_cli.options import RankConfig
from sfs_cli.options.weightings import WEIGHTINGS
from sfs_cli.provenance import versions
from sfs_cli.ranking.aggregations import AGGREGATIONS
from sfs_cli.ranking.elbow import elbow
from sfs_cli.ranking.table import Ranking
from sfs_cli.report.model import ReportData, Table
from sfs_cli.run.rank import RankResult

TOP = 50
"""Number of features in the table of the best."""

Pairs = list[tuple[str, str]]


def report_data(config: RankConfig, result: RankResult) -> ReportData:
    """Return the contents of the report of a run."""
    knowledge = result.facts["knowledge"]
    sections = [
        ("Input", _input_pairs(result)),
        ("Sample graph", _pairs(result.facts["graph"])),
        ("Combination of the sources", _pairs(_combination(knowledge))),
        ("Method", _pairs(result.facts["method"])),
    ]
    return ReportData(
        **of_ranking(result.ranking),
        title=Path(config.matrix).name,
        method=_title(result),
        how=_how(result),
        eigenvalues=result.eigenvalues,
        clusters=result.facts["method"].get("clusters"),
        tables=_knowledge_tables(knowledge),
        facts=[(title, pairs) for title, pairs in sections if pairs],
        warnings=result.warnings,
        command=shlex.join([*config.command(), "--out", "results"]),
        reference=result.method.reference,
        downloads=[
            (f"ranking.{config.format}", "the ranking of all features"),
            ("run.json", "options, inputs, versions and digests of this run"),
        ],
    )


def of_ranking(ranking: Ranking) -> dict[str, Any]:
    """Return the fields of `ReportData` that follow from a ranking."""
    scores = ranking.score[: ranking.n_scored]
    columns = ranking.columns(0, min(TOP, ranking.n_scored))
    return {
        "larger_is_better": ranking.larger_is_better,
        "scores": scores,
        "n_features": len(ranking),
        "n_unscored": len(ranking) - ranking.n_scored,
        "reasons": ranking.unscored(),
        "elbow": elbow(scores),
        "top": [dict(zip(columns, row)) for row in zip(*columns.values())],
        "version": versions()["sfs"],
    }


def _title(result: RankResult) -> str:
    facts = result.facts["method"]
    title, ranking = result.method.title, facts.get("ranking")
    if "then" in facts:
        then = METHODS[facts["then"]].title
        return f"{title} ({then} {ranking})" if ranking else f"{title} ({then})"
    return f"{title} {ranking}" if ranking else title


def _how(result: RankResult) -> str:
    """Return how to read the scores, with those of the method or aggregation behind them."""
    facts = result.facts["method"]
    if "how" in facts or "members" in facts:
        return f"{result.method.how(facts)} {AGGREGATIONS[facts['how']].meaning}"
    if "then" in facts:
        return f"{result.method.how({})} {METHODS[facts['then']].how(facts)}"
    return result.method.how(facts)


def _input_pairs(result: RankResult) -> Pairs:
    facts = result.facts["input"]
    used, there = facts["n_samples"], facts["n_samples_in_file"]
    pairs = [
        ("Format", f"{facts['format']}, rows are {facts['rows']}"),
        ("Samples", f"{used:,}" if used == there else f"{used:,} of {there:,}"),
        ("Features", f"{facts['n_features']:,}"),
        ("Values", f"{'sparse' if facts['sparse'] else 'dense'}, {facts['dtype']}"),
    ]
    if facts["missing_values"]:
        count, features = facts["missing_values"], facts["features_with_missing_values"]
        pairs.append(("Missing values", f"{count:,} in {features:,} features"))
    if facts["transform"]:
        pairs.append(("Transformation", ", ".join(facts["transform"])))
    labels = result.facts["labels"]
    if labels.get("used"):
        counts = ", ".join(f"{name} ({count})" for name, count in labels["classes"].items())
        pairs.append(("Classes", counts))
    return pairs


def _pairs(facts: dict[str, Any]) -> Pairs:
    return [
        (name.replace("_", " ").capitalize(), _text(value))
        for name, value in facts.items()
        if value is not None
    ]


def _text(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def _combination(knowledge: dict[str, Any]) -> dict[str, Any]:
    """Return how the knowledge sources were combined, as facts of a section."""
    fusion = knowledge.get("fusion", {})
    if not fusion:
        how = knowledge.get("aggregation", {}).get("how")
        return {} if how is None else {"aggregated_by": AGGREGATIONS[how].title}
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


def _knowledge_tables(knowledge: dict[str, Any]) -> list[Table]:
    """Return the tables of sources (or members), of their agreement, and of what each changed."""
    tables = []
    if "sources" in knowledge:
        fused = knowledge.get("fusion", {}).get("weights") == "snf"
        tables.append(
            Table(
                heading="Knowledge sources",
                note="Each became a similarity of the samples, on a common scale."
                + ("" if fused else " The weights are those of the sum."),
                columns=(
                    "source",
                    "kind",
                    "weight",
                    "similarity",
                    "samples",
                    "features",
                    "genes found",
                ),
                rows=[_source_row(source) for source in knowledge["sources"]],
                digits=4,
            )
        )
    if "members" in knowledge:
        tables.append(
            Table(
                heading="Aggregated rankings",
                columns=("method", "weight"),
                rows=[(member["name"], member["weight"]) for member in knowledge["members"]],
            )
        )
    if "aggregation" in knowledge:
        names = knowledge["aggregation"]["names"]
        taus = knowledge["aggregation"]["kendall_tau"]
        tables.append(
            Table(
                heading="Agreement of the rankings",
                note="Kendall's tau-b: 1 for the same order, 0 for no relation, -1 for the "
                "reverse order.",
                columns=("ranking", *names),
                rows=[(name, *row) for name, row in zip(names, taus)],
                digits=3,
                shade=1.0,
            )
        )
    if "leave_one_out" in knowledge:
        tables.append(
            Table(
                heading="Effect of each source",
                note="The ranking was repeated without each source in turn, with new weights. If "
                "the rank correlation and the share of the top 100 that is kept are near 1, the "
                "source changed little.",
                columns=("without", "rank correlation", "top 100 kept"),
                rows=[
                    (row["without"], row["rank_correlation"], row["overlap"])
                    for row in knowledge["leave_one_out"]
                ],
                digits=3,
            )
        )
    return tables


def _source_row(source: dict[str, Any]) -> Sequence[object]:
    found = f"{source['genes_found']:,} of {source['genes']:,}" if "genes" in source else ""
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
