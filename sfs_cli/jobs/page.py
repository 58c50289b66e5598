"""What the report says of a ranking run."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

from sfs_cli.config import RankConfig
from sfs_cli.jobs.knowledge_page import knowledge_tables, weighing
from sfs_cli.jobs.rank import RankResult
from sfs_cli.methods.catalog import METHODS
from sfs_cli.provenance import versions
from sfs_cli.ranking.elbow import elbow
from sfs_cli.ranking.hows import HOWS
from sfs_cli.report.model import ReportData

TOP = 50

Pairs = list[tuple[str, str]]


def report_data(config: RankConfig, result: RankResult) -> ReportData:
    """Return the content of the report.

    Nothing in it depends on the machine, the time or the number of threads, so that the page has
    the same bytes whenever the ranking has.
    """
    ranking = result.ranking
    scores = ranking.score[: ranking.n_scored]
    columns = ranking.columns(0, TOP)
    rows = [dict(zip(columns, row)) for row in zip(*columns.values())]
    return ReportData(
        title=Path(config.matrix).name,
        method=_title(result),
        how=_how(result),
        larger_is_better=ranking.larger_is_better,
        scores=scores,
        n_features=len(ranking),
        n_unscored=len(ranking) - ranking.n_scored,
        reasons=ranking.unscored(),
        elbow=elbow(scores),
        eigenvalues=result.eigenvalues,
        clusters=result.facts["method"].get("clusters"),
        top=rows[: ranking.n_scored],
        tables=knowledge_tables(result.facts["knowledge"]),
        facts=_facts(result),
        warnings=result.warnings,
        command=shlex.join([*config.command(), "--out", "results"]),
        version=versions()["sfs"],
        reference=result.method.reference,
        downloads=[
            (f"ranking.{config.format}", "the ranking of all features"),
            ("run.json", "options, inputs, versions and digests of this run"),
        ],
    )


def _title(result: RankResult) -> str:
    facts = result.facts["method"]
    title, ranking = result.method.title, facts.get("ranking")
    if "then" in facts:
        then = METHODS[facts["then"]].title
        return f"{title} ({then} {ranking})" if ranking else f"{title} ({then})"
    return f"{title} {ranking}" if ranking else title


def _how(result: RankResult) -> str:
    """Return how to read the scores: of what scores on the sources, too."""
    facts = result.facts["method"]
    if "how" in facts or "members" in facts:
        return f"{result.method.how(facts)} {HOWS[facts['how']].meaning}"
    if "then" in facts:
        return f"{result.method.how({})} {METHODS[facts['then']].how(facts)}"
    return result.method.how(facts)


def _facts(result: RankResult) -> list[tuple[str, Pairs]]:
    sections = [
        ("What was read", _input_pairs(result)),
        ("The sample graph", _pairs(result.facts["graph"])),
        ("How the sources were put together", _pairs(weighing(result.facts["knowledge"]))),
        ("The method", _pairs(result.facts["method"])),
    ]
    return [(title, pairs) for title, pairs in sections if pairs]


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
        pairs.append(("Transformed by", ", ".join(facts["transform"])))
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
