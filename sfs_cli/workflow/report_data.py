"""The contents of the report of `sfs rank`, made from the facts of a run.

Nothing in it depends on the machine, the time or the number of threads, so that equal rankings have
equal pages.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from sfs_cli.catalog import METHODS, Method
from sfs_cli.display import shown
from sfs_cli.errors import counted, counts_text, listed
from sfs_cli.graph.groups import Groups
from sfs_cli.io.files.table import is_id_name
from sfs_cli.options import RankConfig
from sfs_cli.options.grammar import command
from sfs_cli.options.graph import GRAPH_FIELDS, GRAPHS, LABELS_ALONE
from sfs_cli.provenance import NAME, RunFacts, RunRecord, versions
from sfs_cli.ranking.aggregations import AGGREGATIONS
from sfs_cli.ranking.table import Ranking
from sfs_cli.report.model import Evidence, Pairs, Pictures, ReportData, Section, as_pairs
from sfs_cli.report.stored import Column
from sfs_cli.report.words import isolated
from sfs_cli.tables import CHANGES, COEFFICIENTS, meaning_of

TOP = 50
"""Number of features in the table of the best."""
FEW = 8
"""Classes or groups that a sentence lists."""
NAMED = 3
"""Covariates or sources that the title names."""


def command_words(config: RankConfig, graph: Mapping[str, Any]) -> list[str]:
    """Return the command line that repeats a ranking; `graph` are the facts of its sample graph.

    Parameters of a sample graph that the data chose stand with its name.
    """
    if config.graph is None and config.given(*GRAPH_FIELDS):
        config = replace(config, similarity=graph.get("similarity"))
    return command(config) or ["sfs", config.VERB, "--config", NAME]


def report_data(
    config: RankConfig,
    facts: RunRecord,
    parts: Sequence[Section],
    ranking: Ranking,
    *,
    groups: Groups | None = None,
    pictures: Pictures | None = None,
) -> ReportData:
    """Return the contents of the report of a run.

    `facts` is what ``run.json`` has, `parts` are the sections of the optional parts, and `ranking`
    has the numbers of the table.
    """
    method, how, solver = METHODS[config.ranker], facts["method"], facts["solver"]
    headings = [
        ("Input", [*_input_pairs(facts), *(pair for part in parts for pair in part.input)]),
        ("Sample graph", as_pairs(facts["graph"])),
        ("Method", as_pairs(how)),
        *((part.heading, part.pairs) for part in parts),
    ]
    apart = None if pictures is None or pictures.plane is None else pictures.plane.apart
    sentences = [text for part in parts for text in part.sentences]
    if "chance_level" in how and solver.get("stop"):
        sentences.insert(0, f"{solver['stop']}.")
    change = next((how[name] for name in CHANGES if name in how), "")
    downloads = [
        (f"ranking.{config.format}", "the ranking, best first"),
        (NAME, "options, inputs, versions and digests of this run"),
        *(file for part in parts for file in part.files),
    ]
    if "coefficients" in solver:
        downloads.append((COEFFICIENTS, "the coefficients"))
    words = map(shown, command_words(config, facts["graph"]))
    return ReportData(
        **of_ranking(ranking, change, facts["input"].get("annotations", ())),
        sentences=sentences,
        made_from=f"on {_samples(facts)}",
        reading=_reading(groups, facts, apart),
        pictures=pictures,
        n_left_out=sum(facts["input"]["left_out"].values()),
        title=_title(config.matrix_name, facts),
        method="Moderated " * bool(facts["moderation"]) + _method(method, how),
        how=next((part.how for part in parts if part.how), "") or _how(method, how),
        tables=[table for part in parts for table in part.tables],
        facts=[(heading, pairs) for heading, pairs in headings if pairs],
        warnings=facts["warnings"],
        command=shlex.join([*words, "--out", "results"]),
        reference="; ".join(part.reference for part in parts if part.reference) or method.reference,
        downloads=downloads,
    )


def of_ranking(
    ranking: Ranking, change: str = "", annotations: Sequence[str] = ()
) -> dict[str, Any]:
    """Return the fields of `ReportData` that follow from a ranking.

    Arrays of all features are named as its columns. `change` says which class less which changes
    are of. Of the columns that are `annotations` the page has those of names.
    """
    scored = ranking.n_scored
    columns: dict[str, Any] = ranking.columns(0, min(TOP, scored))
    del columns["status"]  # ok in every row: the best features have a score
    for name in set(annotations).intersection(columns):
        if not is_id_name(name.removesuffix("_annotation")):
            del columns[name]
    for name, column in columns.items():
        if name.startswith("rank_"):  # mean ranks of ties are halves
            columns[name] = [int(v) if float(v).is_integer() else v for v in column]
    # not an annotation of one of these names
    numbers = {k: Column(k, scored) for k, v in ranking.extra.items() if isinstance(v, np.ndarray)}
    evidence: dict[str, Any] = {
        "p_values": numbers.get("p_value"),
        "changes": next((numbers[name] for name in CHANGES if name in numbers), None),
    }
    return {
        "larger_is_better": ranking.larger_is_better,
        "scores": Column("score", len(ranking.curve)),
        "n_features": len(ranking),
        "n_unscored": len(ranking) - scored,
        "reasons": ranking.unscored(),
        "top": [dict(zip(columns, row)) for row in zip(*columns.values())],
        "meanings": {name: meaning_of(name) for name in columns},
        "evidence": Evidence(
            **evidence, change=change.replace(" - ", " less "), log2="log2_fold_change" in numbers
        ),
        "version": versions()["sfs"],
    }


def _title(matrix: str, facts: RunRecord) -> str:
    """Say what was asked: the matrix, and the contrast or the sample graph that ranked it."""
    how = "moderated " * bool(facts["moderation"]) + str(facts["method"]["name"])
    if facts["precision"]:
        how += " of voom"
    if columns := [each["name"] for each in facts["covariates"].get("columns", ())]:
        how += f", adjusted for {listed(columns, NAMED)}"
    return isolated(f"{matrix}: {_asked(facts)} ({how})")


def _asked(facts: RunRecord) -> str:
    """Return the contrast of a ranking, or the graph on which it was made without labels."""
    labels, graph = facts["labels"], facts["graph"].get("similarity")
    sources = facts["knowledge"].get("sources", [])
    if not labels.get("used"):
        how = "ranked" if _has_classes(sources) else "ranked without labels"
        if sources:
            names = listed([each["name"] for each in sources], NAMED)
            return f"{how} on the source{'s' * (len(sources) > 1)} {names}"
        if graph is None:
            return how
        known = graph if graph in GRAPHS else "given"
        return f"{how} on a{'n' * (known == 'rbf')} {known} graph"
    of = next((i.get("column") for i in facts["inputs"] if i["role"] == "labels"), None)
    source = str(labels["from"])
    of = of or (source[4:] if source.startswith("obs:") else Path(source).name)
    if "smallest" in labels:
        return f"association with {'survival, ' if facts['survival'] else ''}{of}"
    classes = [name for name, count in labels["classes"].items() if count]
    if len(classes) == 2:  # as changes are: the second less the first
        return " against ".join(reversed(classes))
    order = "along" if labels["type"] == "ordered" else "between"
    return f"{order} the {len(classes)} classes of {of}"


def _has_classes(sources: Sequence[Mapping[str, Any]]) -> bool:
    """Tell whether classes are among some sources."""
    return any(each["kind"] == "labels" for each in sources)


def _samples(facts: RunFacts) -> str:
    """Return how many samples were used, and of which classes."""
    labels, words = facts["labels"], counted(facts["input"]["n_samples"], "sample")
    classes = labels.get("classes") or {}
    if not labels.get("used") or not 0 < len(classes) <= FEW:
        return words
    of = " of class" if any(name[:1].isdigit() for name in classes) else ""
    parts = [f"{count:,}{of} {isolated(name)}" for name, count in classes.items()]
    return f"{words} ({', '.join(parts)})"


def _reading(groups: Groups | None, facts: RunFacts, apart: Sequence[int] | None) -> str:
    """Say what the eigenvalues of the sample graph show, and the picture of the samples.

    `apart` are the sizes of the groups that are apart in the picture; None where there is none.
    """
    if groups is None:
        return ""
    if facts["graph"].get("similarity") in LABELS_ALONE:
        return "The graph is built from the labels, so its groups are the classes."
    known = _has_classes(facts["knowledge"].get("sources", ()))
    labels = " (classes are among the sources)" if known else ""
    if groups.count > 1:
        return f"The samples form {groups.count} groups, of {_sizes(groups.sizes)}{labels}."
    if groups.gradual:
        reason = f"the samples change gradually along {counted(groups.gradual, 'direction')}"
    else:
        reason = "no gap stands out"
    if apart:
        return (
            f"In their picture the samples lie in {len(apart)} groups, of {_sizes(apart)}{labels}. "
            f"The eigenvalues of the sample graph do not confirm a number of groups: {reason}."
        )
    nor = "" if apart is None else " In the picture of the samples no groups are clearly apart."
    return f"The eigenvalues of the sample graph show no clear number of groups: {reason}.{nor}"


def _sizes(sizes: Sequence[int]) -> str:
    if len(set(sizes)) == 1:
        return f"{sizes[0]:,} samples each"
    return f"{listed([f'{size:,}' for size in sorted(sizes, reverse=True)], FEW)} samples"


def _method(method: Method, facts: dict[str, Any]) -> str:
    ranking = f" {facts['ranking']}" if facts.get("ranking") else ""
    then = f" ({METHODS[facts['then']].title}{ranking})" if "then" in facts else ranking
    return method.title + then


def _how(method: Method, facts: dict[str, Any]) -> str:
    """Return how to read the scores, with those of the method or aggregation behind them."""
    if "how" in facts:
        return f"{method.how(facts)} {AGGREGATIONS[facts['how']].meaning}"
    if "then" in facts:
        return f"{method.how({})} {METHODS[facts['then']].how(facts)}"
    return method.how(facts)


def _input_pairs(run: RunFacts) -> Pairs:
    facts, labels = run["input"], run["labels"]
    used, there, missing = facts["n_samples"], facts["n_samples_in_file"], facts["missing_values"]
    pairs = as_pairs(
        {
            "format": f"{facts['format']}, rows are {facts['rows']}",
            "samples": f"{used:,}" if used == there else f"{used:,} of {there:,}",
            "features": facts["n_features"],
            "values": f"{'sparse' if facts['sparse'] else 'dense'}, {facts['dtype']}",
            "missing_values": f"{missing:,} in {facts['features_with_missing_values']:,} features"
            if missing
            else None,
        }
    )
    for name, key, by in (("Collapsed", "collapse", "how"), ("Pseudobulk", "pseudobulk", "by")):
        if made := dict(facts.get(key, {})):
            pairs.append((f"{name} ({made.pop(by)})", counts_text(made)))
    left_out = counts_text(facts["left_out"]) or None
    pairs += as_pairs({"features_left_out": left_out, "transformation": facts["transform"] or None})
    if labels.get("used") and "smallest" in labels:
        low, high = labels["smallest"], labels["largest"]
        pairs.append(("Outcome", f"{labels['from']}, from {low:.6g} to {high:.6g}"))
    elif labels.get("used"):
        counts = ", ".join(f"{name} ({count})" for name, count in labels["classes"].items())
        pairs.append(("Ordered classes" if labels["type"] == "ordered" else "Classes", counts))
    return pairs
