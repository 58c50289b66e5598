"""``sfs select``: how many features of a ranking to take, by one rule, and their list.

Rules that rank again read from ``run.json`` how the ranking was made. The table of the result stays
what the list is cut from: it says the order, and no rule changes it.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sfs_cli import provenance
from sfs_cli.errors import InputError, UsageError, counted, listed
from sfs_cli.evaluation.classify import CLASSIFIERS
from sfs_cli.evaluation.curve import chance_accuracy, curve_of
from sfs_cli.evaluation.held_out import CLASSES
from sfs_cli.io.files.text import text_suffix
from sfs_cli.io.results.rankings import parse_numbers
from sfs_cli.io.results.writers import Row, table_bytes
from sfs_cli.logs import Messages
from sfs_cli.options import RankConfig
from sfs_cli.options.evaluate import CURVE_LENGTHS
from sfs_cli.options.fields import flag
from sfs_cli.options.files import load
from sfs_cli.options.guards import GUARDS
from sfs_cli.options.parts import not_in_folds, without_effect_on_order
from sfs_cli.options.paths import refuse_recorded
from sfs_cli.options.select import SelectConfig
from sfs_cli.parts.doubts import doubts, to_have_q_values
from sfs_cli.parts.sets import OVERREPRESENTED, given_sets
from sfs_cli.provenance import InputFile
from sfs_cli.report.multiqc import SELECTED
from sfs_cli.run.config import input_files, split_sets
from sfs_cli.run.load import Run, loaded
from sfs_cli.tables import header
from sfs_cli.workflow import outputs
from sfs_cli.workflow.folds import (
    FoldRankings,
    by_length,
    class_sizes,
    fold_facts,
    lengths_up_to,
    note_leakage_of_graph,
    note_leakage_of_lists,
    place,
    predictor,
    stratified_folds,
)
from sfs_cli.workflow.lists import Source, read_lists, record_of
from sfs_cli.workflow.result import Result, check_unchanged, positions
from sfs_cli.workflow.subset import check_target, write_subset

IDS, ROWS, CURVE = "selected.txt", "selected.tsv", "curve.tsv"
BEST = 5
"""Sets of each test that messages name."""
_WITHOUT: dict[str, Any] = {"format": "tsv"} | without_effect_on_order()
"""What a ranking is made again without: what does not change the order of the features."""


class Selected(NamedTuple):
    """The chosen rows of a table, best first, and what the record says of the choice."""

    rows: np.ndarray
    facts: dict[str, Any]
    tables: outputs.Tables  # beside those of the rows


def run(config: SelectConfig, messages: Messages) -> bytes:
    """Select, write what is asked for, and return what belongs on stdout."""
    result = read_result(config, messages)
    ranking, beside, options = None, list[outputs.Beside](), config.result_options()
    if config.reads_matrix:
        ranking = ranking_config(config, result)
        options = ranking.result_options() | options | {"ranking_seed": ranking.seed}
        if config.write_matrix is not None:
            whole = Path(ranking.matrix).is_dir()  # it is written in the same format
            beside = [outputs.Beside("write_matrix", Path(config.write_matrix), whole)]
            check_target(ranking, beside[0].path)
            refuse_recorded("write_matrix", beside[0].path, input_files(ranking))

    def describe() -> list[InputFile]:
        sets = [("sets", path, {"part": part}) for path, part in map(split_sets, config.sets)]
        found = outputs.describe_files([Source.of(config.result).as_read("result"), *sets])
        return found if ranking is None else [*found, *outputs.describe_inputs(ranking)]

    def make() -> outputs.Made:
        rows, more, more_tables = select(config, result, ranking, messages, *beside)
        columns, chosen = result.table.columns, [result.features[row] for row in rows]
        cells = [[column[row] for column in columns.values()] for row in rows]
        facts = {
            "rule": config.rule,
            "ranking": str(result.path),
            "n_ranked": result.n_ranked,
            "n_selected": len(rows),
            **more,
        }
        shown = facts | {
            "rule": _said(config),
            "top_feature": chosen[0] if chosen else None,
            "n_warnings": len(messages.warnings),
        }
        tables = {
            IDS: "".join(f"{name}\n" for name in chosen).encode(),
            ROWS: table_bytes(list(columns), cells),
            **more_tables,
            **outputs.for_multiqc(config, SELECTED, {"": shown}),
        }

        def summarize() -> None:  # what was found is logged by now
            for copy in beside:
                messages.note(f"wrote {copy.path}: {counted(len(rows), 'feature')}")

        return outputs.Made(
            facts, lambda: tables[IDS], lambda _record: outputs.writing(tables), summarize
        )

    files = [IDS, ROWS, SELECTED, *outputs.FOR_MULTIQC] + [CURVE] * config.cv
    return outputs.make_result(
        config, messages, files, describe, make, options=options, beside=beside
    )


# ---- what is read --------------------------------------------------------------------------------


def read_result(config: SelectConfig, messages: Messages) -> Result:
    """Read the ranking, and the record beside it.

    Raises InputError when there is none, or it is a GSEA file, whose metric may have signs.
    """
    source = Source.of(config.result)
    path = source.path
    if text_suffix(path) == ".rnk":
        raise InputError(
            "an rnk file ranks by a metric that may have signs, and says nothing of features "
            "without a score",
            where=str(path),
            hint="rank again with --format tsv",
        )
    (ranked,) = read_lists([source], [path.stem], config, messages)
    order = np.argsort(ranked.ranks, kind="stable")[: ranked.n_ranked]
    needing = config.given("fdr", "stable", "cv", "sets")
    if ranked.whole is not None and needing:
        raise InputError(
            f"the table has the first {len(order):,} of {ranked.whole:,} ranked features, and "
            f"{flag(needing[0])} needs all of them",
            where=str(path),
            hint="rank again without --top, or choose by --top alone",
            option=needing[0],
        )
    record = record_of(path)
    own = isinstance(record.get("method"), dict) and "input" in record  # else of an aggregate
    return Result(path, ranked.table, ranked.features, order, record if own else None, ranked.whole)


def ranking_config(config: SelectConfig, result: Result) -> RankConfig:
    """Return how the matrix was ranked, on what this run may use.

    Raises InputError when no record says so and it is needed, or a file is gone or has changed
    since, UsageError when the rule has no meaning for this ranking.
    """
    resources: dict[str, Any] = {"threads": config.threads, "memory": config.memory}
    if result.record is not None:
        file = load(provenance.record_beside(result.path))
        # what the run chose by its values, and by options that are left out below
        chosen = {name: file.defaults.get(name) for name in ("method", "response")}
        of_cells = result.record["input"].get("like_cells") and chosen["method"] == "spec"
        if of_cells and file.defaults.get("similarity") == "knn":
            chosen["similarity"] = "knn"
        if config.matrix is not None:
            resources |= {"matrix": config.matrix, "files": ()}
        ranked = RankConfig(**{**chosen, **file.options, **resources})
        made = to_rank_again(config, ranked, result.record, str(result.path))
        takes = ("matrix", "labels")
        check_unchanged(made, result, config.given(*takes), takes)
        return made
    if config.cv or config.matrix is None:
        what = "how it was made, and --cv ranks again" if config.cv else "which matrix was ranked"
        raise InputError(
            f"no run.json beside the ranking says {what}",
            where=str(result.path),
            hint="give the output folder of sfs rank" + ", or --matrix FILE" * (not config.cv),
            option="cv" if config.cv else "matrix",
        )
    # only the values are read, and none is compared by a score
    return RankConfig(config.matrix, method="variance", missing="mean", **resources)


def to_rank_again(
    config: SelectConfig, made: RankConfig, record: Mapping[str, Any], where: str
) -> RankConfig:
    """Return how features are ranked again that were ranked so; `record` is what was found then.

    Raises UsageError when the rule has no meaning for this ranking.
    """
    graph = record.get("graph", {})
    if config.labels is not None:
        default, made = made.graph, replace(made, labels=config.labels)
        if made.graph != default and "similarity" in graph:  # that of hsic is of the labels
            own = {name: graph[name] for name in ("components", "variable_genes") if name in graph}
            own["similarity"] = graph.get("coordinates", graph["similarity"])
            made = replace(made, **own)
    again = replace(made, **_WITHOUT | {"donors": made.donors})  # folds take whole ones
    if not config.cv:
        return again
    if made.labels is None:
        raise UsageError(
            "--cv needs labels, and the features were ranked without",
            where=where,
            hint="give --labels FILE[:COLUMN], or obs:KEY if the matrix is AnnData",
            option=("labels", "cv"),
        )
    what = ""
    if made.split is not None:
        what = f"does not rank again with --split {made.split}"
    elif made.label_type == "continuous":
        what = "measures how well classes are told apart, and these labels are numbers"
    elif wrong := not_in_folds(made):  # `again`, without p-values, no longer asks for all of it
        name, why = next(iter(wrong.items()))
        what = f"{why}: not for a ranking with {flag(name)}"
    if what:
        hint = "choose by another rule, such as --top"
        raise UsageError(f"--cv {what}", where=where, hint=hint, option="cv")
    return again


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
    sets = config.sets and given_sets(config.sets, result.features, messages)
    facts, tables = dict[str, Any](), outputs.Tables()
    order = _without_repeats(result, messages)
    if ranking is None:
        rows = _by_table(config, result, order, messages)
    else:
        with loaded(ranking, messages, labeled=config.cv) as run:
            index = positions(run, result)
            if config.cv:
                facts["cv"], tables[CURVE] = _cross_validated(config, run, len(order))
                rows = order[: facts["cv"]["chosen"]]
            else:
                rows = _by_table(config, result, order, messages)
            if copy is not None:
                assert copy.partial is not None
                if not len(rows):
                    raise InputError(
                        "no feature is selected, so there is no matrix to write",
                        where=str(result.path),
                        hint="leave out --write-matrix, or ask for less",
                        option="write_matrix",
                    )
                write_subset(run, np.sort(index[rows]), copy.partial, copy.path)
                facts["matrix"] = str(copy.path)
    compared = (result.record or {}).get("pruning", {}).get("kept")
    if compared is not None and len(rows) > compared:
        messages.warn(
            f"{len(rows) - compared:,} of the selected features were not compared with the better "
            f"ones, and may repeat them: pruning ended with {compared:,}; select {compared:,} or "
            "fewer"
        )
    of = f"of {counted(result.n_ranked, 'ranked feature')}"
    if len(rows):
        messages.note(f"selected {len(rows):,} {of} ({_said(config)})")
    else:
        messages.warn(f"none {of} is selected ({_said(config)})")
    if sets:
        tables[OVERREPRESENTED] = _test_sets(result, rows, *sets, messages)
    return Selected(rows, facts, tables)


def _said(config: SelectConfig) -> str:
    return flag(config.rule) + ("" if config.cv else f" {getattr(config, config.rule):g}")


def _without_repeats(result: Result, messages: Messages) -> np.ndarray:
    """Return the order of the rows; of a pruned ranking, without those that repeat a better one."""
    order, better = result.order, result.table.columns.get("representative")
    if better is None or not (result.record or {}).get("pruning"):
        return order
    kept = order[[not better[row] for row in order]]
    if len(kept) < len(order):
        count = counted(len(order) - len(kept), "feature")
        messages.note(f"left out, as they repeat a better one (--max-correlation): {count}")
    return kept


def _by_table(
    config: SelectConfig, result: Result, order: np.ndarray, messages: Messages
) -> np.ndarray:
    """Return the rows that --top, --fdr or --stable take."""
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
    column, hint = "q_value", to_have_q_values(result.record or {})
    if config.stable is not None:
        column = "frequency"
        hint = "rank with --stability B, which writes how often each feature is selected"
    if column not in result.table.columns:
        raise InputError(
            f"{flag(config.rule)} needs a column {column!r}, which the ranking lacks",
            where=f"{result.path} (columns: {listed(list(result.table.columns), 10)})",
            hint=hint,
            option=config.rule,
        )
    values = np.array(parse_numbers(result.table, column))[order]
    if config.stable is not None:
        return order[values >= config.stable]
    of_aggregate = {"of_one_matrix": record_of(result.path).get("of_one_matrix")}
    for doubt in doubts(result.record or of_aggregate):
        messages.warn(doubt.text, GUARDS[doubt.guard].weight)
    return order[values <= config.fdr]


def _cross_validated(config: SelectConfig, run: Run, n_ranked: int) -> tuple[dict[str, Any], bytes]:
    """Return the facts and the table of the accuracy in folds, by the length of the list."""
    labels, donors, log = run.context.required_labels, run.donors, run.log
    there = f"the ranking has {counted(n_ranked, 'ranked feature')}"
    lengths = lengths_up_to(n_ranked, config, CURVE_LENGTHS, there, run.config.matrix)
    how = (config.folds, config.rounds, config.seed, str(run.config.labels), donors)
    inner = FoldRankings(run, stratified_folds(labels, *how))
    note_leakage_of_lists(run)
    note_leakage_of_graph(run)
    of_folds = []
    with inner.run.progress("ranking in folds"), ThreadPoolExecutor(inner.run.plan.workers) as pool:
        for fold in inner.folds:
            ranking = inner.ranked(inner.part_in(fold), fold)
            kind = "ranked feature" if ranking.n_kept is None else "kept feature"
            count = len(ranking.curve)
            there = f"the list of {place(fold)} has {counted(count, kind)}"
            lengths = lengths_up_to(count, config, lengths, there, run.config.matrix)
            values, predict = inner.values_in(fold), predictor(inner, fold, CLASSES)
            of_folds.append(
                by_length(values, ranking.order, lengths, fold.train, predict, pool.map)
            )
    accuracies = [
        [[of[k]["balanced_accuracy", model] for model in CLASSIFIERS] for k in lengths]
        for of in of_folds
    ]
    shape = (config.rounds, config.folds, len(lengths), len(CLASSIFIERS))
    found = np.array(accuracies).reshape(shape)
    curve = curve_of(found.mean(axis=-1))
    chosen, best = lengths[curve.chosen], lengths[curve.best]
    highest, error = float(curve.mean[curve.best]), float(curve.error[curve.best])
    reached = float(curve.mean[curve.chosen])
    log.note(
        f"balanced accuracy in folds is best with {counted(best, 'feature')} ({highest:.3f} ± "
        f"{error:.3f}); {chosen:,} are the fewest within that error ({reached:.3f})"
    )
    sizes = class_sizes(labels, donors)  # samples of one donor are no further ones
    chance, limit = chance_accuracy(list(sizes.values()))
    if highest <= limit:
        of = "samples" if donors is None else "donors"
        log.warn(
            f"the accuracy is not above chance: the best is {highest:.3f}, guessing "
            f"has {chance:.3f} on average and up to {limit:.3f} with so few {of}; the number of "
            f"features is arbitrary, and the {counted(chosen, 'feature')} may be null features"
        )
    marks = ["best" if k == best else "" for k in lengths]
    marks[curve.chosen] = "best, chosen" if chosen == best else "chosen"
    by_model = found.mean(axis=(0, 1)).tolist()
    numbers = zip(lengths, curve.mean.tolist(), curve.error.tolist(), by_model, marks)
    rows: list[Row] = [(k, mean, error, *each, mark) for k, mean, error, each, mark in numbers]
    facts = {
        "lengths": list(lengths),
        **fold_facts(config, labels, donors),
        "best": best,
        "chosen": chosen,
        "balanced_accuracy": reached,
        "standard_error": error,
        "by_chance": chance,
        "by_chance_up_to": limit,
        "above_chance": highest > limit,
    }
    return facts, table_bytes(header(CURVE), rows)


def _test_sets(
    result: Result, rows: np.ndarray, name: str, sets: Mapping[str, list[str]], log: Messages
) -> bytes:
    """Test sets among the selected rows, of two directions also apart; return the table."""
    from sfs_cli.evaluation.measures import enrichment  # imports SciPy

    chosen = np.isin(result.order, rows)
    parts = {"selected": chosen}
    if "direction" in result.table.columns:
        higher = np.array(result.table.columns["direction"])[result.order]
        ends = sorted({*higher.tolist()} - {""}, reverse=True)
        if len(ends) == 2:
            parts |= {f"selected, higher in {end}": chosen & (higher == end) for end in ends}
    cells: list[Row] = []
    for part, first in parts.items():
        ahead = [result.features[row] for row in result.order[np.argsort(~first, kind="stable")]]
        length = int(first.sum())
        tests = enrichment(ahead, length, sets)
        cells += [(part, "all samples", length, *each[:-1], ";".join(each[-1])) for each in tests]
        best = [f"{each.name} (q-value {each.q_value:.2g})" for each in tests[:BEST]]
        log.note(f"sets of {name}, {part}: best {'; '.join(best) or 'none'}")
    return table_bytes(header(OVERREPRESENTED), cells)
