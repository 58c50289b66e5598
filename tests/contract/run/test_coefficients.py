"""The coefficients of sparse methods, which a result has without being asked."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import sfs_cli as sfs
from tests.contract.numbers.commands import rank_to

CASES = {
    "rfs,gamma=2": {},
    "l21,response=lda,budget=0.5": {},
    "mrsf,response=lda": {"select": 6},
    "mrsf-rounds,response=lda": {"select": 6},
}


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("study")
    X = np.random.default_rng(5).normal(size=(40, 24))
    X[:6] += 2 * (np.arange(24) % 3)
    samples = [f"s{i}" for i in range(24)]
    pd.DataFrame(X, [f"g{i}" for i in range(40)], samples).to_csv(folder / "x.csv")
    classes = pd.DataFrame({"kind": list("abc") * 8}, samples)
    classes.to_csv(folder / "y.tsv", sep="\t", index_label="sample")
    return folder


def read(out: Path) -> pd.DataFrame:
    return pd.read_csv(out / "coefficients.tsv", sep="\t", index_col="feature")


@pytest.mark.parametrize("method", CASES)
def test_they_are_those_of_the_features_that_have_some(method, study, tmp_path):
    options = CASES[method]
    given = [word for name, value in options.items() for word in (f"--{name}", value)]
    given += ["--method", method, "--labels", study / "y.tsv"]
    out = rank_to(tmp_path / "out", study / "x.csv", *given)
    found = read(out)
    record = json.loads((out / "run.json").read_text())
    assert record["solver"]["coefficients"] == len(found) > 0
    assert list(found) == ["w1", "w2", "w3"]
    assert (found != 0).any(axis=1).all()
    assert "coefficients.tsv" in (out / "report.html").read_text()
    table = pd.read_csv(out / "ranking.tsv", sep="\t", index_col="feature")
    if method.startswith(("rfs", "l21")):
        norms = np.linalg.norm(found, axis=1)
        np.testing.assert_allclose(table["score"][found.index], norms, rtol=1e-8)
        assert not table["score"].drop(found.index).any()
    ranked = sfs.rank(study / "x.csv", method=method, labels=study / "y.tsv", **options)
    pd.testing.assert_frame_equal(ranked.coefficients, found, rtol=1e-8)


def test_other_methods_have_none_and_leave_none_behind(study, tmp_path):
    given = ("--labels", study / "y.tsv", "--force")
    out = rank_to(tmp_path / "out", study / "x.csv", "--method", "rfs", *given)
    assert (out / "coefficients.tsv").exists()
    rank_to(out, study / "x.csv", "--method", "fisher", *given)
    assert not (out / "coefficients.tsv").exists()
    assert sfs.rank(study / "x.csv", method="variance").coefficients is None
