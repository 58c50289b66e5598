"""What `sfs evaluate` and `sfs compare` write and say of judged lists."""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, groupby
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from sfs_cli.compute.memory import format_size
from sfs_cli.errors import counted
from sfs_cli.evaluation.classify import Fold
from sfs_cli.evaluation.held_out import Task
from sfs_cli.evaluation.measures import Enrichment, Overlap
from sfs_cli.evaluation.verdict import Verdict
from sfs_cli.io.results.writers import Row, table_bytes
from sfs_cli.logs import Messages
from sfs_cli.options.compare import ALL, CONTROLS, RANDOM, VARIABLE, CompareConfig
from sfs_cli.options.evaluate import JudgeConfig
from sfs_cli.options.grammar import command, split
from sfs_cli.provenance import versions
from sfs_cli.report.model import Page, Part, Table, table_part
from sfs_cli.report.multiqc import EVALUATED
from sfs_cli.run.load import Run
from sfs_cli.tables import FILES, header
from sfs_cli.workflow import outputs
from sfs_cli.workflow.folds import FoldRankings, in_fold, lengths_up_to

EVALUATION, CURVES = "evaluation.tsv", "curves.tsv"
FOLDS, VERDICTS, ENRICHMENT = "folds.tsv", "verdicts.tsv", "enrichment.tsv"
OVERLAP, METHODS = "overlap.tsv", "methods.tsv"
IN_FOLDS, ONCE, GIVEN = "in folds", "all samples", "given"
"""When the features of a list were chosen: by the training samples of each fold, or before."""
SHOWN_LENGTH = 50
"""The summary shows the greatest length up to this."""
INTERVALS = (
    "Low and high are the limits of the 95% confidence interval over the folds, corrected for "
    "their overlap (Nadeau and Bengio, 2003)."
)
STABLE = "1 is the same list in all folds, 0 the mean of random lists (Nogueira's measure)."
"""How the tables of the page are read."""


Key = tuple[str, str, int, str, str]
"""What a measure is known by: the first columns of its row."""


class Measured(NamedTuple):
    """A row of the result: a measure of the first features of a list."""

    name: str
    selection: str
    length: int
    measure: str
    classifier: str  # "" of what needs no test samples
    value: float
    error: float = float("nan")
    low: float = float("nan")  # 95 % interval of a measure of held-out samples
    high: float = float("nan")


class JudgedList(NamedTuple):
    """A list that is judged: some orders of features, best first, whose results are averaged."""

    name: str
    selection: str
    orders: list[np.ndarray]
    facts: Mapping[str, Any]  # for the record

    @property
    def n_ranked(self) -> int:
        """How many features it ranks."""
        return min(map(len, self.orders))


