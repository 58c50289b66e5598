"""The columns that compare the classes, through the command line."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from scipy import stats

from tests.contract.numbers.commands import facts, rank_to
from tests.making import write_table
from tests.running import run_here

N, M = 40, 90
TESTING = ("t-test", "welch", "f-test", "fisher")
METHODS = ("t-test", "welch", "f-test", "fisher", "mutual-info", "relieff")


def write_labels(folder: Path, classes: list[str], name: str = "labels.tsv") -> str:
    with (folder / name).open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter="\t")
        writer.writerow(["sample", "kind"])
        writer.writerows([f"s{j}", classes[j % len(classes)]] for j in range(N))
    return f"{folder / name}:kind"


@pytest.fixture
def study(tmp_path: Path) -> tuple[Path, np.ndarray]:
    """A matrix of which one feature is constant, one is missing a class, and two are equal."""
    rng = np.random.default_rng(5)
    X = rng.normal(6, 1.5, (M, N))
    X[:9] += np.arange(1, 10)[:, None] * (np.arange(N) % 2)
    X[9] = 3
    X[10] = X[11]
    X = X.astype(np.float32).astype(np.float64)
    rows = [f"g{i}" for i in range(M)]
    write_table(tmp_path / "m.csv", X, rows, [f"s{j}" for j in range(N)])
    return tmp_path / "m.csv", X


@pytest.mark.parametrize("method", METHODS)
def test_two_classes_have_direction_means_and_difference(method, study, tmp_path) -> None:
    path, X = study
    labels = write_labels(tmp_path, ["b b", "a"])  # samples with an even number are of the second
    out = rank_to(
        tmp_path / "out",
        path,
        *("--method", method, "--labels", labels, "--format", "parquet"),
    )
    table = pq.read_table(out / "ranking.parquet").to_pandas().set_index("feature")
    own = ["p_value", "q_value"] if method in TESTING else []
    expected = [*own, "direction", "mean_a", "mean_b_b", "mean_difference"]
    assert [name for name in table.columns[3:] if name != "tied"] == expected
    table = table.loc[[f"g{i}" for i in range(M)]]
    first, second = X[:, 1::2], X[:, ::2]
    change = second.mean(axis=1) - first.mean(axis=1)
    kept = np.arange(M) != 9
    np.testing.assert_allclose(table["mean_a"][kept], first.mean(axis=1)[kept], rtol=1e-12)
    np.testing.assert_allclose(table["mean_b_b"][kept], second.mean(axis=1)[kept], rtol=1e-12)
    np.testing.assert_allclose(table["mean_difference"][kept], change[kept], rtol=1e-9)
    assert list(table["direction"]) == [
        "" if i == 9 else "b b" if change[i] > 0 else "a" for i in range(M)
    ]
    assert table[expected].drop(columns="direction").loc["g9"].isna().all()
    assert facts(out)["method"]["mean_difference"] == "b b - a"
    if own:
        test = stats.ttest_ind(second, first, axis=1, equal_var=method not in ("t-test", "welch"))
        np.testing.assert_allclose(table["p_value"][kept], test.pvalue[kept], rtol=1e-10)


def clr(X: np.ndarray) -> np.ndarray:
    """The logarithm to base 2 of x + 1 by its geometric mean in the sample."""
    return np.log2((X + 1) / np.exp(np.log1p(X).mean(axis=0)))


BASE_2 = {
    "log2": np.log2,
    "log1p": lambda X: np.log2(X + 1),
    "cpm,log1p": lambda X: np.log2(X / X.sum(axis=0) * 1e6 + 1),
    "clr": clr,
}


@pytest.mark.figures
@pytest.mark.parametrize("steps", BASE_2)
def test_a_fold_change_is_of_base_2(steps, tmp_path) -> None:
    X = np.random.default_rng(1).poisson(9, (30, N)) + 1.0
    write_table(tmp_path / "m.csv", X, [f"g{i}" for i in range(30)], [f"s{j}" for j in range(N)])
    labels = write_labels(tmp_path, ["a", "b"])
    out = rank_to(
        tmp_path / "out",
        *(tmp_path / "m.csv", "--method", "t-test", "--labels", labels, "--transform", steps),
        *("--format", "parquet"),
    )
    table = pq.read_table(out / "ranking.parquet").to_pandas().set_index("feature")
    assert "mean_difference" not in table
    values = BASE_2[steps](X)
    expected = values[:, 1::2].mean(axis=1) - values[:, ::2].mean(axis=1)
    found = table["log2_fold_change"].loc[[f"g{i}" for i in range(30)]]
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)
    assert facts(out)["method"]["log2_fold_change"] == "b - a"
    page = (out / "report.html").read_text()
    assert "log2 fold change (b less a)" in page
    assert "1 is twice as much" in page


@pytest.mark.parametrize(
    ("steps", "said"),
    [("is-log2,zscore", "after zscore"), ("log1p,center,rank", "after rank"), ("is-log2", None)],
)
def test_a_step_that_takes_fold_changes_away_is_named(steps, said, study, tmp_path, capfd):
    path, _ = study
    asked = ["--method", "t-test", "--labels", write_labels(tmp_path, ["a", "b"])]
    told = run_here(["rank", str(path), *map(str, asked), "--transform", steps], capfd).err
    assert "differences are those of b less a" in told
    assert ("no log2 fold changes" in told) == (said is not None)
    assert said is None or f"{said} they are" in told


@pytest.mark.figures
@pytest.mark.parametrize(
    ("said", "base"), [("is-log2", 2), ("is-ln,center", np.e), ("is-log10", 10)]
)
def test_logarithms_that_are_stated_have_fold_changes_of_base_2(said, base, study, tmp_path):
    path, X = study
    write_table(path, X, [f"g{i}" for i in range(M)], [f"s{j}" for j in range(N)])
    asked = ["--method", "t-test", "--labels", write_labels(tmp_path, ["a", "b"])]
    asked += ["--format", "parquet", "--dtype", "float64"]
    steps = said.partition(",")[2]
    out = rank_to(tmp_path / "o", path, *asked, *("--transform", said, "--markers", "welch"))
    table = pq.read_table(out / "ranking.parquet").to_pandas().set_index("feature")
    assert "mean_difference" not in table
    change = (X[:, 1::2].mean(axis=1) - X[:, ::2].mean(axis=1)) * np.log2(base)
    kept = [f"g{i}" for i in range(M) if i != 9]
    expected = np.delete(change, 9)
    np.testing.assert_allclose(table["log2_fold_change"][kept], expected, rtol=1e-8, atol=1e-12)
    assert facts(out)["method"]["log2_fold_change"] == "b - a"
    assert "log2 fold change (b less a)" in (out / "report.html").read_text()
    markers = pd.read_csv(out / "markers.tsv", sep="\t", index_col=["class", "feature"])
    np.testing.assert_allclose(markers.log2_fold_change["b"][kept], expected, rtol=1e-6, atol=1e-9)
    # it says what the values are, and changes none of them
    plain = rank_to(tmp_path / "p", path, *asked, *(["--transform", steps] if steps else []))
    unsaid = pq.read_table(plain / "ranking.parquet").to_pandas().set_index("feature")
    both = [name for name in unsaid if name != "mean_difference"]
    pd.testing.assert_frame_equal(table[both], unsaid[both], check_exact=True)


@pytest.mark.figures
@pytest.mark.parametrize(
    "steps", ["deviance", "cpm", "log1p,zscore", "log1p,rank", "unit-samples,log1p", "log1p,log1p"]
)
def test_without_a_known_scale_there_is_no_fold_change(steps, tmp_path) -> None:
    X = np.random.default_rng(1).poisson(9, (30, N))
    write_table(tmp_path / "m.csv", X, [f"g{i}" for i in range(30)], [f"s{j}" for j in range(N)])
    labels = write_labels(tmp_path, ["a", "b"])
    out = rank_to(
        tmp_path / "out",
        *(tmp_path / "m.csv", "--method", "fisher", "--labels", labels, "--transform", steps),
        *("--format", "parquet"),
    )
    table = pq.read_table(out / "ranking.parquet").to_pandas()
    assert "log2_fold_change" not in table
    expected = table["mean_b"] - table["mean_a"]
    np.testing.assert_allclose(table["mean_difference"], expected, rtol=1e-6, atol=1e-9)
    page = (out / "report.html").read_text()
    assert "difference of the means (b less a)" in page
    assert "twice as much" not in page


def test_text_has_the_same_columns_and_quotes_odd_names(study, tmp_path) -> None:
    path, _ = study
    odd = ['one, "two"', "one  two;tabbed"]
    out = rank_to(
        tmp_path / "out", path, "--method", "t-test", "--labels", write_labels(tmp_path, odd)
    )
    with (out / "ranking.tsv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    assert {row["direction"] for row in rows} == {*odd, ""}
    assert list(rows[0])[-4:] == [
        *("direction", "mean_one_two_tabbed", "mean_one_two_", "mean_difference")
    ]
    report = (out / "report.html").read_text(encoding="utf-8")
    assert "one, &#34;two&#34;" in report


def test_names_that_become_one_stay_apart(study, tmp_path) -> None:
    path, _ = study
    labels = write_labels(tmp_path, ["größe 1", "größe_1"])
    out = rank_to(tmp_path / "out", path, "--method", "fisher", "--labels", labels)
    header = (out / "ranking.tsv").read_text(encoding="utf-8").split("\n")[0].split("\t")
    assert header[-3:] == ["mean_größe_1", "mean_größe_1_2", "mean_difference"]


@pytest.mark.parametrize("method", ["f-test", "fisher", "mutual-info", "relieff"])
def test_of_three_classes_the_highest_is_named(method, study, tmp_path) -> None:
    path, X = study
    labels = write_labels(tmp_path, ["x", "z", "y"])
    out = rank_to(
        tmp_path / "out", path, "--method", method, "--labels", labels, "--format", "json"
    )
    rows = json.loads((out / "ranking.json").read_text())
    assert not {"direction", "mean_difference"} & set(rows[0])
    for row in rows:
        values = X[int(row["feature"][1:])]
        means = {name: values[k::3].mean() for k, name in enumerate("xzy")}
        best = max(means, key=lambda name: means[name])
        assert row["highest_class"] == (best if row["status"] == "ok" else "")


def test_an_outcome_and_an_aggregate_have_no_columns_of_classes(study, tmp_path) -> None:
    path, _ = study
    labels = write_labels(tmp_path, ["1", "2", "5"])
    trend = ("--label-type", "continuous", "--method", "f-test")
    lists = ("--method", "kogs,members=fisher,variance")
    for k, words in enumerate((trend, lists)):
        out = rank_to(tmp_path / str(k), path, "--labels", labels, *words)
        header = (out / "ranking.tsv").read_text().split("\n")[0].split("\t")
        assert not {"direction", "highest_class", "mean_difference"} & set(header)


def test_rra_over_lists_of_one_matrix_says_that_its_p_values_are_too_small(study, tmp_path) -> None:
    path, _ = study
    labels = write_labels(tmp_path, ["a", "b"])
    method, words = "kogs,members=fisher,t-test,variance", ["--labels", labels]
    found = {}
    for how in ("rra", "borda"):
        given = ("--method", f"{method},how={how}", *words)
        found[how] = facts(rank_to(tmp_path / how, path, *given))["warnings"]
    assert any("independent lists" in text for text in found["rra"])
    assert not any("independent lists" in text for text in found["borda"])
    assert "independent lists, and these" in (tmp_path / "rra" / "report.html").read_text()
