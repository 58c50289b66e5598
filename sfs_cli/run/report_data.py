"""The contents of the report of `sfs rank`, made from the facts of a run.

Nothing in it depends on the machine, the time or the number of threads, so that equal rankings have
equal pages.
"""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np

from sfs_cli.catalog import METHODS, Method
from sfs_cli.errors import counted, listed
from sfs_cli.features import FEATURES
from sfs_cli.features.step import Pairs, as_pairs
from sfs_cli.graph.groups import Groups
from sfs_cli.options import RankConfig
from sfs_cli.options.fields import flag
from sfs_cli.options.graph import LABELS_ALONE
from sfs_cli.options.weightings import WEIGHTINGS
from sfs_cli.provenance import (
    PageFacts,
    RunFacts,
    RunRecord,
    named,
    versions,
)
from sfs_cli.ranking.aggregations import AGGREGATIONS
from sfs_cli.ranking.elbow import elbow
from sfs_cli.ranking.table import Ranking
from sfs_cli.report.model import Evidence, Pictures, ReportData, Table, agreement_table
from sfs_cli.report.words import isolated
from sfs_cli.tables import CHANGES

TOP = 50
"""Number of features in the table of the best."""
ON_PAGE = ("title", "gene_links")
"""The options that change nothing but the page."""
FEW = 8
"""Classes or groups that a sentence lists."""
LEVEL, OFTEN = 0.05, 0.8
"""The q-value, and the part of resampled sample sets, that sentences speak of."""
MUCH, LITTLE = 0.3, 0.1
"""A source decides if so much of the top changes without it, and so little without any other."""


def page_facts(config: RankConfig) -> PageFacts:
    """Return what the report says of the command line of a ranking."""
    command = replace(config, title=None, gene_links=None).command()
    return PageFacts(matrix=Path(config.matrix).name, command=command)


def report_data(
    config: RankConfig,
    ranking: Ranking,
    facts: RunRecord,
    *,
    groups: Groups | None = None,
    pictures: Pictures | None = None,
) -> ReportData:
    """Return the contents of the report of a run.

    All that is known of the run is taken from what ``run.json`` has, as it has it, and from the
    numbers of the table. Of the configuration only the method, the names of the files, the title
    and the links are used.
    """
    method, knowledge = METHODS[config.ranker], facts["knowledge"]
    eigenvalues = facts["result"].get("eigenvalues")
    words = [word for n in config.given(*ON_PAGE) for word in (flag(n), getattr(config, n))]
    parts = [
        (each.name, each.step, found)
        for each in FEATURES
        if (found := each.found(cast(dict[str, Any], facts)))
    ]
    inputs = [pair for _, step, of in parts for pair in step.input(of)]
    sections = [
        ("Input", [*_input_pairs(facts), *inputs]),
        ("Sample graph", as_pairs(facts["graph"])),
        ("Combination of the sources", as_pairs(_combination(knowledge))),
        ("Method", as_pairs(facts["method"])),
        *((name.capitalize(), step.section(of)) for name, step, of in parts),
    ]
    reading = _reading(groups, facts["graph"], knowledge)
    change = next((facts["method"][name] for name in CHANGES if name in facts["method"]), "")
    return ReportData(
        **of_ranking(ranking, change.replace(" - ", " less "), facts["versions"]["sfs"]),
        sentences=[
            *(text for _, step, _ in parts for text in step.sentences(facts)),
            *_stability(ranking, dict(facts).get("stability")),
            *_enrichment(knowledge),
            *([changes] if (changes := _changes(knowledge)) else []),
        ],
        made_from=f"on {_samples(facts)}",
        reading=reading,
        groups=None if groups is None or groups.count < 2 else groups.count,
        gene_links=config.gene_links,
        pictures=pictures,
        results=_enrichment_tables(knowledge),
        n_left_out=sum(facts["input"]["left_out"].values()),
        title=config.title or facts["page"]["matrix"],
        method=_title(method, facts["method"]),
        how=next((text for _, step, of in parts if (text := step.how(of, method))), "")
        or _how(method, facts["method"]),
        eigenvalues=None if eigenvalues is None else np.array(eigenvalues, float),
        clusters=facts["method"].get("clusters"),
        tables=[
            *_knowledge_tables(knowledge),
            *(table for _, step, of in parts for table in step.tables(of)),
        ],
        facts=[(title, pairs) for title, pairs in sections if pairs],
        warnings=facts["warnings"],
        next_runs=[(each["command"], each["reason"]) for each in facts["next_runs"]],
        command=shlex.join([*facts["page"]["command"], *words, "--out", "results"]),
        reference=method.reference,
        downloads=[
            (named(config.prefix, name), what)
            for name, what in (
                (f"ranking.{config.format}", "the ranking of all features"),
                ("run.json", "options, inputs, versions and digests of this run"),
                *(file for _, step, _ in parts for file in step.downloads),
            )
        ],
    )


