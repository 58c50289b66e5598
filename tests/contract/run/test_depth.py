"""Tests of counts whose samples differ in depth: what holds is quiet, and what does not is told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.making import write_labels, write_table
from tests.running import Sfs
from tests.unit.methods.nulls import classes_of_depth, of_depth

HOLD = ("pearson-residuals", "deviance")
N, M = 60, 300


WAYS = {
    "moments": ("--method", "hsic", "--pvalues", "moments", "--split", "features"),
    "hsic of labels": ("--method", "hsic", "--pvalues", "moments", "--labels"),
    "f-test": ("--method", "f-test", "--labels"),
}


def command(way: str, X: np.ndarray, folder: Path) -> list[str]:
    """Write counts (n, m), and what a way to test them needs; return the command."""
    words = ["rank", write_table(folder / "x.csv", X.T), *WAYS[way]]
    if words[-1] == "--labels":
        words.append(write_labels(folder / "y.tsv", list(map(str, classes_of_depth(X, 1)))))
    return words


@pytest.mark.parametrize("way", ["moments", "hsic of labels", "f-test"])
def test_every_test_of_counts_is_told_of(way: str, tmp_path: Path, sfs: Sfs) -> None:
    words = command(way, of_depth("Poisson", N, M, 0.7, 3), tmp_path)

    def told(transform: str) -> bool:
        done = sfs(*words, "--transform", transform)
        assert ("--transform pearson-residuals" in done.err) == ("[depth]" in done.err)
        return "[depth]" in done.err

    assert told("cpm,log1p")
    for transform in HOLD:
        assert not told(transform)


@pytest.mark.parametrize(("method", "n", "deviation"), [("f-test", 20, 0.5), ("t-test", 60, 0.2)])
def test_weighted_counts_are_told_of(
    method: str, n: int, deviation: float, tmp_path: Path, sfs: Sfs
) -> None:
    """Where the depth follows the class, logarithms of few counts do, too, with any weights."""
    rng, y = np.random.default_rng(n), np.arange(n) % 2
    depth = np.exp(deviation * (2 * y - 1) + 0.2 * rng.normal(size=n))
    mean = np.exp(rng.uniform(np.log(0.1), np.log(100), 2000)) * depth[:, None]
    X = rng.poisson(mean * rng.gamma(10, 0.1, mean.shape))
    matrix, labels = write_table(tmp_path / "x.csv", X.T), [*map(str, y)]
    words = ["rank", matrix, "--labels", write_labels(tmp_path / "y.tsv", labels), "--voom"]
    for more, holds in (((), False), (("--min-count", "10"), True)):
        out = tmp_path / "r"
        done = sfs(*words, "--method", method, *more, "--out", str(out), "--force")
        p = pd.read_csv(out / "ranking.tsv", sep="\t").p_value
        assert (float((p <= 1e-3).mean()) <= 2e-3) == holds
        assert ("[depth]" in done.err) != holds
        assert ("give --min-count 10" in " ".join(done.err.split())) != holds


def test_samples_of_one_depth_are_quiet(tmp_path: Path, sfs: Sfs) -> None:
    """Even where a third of the features are higher in one class, as parts of equal totals."""
    rng, labels = np.random.default_rng(4), ["a", "b"] * (N // 2)
    mean = np.exp(rng.uniform(np.log(0.1), np.log(100), (1, M))) * np.ones((N, 1))
    mean[1::2, : M // 3] *= 3
    X = rng.poisson(5000 * mean / mean.sum(axis=1, keepdims=True)).astype(np.float64)
    matrix = write_table(tmp_path / "x.csv", X.T)
    of_labels = ("--method", "f-test", "--labels", write_labels(tmp_path / "y.tsv", labels))
    for more in (WAYS["moments"], of_labels):
        done = sfs("rank", matrix, "--transform", "cpm,log1p", *more)
        assert "[depth]" not in done.err


def test_classes_that_differ_in_most_features_are_quiet(tmp_path: Path, sfs: Sfs) -> None:
    """Their features follow the totals, which are nearly alike, for what the classes are."""
    rng, y = np.random.default_rng(2), np.arange(10) % 2
    change = np.exp(
        np.where(y[:, None], np.abs(rng.normal(0, 1, (1, M))), 0) * [[1, 1, 1, -1] * 75]
    )
    mean = np.exp(rng.uniform(np.log(1), np.log(100), (1, M))) * change
    mean *= 20_000 * np.exp(0.1 * y[:, None]) / mean.sum(axis=1, keepdims=True)
    X = rng.poisson(mean * rng.lognormal(0, 0.02, (10, 1))).astype(np.float64)
    matrix, labels = (
        write_table(tmp_path / "x.csv", X.T),
        write_labels(tmp_path / "y.tsv", [*"ab"] * 5),
    )
    words = ["rank", matrix, "--labels", labels, "--method", "f-test", "--transform", "cpm,log1p"]
    done = sfs(*words)
    assert "[depth]" not in done.err


def test_record_page_and_selection_say_so(tmp_path: Path, sfs: Sfs) -> None:
    words = command("moments", of_depth("Poisson", N, M, 0.7, 5), tmp_path)
    out = tmp_path / "r"
    sfs(*words, "--transform", "log1p", "--out", str(out))
    record: dict[str, Any] = json.loads((out / "run.json").read_text())
    found = record["significance"]["depth"]
    assert found["leads"] is True
    assert found["shift"] == pytest.approx(
        found["correlation_of_features"] ** 2 * found["effect_of_totals"]
    )
    assert 0.5 < found["log_total_deviation"] < 0.9
    assert sum("[depth]" in text for text in record["warnings"]) == 1
    page = (out / "report.html").read_text()
    assert "library size confounds the test" in page
    assert "[depth]" in page
    chosen = sfs("select", str(out), "--fdr", "0.05", code=0)
    assert "library size (depth) confounds the test" in chosen.err


def test_values_that_are_no_counts_are_not_measured(tmp_path: Path, sfs: Sfs) -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(8, 1, (M, N)) + rng.normal(0, 1, N)  # as after a bad normalization
    out = tmp_path / "r"
    labels = write_labels(tmp_path / "y.tsv", ["a", "b"] * (N // 2))
    words = ["--method", "f-test", "--labels", labels, "--out", str(out)]
    sfs("rank", write_table(tmp_path / "x.csv", X), *words)
    assert "depth" not in json.loads((out / "run.json").read_text())["significance"]
