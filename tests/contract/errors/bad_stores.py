"""Transformations, layers and stores that cannot be read."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tests.making_commands import (
    FEATURES,
    USAGE,
    bad,
    built_store,
    cut,
    h5ad,
    option,
    table,
    text,
    values,
)
from tests.unit.store.damaging import as_if_written, flip


def transform(folder: Path, steps: str, at: tuple[int, int] | None, value: float) -> list[str]:
    X = np.abs(values())
    if at is None:
        X[:, 4] = value
    else:
        X[at] = value
    return ["rank", text(folder, table(X)), "--transform", steps]


def store_without_values(folder: Path) -> list[str]:
    path = built_store(folder)
    (path / "values.bin").unlink()
    return ["rank", str(path)]


def store_cut(folder: Path) -> list[str]:
    path = built_store(folder)
    cut(path / "values.bin")
    return ["rank", str(path)]


def store_with_torn_manifest(folder: Path) -> list[str]:
    path = built_store(folder)
    cut(path / "manifest.json")
    return ["rank", str(path)]


def store_with_other_manifest(folder: Path) -> list[str]:
    path = built_store(folder)
    content = json.loads((path / "manifest.json").read_text())
    content["files"]["values.bin"] = {}
    (path / "manifest.json").write_text(json.dumps(content))
    return ["rank", str(path)]


def store_with_other_ids(folder: Path) -> list[str]:
    path = built_store(folder)
    pq.write_table(pa.table({"feature": FEATURES[:3]}), path / "features.parquet")
    as_if_written(path)
    return ["rank", str(path)]


def store_with_changed_bit(name: str) -> Callable[[Path], list[str]]:
    def make(folder: Path) -> list[str]:
        path = built_store(folder)
        flip(path / name, 8 * ((path / name).stat().st_size // 2))
        return ["rank", str(path)]

    return make


def store_of_later_version(folder: Path) -> list[str]:
    path = built_store(folder)
    content = json.loads((path / "manifest.json").read_text()) | {"version": 99}
    (path / "manifest.json").write_text(json.dumps(content))
    return ["rank", str(path)]


def store_option(*arguments: str) -> Callable[[Path], list[str]]:
    return lambda f: ["rank", str(built_store(f)), *arguments]


PREPARED = [
    bad(
        "log2 of zero",
        lambda f: transform(f, "log2", (3, 1), 0.0),
        "m.csv",
        "log2; positive; found 0; gene4; s2; log1p",
    ),
    bad(
        "log1p below -1",
        lambda f: transform(f, "log1p", (3, 1), -2.0),
        "m.csv",
        "log1p; -2; gene4; s2",
    ),
    bad(
        "cpm of a negative value",
        lambda f: transform(f, "cpm,log1p", (3, 1), -1.0),
        "m.csv",
        "cpm; negative; gene4; s2",
    ),
    bad("cpm of an empty sample", lambda f: transform(f, "cpm", None, 0.0), "m.csv", "cpm; s5; 0"),
    bad(
        "deviance of no counts",
        lambda f: transform(f, "deviance", (3, 1), 2.0),
        "m.csv",
        "deviance; whole numbers; gene1; s1",
    ),
    bad(
        "norm of an empty sample",
        lambda f: transform(f, "log1p,unit-samples", None, 0.0),
        "m.csv",
        "unit-samples; s5; 0",
    ),
    option("unknown step", "log1p; zscore", "--transform", "log1p,normalise"),
    option("unknown step, repeated", "'lg2'", "--transform", "lg2", "--transform", "log1p"),
    option("a floor without a number", "'floor:low'; floor:1", "--transform", "floor:low"),
    bad(
        "missing layer",
        lambda f: ["rank", h5ad(f, layers={"counts": values().T}), "--layer", "spliced"],
        "m.h5ad",
        "'spliced'; counts",
    ),
    bad("no raw matrix", lambda f: ["rank", h5ad(f), "--use-raw"], "m.h5ad", "raw"),
    bad("store: torn manifest", store_with_torn_manifest, "manifest.json", "sfs convert"),
    bad("store: other manifest", store_with_other_manifest, "manifest.json", "sfs convert"),
    bad("store: later version", store_of_later_version, "manifest.json", "99"),
    bad("store: fewer ids", store_with_other_ids, "m.store", "number; sfs convert"),
    bad(
        "store: changed value",
        store_with_changed_bit("values.bin"),
        "m.store",
        "values.bin; damaged; features 1 to 9; sfs convert --force",
    ),
    bad(
        "store: changed id",
        store_with_changed_bit("features.parquet"),
        "m.store",
        "features.parquet; damaged; sfs convert --force",
    ),
    bad(
        "store: changed checksum",
        store_with_changed_bit("checksums.bin"),
        "m.store",
        "checksums.bin; damaged; sfs convert --force",
    ),
    bad("store: no values", store_without_values, "m.store", "values.bin; is missing; sfs"),
    bad("store: cut values", store_cut, "m.store", "values.bin; 216; damaged"),
    bad("store: --layer", store_option("--layer", "x"), "--layer", "sfs convert", code=USAGE),
    bad("store: --rows", store_option("--rows", "samples"), "--rows", "sfs convert", code=USAGE),
    bad(
        "store: --dtype",
        store_option("--dtype", "float64"),
        "--dtype",
        "float32; sfs convert",
        code=USAGE,
    ),
]
