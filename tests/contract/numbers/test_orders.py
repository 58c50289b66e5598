"""A list is that of the matrix: neither the order of its rows and columns matters, nor --seed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import anndata as ad
import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix

from sfs_cli.cli.app import run
from sfs_cli.io.results import writers
from tests.contract.numbers.commands import facts, rank_to, sfs
from tests.making import write_parquet
from tests.running import handlers_restored

METHODS = {
    "default": (),
    "spec": ("--method", "spec"),
    "mrmr": ("--method", "mrmr", "--select", "15"),
    "mutual-info": ("--method", "mutual-info"),
    # LIBSVM holds the kernel in float32: scores agree to about 1e-6
    "arom-svm": ("--method", "arom-svm", "--select", "12"),
    "split": ("--method", "spec", "--pvalues", "moments", "--split", "features"),
    "relieff": ("--method", "relieff"),
    "lda": ("--method", "mrsf-rounds,response=lda"),
}
"""The options of the methods; all but some take labels."""
UNLABELED = ("default", "spec", "split")


@dataclass(frozen=True)
class Study:
    """A matrix of features x samples, and the class of each sample."""

    values: pd.DataFrame
    labels: pd.Series


def simulated() -> Study:
    """Modules, noise, counts with many ties, and copies of samples' values."""
    rng = np.random.default_rng(0)
    group = np.arange(36) % 3
    X = rng.normal(8, 1, (150, 36))
    X[:30] += 1.5 * (group == np.arange(30)[:, None] % 3)
    X[100:] = rng.poisson(0.7, (50, 36)) + (np.arange(50)[:, None] == 0) * group
    X[:, 30] = X[:, 12] + (np.arange(150) == 7)  # equally far from others, but for rounding
    features, samples = [f"g{i}" for i in range(150)], [f"s{i}" for i in range(1, 37)]
    return Study(
        pd.DataFrame(X, features, samples), pd.Series(group, samples).map("class {}".format)
    )


def lists(
    study: Study, folder: Path, options: tuple[str, ...], seed: int, suffix: str = ".csv"
) -> tuple[list[str], dict[str, object]]:
    """Rank the study with rows and columns in an order; return the table by id, and the facts.

    Order 0 is that of the study; ranks are left out, because equal scores are in the order of rows.
    """
    values = study.values
    if seed:
        rng = np.random.default_rng(seed)
        values = values.iloc[rng.permutation(len(values)), rng.permutation(values.shape[1])]
    matrix = folder / f"matrix{seed}{suffix}"
    if suffix == ".csv":
        values.to_csv(matrix, index_label="gene")
    else:
        values.rename_axis("gene").reset_index().to_parquet(matrix, index=False)
    labels = folder / "labels.tsv"
    study.labels.rename("class").to_csv(labels, sep="\t", index_label="sample")
    words = [str(labels) if word == "LABELS" else word for word in options]
    out = rank_to(folder / f"out{seed}", matrix, *words, "--force")
    text = (out / "ranking.tsv").read_text().splitlines()
    rows = sorted(line.split("\t", 1)[1] for line in text[1:])
    method = facts(out)["method"]
    return rows, {name: method.get(name) for name in ("rounds", "above_chance", "chance_level")}


def options_of(method: str) -> tuple[str, ...]:
    return METHODS[method] + (() if method in UNLABELED else ("--labels", "LABELS"))


