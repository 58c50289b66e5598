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
from sfs_cli.report.model import (
    Page,
    Pairs,
    Part,
    Section,
    Table,
    arranged,
    as_pairs,
    is_number,
    isolated,
    significant,
    table_part,
)
from sfs_cli.run.pictures import Pictures, brief
from sfs_cli.tables import CHANGES, COEFFICIENTS, meaning_of

TOP = 50
"""Number of features in the table of the best."""
FEW = 8
"""Classes or groups that a sentence lists."""
NAMED = 3
"""Covariates or sources that the title names."""
BEST, BARS = 5, 20
"""Features that the first paragraph names, and whose stability is drawn."""
LOG_ABOVE = 1000
"""Ranks of more features than this are drawn on a logarithmic axis."""
SMALLEST, LARGEST = 1e-320, 1e300
"""Smaller p-values are drawn as this one; larger scores, and infinite ones, are not drawn."""
LARGEST_WHOLE = 1e9
"""Whole numbers up to it are shown as such."""
ALWAYS = ("rank", "feature", "score")
"""Columns of the best features that are shown whatever is in them."""
STABILITY = (
    "The best features of the table, and how often each is among the first when part of the "
    "samples is ranked. Those that are seldom found again depend on a few samples."
)
WEIGHTS = "How much each source counts in the ranking."


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
) -> Page:
    """Return the page of a run.

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
    sentences = [text for part in parts for text in part.sentences]
    if "chance_level" in how and solver.get("stop"):
        sentences.insert(0, f"{solver['stop']}.")
    sentences += _reading(groups, facts, None if pictures is None else pictures.apart)
    downloads = [
        (f"ranking.{config.format}", "the ranking, best first"),
        (NAME, "options, inputs, versions and digests of this run"),
        *(file for part in parts for file in part.files),
    ]
    if "coefficients" in solver:
        downloads.append((COEFFICIENTS, "the coefficients"))
    words = map(shown, command_words(config, facts["graph"]))
    return ranking_page(
        ranking,
        f" on {_samples(facts)}",
        next((part.how for part in parts if part.how), "") or _how(method, how),
        sentences=sentences,
        tables=[table for part in parts for table in part.tables],
        pictures=pictures,
        n_left_out=sum(facts["input"]["left_out"].values()),
        change=next((how[name] for name in CHANGES if name in how), ""),
        annotations=facts["input"].get("annotations", ()),
        title=_title(config.matrix_name, facts),
        method="Moderated " * bool(facts["moderation"]) + _method(method, how),
        facts=[(heading, pairs) for heading, pairs in headings if pairs],
        warnings=facts["warnings"],
        command=shlex.join([*words, "--out", "results"]),
        reference="; ".join(part.reference for part in parts if part.reference) or method.reference,
        files=downloads,
    )


def ranking_page(
    ranking: Ranking,
    made_from: str,
    how: str,
    *,
    method: str,
    sentences: Sequence[str] = (),
    tables: Sequence[Table] = (),
    pictures: Pictures | None = None,
    n_left_out: int = 0,
    change: str = "",
    annotations: Sequence[str] = (),
    **fields: Any,
) -> Page:
    """Return the page of a ranking, with its parts in their order.

    `change` says which class less which changes are of. Of the columns that are `annotations` it
    has those of names. Other arguments are those of `Page`.
    """
    m, n_scored, reasons = len(ranking), ranking.n_scored, ranking.unscored()
    columns: dict[str, Any] = ranking.columns(0, min(TOP, n_scored))
    best = [dict(zip(columns, row)) for row in zip(*columns.values())]
    share = f"{n_scored:,} of {counted(m, 'feature')}"
    if n_scored == m:
        share = "the only feature" if m == 1 else f"all {counted(m, 'feature')}"
    left = {
        "were not selected": reasons.get("not selected", 0),
        "were left out": n_left_out,
        "could not be scored": m - n_scored - reasons.get("not selected", 0) - n_left_out,
    }
    summary = [
        f"{method} ranked {share}{made_from}.",
        *best_named(best),
        *sentences,
        *(() if pictures is None else pictures.sentences),
        *(f"{counted(count, 'feature')} {why}." for why, count in left.items() if count),
    ]
    shares = {str(row["feature"]): row.get("frequency") for row in best[:BARS]}
    found = "share of the subsets of samples that select it"
    rows = [dict(zip(table.columns, row)) for table in tables for row in table.rows]
    weights = {str(row["source"]): row.get("weight") for row in rows if "source" in row}
    parts = [
        *([] if pictures is None else pictures.best),
        *_table_of_best(columns, annotations),
        *_bars("How often the best are found again", STABILITY, "stability", found, shares),
        *evidence(ranking, change.replace(" - ", " less ")),
        *(table_part(table) for table in tables if table.of_best),
        *([] if pictures is None or pictures.plane is None else [pictures.plane]),
        *_bars("Weights of the sources", WEIGHTS, "sources", "weight", weights),
        *(table_part(table) for table in tables if not table.of_best),
        _score_curve(ranking),
    ]
    if reasons:
        words = f"The ranking ends with {counted(m - n_scored, 'feature')} without a score."
        if "not selected" in reasons:
            words += (
                " Features that were not selected were looked at: others were better, or said the "
                "same."
            )
        grid = arranged(("reason", "features"), [*reasons.items()])
        parts.append(Part(heading="Features without a score", text=words, grid=grid))
    how = how or f"A {'larger' if ranking.larger_is_better else 'smaller'} score is better."
    parts.append(Part(heading="How the features were ranked", text=how))
    return Page(
        version=versions()["sfs"],
        kicker="Feature ranking",
        method=method,
        summary=[" ".join(summary)],
        parts=parts,
        n_scored=n_scored,
        **fields,
    )


def best_named(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Name the best features."""
    higher = [row.get("direction") or row.get("highest_class") for row in rows[:BEST]]
    together = len(higher) > 1 and len(set(higher)) == 1 and higher[0]
    names = [
        isolated(row["feature"])
        + (f" (higher in {isolated(name)})" if name and not together else "")
        for row, name in zip(rows, higher)
    ]
    if len(names) < 2:
        return [f"The best feature is {name}." for name in names]
    end = f", all higher in {isolated(higher[0])}" if together else ""
    return [f"The best features are {', '.join(names[:-1])} and {names[-1]}{end}."]


