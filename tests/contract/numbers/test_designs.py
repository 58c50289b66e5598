"""Tests for other designs than two normal classes, through the command line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from tests.contract.numbers.commands import code_of, facts, rank_to
from tests.making import write_labels, write_table
from tests.running import run_here

N, M = 45, 60


@pytest.fixture
def study(tmp_path: Path) -> Path:
    rng = np.random.default_rng(7)
    dose = np.arange(N) % 3
    X = rng.lognormal(size=(M, N))
    X[:10] *= 1 + np.arange(1, 11)[:, None] * dose
    X[10:15] /= 1 + dose
    X[20] = np.round(X[20])  # equal values
    X[21] = 4
    write_table(tmp_path / "m.csv", X)
    write_labels(tmp_path / "two.tsv", [f"c{d // 2}" for d in dose])
    write_labels(tmp_path / "three.tsv", [f"c{d}" for d in dose])
    write_labels(tmp_path / "dose.tsv", [str(d) for d in dose])
    return tmp_path


def table_of(study: Path, *words: str) -> pd.DataFrame:
    given = (*words, "--dtype", "float64", "--format", "parquet")  # which has all digits
    out = rank_to(study / "out", study / "m.csv", *given)
    return pd.read_parquet(out / "ranking.parquet").set_index("feature")


def values_of(study: Path) -> pd.DataFrame:
    return pd.read_csv(study / "m.csv", index_col=0)


def test_the_rank_test_of_two_classes_is_that_of_scipy(study: Path) -> None:
    X, two = values_of(study), np.arange(N) % 3 == 2
    words = ("--method", "rank-test", "--labels", str(study / "two.tsv"))
    found = table_of(study, *words).loc[X.index].drop("g21")
    for name, f in X.drop("g21").iterrows():
        expected = stats.mannwhitneyu(f[two], f[~two], use_continuity=True)
        if (f != 0).all():  # a value that many samples have is counted apart
            assert found["p_value"][name] == pytest.approx(expected.pvalue, rel=1e-9)
        assert found["auc"][name] == pytest.approx(expected.statistic / 450, rel=1e-12)
    assert list(found["direction"][:15]) == ["c1"] * 10 + ["c0"] * 5
    assert ((found["auc"] > 0.5) == (found["direction"] == "c1")).all()
    q = stats.false_discovery_control(found["p_value"])
    np.testing.assert_allclose(found["q_value"], q, rtol=1e-12)


def test_the_rank_test_of_three_classes_is_that_of_scipy(study: Path) -> None:
    words = ("--method", "rank-test", "--labels", str(study / "three.tsv"))
    found = table_of(study, *words).drop("g21")
    for name, f in values_of(study).drop("g21").iterrows():
        expected = stats.kruskal(*(f[np.arange(N) % 3 == d] for d in range(3)))
        assert found["score"][name] == pytest.approx(expected.statistic, rel=1e-9)
        assert found["p_value"][name] == pytest.approx(expected.pvalue, rel=1e-9)
    assert "auc" not in found


def test_spearmans_correlation_is_that_of_scipy_and_signs_the_metric(study: Path) -> None:
    words = ("--method", "spearman", "--labels", str(study / "dose.tsv"), "--label-type", "ordered")
    found = table_of(study, *words).drop("g21")
    for name, f in values_of(study).drop("g21").iterrows():
        expected = stats.spearmanr(f, np.arange(N) % 3)
        assert found["rho"][name] == pytest.approx(expected.statistic, abs=1e-12)
        assert found["p_value"][name] == pytest.approx(expected.pvalue, rel=1e-9)
    out = rank_to(study / "rnk", study / "m.csv", *words, "--format", "rnk")
    metric = pd.read_csv(out / "ranking.rnk", sep="\t", header=None, index_col=0)[1].drop(
        "g21", errors="ignore"
    )
    assert (np.sign(metric) == np.sign(found["rho"][metric.index])).all()
    assert facts(out)["method"]["direction"] == "rho"


def test_the_sign_of_a_rank_test_is_that_of_its_ranks(tmp_path: Path) -> None:
    """One outlier makes the mean of the lower class the higher one."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(30, 20))
    X[0, :10] += 3
    X[0, 15] = 900
    write_table(tmp_path / "m.csv", X)
    labels = write_labels(tmp_path / "y.tsv", ["a"] * 10 + ["b"] * 10)
    words = (tmp_path / "m.csv", "--method", "rank-test", "--labels", labels)
    out = rank_to(tmp_path / "table", *words)
    first = pd.read_csv(out / "ranking.tsv", sep="\t", index_col="feature").loc["g0"]
    assert first["direction"] == "a"
    assert first["mean_b"] > first["mean_a"]
    out = rank_to(tmp_path / "rnk", *words, "--format", "rnk")
    metric = pd.read_csv(out / "ranking.rnk", sep="\t", header=None, index_col=0)[1]
    assert metric["g0"] < 0


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--method", "welch", "--adjust"), "give --method fisher, f-test or t-test"),
        (("--method", "rank-test", "--block"), "give --method fisher, f-test or t-test"),
        (("--method", "spearman", "--label-type", "ordered", "--adjust"), "give --method f-test"),
        (("--method", "spearman"), "give --label-type ordered or continuous, or --method"),
        (("--method", "rank-test", "--label-type", "ordered"), "--label-type classes"),
    ],
)
def test_what_a_test_does_not_take(
    words: tuple[str, ...], told: str, study: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    given = ["rank", str(study / "m.csv"), "--labels", str(study / "dose.tsv"), *words]
    if words[-1].startswith("--"):
        given.append(str(study / "three.tsv"))
    done = run_here(given, capfd)
    assert done.code == 2
    assert told in done.err


@pytest.mark.parametrize("method", ["welch", "rank-test", "spearman"])
def test_subsets_and_batches_are_ranked_by_these_tests(method: str, study: Path) -> None:
    words = ["--method", method, "--labels", str(study / "dose.tsv")]
    words += ["--label-type", "ordered"] if method == "spearman" else []
    assert code_of("rank", study / "m.csv", *words, "--stability", "4") == 0
    batches = write_labels(study / "b.tsv", ["u"] * 20 + ["v"] * 25)
    assert code_of("rank", study / "m.csv", *words, "--batch", batches) == 0
