"""``sfs select``: how many features of a ranking to take, by one rule, and their list.

Rules that rank again read from ``run.json`` how the ranking was made. The table of the result stays
what the list is cut from: it says the order, and no rule changes it.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from sfs_cli import provenance
from sfs_cli.errors import InputError, UsageError, counted, listed
from sfs_cli.evaluation.classify import CLASSIFIERS, Fold, accuracies, standardized
from sfs_cli.evaluation.curve import Curve, chance_accuracy, curve_of
from sfs_cli.features import not_in_folds, without_effect_on_order
from sfs_cli.features.enrichment.step import (
    OVERREPRESENTED,
    given_sets,
    tested_sets,
)
from sfs_cli.features.significance.doubts import doubts, to_have_q_values
from sfs_cli.io.files.text import text_suffix
from sfs_cli.io.results.rankings import parse_numbers, read_rank_table
from sfs_cli.io.results.writers import Row, table_bytes
from sfs_cli.logs import Messages
from sfs_cli.options import RankConfig
from sfs_cli.options.evaluate import CURVE_LENGTHS
from sfs_cli.options.fields import flag
from sfs_cli.options.files import load
from sfs_cli.options.guards import GUARDS
from sfs_cli.options.replaced import refuse_recorded
from sfs_cli.options.select import RULES, SelectConfig
from sfs_cli.provenance import InputFile
from sfs_cli.ranking.table import Picked, Ranking
from sfs_cli.report.multiqc import SELECTED
from sfs_cli.run import outputs
from sfs_cli.run.config import input_files, split_sets
from sfs_cli.run.folds import (
    FoldRankings,
    class_sizes,
    fold_facts,
    lengths_up_to,
    place,
    read_features,
    stratified_folds,
)
from sfs_cli.run.lists import RankedList, Source, check_order, list_of, record_of
from sfs_cli.run.load import Run, loaded
from sfs_cli.run.result import (
    Result,
    check_unchanged,
    is_whole,
    positions,
)
from sfs_cli.run.subset import check_target, write_subset
from sfs_cli.tables import header

IDS, ROWS, CURVE = "selected.txt", "selected.tsv", "curve.tsv"
Q_VALUE, FREQUENCY = "q_value", "frequency"
"""The columns that --fdr and --stable read."""
BEST = 5
"""Sets of each test that messages name."""
_WHOLE = ("fdr", "stable", "cv", "sets")
"""What needs the whole ranking, not only the features that ``sfs rank --top`` has written."""
_WITHOUT: dict[str, Any] = {"format": "tsv"} | without_effect_on_order()
"""What a ranking is made again without: what does not change the order of the features."""


@dataclass
class Selected:
    """The chosen rows of a table, best first, and what the record says of the choice."""

    rows: np.ndarray
    facts: dict[str, Any] = field(default_factory=dict)
    tables: outputs.Tables = field(default_factory=dict)  # beside those of the rows


def run(config: SelectConfig, messages: Messages) -> bytes:
    """Select, write what is asked for, and return what belongs on stdout."""
    result = read_result(config, messages)
    ranking, copy, options = None, None, config.result_options()
    if config.reads_matrix:
        ranking = ranking_config(config, result)
        options = ranking.result_options() | options | {"ranking_seed": ranking.seed}
        if config.write_matrix is not None:
            whole = Path(ranking.matrix).is_dir()  # it is written in the same format
            copy = outputs.Beside("write_matrix", Path(config.write_matrix), whole)
            check_target(ranking, copy.path)
            refuse_recorded(copy.option, copy.path, input_files(ranking))
    if config.out is not None and result.record is not None:
        own = Path(config.out) / provenance.NAME
        if own.exists() and own.samefile(provenance.record_beside(result.path)):
            raise UsageError(
                f"--out {config.out} is the folder of the ranking, whose run.json would be "
                "replaced",
                hint="give another folder",
                option="out",
            )

    def describe() -> list[InputFile]:
        sets = [("sets", path, {"part": part}) for path, part in map(split_sets, config.sets)]
        found = outputs.describe_files([Source.of(config.result).as_read("result"), *sets])
        return found if ranking is None else [*found, *outputs.describe_inputs(ranking)]

    def make() -> outputs.Made:
        found = select(config, result, ranking, messages, copy)
        rows = found.rows.tolist()
        columns = result.table.columns
        cells = [[column[row] for column in columns.values()] for row in rows]
        tables = {
            IDS: "".join(f"{result.features[row]}\n" for row in rows).encode(),
            ROWS: table_bytes(list(columns), cells),
            **found.tables,
        }
        facts = {
            "rule": config.rule,
            "ranking": str(result.path),
            "n_ranked": result.whole or len(result.order),
            "n_selected": len(rows),
            **found.facts,
        }
        shown = facts | {
            "rule": _said(config),
            "top_feature": result.features[rows[0]] if rows else None,
            "n_warnings": len(messages.warnings),
        }
        tables |= outputs.for_multiqc(config, SELECTED, {"": shown})

        def summarize() -> None:  # what was found is logged by now
            if copy is not None:
                messages.note(f"wrote {copy.path}: {counted(len(rows), 'feature')}")

        return outputs.Made.of_tables(tables, facts, summarize)

    return outputs.make_result(
        config,
        messages,
        [IDS, ROWS, SELECTED, *outputs.FOR_MULTIQC] + [CURVE] * config.cv,
        describe,
        make,
        options=options,
        beside=[] if copy is None else [copy],
    )


# ---- what is read --------------------------------------------------------------------------------


def read_result(config: SelectConfig, messages: Messages) -> Result:
    """Read the ranking, and the record beside it.

    Raises InputError when there is none, or it is a GSEA file, whose metric may have signs.
    """
    path, column = Source.of(config.result)
    if text_suffix(path) == ".rnk":
        raise InputError(
            "an rnk file ranks by a metric that may have signs, and says nothing of features "
            "without a score",
            where=str(path),
            hint="rank again with --format tsv",
        )
    table = read_rank_table(path)
    ranked: RankedList = list_of(table, column, config, messages, path.stem)
    check_order([ranked], config, messages)
    order = np.argsort(ranked.ranks, kind="stable")[: ranked.n_ranked]
    needing = config.given(*_WHOLE)
    if ranked.whole is not None and needing:
        raise InputError(
            f"the table has the first {len(order):,} of {ranked.whole:,} ranked features, and "
            f"{flag(needing[0])} needs all of them",
            where=str(path),
            hint="rank again without --top, or choose by --top alone",
            option=needing[0],
        )
    record = record_of(path)
    known = isinstance(record.get("method"), dict) and "input" in record
    if known and not is_whole(record):
        raise InputError(
            "the record of the ranking is damaged",
            where=str(provenance.record_beside(path)),
            hint="rank again, or give a copy of the ranking without it",
        )
    return Result(path, table, ranked.features, order, record if known else None, ranked.whole)


def ranking_config(config: SelectConfig, result: Result) -> RankConfig:
    """Return how the matrix was ranked, on what this run may use.

    Raises
    ------
    InputError
        When no record says so and it is needed, or a file is gone or has changed since.
    UsageError
        When the rule has no meaning for this ranking.
    """
    resources: dict[str, Any] = {
        "threads": config.threads,
        "memory": config.memory,
    }
    record, where = result.record, str(result.path)
    if record is None:
        if config.ranks:
            raise InputError(
                f"{flag(config.rule)} ranks again, and no run.json beside the ranking says how it "
                "was made",
                where=where,
                hint="give the output folder of sfs rank",
                option=config.rule,
            )
        if config.matrix is None:
            raise InputError(
                "no run.json beside the ranking says which matrix was ranked",
                where=where,
                hint="give it with --matrix FILE",
                option="matrix",
            )
        # only the values are read, and none is compared by a score
        return RankConfig(config.matrix, method="variance", missing="mean", **resources)
    asked = dict(load(provenance.record_beside(result.path)).options)
    if config.matrix is not None:
        resources |= {"matrix": config.matrix, "files": ()}
    made = to_rank_again(config, RankConfig(**asked | resources), record, where)
    check_unchanged(made, result, config.given("matrix", "labels"))
    return made


def to_rank_again(
    config: SelectConfig, made: RankConfig, record: Mapping[str, Any], where: str
) -> RankConfig:
    """Return how features are ranked again that were ranked so; `record` is what was found then.

    Raises UsageError when the rule has no meaning for this ranking.
    """
    if made.split is not None and config.cv:
        raise UsageError(
            f"--cv does not rank again with --split {made.split}",
            where=where,
            hint="choose by the q-values, with --fdr Q",
            option="cv",
        )
    # the default method depends on options that are left out below, on the labels and the values
    counts = {} if made.numeric else record.get("labels", {}).get("classes", {})
    read = record["input"]
    sparse = bool(read.get("like_cells"))
    asked = made.similarity
    made = made.for_samples(int(read["n_samples_in_file"]), len(counts) or 2, sparse)
    if record.get("graph", {}).get("similarity") != made.similarity:  # one that the file holds
        made = replace(made, similarity=asked)
    if config.labels is not None:
        made = _judged_by(config.labels, made, record.get("graph", {}))
    # by the whole configuration: without p-values it no longer asks for all parts of it
    wrong = not_in_folds(made) if config.cv else {}
    made = replace(made, **_WITHOUT | {"donors": made.donors})  # folds take whole ones
    if config.cv:
        _check_folds(made, where)
    for name, why in wrong.items():
        raise UsageError(
            f"--cv {why}: not for a ranking with {flag(name)}",
            where=where,
            hint="choose by another rule, such as --top",
            option="cv",
        )
    return made


def _judged_by(labels: str, made: RankConfig, graph: Mapping[str, Any]) -> RankConfig:
    """Return a configuration with other labels and the sample graph of the ranking, by its facts.

    Methods whose default graph is that of the labels (hsic) would make another one.
    """
    judged = replace(made, labels=labels)
    if judged.graph == made.graph or "similarity" not in graph:
        return judged
    components = {name: graph[name] for name in ("components", "variable_genes") if name in graph}
    return replace(judged, similarity=graph.get("coordinates", graph["similarity"]), **components)


def _check_folds(made: RankConfig, where: str) -> None:
    """Refuse a ranking without classes, which --cv tells apart."""
    if made.labels is None:
        raise UsageError(
            "--cv needs labels, and the features were ranked without",
            where=where,
            hint="give --labels FILE[:COLUMN], or obs:KEY if the matrix is AnnData",
            option=("labels", "cv"),
        )
    if made.label_type == "continuous":
        raise UsageError(
            "--cv measures how well classes are told apart, and the labels of this ranking are "
            "numbers",
            where=where,
            hint="choose by another rule, such as --top",
            option="cv",
        )


# ---- the choice ----------------------------------------------------------------------------------


def select(
    config: SelectConfig,
    result: Result,
    ranking: RankConfig | None,
    messages: Messages,
    copy: outputs.Beside | None = None,
) -> Selected:
    """Choose rows of a ranking by the rule of a configuration; write the matrix cut to them.

    `ranking` is how the matrix was ranked, where it is read, and `copy` where the cut one goes.

    Raises
    ------
    InputError
        When the ranking lacks a column, or features, that the rule asks for, or is not of the
        matrix.
    """
    # read first: they may be refused
    sets = config.sets and given_sets(config.sets, result.features, str(result.path), messages)
    if ranking is None:
        found = Selected(_by_table(config, result, messages))
    else:
        with loaded(ranking, messages, labeled=config.cv) as run:
            index = positions(run, result)
            found = _by_matrix(config, result, run)
            if copy is not None:
                assert copy.partial is not None
                if not len(found.rows):
                    raise InputError(
                        "no feature is selected, so there is no matrix to write",
                        where=str(result.path),
                        hint="leave out --write-matrix, or ask for less",
                        option="write_matrix",
                    )
                write_subset(run, np.sort(index[found.rows]), copy.partial, copy.path)
                found.facts["matrix"] = str(copy.path)
    chosen = len(found.rows)
    _warn_of_compared(result, chosen, messages)
    of = counted(result.whole or len(result.order), "ranked feature")
    if chosen:
        messages.note(f"selected {chosen:,} of {of} ({_said(config)})")
    else:
        messages.warn(f"none of {of} is selected ({_said(config)})")
    if sets:
        found.tables |= _test_sets(config, result, found.rows, *sets, messages)
    return found


def _test_sets(
    config: SelectConfig, result: Result, rows: np.ndarray, name: str, sets: Any, log: Messages
) -> outputs.Tables:
    """Test sets among the selected rows, of two directions also apart; return the table."""
    order, columns = result.order, result.table.columns
    ranking = _ranking(result.features, order, np.arange(len(order)))
    higher = np.array(columns.get("direction", [""] * len(result.features)))[order]
    ends = sorted({*higher.tolist()} - {""}, reverse=True)
    parts = {"selected": np.isin(order, rows)}
    if len(ends) == 2:
        parts |= {f"selected, higher in {e}": parts["selected"] & (higher == e) for e in ends}
    cells: list[Row] = []
    for part, first in parts.items():
        ahead = ranking.reordered(np.argsort(~first, kind="stable"))
        facts, tests = tested_sets(ahead, name, sets, int(first.sum()))
        cells += [(part, *row) for row in tests]
        best = [f"{t['set']} (q-value {t['q_value']:.2g})" for t in facts["best"][:BEST]]
        log.note(f"sets of {name}, {part}: best {'; '.join(best) or 'none'}")
    return {OVERREPRESENTED: table_bytes(header(OVERREPRESENTED), cells)}


def _ranking(names: Sequence[str], features: np.ndarray, score: np.ndarray) -> Ranking:
    """Return features, best first, as a ranking; smaller scores are better."""
    ok = Picked(["ok"], np.zeros(len(features), np.int8))
    return Ranking(Picked(names, features), score, ok, False, features)


def _said(config: SelectConfig) -> str:
    words = []
    for name in config.given(*RULES):
        value = getattr(config, name)
        words += [flag(name)] + ([] if value is True else [f"{value:g}"])
    return shlex.join(words)


def _by_table(config: SelectConfig, result: Result, messages: Messages) -> np.ndarray:
    """Return the rows that --top, --fdr or --stable take."""
    order = _without_repeats(result, messages)
    if config.top is not None:
        if config.top > len(order):
            selects = result.record is not None and "select" in result.record["method"]
            more = ", or let the method select more (sfs rank --select)" if selects else ""
            more = ", or rank again without --top" if result.whole else more
            raise InputError(
                f"--top {config.top:,}: the ranking has {counted(len(order), 'ranked feature')}"
                + " that repeat no better one" * (len(order) < len(result.order)),
                where=str(result.path),
                hint=f"give {len(order):,} or less{more}",
                option="top",
            )
        return order[: config.top]
    if config.fdr is not None:
        q = _column(result, Q_VALUE, "fdr", to_have_q_values(result.record or {}))
        of_aggregate = {"of_one_matrix": record_of(result.path).get("of_one_matrix")}
        for doubt in doubts(result.record or of_aggregate):
            messages.warn(doubt.text, GUARDS[doubt.guard].weight)
        return order[q[order] <= config.fdr]
    assert config.stable is not None
    hint = "rank with --stability B, which writes how often each feature is selected"
    frequency = _column(result, FREQUENCY, "stable", hint)
    return order[frequency[order] >= config.stable]


def _without_repeats(result: Result, messages: Messages) -> np.ndarray:
    """Return the order of the rows; of a pruned ranking, without those that repeat a better one."""
    order, better = result.order, result.table.columns.get("representative")
    if better is None or not (result.record or {}).get("pruning"):
        return order
    kept = order[[not better[row] for row in order.tolist()]]
    if len(kept) < len(order):
        count = counted(len(order) - len(kept), "feature")
        messages.note(f"{count} that repeat a better one (--max-correlation) are left out")
    return kept


def _warn_of_compared(result: Result, selected: int, messages: Messages) -> None:
    """Warn of a selection that goes beyond the features that pruning has compared."""
    kept = ((result.record or {}).get("pruning") or {}).get("kept")
    if kept is not None and selected > kept:
        messages.warn(
            f"{selected - kept:,} of the selected features were not compared with the better ones, "
            f"and may repeat them: pruning ended with {kept:,}; select {kept:,} or fewer"
        )


def _column(result: Result, name: str, option: str, hint: str) -> np.ndarray:
    if name not in result.table.columns:
        raise InputError(
            f"{flag(option)} needs a column {name!r}, which the ranking lacks",
            where=f"{result.path} (columns: {listed(list(result.table.columns), 10)})",
            hint=hint,
            option=option,
        )
    return np.array(parse_numbers(result.table, name))


def _by_matrix(config: SelectConfig, result: Result, run: Run) -> Selected:
    """Return the rows that any rule takes, with the matrix at hand."""
    if not config.cv:
        return Selected(_by_table(config, result, run.log))
    order = _without_repeats(result, run.log)
    made, count = _cross_validated(config, run, len(order))
    made.rows = order[:count]
    return made


def _cross_validated(config: SelectConfig, run: Run, n_ranked: int) -> tuple[Selected, int]:
    """Return the curve of the accuracy in folds, and the number of features to take."""
    labels = run.context.labels
    assert labels is not None
    matrix, where, donors = run.config.matrix, str(run.config.labels), run.donors
    there = f"the ranking has {counted(n_ranked, 'ranked feature')}"
    lengths = lengths_up_to(n_ranked, config, CURVE_LENGTHS, there, matrix)
    folds = stratified_folds(labels, config.folds, config.rounds, config.seed, where, donors)
    inner = FoldRankings(run, folds)
    inner.note_leakage_of_lists(run.config)
    inner.note_leakage_of_graph(run)
    found = np.empty((len(folds), len(lengths), len(CLASSIFIERS)))
    run = inner.run
    with run.progress("ranking in folds"), ThreadPoolExecutor(run.plan.workers) as pool:
        values = inner.values(np.arange(run.matrix.n_samples))
        for at, fold in enumerate(folds):
            of_fold = inner.values_in(fold, values)
            ranking = inner.ranked_in(fold)
            kept = ranking.n_scored if ranking.n_kept is None else ranking.n_kept
            first = np.asarray(ranking.order[: min(kept, lengths[-1])], np.int64)
            if len(first) < lengths[-1]:
                kind = "ranked feature" if ranking.n_kept is None else "kept feature"
                there = f"the list of {place(fold)} has {counted(len(first), kind)}"
                lengths = lengths_up_to(len(first), config, lengths, there, matrix)
                found = found[:, : len(lengths)]
            Z = standardized(read_features(of_fold, first), fold.train)
            found[at] = list(pool.map(partial(_balanced, Z, labels.codes, fold), lengths))
    by_split = found.reshape(config.rounds, config.folds, len(lengths), len(CLASSIFIERS))
    curve = curve_of(by_split.mean(axis=-1))
    chosen, best = lengths[curve.chosen], lengths[curve.best]
    run.log.note(
        f"balanced accuracy in folds is best with {counted(best, 'feature')} "
        f"({curve.mean[curve.best]:.3f} ± {curve.error[curve.best]:.3f}); {chosen:,} are the "
        f"fewest within that error ({curve.mean[curve.chosen]:.3f})"
    )
    sizes = class_sizes(labels, donors)  # samples of one donor are no further ones
    chance, limit = chance_accuracy(list(sizes.values()))
    above = bool(curve.mean[curve.best] > limit)
    if not above:
        of = "samples" if donors is None else "donors"
        run.log.warn(
            f"the accuracy is not above chance: the best is {curve.mean[curve.best]:.3f}, guessing "
            f"has {chance:.3f} on average and up to {limit:.3f} with so few {of}; the number of "
            f"features is arbitrary, and the {counted(chosen, 'feature')} may be null features"
        )
    facts = {
        "lengths": list(lengths),
        **fold_facts(config, labels, donors),
        "best": best,
        "chosen": chosen,
        "balanced_accuracy": float(curve.mean[curve.chosen]),
        "standard_error": float(curve.error[curve.best]),
        "by_chance": chance,
        "by_chance_up_to": limit,
        "above_chance": above,
    }
    table = _curve_bytes(lengths, curve, found.mean(axis=0))
    return Selected(np.empty(0, np.int64), {"cv": facts}, {CURVE: table}), chosen


def _balanced(Z: np.ndarray, codes: np.ndarray, fold: Fold, length: int) -> np.ndarray:
    """Return the balanced accuracy of each classifier by the first features of Z, (l, n)."""
    return accuracies(Z[:length].T, codes, fold.train, fold.test)[:, 1]


def _curve_bytes(lengths: Sequence[int], curve: Curve, by_classifier: np.ndarray) -> bytes:
    rows: list[Row] = []
    for i, k in enumerate(lengths):
        marks = [word for word, at in (("best", curve.best), ("chosen", curve.chosen)) if at == i]
        numbers = [float(curve.mean[i]), float(curve.error[i]), *by_classifier[i].tolist()]
        rows.append([k, *numbers, ", ".join(marks)])
    return table_bytes(header(CURVE), rows)
