"""Counts tested by weighted linear models, and steps of counts, through the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.contract.numbers.commands import code_of, facts, rank_to, sfs
from tests.making import write_table
from tests.places import REFERENCES
from tests.running import run_here

FILE = REFERENCES / "voom.json"
REFERENCE = json.loads(FILE.read_text(encoding="utf-8"))
COUNTS = np.array(REFERENCE["counts"], np.float64)
M, N = COUNTS.shape


def write_study(folder: Path, counts: np.ndarray, **columns: Any) -> tuple[Path, Path]:
    """Write counts and a table of the samples; return both paths."""
    m, n = counts.shape
    samples = [f"s{j:03d}" for j in range(n)]
    write_table(folder / "m.csv", counts, [f"g{i:03d}" for i in range(m)], samples)
    table = pd.DataFrame({"sample": samples, **columns})
    table.to_csv(folder / "samples.csv", index=False)
    return folder / "m.csv", folder / "samples.csv"


@pytest.fixture
def study(tmp_path: Path) -> tuple[Path, Path]:
    columns = {name: REFERENCE[name] for name in ("class", "pair", "dose", "age")}
    return write_study(tmp_path, COUNTS, **columns)


def table_of(study: tuple[Path, Path], *words: str | Path) -> pd.DataFrame:
    """Return the ranking in the order of the input."""
    out = rank_to(study[0].parent / "out", study[0], *words, "--force")
    return pd.read_csv(out / "ranking.tsv", sep="\t", index_col="feature").sort_index()


def pairs(study: tuple[Path, Path]) -> tuple[str, ...]:
    return "--voom", "--labels", f"{study[1]}:class", "--block", f"{study[1]}:pair"


@pytest.mark.parametrize("method", ["t-test", "f-test"])
def test_two_classes_in_pairs_are_as_by_limma(method: str, study: tuple[Path, Path]) -> None:
    found, expected = table_of(study, *pairs(study), "--method", method), REFERENCE["pairs"]
    score = np.abs(expected["t"]) if method == "t-test" else expected["F"]
    np.testing.assert_allclose(found["score"], score, rtol=1e-8)
    np.testing.assert_allclose(found["p_value"], expected["p"], rtol=1e-8)
    np.testing.assert_allclose(found["mean_a"], np.array(expected["means"])[:, 0], rtol=1e-9)
    np.testing.assert_allclose(found["mean_b"], np.array(expected["means"])[:, 1], rtol=1e-9)
    change = np.array(expected["log2_fold_change"])
    np.testing.assert_allclose(found["log2_fold_change"], change, rtol=1e-7, atol=1e-10)
    assert list(found["direction"]) == np.where(change > 0, "b", "a").tolist()
    record = facts(study[0].parent / "out")
    assert record["moderation"]["prior_degrees_of_freedom"] == pytest.approx(expected["df_prior"])
    assert record["precision"]["features"] == M
    assert record["input"]["transform"] == ["log2cpm:tmm"]


def test_variances_may_follow_a_trend_or_be_those_of_each_feature(
    study: tuple[Path, Path],
) -> None:
    words = (*pairs(study), "--method", "f-test")
    found = table_of(study, *words, "--moderate", "trend")
    np.testing.assert_allclose(found["score"], REFERENCE["trended"]["F"], rtol=1e-7)
    np.testing.assert_allclose(found["p_value"], REFERENCE["trended"]["p"], rtol=1e-7)
    found = table_of(study, *words, "--moderate", "no")
    np.testing.assert_allclose(found["score"], REFERENCE["pairs"]["plain_F"], rtol=1e-8)
    np.testing.assert_allclose(found["p_value"], REFERENCE["pairs"]["plain_p"], rtol=1e-8)


def test_three_classes_beside_a_number_are_nested_models(study: tuple[Path, Path]) -> None:
    labels = ("--labels", f"{study[1]}:dose", "--adjust", f"{study[1]}:age", "--voom")
    found = table_of(study, "--method", "f-test", *labels, "--transform", "log2cpm")
    expected = REFERENCE["doses"]
    np.testing.assert_allclose(found["score"], expected["F"], rtol=1e-8)
    np.testing.assert_allclose(found["p_value"], expected["p"], rtol=1e-8)
    # limma's F takes the correlation of the coefficients without weights, which is near
    ratio = found["score"] / np.array(expected["limma_F"])
    assert np.median(np.abs(ratio - 1)) < 0.05
    assert set(found["highest_class"]) <= {"high", "low", "none"}


def test_a_number_as_label_and_features_without_counts(tmp_path: Path) -> None:
    counts = np.vstack([np.zeros(N), COUNTS])
    study = write_study(tmp_path, counts, age=REFERENCE["age"])
    labels = ("--labels", f"{study[1]}:age", "--label-type", "continuous")
    found = table_of(study, "--voom", "--method", "f-test", *labels)
    assert found["status"].tolist() == ["all zero"] + ["ok"] * M
    assert found["p_value"].isna().tolist() == [True] + [False] * M
    # what has no counts has no part in anything
    without = table_of(
        study, "--voom", "--method", "f-test", *labels, "--exclude", "^g000$", "--force"
    )
    np.testing.assert_allclose(found["score"][1:], without["score"][1:], rtol=1e-12)


def test_rankings_in_folds_and_on_subsets(study: tuple[Path, Path], tmp_path: Path) -> None:
    labels = ("--labels", f"{study[1]}:class", "--voom", "--method", "t-test")
    words = (study[0], *labels, "--min-count", "10")
    sfs("evaluate", *words, "--splits", "3", "--repeats", "1", "--out", tmp_path / "evaluated")
    out = rank_to(tmp_path / "stable", *words, "--stability", "5")
    table = pd.read_csv(out / "ranking.tsv", sep="\t")
    assert table["frequency"].dropna().between(0, 1).all()


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("--transform", "cpm,log1p"), 2),
        (("--transform", "log2cpm:tmm,zscore"), 2),
        (("--method", "kogs,members=f-test,t-test"), 2),
        (("--moderate", "sometimes"), 2),
    ],
)
def test_what_does_not_go_together_is_refused(
    words: tuple[str, ...], code: int, study: tuple[Path, Path]
) -> None:
    assert code_of("rank", study[0], "--voom", "--labels", f"{study[1]}:class", *words) == code


def test_values_that_are_no_counts_are_refused(tmp_path: Path) -> None:
    labels = ("--labels", f"{tmp_path / 'samples.csv'}:kind", "--method", "t-test")
    study = write_study(tmp_path, np.log2(COUNTS + 1), kind=REFERENCE["class"])
    assert code_of("rank", study[0], *labels, "--voom") == 3
    assert code_of("rank", study[0], *labels, "--min-count", "10") == 3
    values = COUNTS.copy()
    values[3, 4] = -2
    study = write_study(tmp_path, values, kind=REFERENCE["class"])
    assert code_of("rank", study[0], *labels, "--voom") == 3
    assert code_of("rank", study[0], *labels, "--transform", "log2cpm") == 3
    assert code_of("rank", study[0], *labels, "--min-count", "10") == 3


@pytest.mark.parametrize(
    ("low", "words", "told"),
    [(0.2, (), True), (0.2, ("--min-count", "10"), False), (60, (), False)],
)
def test_features_with_hardly_any_counts_are_told_of(
    low: float, words: tuple[str, ...], told: bool, tmp_path: Path, capfd: Any
) -> None:
    counts = np.random.default_rng(5).poisson(
        np.where(np.arange(60) < 10, low, 200)[:, None], (60, 8)
    )
    matrix, samples = write_study(tmp_path, counts, kind=[*"aaaabbbb"])
    given = ["rank", str(matrix), "--labels", f"{samples}:kind", "--method", "t-test", "--voom"]
    done = run_here([*given, *words], capfd)
    assert done.code == 0, done.err
    assert ("--min-count 10 leaves them out" in " ".join(done.err.split())) == told
