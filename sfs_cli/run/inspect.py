"""``sfs inspect``: read a matrix once, and describe it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from sfs_cli.compute.engine import Engine, ThreadExecutor
from sfs_cli.compute.matrix import Block
from sfs_cli.display import shown
from sfs_cli.errors import listed
from sfs_cli.io.files.read_limits import reading_within
from sfs_cli.io.files.scratch import scratch_folder
from sfs_cli.logs import Messages
from sfs_cli.options import RankConfig
from sfs_cli.provenance import dumps
from sfs_cli.run import inputs
from sfs_cli.run.columns import warn_of_columns
from sfs_cli.run.memory import memory_budget, thread_count
from sfs_cli.store.disk import check_store, is_store, read_manifest
from sfs_cli.store.prepared import PreparedMatrix


def inspect(config: RankConfig, messages: Messages, as_json: bool) -> str:
    """Return the description of a matrix, as text or JSON."""
    memory = memory_budget(config)
    scratch = Path(config.scratch) if config.scratch else None
    with reading_within(memory), scratch_folder(scratch) as folder:
        opened, table = inputs.load_with_labels(config, memory, folder, messages)
        matrix = opened.matrix
        warn_of_columns(matrix, messages)
        labels = inputs.align_labels(config, matrix, table, messages)
        facts: dict[str, Any] = {
            "path": config.matrix,
            **opened.facts,
            "samples": matrix.n_samples,
            "features": matrix.n_features,
            "first_samples": list(matrix.ids.samples[:3]),
            "first_features": list(matrix.ids.features[:3]),
            "stored_as": f"{'sparse' if matrix.sparse else 'dense'} {matrix.dtype.name}",
            **_values(matrix),
            "missing_values": matrix.missing.values,
            "features_with_missing_values": matrix.missing.features,
        }
        if matrix.ids.obs is not None:
            facts["sample_annotations"] = list(matrix.ids.obs.column_names)
        if opened.graphs:
            facts["sample_graphs"] = list(opened.graphs)
        if labels is not None:
            if config.label_type == "continuous":
                facts |= labels.range()
            else:
                facts["classes"] = labels.counts()
            facts["samples_without_label"] = int((~labels.known).sum())
    return dumps(facts) if as_json else _text(facts)


def check(config: RankConfig, messages: Messages, as_json: bool) -> str:
    """Read all of a matrix, and return that it is not damaged, as text or JSON.

    Damage is an `InputError`; of a store it names every part.
    """
    path = Path(config.matrix)
    if is_store(path):
        check_store(path, thread_count())
        manifest = read_manifest(path)
        values = manifest.n_samples * manifest.n_features
    else:
        memory = memory_budget(config)
        with scratch_folder(Path(config.scratch) if config.scratch else None) as folder:
            opened, _ = inputs.load_with_labels(config, memory, folder, messages)
            values = opened.matrix.n_samples * opened.matrix.n_features
    if as_json:
        return dumps({"path": config.matrix, "values": values, "compared": True, "damage": []})
    return f"checked: {values:,} values, no damage\n"


def _values(matrix: Any) -> dict[str, Any]:
    """Return the range of all values, the share of zeros, and the number of constant features."""
    source = PreparedMatrix(matrix, missing="drop")
    engine = Engine(source, ThreadExecutor(thread_count()), matrix.dtype)

    def part(block: Block) -> tuple[float, float, int, int]:
        values = block.values if block.left_out is None else block.values[block.left_out == 0]
        if not len(values):
            return np.inf, -np.inf, 0, 0
        low, high = values.min(axis=1), values.max(axis=1)
        zeros = values.size - int(np.count_nonzero(values))
        return float(low.min()), float(high.max()), zeros, int((low == high).sum())

    parts = [result for _, result in engine.run(part)]
    zeros = sum(p[2] for p in parts) / (matrix.n_samples * matrix.n_features)
    return {
        "smallest_value": min(p[0] for p in parts),
        "largest_value": max(p[1] for p in parts),
        "share_of_zeros": round(zeros, 4),
        "constant_features": sum(p[3] for p in parts),
    }


def _text(facts: dict[str, Any]) -> str:
    lines = []
    for name, value in facts.items():
        if isinstance(value, dict):
            value = ", ".join(f"{k} ({v})" for k, v in value.items())
        elif isinstance(value, list):
            value = listed([str(v) for v in value], 12)
        elif isinstance(value, float):
            value = f"{value:.6g}"
        elif isinstance(value, int) and not isinstance(value, bool):
            value = f"{value:,}"
        lines.append(f"{name.replace('_', ' '):<30}{shown(str(value))}\n")
    return "".join(lines)
