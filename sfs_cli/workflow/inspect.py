"""``sfs inspect``: read a matrix once, and describe it."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sfs_cli.compute.engine import ThreadExecutor
from sfs_cli.compute.matrix import Span, block_features, cut
from sfs_cli.display import shown
from sfs_cli.errors import SfsError, counted, listed
from sfs_cli.io.files.atomic import scratch_folder
from sfs_cli.io.files.table import texts_of
from sfs_cli.logs import AT_ONCE, Messages
from sfs_cli.options import RankConfig
from sfs_cli.provenance import dumps
from sfs_cli.run import inputs
from sfs_cli.run.annotations import components, followed, groupings
from sfs_cli.run.guards import before_ranking, guard_names
from sfs_cli.run.load import loaded
from sfs_cli.run.needs import memory_budget, thread_count
from sfs_cli.run.raw_values import raw_kind, what_values
from sfs_cli.store.matrix import Matrix, look
from sfs_cli.workflow.proposal import proposed

if TYPE_CHECKING:
    import pyarrow as pa

_RAW = re.compile(r"(outlier samples dominate [^;]*); give .*(?= \[raw-values\]$)")
"""What raw values need of a plain ranking; the command that is proposed has it, or better."""


def inspect(config: RankConfig, messages: Messages, as_json: bool) -> str:
    """Return the description of a matrix, as text or JSON."""
    with scratch_folder() as folder:
        memory = memory_budget(config)
        opened, table = inputs.load_with_labels(config, memory, folder, messages)
        if table is None:
            table = inputs.read_label_table(config, opened.matrix.ids)
        matrix, ids = opened.matrix, opened.matrix.ids
        labels = inputs.align_labels(config, matrix, table, messages)
        values, sums = _values(matrix)
        facts: dict[str, Any] = {
            "path": " ".join(config.all_files),
            **opened.facts,
            "samples": matrix.n_samples,
            "features": matrix.n_features,
            "first_samples": [*ids.samples[:3]],
            "first_features": [*ids.features[:3]],
            "stored_as": f"{'sparse' if matrix.sparse else 'dense'} {matrix.dtype.name}",
            **values,
            "missing_values": matrix.missing.values,
            "features_with_missing_values": matrix.missing.features,
        }
        if ids.obs is not None:
            facts["sample_annotations"] = ids.obs.column_names
            facts["sample_columns"] = _columns(ids.obs)
        if ids.var:
            facts["feature_annotations"] = [*ids.var]
        if opened.graphs:
            facts["sample_graphs"] = [*opened.graphs]
        if labels is not None:
            of_numbers = config.label_type == "continuous"
            facts |= labels.range() if of_numbers else {"classes": labels.counts()}
            facts["samples_without_label"] = int((~labels.known).sum())
        looked = look(matrix)
        raw, whole = raw_kind(looked), bool((looked == np.rint(looked)).all())
        facts["values_look_like"] = what_values(
            raw, values["smallest_value"], values["largest_value"], sums, whole=whole
        )
        if raw is not None and raw.counts:
            sizes = np.percentile(sums[0], [0, 50, 100]).astype(int).tolist()
            facts["library_sizes"] = dict(zip(("smallest", "median", "largest"), sizes))
        told, excluded = _told(config, opened)
        batches = [each for each in groupings(matrix, labels, config.labels) if each.batch]
        led = followed(batches, components(matrix)) if batches else {}  # by the samples
        if led:
            facts["batches"] = {name: round(share, 2) for name, share in led.items()}
        words, others = proposed(config, opened, table, labels, [*led], excluded)
        if words:
            facts |= {"other_labels": others} if others else {}
            facts["next_command"] = shlex.join(words)
            told = [
                _RAW.sub(r"\1; the command that is proposed has what they need", t) for t in told
            ]
        for text in told:
            messages.warn(text)
    return dumps(facts | {"warnings": messages.warnings}) if as_json else _text(facts)


def _told(config: RankConfig, opened: inputs.Opened) -> tuple[list[str], str | None]:
    """Return what `sfs rank` would warn of before it ranks, or refuse.

    The second is the pattern of features that are no measurements.
    """
    quiet, excluded = Messages(verbosity=-1), None
    # what is missing is among the facts, and the command that is proposed has what it takes
    config = replace(config, missing="mean", samples="intersect" if config.labels else "error")
    try:
        with loaded(config, quiet, matrix=opened) as run:
            before_ranking(run)
            excluded = guard_names(run)
    except SfsError as error:
        quiet.warn(f"{error.what}: sfs rank refuses this; {error.hint}", AT_ONCE)
    return quiet.warnings, excluded


def _values(matrix: Matrix) -> tuple[dict[str, Any], np.ndarray]:
    """Return the range of all known values, the share of zeros, and how many features are constant.

    The second is, of shape (3, n), the sums of each sample: of the values, and of what they are the
    logarithms of, if they are natural ones or of base 2, of 1 + x.
    """
    n, m = matrix.n_samples, matrix.n_features

    def part(span: Span) -> tuple[np.ndarray, np.ndarray, int, np.ndarray]:
        values = matrix.values_of(span)
        low, high = np.fmin.reduce(values, axis=1), np.fmax.reduce(values, axis=1)
        zeros = int(np.count_nonzero(values == 0))
        known = np.nan_to_num(values, copy=False)  # missing values add nothing to any sum
        with np.errstate(over="ignore"):
            parts = (known, np.expm1(known), np.exp2(known) - 1)
            sums = np.stack([each.sum(axis=0, dtype=np.float64) for each in parts])
        return low, high, zeros, sums

    spans = cut(m, block_features(n, matrix.dtype.itemsize))
    lows, highs, zeros, sums = zip(*ThreadExecutor(thread_count()).map(part, spans))
    low, high = np.concatenate(lows), np.concatenate(highs)
    facts = {
        "smallest_value": float(np.fmin.reduce(low)),
        "largest_value": float(np.fmax.reduce(high)),
        "share_of_zeros": round(sum(zeros) / max(n * m - matrix.missing.values, 1), 4),
        "constant_features": int(np.count_nonzero(low == high)),
    }
    return facts, np.sum(sums, axis=0)


def _columns(obs: pa.Table) -> dict[str, str]:
    """Return of each column of the samples how many values it has, and the first of them."""
    found = {}
    for name, column in zip(obs.column_names, obs.columns):
        values = texts_of(column.drop_null().unique().to_pylist())
        missing = f"; {column.null_count:,} missing" if column.null_count else ""
        found[f"obs:{name}"] = f"{counted(len(values), 'value')}: {listed(values, 4)}{missing}"
    return found


def _text(facts: dict[str, Any]) -> str:
    columns, lines = facts.pop("sample_columns", {}), []
    last = [("others", ", ".join(facts.pop("other_labels", ())))]
    last.append(("next", facts.pop("next_command", "")))
    for name, value in (facts | columns).items():
        if isinstance(value, dict):
            value = ", ".join(f"{k} ({v})" for k, v in value.items())
        elif isinstance(value, list):
            value = listed([*map(str, value)], 12)
        elif isinstance(value, float):
            value = f"{value:.6g}"
        elif isinstance(value, int) and not isinstance(value, bool):
            value = f"{value:,}"
        lines.append(f"{name if ':' in name else name.replace('_', ' '):<30}{shown(str(value))}\n")
    lines += [f"{name}: {shown(text)}\n" for name, text in last if text]
    return "".join(lines)
