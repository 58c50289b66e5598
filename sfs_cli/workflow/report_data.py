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
from sfs_cli.errors import counted, counts_text, listed
from sfs_cli.graph.groups import Groups
from sfs_cli.io.files.table import is_id_name
from sfs_cli.options import RankConfig
from sfs_cli.options.grammar import command
from sfs_cli.options.graph import GRAPH_FIELDS, GRAPHS, LABELS_ALONE
from sfs_cli.provenance import (
    NAME,
    RunFacts,
    RunRecord,
    versions,
)
from sfs_cli.ranking.aggregations import AGGREGATIONS
from sfs_cli.ranking.table import Ranking
from sfs_cli.report.model import Evidence, Pairs, Pictures, ReportData, Section, as_pairs
from sfs_cli.report.words import isolated
from sfs_cli.tables import CHANGES, COEFFICIENTS, meaning_of

TOP = 50
"""Number of features in the table of the best."""
FEW = 8
"""Classes or groups that a sentence lists."""
NAMED = 3
"""Covariates or sources that the title names."""


def page_facts(config: RankConfig, graph: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the report says of the command line of a ranking; `graph` are its facts.

    Parameters of a sample graph that the data chose stand with its name.
    """
    if config.graph is None and config.given(*GRAPH_FIELDS):
        config = replace(config, similarity=graph.get("similarity"))
    words = command(config) or ["sfs", config.VERB, "--config", NAME]
    return {"matrix": config.matrix_name, "command": words}


def report_data(
    config: RankConfig,
    ranking: Ranking,
    facts: RunRecord,
    parts: Sequence[Section],
    *,
    groups: Groups | None = None,
    pictures: Pictures | None = None,
) -> ReportData:
    """Return the contents of the report of a run.

    All that is known of the run is taken from what ``run.json`` has, as it has it, and from the
    numbers of the table; `parts` are the sections of its optional parts. Of the configuration only
    the method and the names of the files are used.
    """
    method, knowledge = METHODS[config.ranker], facts["knowledge"]
    inputs = [pair for part in parts for pair in part.input]
    sections = [
        ("Input", [*_input_pairs(facts), *inputs]),
        ("Sample graph", as_pairs(facts["graph"])),
        ("Method", as_pairs(facts["method"])),
        *((part.heading, part.pairs) for part in parts),
    ]
    apart = None if pictures is None or pictures.plane is None else pictures.plane.apart
    reading = _reading(groups, facts["graph"], knowledge, apart)
    stop = facts["solver"].get("stop", "") if "chance_level" in facts["method"] else ""
    change = next((facts["method"][name] for name in CHANGES if name in facts["method"]), "")
    return ReportData(
        **of_ranking(
            ranking,
            change.replace(" - ", " less "),
            facts["versions"]["sfs"],
            facts["input"].get("annotations", ()),
        ),
        sentences=[
            *([f"{stop}."] if stop else []),
            *(text for part in parts for text in part.sentences),
        ],
        made_from=f"on {_samples(facts)}",
        reading=reading,
        pictures=pictures,
        n_left_out=sum(facts["input"]["left_out"].values()),
        title=title_of(facts),
        method="Moderated " * bool(facts["moderation"]) + _title(method, facts["method"]),
        how=next((part.how for part in parts if part.how), "") or _how(method, facts["method"]),
        tables=[table for part in parts for table in part.tables],
        facts=[(title, pairs) for title, pairs in sections if pairs],
        warnings=facts["warnings"],
        command=shlex.join([*facts["page"]["command"], "--out", "results"]),
        reference="; ".join(part.reference for part in parts if part.reference) or method.reference,
        downloads=[
            (f"ranking.{config.format}", "the ranking, best first"),
            ("run.json", "options, inputs, versions and digests of this run"),
            *(file for part in parts for file in part.files),
            *([(COEFFICIENTS, "the coefficients")] if "coefficients" in facts["solver"] else []),
        ],
    )


def of_ranking(
    ranking: Ranking,
    change: str = "",
    version: str | None = None,
    annotations: Sequence[str] = (),
) -> dict[str, Any]:
    """Return the fields of `ReportData` that follow from a ranking.

    `change` says which class less which changes are of; `version` is the one that ranked, by
    default this one. Of the columns that are `annotations` the page has those of names.
    """
    scores = ranking.curve
    count = min(TOP, ranking.n_scored)
    columns = ranking.columns(0, count)
    compared = next((name for name in CHANGES if name in ranking.extra), "")
    del columns["status"]  # ok in every row: the best features have a score
    for name in set(annotations).intersection(columns):
        if not is_id_name(name.removesuffix("_annotation")):
            del columns[name]
    for name, column in columns.items():
        if name.startswith("rank_"):  # mean ranks of ties are halves
            columns[name] = [int(v) if float(v).is_integer() else v for v in column]  # type: ignore
    return {
        "larger_is_better": ranking.larger_is_better,
        "scores": scores,
        "n_features": len(ranking),
        "n_unscored": len(ranking) - ranking.n_scored,
        "reasons": ranking.unscored(),
        "top": [dict(zip(columns, row)) for row in zip(*columns.values())],
        "meanings": {name: meaning_of(name) for name in columns},
        "evidence": Evidence(
            p_values=_column(ranking, "p_value", ranking.n_scored),
            changes=_column(ranking, compared, ranking.n_scored),
            change=change,
            log2=compared == "log2_fold_change",
        ),
        "version": version or versions()["sfs"],
    }


def _column(ranking: Ranking, name: str, count: int) -> np.ndarray | None:
    """Return the first numbers of a column; None where there is none."""
    column = ranking.extra.get(name)
    return column[:count] if isinstance(column, np.ndarray) else None


def title_of(facts: RunRecord) -> str:
    """Say what was asked: the matrix, and the contrast or the sample graph that ranked it."""
    how = "moderated " * bool(facts["moderation"]) + str(facts["method"]["name"])
    if facts["precision"]:
        how += " of voom"
    if columns := [each["name"] for each in facts["covariates"].get("columns", ())]:
        how += f", adjusted for {listed(columns, NAMED)}"
    return isolated(f"{facts['page']['matrix']}: {_asked(facts)} ({how})")


def _asked(facts: RunRecord) -> str:
    """Return the contrast of a ranking, or the graph on which it was made without labels."""
    labels, graph = facts["labels"], facts["graph"].get("similarity")
    sources = facts["knowledge"].get("sources", [])
    if not labels.get("used"):
        on = ""
        if sources:
            names = listed([each["name"] for each in sources], NAMED)
            on = f" on the source{'s' if len(sources) > 1 else ''} {names}"
        elif graph is not None:
            known = graph if graph in GRAPHS else "given"
            on = f" on a{'n' if known == 'rbf' else ''} {known} graph"
        given = any(each["kind"] == "labels" for each in sources)
        return f"ranked{'' if given else ' without labels'}{on}"
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


def _samples(facts: RunFacts) -> str:
    """Return how many samples were used, and of which classes."""
    labels, words = facts["labels"], counted(facts["input"]["n_samples"], "sample")
    classes = labels.get("classes") or {}
    if not labels.get("used") or not 0 < len(classes) <= FEW:
        return words
    of = " of class" if any(name[:1].isdigit() for name in classes) else ""
    parts = [f"{count:,}{of} {isolated(name)}" for name, count in classes.items()]
    return f"{words} ({', '.join(parts)})"


def _reading(
    groups: Groups | None,
    graph: dict[str, Any],
    knowledge: dict[str, Any],
    apart: Sequence[int] | None,
) -> str:
    """Say what the eigenvalues of the sample graph show, and the picture of the samples.

    `apart` are the sizes of the groups that are apart in the picture; None where there is none.
    """
    if groups is None:
        return ""
    given = any(source["kind"] == "labels" for source in knowledge.get("sources", []))
    labels = " (classes are among the sources)" if given else ""
    if graph.get("similarity") in LABELS_ALONE:
        return "The graph is built from the labels, so its groups are the classes."
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
    sizes = sorted(sizes, reverse=True)
    if len(set(sizes)) == 1:
        return f"{sizes[0]:,} samples each"
    return f"{listed([f'{size:,}' for size in sizes], FEW)} samples"


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
    for name, key, by in (("Collapsed", "collapse", "how"), ("Pseudobulk", "pseudobulk", "by")):
        if made := dict(facts.get(key, {})):
            pairs.append((f"{name} ({made.pop(by)})", counts_text(made)))
    if facts["left_out"]:
        pairs.append(("Features left out", counts_text(facts["left_out"])))
    if facts["transform"]:
        pairs.append(("Transformation", ", ".join(facts["transform"])))
    if labels.get("used") and "smallest" in labels:
        low, high = labels["smallest"], labels["largest"]
        pairs.append(("Outcome", f"{labels['from']}, from {low:.6g} to {high:.6g}"))
    elif labels.get("used"):
        counts = ", ".join(f"{name} ({count})" for name, count in labels["classes"].items())
        pairs.append(("Ordered classes" if labels["type"] == "ordered" else "Classes", counts))
    return pairs
