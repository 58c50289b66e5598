"""``--reference``: which of two classes the other is compared with."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.running import run_here

GENES = [f"g{i}" for i in range(12)]


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pd.DataFrame:
    """Write a matrix, and the classes ad and control, of which the second is the reference."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(8)
    X = pd.DataFrame(rng.normal(size=(12, 14)), GENES, [f"s{i}" for i in range(14)])
    X.iloc[:3, :7] += 3
    X.to_csv("x.csv")
    classes = ["AD"] * 7 + ["Control"] * 7
    pd.DataFrame({"label": classes}, X.columns).to_csv("labels.tsv", sep="\t", index_label="sample")
    return X


@pytest.mark.parametrize("method", ["t-test", "rank-test", "fisher"])
def test_differences_are_those_of_the_other_class_less_the_reference(method, study, capfd):
    means = study.iloc[:, :7].mean(axis=1), study.iloc[:, 7:].mean(axis=1)
    words = ["rank", "x.csv", "--labels", "labels.tsv", "--method", method]
    tables = {}
    for name, more in (("byname", []), ("control", ["--reference", "Control"])):
        done = run_here([*words, *more, "--out", name], capfd)
        assert done.code == 0, done.err
        less = "AD less Control" if more else "Control less AD, in the order of the names; "
        assert f"differences are those of {less}" in done.err
        assert ("give --reference Control for AD less Control" in done.err) == (not more)
        tables[name] = pd.read_csv(f"{name}/ranking.tsv", sep="\t", index_col="feature")
    by_name, asked = tables["byname"].loc[GENES], tables["control"].loc[GENES]
    np.testing.assert_allclose(by_name["mean_difference"], means[1] - means[0], rtol=1e-5)
    np.testing.assert_allclose(asked["mean_difference"], means[0] - means[1], rtol=1e-5)
    columns = [name for name in asked if name.startswith("mean_") and name != "mean_difference"]
    assert columns == ["mean_Control", "mean_AD"]
    same = ["rank", "direction", "mean_AD", "mean_Control"]
    pd.testing.assert_frame_equal(by_name[same], asked[same])
    record = json.loads(Path("control/run.json").read_text())
    assert record["method"]["mean_difference"] == "AD - Control"
    again = run_here(["rank", "--config", "control/run.json", "--out", "again"], capfd)
    assert again.code == 0, again.err
    assert Path("again/ranking.tsv").read_bytes() == Path("control/ranking.tsv").read_bytes()


@pytest.mark.parametrize(
    ("labels", "options", "code", "told"),
    [
        (["a"] * 7 + ["b"] * 7, [], 3, "no sample is of class 'c'"),
        (range(14), ["--label-type", "continuous"], 2, "it is for two classes"),
    ],
)
def test_a_reference_that_is_none_is_refused(labels, options, code, told, study, capfd):
    table = pd.DataFrame({"label": labels}, study.columns)
    table.to_csv("labels.tsv", sep="\t", index_label="sample")
    words = ["rank", "x.csv", "--labels", "labels.tsv", "--reference", "c", *options]
    done = run_here([*words, "--out", "out"], capfd)
    assert done.code == code
    assert told in done.err
    assert not Path("out").exists()


def test_a_reference_of_three_classes_is_left_out_with_a_warning(study, capfd):
    table = pd.DataFrame({"label": ["a", "b", "c"] * 4 + ["c"] * 2}, study.columns)
    table.to_csv("labels.tsv", sep="\t", index_label="sample")
    words = ["rank", "x.csv", "--labels", "labels.tsv", "--method", "f-test"]
    done = run_here([*words, "--reference", "c", "-q"], capfd)
    assert done.code == 0
    assert done.out == run_here([*words, "-q"], capfd).out
    told = run_here([*words, "--reference", "c"], capfd).err
    assert "--reference has no effect with 3 classes" in told
