"""Permutations are of the tests alone: other rankings of the same run leave their number out."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import sfs_cli
from tests.making import names, write_labels, write_table

N, M = 24, 40


@pytest.mark.parametrize(
    "more",
    [
        {"method": "spec", "similarity": "rbf", "stability": "half,subsets=4,top=5"},
        {"method": "fisher", "labels": "y.tsv", "also": ["spec"], "similarity": "rbf"},
        {"method": "msfs", "source": {"a": "target:", "b": "labels:y.tsv"}, "leave_one_out": True},
    ],
    ids=["stability", "also", "leave-one-out"],
)
@pytest.mark.filterwarnings("ignore::sfs_cli.SfsWarning")
def test_rankings_beside_permutations(
    more: dict[str, object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_table(tmp_path / "x.csv", np.random.default_rng(3).normal(size=(M, N)))
    write_labels(tmp_path / "y.tsv", np.array(["a", "b"] * (N // 2)), names("s", N))
    found = sfs_cli.rank("x.csv", pvalues="permutation,draws=20", **more)
    assert found.table["p_value"].min() >= 1 / 21
