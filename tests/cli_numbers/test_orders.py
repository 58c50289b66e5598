"""Lists do not depend on the order of the rows and columns of a file, nor on ``--seed``."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.cli.running import run_here
from tests.cli_numbers.commands import facts, rank_to
from tests.making import write_labels, write_table

DATA = Path(__file__).parents[3] / "shared" / "data"
M, N = 240, 45
METHODS: dict[str, tuple[str, ...]] = {
    "default": (),
    "with labels": ("--labels", "labels.tsv"),
    "mutual-info": ("--method", "mutual-info", "--labels", "labels.tsv"),
    "arom-svm": ("--method", "arom-svm", "--labels", "labels.tsv"),
    "relieff": ("--method", "relieff", "--labels", "labels.tsv"),
    "mrmr": ("--method", "mrmr", "--labels", "labels.tsv"),
    "spec": ("--method", "spec", "--similarity", "knn"),
    "moments": (
        *("--method", "hsic", "--similarity", "label", "--labels", "labels.tsv"),
        *("--pvalues", "moments"),
    ),
}


def counts() -> pd.DataFrame:
    """Counts of genes in samples, with many equal values, and two samples that are alike."""
    rng = np.random.default_rng(5)
    group = np.arange(N) % 3
    mean = rng.gamma(1.0, 2.0, (M, 1)) * (1 + 2 * (rng.random((M, 1)) < 0.3) * (group == 1))
    values = rng.poisson(mean, (M, N)).astype(float)
    values[:, 7] = values[:, 4]
    ids = [f"P{j // 9 + 1}-{j % 9 + 6}" for j in range(N)]
    return pd.DataFrame(values, [f"g{i}" for i in range(M)], ids)


def normal() -> pd.DataFrame:
    """Values without ties, with three groups of samples."""
    frame = counts()
    rng = np.random.default_rng(6)
    frame += rng.normal(0, 1, frame.shape)
    return frame


def listed(out: Path, matrix: pd.DataFrame, *options: str) -> pd.DataFrame:
    """Return a ranking as it is written, by feature; equal scores have the same place."""
    matrix.to_csv(out.with_suffix(".csv"), index_label="id")
    rank_to(out, out.with_suffix(".csv"), *options)
    table = pd.read_csv(out / "ranking.tsv", sep="\t", dtype=str, keep_default_na=False)
    rank = table["rank"].astype(int)
    table["rank"] = rank.groupby(table["score"]).transform("min").where(table["score"] != "", 0)
    return table.sort_values("feature", ignore_index=True)


def shuffled(matrix: pd.DataFrame, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return matrix.iloc[rng.permutation(len(matrix)), rng.permutation(matrix.shape[1])]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    frame = counts()
    write_labels(tmp_path / "labels.tsv", ["abc"[j % 3] for j in range(N)], list(frame.columns))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("data", [counts, normal])
@pytest.mark.parametrize("method", METHODS)
def test_lists_do_not_depend_on_the_order_of_the_file(method, data, folder):
    if method in ("arom-svm", "mrmr"):
        pytest.importorskip("sklearn")
    expected = listed(folder / "as-it-is", data(), *METHODS[method])
    for seed in range(2):
        found = listed(folder / f"shuffled{seed}", shuffled(data(), seed), *METHODS[method])
        pd.testing.assert_frame_equal(found, expected)


@pytest.mark.parametrize("method", ["default", "mutual-info", "arom-svm"])
def test_lists_do_not_depend_on_the_seed(method, folder):
    if method == "arom-svm":
        pytest.importorskip("sklearn")
    expected = listed(folder / "zero", counts(), *METHODS[method])
    found = listed(folder / "other", counts(), *METHODS[method], "--seed", "12345")
    pd.testing.assert_frame_equal(found, expected)


@pytest.mark.parametrize(
    ("n", "given", "used"), [(1001, (), 100), (1001, ("--response-rank", "7"), 7), (1000, (), None)]
)
def test_leading_eigenvectors_of_many_samples_are_said(n, given, used, tmp_path, capfd):
    X = np.random.default_rng(0).normal(size=(n, 12)).cumsum(axis=0)
    write_table(tmp_path / "m.csv", X.T.round(3))
    words = ["rank", str(tmp_path / "m.csv"), "--out", str(tmp_path / "out"), *given]
    done = run_here(words, capfd)
    assert done.code == 0, done.err
    assert ("100 leading eigenvectors" in done.err) == (used == 100)
    assert facts(tmp_path / "out")["method"].get("response_rank") == used


@pytest.mark.slow
@pytest.mark.parametrize("name", ["colon", "tox171", "leukemia", "tcga_brca/mrna", "pix10p"])
def test_lists_of_real_data_do_not_depend_on_the_order_of_the_file(name, tmp_path):
    path = DATA / (f"{name}.parquet" if "/" in name else f"{name}/expression.parquet")
    if name == "leukemia":
        path = DATA / "leukemia" / "expression.gct"
    if not path.exists():
        pytest.skip(f"needs {path}")
    if path.suffix == ".gct":
        matrix = pd.read_csv(path, sep="\t", skiprows=2, index_col=0).iloc[:, 1:]
    else:
        matrix = pd.read_parquet(path).set_index("feature_id")
    matrix = matrix[~matrix.index.duplicated()]
    expected = listed(tmp_path / "as-it-is", matrix)
    pd.testing.assert_frame_equal(listed(tmp_path / "other", shuffled(matrix, 3)), expected)