@dataclass
class Judged:
    """What is judged, on all samples and in every fold, and all that was found."""

    config: JudgeConfig
    inner: FoldRankings
    rankers: Mapping[str, Run]  # by the names of their lists
    task: Task
    judges: int  # threads that may hold inner products of the samples (n, n)
    given: list[JudgedList]
    lengths: tuple[int, ...]
    drivers: set[str] = field(default_factory=set)  # those that the matrix has
    sets: Mapping[str, Sequence[str]] = field(default_factory=dict)
    background: int = 0  # features that vary
    lists: list[JudgedList] = field(default_factory=list)  # those of all samples
    folds: list[tuple[Fold, list[Measured]]] = field(default_factory=list)
    # the first features in each fold, of each list that is ranked there
    selected: dict[str, list[np.ndarray]] = field(default_factory=dict)
    measures: list[Measured] = field(default_factory=list)
    verdicts: list[tuple[int, str, Verdict]] = field(default_factory=list)  # length and model
    overlaps: list[tuple[str, str, int, Overlap]] = field(default_factory=list)  # of two lists
    # of each ranking that was made, on all samples and then in the folds: seconds, and the most
    # bytes that the whole process held, None where that is not known
    costs: dict[str, list[tuple[float, int | None]]] = field(default_factory=dict)
    enriched: list[tuple[str, str, int, Enrichment]] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def run(self) -> Run:
        """The run on all samples."""
        return self.inner.run

    @property
    def codes(self) -> np.ndarray | None:
        """The class of each sample, where there are classes."""
        labels = self.run.context.labels
        return None if labels is None or labels.values is not None else labels.codes

    def lengths_of(self, each: JudgedList, fold: Fold | None = None) -> tuple[int, ...]:
        """Return the lengths that a list has; one that is asked for and too long is refused."""
        there = f"{each.name} ranks {counted(each.n_ranked, 'feature')} of the matrix"
        there += in_fold(fold)
        if each.name in self.rankers and "select" in self.rankers[each.name].options:
            there += ", which --select can raise"
        option = ("lengths", "list_" if each.selection == GIVEN else "select")
        where = each.facts.get("path", self.config.matrix)
        return lengths_up_to(each.n_ranked, self.config, self.lengths, there, where, option)

    @cached_property
    def in_folds(self) -> dict[Key, list[float]]:
        """What was measured in the folds that have it, one after the other."""
        found = defaultdict[Key, list[float]](list)
        for each in chain.from_iterable(rows for _, rows in self.folds):
            found[each[:5]].append(each.value)
        return found

    @property
    def ratio(self) -> float:
        """Test samples of a fold over its training samples."""
        return 1 / (self.config.folds - 1)

    def is_leaky(self, key: Key) -> bool:
        """Tell whether test samples had a part in a list; then its values have no interval."""
        leaky = [each.name for each in self.given if each.facts["made_from_this_matrix"]]
        return key[1] == ONCE or key[0] in leaky

    @property
    def main(self) -> tuple[str, str]:
        """The measure that messages are about, and its model: redundancy has none."""
        by_folds = self.task.measures[-1], self.task.models[-1]
        return by_folds if self.folds else ("redundancy", "")

    @property
    def rows(self) -> list[Measured]:
        """Those of the measure that messages are about."""
        return [m for m in self.measures if (m.measure, m.classifier) == self.main]

    @property
    def stable(self) -> list[Measured]:
        """The stability over the folds, where it is known."""
        return [m for m in self.measures if m.measure == "stability" and m.value == m.value]

    @property
    def length(self) -> int:
        """The length that messages are about, which all lists have if there is one.

        The greatest up to `SHOWN_LENGTH`, or else the smallest.
        """
        of_lists: dict[str, set[int]] = {}
        for each in self.rows:
            if each.name not in CONTROLS:
                of_lists.setdefault(each.name, set()).add(each.length)
        every = list(of_lists.values()) or [set()]
        known = set.intersection(*every) or set.union(*every)
        return max((k for k in known if k <= SHOWN_LENGTH), default=min(known, default=0))

    @property
    def sentences(self) -> list[str]:
        """The verdicts about the best list of that length, by the last model, in words."""
        shown = self.length, self.task.models[-1]
        own = [v for *of, v in self.verdicts if tuple(of) == shown]
        means = {v.a: v.mean_a for v in own}
        best = max(means, key=lambda name: means[name], default="")
        unsure = [e.name for e in self.given if e.facts["made_from_this_matrix"] is None]
        doubt = "this says nothing if {} was ranked on samples of this matrix"
        return [
            v.sentence(self.task.words) + f"; {doubt.format(v.better)}" * (v.better in unsure)
            for v in own
            if best in (v.a, v.b)
        ]


# ---- files ---------------------------------------------------------------------------------------


def file_names(config: JudgeConfig) -> list[str]:
    """Return the names of the files of a result, the table of measures first."""
    several = isinstance(config, CompareConfig)
    return [
        CURVES if several else EVALUATION,
        *([VERDICTS, FOLDS] if config.labels is not None else []),
        *([ENRICHMENT] if config.sets else []),
        *(EVALUATED, *outputs.FOR_MULTIQC),
        *([OVERLAP, METHODS] if several else []),
        *(outputs.REPORT, outputs.PAGE),
    ]


def tables_of(found: Judged) -> outputs.Tables:
    """Return the tables by their names, in the order of `file_names`."""
    config = found.config
    several = isinstance(config, CompareConfig)
    main, tables = CURVES if several else EVALUATION, outputs.Tables()
    tables[main] = table_bytes(header(main), map(_known, found.measures))
    if config.labels is not None:
        by = found.task.measures[-1]
        verdicts = [
            (v.a, v.b, k, by, model, v.mean_a, v.mean_b, *v.difference, v.p_value, v.better)
            for k, model, v in found.verdicts
        ]
        tables[VERDICTS] = table_bytes(header(VERDICTS), map(_known, verdicts))
        predicted = [
            (fold.repeat, fold.number, len(fold.test), *of_model, *(m.value for m in rows))
            for fold, own in found.folds
            for of_model, rows in groupby(own, key=itemgetter(0, 1, 2, 4))
            if of_model[-1]  # a classifier, whose measures follow each other
        ]
        tables[FOLDS] = table_bytes((*header(FOLDS)[:-1], *found.task.measures), predicted)
    if config.sets:
        tests = [(*at[:3], *at[3][:-1], ";".join(at[3].members)) for at in found.enriched]
        tables[ENRICHMENT] = table_bytes(header(ENRICHMENT), tests)

    # of a list that was also ranked on all samples (--leaky) MultiQC shows what the folds found
    cells: dict[str, dict[str, Any]] = {}
    k = found.length
    for m in reversed(found.measures):  # what the folds have found is the first of a list
        if m.length == k and m.classifier in ("", found.main[1]):
            row = cells.setdefault(m.name, {"length": k})
            row |= {"selection": m.selection, m.measure: m.value}
    tables |= outputs.for_multiqc(config, EVALUATED, cells)

    if isinstance(config, CompareConfig):
        shared = [(a, b, k, o.shared, o.by_chance, o.jaccard) for a, b, k, o in found.overlaps]
        tables[OVERLAP] = table_bytes(header(OVERLAP), shared)
        tables[METHODS] = table_bytes(header(METHODS), _methods(found, config))
    return tables


