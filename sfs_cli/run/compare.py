"""``sfs compare``: several rankings of one matrix, judged as `sfs evaluate` judges one.

The matrix is read once, and prepared for each ranking as its options ask. What is measured of each
list, and within which folds, is the business of `sfs_cli.run.evaluate`; here are the lists beside
each other.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial, reduce
from itertools import combinations
from typing import Any

import numpy as np

from sfs_cli.compute.memory import format_size
from sfs_cli.display import shown
from sfs_cli.errors import InputError, UsageError, counted, within
from sfs_cli.evaluation.measures import Overlap, overlap
from sfs_cli.io.results.writers import Row, table_bytes
from sfs_cli.logs import Messages
from sfs_cli.options.compare import (
    ALL,
    RANDOM,
    VARIABLE,
    CompareConfig,
    check_different,
)
from sfs_cli.options.grammar import command, split
from sfs_cli.provenance import versions
from sfs_cli.report.model import Table
from sfs_cli.run import outputs
from sfs_cli.run.config import input_files
from sfs_cli.run.evaluate import (
    GIVEN,
    Evaluated,
    Evaluation,
    describe_judged,
    log_summary,
    shown_length,
    shown_measure,
    table_names,
    tables_of,
)
from sfs_cli.run.lists import Source, list_names, read_lists
from sfs_cli.run.load import Run, loaded
from sfs_cli.run.part import prepared_on
from sfs_cli.run.verdicts import CONTROLS, sentences
from sfs_cli.tables import FILES, header

CURVES, OVERLAP, METHODS = "curves.tsv", "overlap.tsv", "methods.tsv"

Pair = tuple[str, str, int, Overlap]
"""Two lists, a length, and what their first features have in common."""


def run(config: CompareConfig, messages: Messages) -> bytes:
    """Compare, write what is asked for, and return what belongs on stdout."""

    def make() -> outputs.Made:
        found = compare(config, messages)
        pairs = overlaps(found)
        tables = tables_of(found, config, CURVES)
        rows = [(a, b, k, each.shared, each.by_chance, each.jaccard) for a, b, k, each in pairs]
        tables[OVERLAP] = table_bytes(header(OVERLAP), rows)
        tables[METHODS] = _methods_bytes(found, config)
        if config.out is not None:
            tables[outputs.REPORT] = shown(_page(found, config, messages, list(tables))).encode()
        return outputs.Made.of_tables(
            tables, found.facts, partial(_log_summary, found, pairs, messages)
        )

    names = [*table_names(config, CURVES), OVERLAP, METHODS, outputs.REPORT]
    return outputs.make_result(config, messages, names, lambda: _describe(config), make)


def _describe(config: CompareConfig) -> list[Any]:
    """Return the files that are read, those of each ranking under its name."""
    files = list(input_files(config))
    common = {role for role, _, _ in files}
    for name, ranking in config.rankings.items():
        own = [each for each in input_files(ranking) if each[0] not in common]
        files += [(f"ranking.{name}.{role}", path, part) for role, path, part in own]
    files += [each.as_read(f"list.{i}") for i, each in enumerate(_sources(config), 1)]
    return describe_judged(config, files)


def _sources(config: CompareConfig) -> list[Source]:
    """Return where the given lists are."""
    return [Source.of(each.path) for each in config.list_]


def compare(config: CompareConfig, messages: Messages) -> Evaluated:
    """Rank, and judge every ranking beside the given lists and the controls.

    Raises
    ------
    InputError
        When a list, the labels or the sets do not fit the matrix, a class has fewer samples than
        there are folds, or a length exceeds what a list ranks.
    UsageError
        When two lists have the same name.
    """
    sources = _sources(config)
    names = [each.name or name for each, name in zip(config.list_, list_names(sources))]
    check_different([*config.rankings, *names])
    given = read_lists(sources, names, config, messages)
    with _loaded(config, messages) as runs:
        first = next(iter(runs.values()))
        rankings = {name: each for name, each in runs.items() if name in config.rankings}
        in_folds = config.labels is not None
        return Evaluation(config, first, rankings, given, in_folds=in_folds).evaluate()


@contextmanager
def _loaded(config: CompareConfig, messages: Messages) -> Iterator[dict[str, Run]]:
    """Give a run for each ranking, all of the same matrix and samples; one where there is none."""
    asked = config.rankings or {"": replace(config, method="variance")}  # for given lists alone
    runs: dict[str, Run] = {}
    with ExitStack() as stack:
        for name, each in asked.items():
            if each.rank_sources is not None:
                what = f"ranking {name}: lists are compared on the features of one matrix"
                raise UsageError(what, hint="leave out --rank-sources", option="ranking_of")
            log, opened = messages, None
            if runs:  # what is said of the matrix is said once
                log, opened = Messages(verbosity=-1), next(iter(runs.values())).opened
            with within(f"ranking {name}" if name else ""):
                made = stack.enter_context(
                    loaded(each, log, labeled=config.labels is not None, matrix=opened)
                )
            for warning in log.warnings if log is not messages else ():
                if warning not in messages.warnings:
                    messages.warn(f"ranking {name}: {warning}")
            # lists are compared, not columns beside them
            alone, context = replace(made.config, also=()), replace(made.context, log=messages)
            runs[name] = replace(made, config=alone, context=context)
        yield _on_common_samples(runs, config, messages)


def _on_common_samples(
    runs: dict[str, Run], config: CompareConfig, messages: Messages
) -> dict[str, Run]:
    """Return the runs on the samples that all of them use."""
    samples = {name: _samples(each) for name, each in runs.items()}
    common = reduce(np.intersect1d, samples.values())
    if all(len(each) == len(common) for each in samples.values()):
        return runs
    if len(common) < 2:
        raise InputError(
            f"{counted(len(common), 'sample')} can be used by all rankings: too few",
            where=config.matrix,
            hint="give the sources of the rankings more common samples",
            option="samples",
        )
    sizes = ", ".join(f"{name} {len(each):,}" for name, each in samples.items())
    messages.note(
        f"the rankings can use different samples ({sizes}): they are compared on the "
        f"{len(common):,} that all can use"
    )
    # in one order: above a number of samples a run has that of the file
    orders = {name: np.argsort(each) for name, each in samples.items()}
    first = next(iter(samples.values()))
    wanted = first[np.isin(first, common)]
    found = {}
    for name, run in runs.items():
        chosen = orders[name][np.searchsorted(samples[name], wanted, sorter=orders[name])]
        found[name] = prepared_on(run, chosen, Messages(verbosity=-1))
    return found


def _samples(run: Run) -> np.ndarray:
    """Return the samples of a run by their index in the file."""
    chosen = run.matrix.samples
    return np.arange(run.matrix.n_samples) if chosen is None else np.asarray(chosen)


# ---- the lists beside each other -----------------------------------------------------------------


def overlaps(found: Evaluated) -> list[Pair]:
    """Return what the first features of each pair of lists have in common, random lists left out.

    Lists are those of all samples, at each length that both have.
    """
    lists = [each for each in found.lists if each.name != RANDOM]
    background = found.facts["background"]
    return [
        (a.name, b.name, k, overlap(a.orders[0][:k], b.orders[0][:k], background))
        for a, b in combinations(lists, 2)
        for k in found.facts["lengths"]
        if k <= min(a.count, b.count)
    ]


def _page(found: Evaluated, config: CompareConfig, messages: Messages, names: list[str]) -> str:
    """Return the page: what held-out samples tell of each list, or else its redundancy."""
    from sfs_cli.report.comparison import curves_chart
    from sfs_cli.report.page import Figure, compiled, grids

    main, judge = shown_measure(found)
    in_words = found.task.best_known if judge else main
    own = [
        m
        for m in found.measures
        if m.measure in (main, "stability")
        and m.classifier in ("", judge)
        and not np.isnan(m.value)
    ]
    tables = [
        Table(
            heading=heading,
            columns=("list", "chosen on", "features", "mean", "low", "high"),
            rows=[(*m[:3], m.value, m.low, m.high) for m in own if m.measure == measure],
            note=FILES[CURVES].columns["low"] if judge else "",
            digits=3,
        )
        for measure, heading in ((main, in_words), ("stability", "stability over the folds"))
    ]
    curves: dict[str, list[tuple[int, float, float, float]]] = {}
    for m in own:
        if m.measure == main and m.name != ALL:
            curve = curves.setdefault(f"{m.name}, {m.selection}", [])
            curve.append((m.length, m.value, m.low, m.high))
    figures = []
    if curves:  # of single features no redundancy is known
        chart = curves_chart(in_words, curves)
        figures = [Figure(f"{in_words} by length", "Means, and 95% intervals where known.", chart)]
    shown_at = shown_length((m.name, m.length) for m in own if m.name not in CONTROLS)
    return compiled("compare.html.j2").render(
        title=config.matrix_name,
        sentences=sentences(found.verdicts, shown_at, found.task),
        warnings=messages.warnings,
        figures=figures,
        tables=grids(table for table in tables if table.rows),
        command=shlex.join([*command(config), "--out", "results"]),
        files=[(name, FILES[name].meaning) for name in names],
        version=versions()["sfs"],
    )


def _methods_bytes(found: Evaluated, config: CompareConfig) -> bytes:
    texts = {text: text.removeprefix(split(text)[0])[1:] for text in config.method_}
    texts |= {each.name: each.text for each in config.ranking_of}
    methods = {each["name"]: each.get("method", "") for each in found.facts["lists"]}
    rows: list[Row] = []
    numbers: Row
    for each in found.lists:
        kind, numbers = "given" if each.selection == GIVEN else "control", ("", "", "")
        if cost := found.costs.get(each.name):
            folds = round(float(np.mean(cost.fold_seconds)), 3) if cost.fold_seconds else ""
            peak = "" if cost.peak_memory is None else cost.peak_memory
            kind, numbers = "ranking", (round(cost.seconds, 3), folds, peak)
        count = found.facts["background"] if each.name == RANDOM else each.count
        of_list = (methods.get(each.name, ""), texts.get(each.name, each.path))
        rows.append((each.name, kind, *of_list, count, *numbers))
    return table_bytes(header(METHODS), rows)


def _log_summary(found: Evaluated, pairs: list[Pair], messages: Messages) -> None:
    """Log the measure of each list at one length, how far they agree, and their cost."""
    log_summary(found, messages)
    shown = shown_length(((a, b), k) for a, b, k, _ in pairs)
    for a, b, k, each in pairs:
        if k == shown and VARIABLE not in (a, b):
            messages.note(
                f"{a} and {b} share {each.shared:,} of their first {k:,} features "
                f"({each.by_chance:.1f} by chance)"
            )
    for name, cost in found.costs.items():
        peak = "" if cost.peak_memory is None else f", peak memory {format_size(cost.peak_memory)}"
        messages.note(f"{name} took {cost.seconds:.2f} s on all samples{peak}")