def _table_of_best(columns: Mapping[str, Any], annotations: Sequence[str]) -> list[Part]:
    """Arrange the table of the best features; columns that are the same in all are shown once.

    Features with the same score are marked at their ranks.
    """
    count = len(columns["feature"])
    # status is ok in every row: the best features have a score
    hidden = {
        "status",
        "tied",
        *(n for n in annotations if not is_id_name(n.removesuffix("_annotation"))),
    }
    kept = {name: _whole([*column]) for name, column in columns.items() if name not in hidden}
    same = {}
    for name, values in kept.items() if count > 1 else ():
        shown = {*map(significant, values)}
        if len(shown) == 1 and name not in ALWAYS:
            same[name] = shown.pop()
    kept = {name: values for name, values in kept.items() if name not in same}
    grid = arranged([*kept], [*zip(*kept.values())], meanings={n: meaning_of(n) for n in kept})
    for cells, size in zip(grid.rows, columns.get("tied", ())):
        if size > 1:
            hint = f"{size:,.0f} features have this score: their order is arbitrary"
            cells[0] = cells[0]._replace(shown=f"{cells[0].shown} =", hint=hint)
    told = ", ".join(f"{name} {value}" for name, value in same.items() if value)
    heading = "The best feature" if count == 1 else f"The {count} best features"
    text = f"The same in every row: {told}." if told else ""
    return [Part(heading=heading, text=text, grid=grid, of_best=True)] if count else []


def _whole(values: list[Any]) -> list[Any]:
    """Return the values of a column as integers, if they are whole numbers, none of them large."""
    known = [float(value) for value in values if is_number(value) and value == value]
    if not known or not all(each.is_integer() and abs(each) < LARGEST_WHOLE for each in known):
        return values
    return [int(value) if is_number(value) and value == value else value for value in values]


def _bars(heading: str, text: str, name: str, title: str, shares: Mapping[str, Any]) -> list[Part]:
    """Show shares, two or more of them, where they are known."""
    known = {k: v for k, v in shares.items() if is_number(v) and v == v}
    facts = {"name": name, "title": title, "names": [*known], "shares": [*known.values()]}
    return [Part(heading=heading, text=text, figure="bars", facts=facts)] if len(known) > 1 else []