def _known(row: Row) -> Row:
    """Return a row in which numbers that are not known are empty."""
    return ["" if value != value else value for value in row]


def _methods(found: Judged, config: CompareConfig) -> list[Row]:
    """Return what each list is, and what it costs."""
    texts = {text: text.removeprefix(split(text)[0])[1:] for text in config.method_}
    texts |= {each.name: each.text for each in config.ranking_of}
    rows: list[Row] = []
    for each in found.lists:
        kind = "given" if each.selection == GIVEN else "control"
        numbers: Row = ("", "", "")
        if each.name in found.costs:
            (seconds, peak), *folds = found.costs[each.name]
            in_fold = round(float(np.mean([each for each, _ in folds])), 3) if folds else ""
            kind, numbers = "ranking", (round(seconds, 3), in_fold, peak or "")
        count = found.background if each.name == RANDOM else each.n_ranked
        of_list = (each.facts.get("method", ""), texts.get(each.name, each.facts.get("path", "")))
        rows.append((each.name, kind, *of_list, count, *numbers))
    return rows


def page_of(found: Judged, config: JudgeConfig, messages: Messages) -> Page:
    """Return the page: what held-out samples tell of each list, or else its redundancy."""
    main, model = found.main
    in_words = found.task.best_known if model else main
    own = [m for m in found.rows if m.value == m.value]
    curves: dict[str, list[tuple[int, float, float, float]]] = {}
    for m in own:
        if m.name != ALL:
            curve = curves.setdefault(f"{m.name}, {m.selection}", [])
            curve.append((m.length, m.value, m.low, m.high))
    parts = []
    if curves:  # of single features no redundancy is known
        words = "Means, and 95% intervals where known."
        facts = {"measure": in_words, "found": curves}
        parts = [Part(heading=f"{in_words} by length", text=words, figure="curves", facts=facts)]
    columns = ("list", "chosen on", "features", "mean")
    tables = [
        Table(
            heading=in_words,
            columns=(*columns, "low", "high"),
            rows=[(*m[:3], m.value, m.low, m.high) for m in own],
            note=INTERVALS if model else "",
            digits=3,
        ),
        Table(
            heading="stability over the folds",
            columns=columns,
            rows=[(*m[:3], m.value) for m in found.stable],
            note=STABLE,
            digits=3,
        ),
    ]
    parts += [table_part(table) for table in tables if table.rows]
    several = isinstance(config, CompareConfig)
    beside = [name for name in file_names(config) if name not in (outputs.REPORT, outputs.PAGE)]
    return Page(
        version=versions()["sfs"],
        kicker="Comparison of rankings" if several else "Evaluation of feature lists",
        title=config.matrix_name,
        summary=found.sentences,
        warnings=messages.warnings,
        parts=parts,
        command=shlex.join([*command(config), "--out", "results"]),
        files=[(name, FILES[name].meaning) for name in beside],
    )


# ---- messages ------------------------------------------------------------------------------------


def log_summary(found: Judged, messages: Messages) -> None:
    """Log the main measure of each list at one length, the verdicts, and what lists share."""
    (measure, model), length = found.main, found.length
    for each in found.rows:
        if each.length == length or each.name == ALL:
            by = found.task.best_known if model else measure
            interval = "" if np.isnan(each.low) else f" (95% {each.low:.3f} to {each.high:.3f})"
            messages.note(
                f"{each.name} ({each.selection}), {counted(each.length, 'feature')}: "
                f"{by} {each.value:.3f}{interval}"
            )
    for text in found.sentences:
        messages.note(text)
    stable = ", ".join(f"{m.name} {m.value:.2f}" for m in found.stable if m.length == length)
    if stable:
        messages.note(f"stability of the first {length:,} features over the folds: {stable}")
    for a, b, k, both in found.overlaps:
        if k == length and VARIABLE not in (a, b):
            messages.note(
                f"{a} and {b} share {both.shared:,} of their first {k:,} features "
                f"({both.by_chance:.1f} by chance)"
            )
    for name, ((seconds, peak), *_) in found.costs.items() if found.overlaps else ():
        memory = "" if peak is None else f", peak memory {format_size(peak)}"
        messages.note(f"{name} took {seconds:.2f} s on all samples{memory}")
