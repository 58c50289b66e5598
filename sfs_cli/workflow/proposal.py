"""The command to run next, which ``sfs inspect`` proposes from what it has read."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from sfs_cli.compute.context import Labels
from sfs_cli.compute.matrix import Ids
from sfs_cli.errors import SfsError
from sfs_cli.io.files.table import read_table
from sfs_cli.io.files.text import WORKBOOKS, split_member
from sfs_cli.io.files.workbook import SheetStream
from sfs_cli.io.knowledge.sample_columns import is_inside
from sfs_cli.logs import Messages
from sfs_cli.options import RankConfig
from sfs_cli.options.fields import options_of
from sfs_cli.options.grammar import command
from sfs_cli.options.paths import STANDARD_INPUT
from sfs_cli.run import inputs
from sfs_cli.run.annotations import REPLICATES, Annotation, groupings, pairs, repeated_donors
from sfs_cli.run.guards import id_labels
from sfs_cli.run.load import loaded
from sfs_cli.run.raw_values import raw_kind, scaled
from sfs_cli.store.matrix import Matrix, look
from sfs_cli.workflow.pipes import as_given

BESIDE = [f"{stem}.{end}" for stem in ("labels", "samples") for end in ("tsv", "csv", "txt")]
"""Files beside the matrix that may be the table of its samples."""
_READ_ANEW = {"pseudobulk", "collapse", "layer", "dtype"}
"""Options with which the matrix is another one."""


def proposed(
    config: RankConfig,
    opened: inputs.Opened,
    table: inputs.Column[inputs.Label] | None,
    labels: Labels | None,
    led: Sequence[str],
    excluded: str | None,
) -> tuple[list[str], list[str]]:
    """Return the words of a command that ranks a matrix, and other columns that may be its labels.

    There are no words where a run would be refused for what no option mends.

    Parameters
    ----------
    config, opened, table, labels
        What was asked for and read.
    led : sequence of str
        Batches that the samples follow.
    excluded : str, optional
        The pattern of features that are no measurements.
    """
    matrix, changes = opened.matrix, dict[str, Any]()
    values = look(matrix)
    raw, cells = raw_kind(values), opened.like_cells()[0]
    counts = raw is not None and raw.counts
    counted = counts or "layers/counts" in opened.facts.get("matrices", ())
    spec = config.labels or _beside(config, matrix.ids)
    if (as_given(config).labels or "").partition(":")[0] == STANDARD_INPUT:
        spec = None  # which no second option can read
    columns = groupings(matrix, None, spec, per_class=REPLICATES)
    if config.files:  # each is a batch
        columns = [each._replace(batch=each.batch or each.spec == "obs:file") for each in columns]
    batches = [each for each in columns if each.batch]
    classes = [each for each in columns if not each.batch]
    classes.sort(key=lambda each: _of_donors(matrix, each))

    # what is compared
    others: list[str] = []
    spatial = "obsm:spatial" in opened.graphs and labels is None
    if spatial:
        changes["spatial"] = True
        if counted and not counts:
            changes["layer"] = "counts"
    elif table is not None and labels is not None and (event := _events(table, labels)):
        changes |= event
    elif labels is not None and inputs.look_continuous(labels) and not _are_classes(labels):
        changes["label_type"] = "continuous"
    elif labels is None or not _are_classes(labels):
        changes |= {"labels": None} if config.labels else {}
        changes |= _chosen(matrix.ids, classes)
        names = [(each.spec, each.spec.rpartition(":")[2]) for each in classes]
        others = [name for name, column in names if not {name, column} & {*changes.values()}]
    survival = not {"event", "censored"}.isdisjoint(changes)
    if "labels" in changes:
        table, labels = _read_labels(replace(config, **changes), matrix)
    if survival and table is not None and labels is not None and not labels.known.all():
        named = replace(config, **changes).labels or ""
        if filled := inputs.with_last_visit(named, table, matrix.ids.samples):
            changes["labels"] = filled
            table, labels = _read_labels(replace(config, **changes), matrix)
    numbers = labels is None or labels.values is not None or "label_type" in changes or survival
    compared = None if numbers else labels

    # the samples whose differences are of no interest
    used = None if labels is None or labels.known.all() else np.flatnonzero(labels.known)
    if used is not None and not survival:  # who has no time is missed: a run refuses
        changes["samples"] = "intersect"
    inside = is_inside(changes.get("labels") or config.labels or "")  # other labels are of cells
    of_cells = compared if cells and used is None and inside else None
    test = "t-test" if compared is not None and compared.n_classes == 2 else "f-test"
    if compared is not None and (found := pairs(matrix, compared, used, spec)):
        changes |= {"method": test, "block": found[0]}
    elif (
        of_cells is not None
        and counted
        and (donors := repeated_donors(matrix, of_cells, None, None))
    ):
        changes |= {"layer": "counts"} if not counts else {}
        changes |= {"pseudobulk": donors[0].removeprefix("obs:"), "method": test}
        if (fewest := int(np.bincount(donors[1]).min())) < config.least_cells:
            changes["min_cells"] = fewest
        changes["transform"], cells = "log2cpm", False
    elif not (spatial or survival):
        crossed = [each.spec for each in batches if _crossed(each.codes, labels, used)]
        first = [name for name in led if name in crossed]
        if first := first or crossed * (compared is not None and not cells):
            changes["adjust"] = (f"{first[0]}=categorical",)

    # what the values need
    if scaled(values, opened.facts, config.layer):
        changes["layer"], cells = "raw.X", True  # by scanpy, as a rule
    if cells and compared is not None:
        changes["markers"] = "t" if "adjust" in changes else "wilcoxon"
    if raw is not None and not {"spatial", "pseudobulk"} & changes.keys():
        bulk = counts and not raw.sparse and not matrix.missing.values
        if bulk and survival:
            changes |= {"transform": "log2cpm:tmm", "min_count": 10}
        elif bulk and labels is not None:
            changes |= {"method": test, "voom": True, "min_count": 10}
        else:
            changes["transform"] = raw.transform
    if matrix.missing.values:
        most = 2 * matrix.missing.features > matrix.n_features
        changes["missing"] = "mean" if most else "drop"
    if opened.facts["renamed"] and config.collapse is None:
        changes["collapse"] = "sum" if counts else "highest-mean"
    if opened.noticed.get("coarse"):
        changes["dtype"] = "float64"
    if excluded is not None:
        changes["exclude"] = (excluded,)
    return _words(config, changes, opened), others


def _read_labels(
    config: RankConfig, matrix: Matrix
) -> tuple[inputs.Column[inputs.Label] | None, Labels | None]:
    """Return the labels of a configuration, as read and as those of the samples."""
    table = inputs.read_label_table(config, matrix.ids)
    return table, inputs.align_labels(config, matrix, table, Messages(verbosity=-1))


def _beside(config: RankConfig, ids: Ids) -> str | None:
    """Return a table beside a matrix without annotations, or a sheet, that has all samples."""
    if ids.obs is not None or config.files:
        return None
    own, sheet = split_member(Path(config.matrix))
    tables = [own.parent / name for name in BESIDE]
    if own.suffix.lower() in WORKBOOKS:
        with closing(SheetStream(own, None)) as stream:  # without a name the first is the matrix
            others = [name for name in stream.sheets if name != sheet][sheet is None :]
        tables = [Path(f"{own}:{name}") for name in others] + tables
    for path in tables:
        with suppress(SfsError, OSError):
            table = read_table(path)
            if {*ids.samples} <= {*table.columns[table.ids_among(ids.samples)]}:
                return str(path)
    return None


def _events(table: inputs.Column[inputs.Label], labels: Labels) -> dict[str, str]:
    """Return the option of the events, and their column, where labels are times."""
    times = labels.values is not None or inputs.look_continuous(labels)
    return inputs.event_beside(table.name, *table.beside) if times else {}


def _are_classes(labels: Labels) -> bool:
    """Tell whether labels can be compared: numbers, or classes of several samples."""
    sizes = [count for count in labels.counts().values() if count]
    several = len(sizes) > 1 and min(sizes) > 1
    return labels.values is not None or (several and id_labels(labels) is None)


def _chosen(ids: Ids, classes: Sequence[Annotation]) -> dict[str, str]:
    """Return the first column as the labels; of events, the times beside them."""
    if not classes:
        return {}
    first = classes[0].spec
    of, _, event = first.rpartition(":")
    if not re.search(inputs.EVENT, event, re.IGNORECASE):
        return {"labels": first}
    obs = ids.obs if is_inside(first) else None
    names = [*read_table(Path(of)).columns] if obs is None else obs.column_names
    times = inputs.times_of(event, names)
    if not times:
        return {"labels": first}
    return {"labels": f"{of}:{times[0]}"} | inputs.event_beside(times[0], event)


def _of_donors(matrix: Matrix, each: Annotation) -> bool:
    """Tell whether each donor has one class: cells of one are no replicates, and types come first.

    Donors are annotations of the matrix.
    """
    labels = Labels(each.codes, [str(level) for level in range(each.levels)])
    return repeated_donors(matrix, labels, None, None) is not None


def _crossed(codes: np.ndarray, labels: Labels | None, used: np.ndarray | None) -> bool:
    """Tell whether every group (n,) has samples of every class, of those `used`."""
    if labels is None or labels.values is not None:
        return True
    labels, codes = labels.take(used), codes if used is None else codes[used]
    cells = np.unique(np.stack([codes, labels.codes]), axis=1)
    return cells.shape[1] == len(np.unique(codes)) * labels.n_classes


def _words(config: RankConfig, changes: dict[str, Any], opened: inputs.Opened) -> list[str]:
    """Return a command, with what was given first; none where a run would be refused."""
    made = replace(config, **changes)
    if not _READ_ANEW & changes.keys():
        try:
            with loaded(made, Messages(verbosity=-1), matrix=opened):
                pass
        except SfsError:
            return []
    declared = {o.name: o for o in options_of(RankConfig)}
    words = command(as_given(replace(config, **config.unset(*changes))))
    for name, value in changes.items():
        words += [] if value is None else declared[name].as_words(value)
    return [*words, "--out", "results"]