def evidence(ranking: Ranking, change: str) -> list[Part]:
    """Show the p-values of the ranking, and the changes, where they are known."""
    # not an annotation of one of these names
    numbers = {
        k: v[: ranking.n_scored] for k, v in ranking.extra.items() if isinstance(v, np.ndarray)
    }
    p, of_change = numbers.get("p_value"), next((n for n in CHANGES if n in numbers), "")
    known = np.isfinite(p) if p is not None else np.zeros(0, bool)
    if p is None or not known.any():
        return []
    words = (
        f"{counted(int(known.sum()), 'p-value')}. If all features are null, the bars are as high "
        "as the dashed line. A peak at the left is signal; a peak at the right, or a slope "
        "upwards, means that the p-values are not calibrated for these data."
    )
    counts = np.histogram(p[known], 20, range=(0, 1))[0]
    parts = [Part(heading="P-values", text=words, figure="p-values", facts={"counts": counts})]
    if of_change:
        known &= np.abs(numbers[of_change]) <= LARGEST
    if not of_change or not known.any():
        return parts
    log2 = of_change == "log2_fold_change"
    points = np.column_stack([numbers[of_change], -np.log10(np.maximum(p, SMALLEST))])
    first = np.flatnonzero(known[:TOP])
    # one point of each small square is enough: a million points become a few thousand
    others = points[TOP:][known[TOP:]]
    low, high = points[known].min(axis=0), points[known].max(axis=0)
    squares = np.round((others - low) / (high - low + 1e-300) * (190, 110)).astype(int)
    _, kept = np.unique(squares, axis=0, return_index=True)
    names = [ranking.feature[i] for i in first.tolist()]
    hints = [
        f"{name}: {significant(float(numbers[of_change][i]), 3)}, p = {significant(float(p[i]), 3)}"
        for name, i in zip(names, first)
    ]
    xlabel = "log2 fold change" if log2 else "difference of the means"
    facts = {
        "best": brief(points[first]),
        "others": brief(others[kept]),
        "names": names,
        "hints": hints,
        "xlabel": f"{xlabel} ({change})" if change else xlabel,
        "m": int(known.sum()),
    }
    less = f": the mean of {change.replace(' less ', ' less that of ')}" if change else ""
    scale = "1 is twice as much, −1 half" if log2 else "the values are as they were scored"
    words = (
        f"Each feature by its change{less}, and by its p-value. The best {len(first)} are marked; "
        f"{scale}."
    )
    return [*parts, Part(heading="Change and p-value", text=words, figure="volcano", facts=facts)]


def _score_curve(ranking: Ranking) -> Part:
    """Show all scores from the best to the worst, of a pruned ranking those of kept features."""
    scores = ranking.curve[np.abs(ranking.curve) <= LARGEST]
    heading = "Score against rank"
    if not len(scores):
        return Part(heading=heading, text="No feature could be scored, so there are no charts.")
    words = "Every scored feature, from the best on the left to the worst on the right. "
    if len(ranking.curve) < ranking.n_scored:
        words = "The features that pruning kept, from the best on the left to the worst. "
    words += "sfs select chooses by a rule how many to take."
    log = len(scores) > LOG_ABOVE
    kept = downsample(scores, log=log)
    facts = {"ranks": kept + 1, "scores": brief(scores[kept]), "log": log}
    facts["larger_is_better"] = ranking.larger_is_better
    return Part(heading=heading, text=words, figure="score-curve", facts=facts)


def downsample(scores: np.ndarray, *, log: bool = False, limit: int = 600) -> np.ndarray:
    """Choose the points of a sorted curve that show its shape: a million points become hundreds.

    They are evenly spaced along the sum of both axes, so that neither a long flat part nor a steep
    step loses its corners. Of sorted scores, shape (m,), it returns up to `limit` ascending
    positions, all of them where m is not larger; the first and the last are among them.
    """
    m = len(scores)
    if m <= limit:
        return np.arange(m)
    along = np.log1p(np.arange(m)) / np.log(m) if log else np.linspace(0, 1, m)
    fallen = np.abs(scores / 2 - scores[0] / 2)  # halves, for the largest differ by infinity
    along += fallen / (fallen[-1] or 1.0)
    at = np.searchsorted(along, np.linspace(0, along[-1], limit // 2))
    return np.unique(np.clip(np.concatenate([at, at - 1]), 0, m - 1))


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


def _reading(groups: Groups | None, facts: RunFacts, apart: Sequence[int] | None) -> Sequence[str]:
    """Say what the eigenvalues of the sample graph show, and the picture of the samples.

    `apart` are the sizes of the groups that are apart in the picture; None where there is none.
    """
    if groups is None:
        return ()
    if facts["graph"].get("similarity") in LABELS_ALONE:
        return ["The graph is built from the labels, so its groups are the classes."]
    known = _has_classes(facts["knowledge"].get("sources", ()))
    labels = " (classes are among the sources)" if known else ""
    if groups.count > 1:
        return [f"The samples form {groups.count} groups, of {_sizes(groups.sizes)}{labels}."]
    if groups.gradual:
        reason = f"the samples change gradually along {counted(groups.gradual, 'direction')}"
    else:
        reason = "no gap stands out"
    if apart:
        return [
            f"In their picture the samples lie in {len(apart)} groups, of {_sizes(apart)}{labels}.",
            f"The eigenvalues of the sample graph do not confirm a number of groups: {reason}.",
        ]
    nor = [] if apart is None else ["In the picture of the samples no groups are clearly apart."]
    return [f"The eigenvalues of the sample graph show no clear number of groups: {reason}.", *nor]


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