def of_ranking(ranking: Ranking, change: str = "", version: str | None = None) -> dict[str, Any]:
    """Return the fields of `ReportData` that follow from a ranking.

    `change` says which class less which changes are of; `version` is the one that ranked, by
    default this one.
    """
    scores = ranking.curve
    count = min(TOP, ranking.n_scored)
    columns = ranking.columns(0, count)
    compared = next((name for name in CHANGES if name in ranking.extra), "")
    del columns["status"]  # ok in every row: the best features have a score
    for name, column in columns.items():
        if name.startswith("rank_"):  # mean ranks of ties are halves
            columns[name] = [int(v) if float(v).is_integer() else v for v in column]  # type: ignore
    return {
        "larger_is_better": ranking.larger_is_better,
        "scores": scores,
        "n_features": len(ranking),
        "n_unscored": len(ranking) - ranking.n_scored,
        "reasons": ranking.unscored(),
        "elbow": elbow(scores),
        "top": [dict(zip(columns, row)) for row in zip(*columns.values())],
        "evidence": Evidence(
            p_values=_column(ranking, "p_value", ranking.n_scored),
            changes=_column(ranking, compared, ranking.n_scored),
            change=change,
            log2=compared == "log2_fold_change",
            frequency=_column(ranking, "frequency", count),
        ),
        "version": version or versions()["sfs"],
    }


def _column(ranking: Ranking, name: str, count: int) -> np.ndarray | None:
    """Return the first numbers of a column; None where there is none."""
    column = ranking.extra.get(name)
    return column[:count] if isinstance(column, np.ndarray) else None


def _samples(facts: RunFacts) -> str:
    """Return how many samples were used, and of which classes."""
    labels, words = facts["labels"], counted(facts["input"]["n_samples"], "sample")
    classes = labels.get("classes") or {}
    if not labels.get("used") or not 0 < len(classes) <= FEW:
        return words
    of = " of class" if any(name[:1].isdigit() for name in classes) else ""
    parts = [f"{count:,}{of} {isolated(name)}" for name, count in classes.items()]
    return f"{words} ({', '.join(parts)})"


def _stability(ranking: Ranking, found: Any) -> list[str]:
    """Say how many of the best features are selected again in most subsets of the samples.

    `found` are the facts of the subsets, which may hold a sentence of their own (``summary``).
    """
    if found and found.get("summary"):
        words = str(found["summary"]).rstrip(".")
        return [f"{words[:1].upper()}{words[1:]}."]
    frequency = _column(ranking, "frequency", min(TOP, ranking.n_scored))
    if frequency is None or not len(frequency):
        return []
    often = int(np.count_nonzero(frequency >= OFTEN))
    return [
        f"Of the first {len(frequency):,} features, {often:,} are selected again in at least "
        f"{OFTEN:.0%} of the resampled sample sets."
    ]


def _enrichment(knowledge: dict[str, Any]) -> list[str]:
    """Say which gene set is over-represented at the top."""
    tests = [(t["p_value"], t, e) for e in knowledge.get("enrichment", []) for t in e["best"]]
    known = [each for each in tests if each[1]["q_value"] <= LEVEL]
    if not known:
        return []
    _, best, tested = min(known, key=lambda each: each[0])
    return [
        f"Among the first {tested['first']:,} features are {best['among_first']:,} of the "
        f"{best['features']:,} features of {best['set']} ({best['expected']:.1f} by chance)."
    ]


