"""The columns that methods add to a ranking are those that are declared."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import sfs_cli as sfs
from sfs_cli.catalog import METHODS
from sfs_cli.tables import RANKING

N, M = 24, 30
OPTIONS = {
    "msfs": {"source": {"expression": "target:"}},
    "l21": {"method": "l21,lambda=0.5"},
}


def made() -> np.ndarray:
    values = np.random.default_rng(0).normal(size=(N, M))
    values[: N // 2, :5] += 2
    return values


def columns_of(name: str, classes: int) -> list[str]:
    method, options = METHODS[name], {"method": name} | OPTIONS.get(name, {})
    if name == "kogs":
        profile = np.random.default_rng(1).normal(size=(N, 9))
        options["source"] = {"expression": "target:", "profile": profile}
    if {"labels", "some-labels"} & {*method.needs} or name == "trace-ratio":
        options["labels"] = np.array([f"class{i * classes // N}" for i in range(N)], object)
    if name == "cox":
        options["labels"], options["event"] = np.arange(N), np.arange(N) % 2
    if name == "spearman":
        options["label_type"] = "ordered,order=" + ",".join(f"class{i}" for i in range(classes))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sfs.SfsWarning)
        return ["feature", *sfs.rank(made(), **options).table.columns]


def is_known(column: str) -> bool:
    return column in RANKING or column.startswith(("mean_", "rank_"))


@pytest.mark.parametrize(
    ("name", "classes"),
    [*((name, 2) for name in METHODS), ("f-test", 3), ("rank-test", 3), ("spec", 3)],
)
def test_columns_are_declared(name: str, classes: int) -> None:
    columns = columns_of(name, classes)
    own = METHODS[name].columns if (name, classes) != ("rank-test", 3) else {}
    assert set(own) <= set(columns)
    assert [c for c in columns if not is_known(c) and c not in own] == []
