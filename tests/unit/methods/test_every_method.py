"""What holds of every method: neither orders nor blocks matter, nor features that do not vary."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import sfs_cli as sfs
from sfs_cli.catalog import METHODS

N, M = 24, 30
OUTCOMES = ("f-test", "relieff", "mutual-info", "mrmr", "rfs", "hsic")
"""Methods of classes that take numbers, too."""


def study() -> tuple[pd.DataFrame, pd.Series]:
    """Samples x features, of which the first follow two classes; 3 and 4 do not vary."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, M)) + rng.normal(size=(N, 2)) @ rng.normal(size=(2, M))
    X[: N // 2, 5:12] += 2
    X[:, 3], X[:, 4] = 0, 0.1
    samples = [f"s{i}" for i in range(N)]
    classes = pd.Series(["a"] * (N // 2) + ["b"] * (N // 2), samples)
    return pd.DataFrame(X, samples, [f"g{j:02}" for j in range(M)]), classes


def ranked(case: str, X: pd.DataFrame, classes: pd.Series) -> pd.DataFrame:
    """Return the table of a method, by feature; `case` may end in "of numbers"."""
    name, _, of_numbers = case.partition(" ")
    method, options = METHODS[name], dict[str, Any](method=name, dtype="float64")
    if {"labels", "some-labels"} & {*method.needs} or name == "trace-ratio" or of_numbers:
        options["labels"] = classes
    if name in ("cox", "spearman") or of_numbers:
        options["labels"] = pd.Series(np.arange(N) ** 2 % 37 + 1, classes.index)
        options["labels"] += 40 * (classes == "a")
        options["label_type"] = None if name == "cox" else "continuous"
    if name == "cox":
        options["event"] = pd.Series(np.arange(N) % 3 > 0, classes.index)
    if name in ("msfs", "kogs"):
        options["source"] = {
            "expression": "target:",
            "p": X.filter(regex="g[12]").add_prefix("p") ** 3,
        }
    if name == "l21":
        options["method"] = "l21,lambda=0.5"
    if "select" in method.options:
        options["select"] = 9
    options = {key: value for key, value in options.items() if value is not None}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sfs.SfsWarning)
        return sfs.rank(X, **options).table.sort_index()


CASES = [*METHODS, *(f"{name} of numbers" for name in OUTCOMES)]


@pytest.mark.parametrize("case", CASES)
def test_orders_blocks_and_features_that_do_not_vary_change_nothing(
    case: str, set_blocks: Callable[[int], None]
) -> None:
    X, classes = study()
    whole = ranked(case, X, classes)
    assert whole.status[["g03", "g04"]].tolist() == ["all zero", "constant"]
    assert whole.score[["g03", "g04"]].isna().all()
    assert (whole.status == "ok").sum() >= 5
    rng = np.random.default_rng(1)
    turned = X.iloc[rng.permutation(N), rng.permutation(M)]
    set_blocks(7)
    for other in (turned, X.drop(columns=["g03", "g04"])):
        found = ranked(case, other, classes)
        expected = whole.loc[found.index]
        pd.testing.assert_series_equal(found.status, expected.status)
        np.testing.assert_allclose(found.score, expected.score, rtol=1e-6, atol=1e-8)


OF_CLASSES = [
    name for name in METHODS if "labels" in METHODS[name].needs and name not in ("cox", "spearman")
]


@pytest.mark.parametrize("name", OF_CLASSES)
def test_a_feature_of_the_classes_is_among_the_first(name: str) -> None:
    X, classes = study()
    X["g17"] = 10.0 * (classes == "a") + np.random.default_rng(2).normal(size=N)
    assert ranked(name, X, classes)["rank"]["g17"] <= 2