def _enrichment_tables(knowledge: dict[str, Any]) -> list[Table]:
    """Return a table of the best gene sets of each source that has some."""
    tables = []
    columns = ("set", "features", "among the first", "by chance", "p-value", "q-value", "which")
    for tested in knowledge.get("enrichment", []):
        if not tested["best"]:
            continue
        rows = [
            (
                *(t["set"], t["features"], t["among_first"], t["expected"]),
                *(t["p_value"], t["q_value"], listed(t["members"], 8)),
            )
            for t in tested["best"]
        ]
        shown = f"The best {len(rows)} are shown. " if tested["tested"] > len(rows) else ""
        if not tested.get("given"):
            shown += (
                "The sets took part in the ranking as a source, so the test is no independent "
                "confirmation."
            )
        tables.append(
            Table(
                heading=f"Gene sets of {tested['source']} among the first {tested['first']:,}",
                columns=columns,
                rows=rows,
                note=f"Over-representation of {counted(tested['tested'], 'set')} among the first "
                f"{tested['first']:,} of {tested['ranked']:,} ranked features (hypergeometric "
                f"test; q-values of Benjamini and Hochberg). {shown}".rstrip(),
                digits=3,
            )
        )
    return tables


def _changes(knowledge: dict[str, Any]) -> str:
    """Say in a sentence or two how much of the top each source changes."""
    rows = [row for row in knowledge.get("leave_one_out", []) if row["overlap"] is not None]
    if len(rows) < 2:
        return ""
    changed = sorted(((1 - row["overlap"], row["without"]) for row in rows), reverse=True)
    (most, name), (next_most, second) = changed[:2]
    kind, top = _part(knowledge), f"the top {rows[0]['first']}"
    if most < LITTLE:
        return (
            f"No {kind} decides alone: without any one of them at most {most:.0%} of {top} changes."
        )
    if most >= MUCH and next_most <= LITTLE:
        return (
            f"The ranking is that of {kind} {name}: without it {most:.0%} of {top} changes, "
            f"without any other {kind} at most {next_most:.0%}."
        )
    rest = f", without {kind} {second} {next_most:.0%}"
    rest += f", without any other {kind} at most {changed[2][0]:.0%}" if len(changed) > 2 else ""
    return f"Without {kind} {name} {most:.0%} of {top} changes{rest}."


def _part(knowledge: dict[str, Any]) -> str:
    """Return what a ranking on knowledge is made of."""
    return "method" if "members" in knowledge else "source"


def _reading(groups: Groups | None, graph: dict[str, Any], knowledge: dict[str, Any]) -> str:
    """Say what the eigenvalues of the sample graph show."""
    if groups is None:
        return ""
    given = any(source["kind"] == "labels" for source in knowledge.get("sources", []))
    labels = " (classes are among the sources)" if given else ""
    if graph.get("similarity") in LABELS_ALONE:
        return "The graph is made of the labels, so its groups are theirs."
    if groups.count > 1:
        if len(set(groups.sizes)) == 1:
            sizes = f"{groups.sizes[0]:,} samples each"
        else:
            sizes = f"{listed([f'{size:,}' for size in groups.sizes], FEW)} samples"
        return f"The samples form {groups.count} groups, of {sizes}{labels}."
    if groups.gradual:
        directions = counted(groups.gradual, "direction")
        return (
            "The eigenvalues of the sample graph show no number of groups: "
            f"{directions} stand{'s' if groups.gradual == 1 else ''} out, but the samples change "
            f"gradually along {'it' if groups.gradual == 1 else 'them'}."
        )
    if groups.structured:
        return (
            "The samples have a structure, but no number of groups stands out: the eigenvalues "
            "rise without a gap."
        )
    return (
        "The eigenvalues of the sample graph show no number of groups: no gap between them stands "
        "out."
    )