@pytest.mark.parametrize("method", METHODS)
def test_order_of_rows_and_columns(
    method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if method == "arom-svm":
        monkeypatch.setattr(writers, "DIGITS", 4)
    study = simulated()
    expected = lists(study, tmp_path, options_of(method), 0, ".parquet")
    assert lists(study, tmp_path, options_of(method), 1, ".parquet") == expected


@pytest.mark.parametrize("method", ["default", "mutual-info", "arom-svm", "lda"])
def test_seed(method: str, tmp_path: Path) -> None:
    study = simulated()
    expected = lists(study, tmp_path, options_of(method), 0)
    for seed in ("1", "77"):
        assert lists(study, tmp_path, (*options_of(method), "--seed", seed), 0) == expected


@pytest.mark.parametrize(
    ("n", "asked"), [(1001, ()), (1001, ("--method", "mrsf-rounds,response-rank=7"))]
)
def test_leading_eigenvectors_are_told(
    n: int, asked: tuple[str, ...], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(5, 1, (60, n))
    X[:20] += 2 * (np.arange(n) % 3 == np.arange(20)[:, None] % 3)
    matrix, out = write_parquet(tmp_path / "m.parquet", X), tmp_path / "out"
    with handlers_restored():
        assert run(["rank", str(matrix), "--out", str(out), *asked]) == 0
    said = capfd.readouterr().err
    method = facts(out)["method"]
    cut = n > 1000 and not asked
    assert ("100 leading eigenvectors" in said) == ("response-rank= takes" in said) == cut
    assert method["response_rank"] == (100 if cut else 7 if asked else None)
    assert method["response_columns"] <= (method["response_rank"] or n)


def test_lists_of_samples_keep_the_order_of_the_file(tmp_path: Path) -> None:
    study = simulated()
    shuffled = study.values.iloc[:, np.random.default_rng(1).permutation(36)]
    made = {}
    for name, values in (("plain", study.values), ("shuffled", shuffled)):
        matrix = tmp_path / f"{name}.csv"
        values.to_csv(matrix, index_label="gene")
        out = rank_to(tmp_path / name, matrix, "--modules")
        (table,) = out.glob("*profiles*")
        profiles = pd.read_csv(table, sep="\t", index_col=0)
        target = tmp_path / f"{name}.tsv"
        sfs("fuse", matrix, "--source", "own=target:", "--out", target)
        fused = pd.read_csv(target, sep="\t", index_col=0)
        assert list(fused.index) == list(fused.columns) == list(values.columns)
        assert [each for each in profiles.columns if each in study.labels] == list(values.columns)
        made[name] = profiles, fused
    for profiles, fused in made.values():
        columns = list(study.values.columns)
        np.testing.assert_array_equal(profiles[columns], made["plain"][0][columns])
        np.testing.assert_array_equal(fused.loc[columns, columns], made["plain"][1])


def test_order_of_sparse_counts(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    counts = rng.poisson(np.where(np.arange(80) < 20, 1.5, 0.2) * (1 + np.arange(40)[:, None] % 2))
    cells = pd.DataFrame(counts, [f"c{i}" for i in range(40)], [f"g{i}" for i in range(80)])
    found = []
    for rows, columns in ((range(40), range(80)), (rng.permutation(40), rng.permutation(80))):
        part = cells.iloc[list(rows), list(columns)]
        made = ad.AnnData(csr_matrix(part.to_numpy(np.float32)))
        made.obs_names, made.var_names = part.index, part.columns
        made.write_h5ad(tmp_path / "cells.h5ad")
        out = rank_to(
            tmp_path / "out", tmp_path / "cells.h5ad", "--transform", "cpm,log1p", "--force"
        )
        text = (out / "ranking.tsv").read_text().splitlines()[1:]
        found.append(sorted(line.split("\t", 1)[1] for line in text))
    assert found[0] == found[1]


@pytest.mark.parametrize(
    "options",
    [
        ("--method", "laplacian", "--similarity", "file:S.npy"),
        ("--method", "msfs", "--source", "k=similarity:S.npy", "--source", "x=target:"),
        ("--method", "spec", "--stability", "20"),
    ],
)
def test_order_of_columns_of_what_goes_by_place(
    options: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A similarity without ids is in the order of the file; what is drawn is not."""
    rng = np.random.default_rng(3)
    X = rng.poisson(rng.gamma(1, 9, (120, 30)) * (1 + (np.arange(30) % 3 == 1))).astype(float)
    samples = np.array([f"s{i}" for i in range(1, 31)])
    S = np.exp(-0.5 * np.subtract.outer(np.arange(30) % 3, np.arange(30) % 3) ** 2)
    S += 0.1 * np.corrcoef(X.T)
    found = []
    for name, order in (("sorted", np.arange(30)), ("shuffled", rng.permutation(30))):
        folder = tmp_path / name
        folder.mkdir()
        monkeypatch.chdir(folder)
        pd.DataFrame(X[:, order], columns=samples[order]).to_csv("m.csv", index_label="id")
        np.save("S.npy", S[np.ix_(order, order)])
        rank_to(folder / "out", "m.csv", *options)
        found.append(
            ((folder / "out" / "ranking.tsv").read_bytes(), facts(folder / "out").get("stability"))
        )
    assert found[0] == found[1]


def test_a_copy_turned_round_has_the_opposite_coefficients(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    X = rng.normal(size=(40, 36)) + 2 * (np.arange(36) % 3 == 1) * (np.arange(40)[:, None] < 12)
    samples = [f"s{i}" for i in range(1, 37)]
    rows = {}
    for name, ids in (("turned", "za"), ("first", "az")):
        values = np.vstack([X[:1], -X[:1], X[1:]])
        features = [ids[0], ids[1], *(f"f{i:02}" for i in range(39))]
        pd.DataFrame(values, features, samples).to_csv(tmp_path / "m.csv", index_label="id")
        words = ("--method", "mrsf-rounds", "--select", "12")
        out = rank_to(tmp_path / name, tmp_path / "m.csv", *words)
        rows[name] = pd.read_csv(out / "coefficients.tsv", sep="\t", index_col="feature")
    # `a` is the copy whose id is first; products of coefficients do not depend on the signs of Y
    turned, first = (each @ each.loc["a"] for each in rows.values())
    others = turned.index.intersection(first.index).drop("a")
    assert len(others) >= 5
    np.testing.assert_allclose(turned[others], -first[others], rtol=1e-6, atol=1e-9)