def _title(method: Method, facts: dict[str, Any]) -> str:
    title, ranking = method.title, facts.get("ranking")
    if "then" in facts:
        then = METHODS[facts["then"]].title
        return f"{title} ({then} {ranking})" if ranking else f"{title} ({then})"
    return f"{title} {ranking}" if ranking else title


def _how(method: Method, facts: dict[str, Any]) -> str:
    """Return how to read the scores, with those of the method or aggregation behind them."""
    if "how" in facts:
        return f"{method.how(facts)} {AGGREGATIONS[facts['how']].meaning}"
    if "then" in facts:
        return f"{method.how({})} {METHODS[facts['then']].how(facts)}"
    return method.how(facts)


def _input_pairs(run: RunFacts) -> Pairs:
    facts, labels = run["input"], run["labels"]
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
    if facts["left_out"]:
        reasons = ", ".join(f"{count:,} {why}" for why, count in facts["left_out"].items())
        pairs.append(("Features left out", reasons))
    if "given" in facts:
        pairs.append(("Given features", f"{facts['given']:,}, already chosen"))
    if facts["transform"]:
        pairs.append(("Transformation", ", ".join(facts["transform"])))
    if labels.get("used") and "smallest" in labels:
        low, high = labels["smallest"], labels["largest"]
        pairs.append(("Outcome", f"{labels['from']}, from {low:.6g} to {high:.6g}"))
    elif labels.get("used"):
        counts = ", ".join(f"{name} ({count})" for name, count in labels["classes"].items())
        pairs.append(("Ordered classes" if labels["type"] == "ordered" else "Classes", counts))
    return pairs


def _combination(knowledge: dict[str, Any]) -> dict[str, Any]:
    """Return how the knowledge sources were combined, as facts of a section."""
    fusion = knowledge.get("fusion", {})
    if not fusion:
        how = knowledge.get("aggregation", {}).get("how")
        return {} if how is None else {"aggregated_by": AGGREGATIONS[how].title}
    entry = WEIGHTINGS[fusion["weights"]]
    simple = {k: v for k, v in fusion.items() if isinstance(v, str | int | float | bool)}
    return simple | {"weights": entry.title, "reference": entry.reference or None}


def _knowledge_tables(knowledge: dict[str, Any]) -> list[Table]:
    """Return the tables of sources (or members), of their agreement, and of what each changed."""
    tables = []
    if "sources" in knowledge:
        fused = knowledge.get("fusion", {}).get("weights") == "snf"
        note = "Each became a similarity of the samples, on a common scale."
        rows = []
        for source in knowledge["sources"]:
            found, similarity = "", source["similarity"]
            if "genes" in source:
                found = f"{source['genes_found']:,} of {source['genes']:,}"
            if "distance" in source:
                similarity = f"{similarity} of {source['distance']} distances"
            name, kind, weight = source["name"], source["kind"], source["weight"]
            counts = (source["samples"], source.get("features"), found)
            rows.append((name, kind, weight, similarity, *counts))
        tables.append(
            Table(
                heading="Knowledge sources",
                columns=(
                    *("source", "kind", "weight", "similarity"),
                    *("samples", "features", "genes found"),
                ),
                rows=rows,
                note=note if fused else f"{note} The weights are those of the sum.",
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
        made = knowledge["aggregation"]
        tables.append(agreement_table(made["names"], made["kendall_tau"]))
    if "leave_one_out" in knowledge:
        keys = ("without", "rank_correlation", "overlap")
        found, part = knowledge["leave_one_out"], _part(knowledge)
        how = f"The rankings were aggregated again without each {part} in turn."
        if "aggregation" not in knowledge:
            how = f"The ranking was repeated without each {part} in turn, with new weights."
        top = f"top {found[0]['first']}"
        tables.append(
            Table(
                heading=f"What each {part} changed",
                columns=("without", "rank correlation", f"{top} kept"),
                rows=[tuple(row[key] for key in keys) for row in found],
                note=f"{_changes(knowledge)} {how} If the rank correlation and the share of the "
                f"{top} that is kept are near 1, the {part} changed little.",
                digits=3,
            )
        )
    return tables
