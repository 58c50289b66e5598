"""Counts scaled to one total: which samples have a say in it, and what is said of shallow ones."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import anndata as ad
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import sfs_cli as sfs
from sfs_cli import RankConfig
from sfs_cli.compute.matrix import Span
from sfs_cli.evaluation.classify import Fold
from sfs_cli.logs import Messages
from sfs_cli.run.load import loaded
from sfs_cli.run.needs import with_defaults
from sfs_cli.store.matrix import like_cells
from sfs_cli.workflow.folds import FoldRankings
from tests.making import names
from tests.running import Finished, run_here

N, M = 40, 160
DOUBLE = np.dtype(np.float64)
TRAIN = np.arange(0, N, 2)


def cells(depth: float = 150, seed: int = 3) -> np.ndarray:
    """Return counts (N, M) of samples that differ in depth, of two groups."""
    rng = np.random.default_rng(seed)
    mean = rng.gamma(0.5, 1, M) * np.exp(rng.normal(0, 0.6, (N, 1)))
    mean[: N // 2, : M // 8] *= 4
    counts = rng.poisson(mean * depth / mean.sum(axis=1).mean()).astype(np.float64)
    counts[:, 0] += 1  # no sample is empty
    return counts


def write(path: Path, X: np.ndarray, *, dense: bool = False) -> Path:
    obs = pd.DataFrame({"kind": ["a"] * (N // 2) + ["b"] * (N - N // 2)}, names("c", len(X)))
    var = pd.DataFrame(index=names("g", X.shape[1]))
    values = X.astype(np.float32)
    ad.AnnData(values if dense else sparse.csr_matrix(values), obs, var).write_h5ad(path)
    return path


def told(words: Sequence[object], capfd: pytest.CaptureFixture[str]) -> Finished:
    done = run_here([*map(str, words)], capfd)
    assert done.code == 0, done.err
    return done


def scaled(X: np.ndarray, among: np.ndarray | slice = slice(None)) -> np.ndarray:
    total = X.sum(axis=1, keepdims=True)
    return np.log(1 + X / total * np.median(total[among]))


def judged(path: Path, steps: str, *, missing: str = "error") -> tuple[np.ndarray, np.ndarray]:
    """Return what is judged in a fold, and what is ranked in it, genes x samples each."""
    config = RankConfig(str(path), method="variance", transform=steps, missing=missing)
    fold = Fold(1, 1, TRAIN, np.setdiff1d(np.arange(N), TRAIN))
    with loaded(config, Messages(verbosity=-1)) as run:
        run.fit()
        folds = FoldRankings(run, [fold])
        values = folds.values_in(fold)
        part = folds.part_in(fold)
        part.fit()
        whole = Span(0, M)
        return tuple(
            each.read(whole, DOUBLE).values.copy() for each in (values.source, part.matrix)
        )


@pytest.mark.parametrize(("dense", "missing"), [(True, "error"), (False, "mean")])
def test_the_median_in_a_fold_is_that_of_its_training_samples(tmp_path, dense, missing):
    X = cells()
    held = X.copy()
    if missing == "mean":
        held[TRAIN[3], 5] = np.nan
        others = np.setdiff1d(np.arange(N), TRAIN[3])
        X[TRAIN[3], 5] = X[np.intersect1d(others, TRAIN), 5].mean()
    path = write(tmp_path / "x.h5ad", held, dense=dense)
    test, train = judged(path, "median,log1p", missing=missing)
    np.testing.assert_allclose(test, scaled(X, TRAIN).T, rtol=1e-6)
    np.testing.assert_allclose(train, scaled(X[TRAIN]).T, rtol=1e-6)
    np.testing.assert_allclose(test[:, TRAIN], train, rtol=1e-12)


def test_the_depth_of_test_samples_changes_nothing_in_a_fold(tmp_path):
    X = cells()
    deep = X.copy()
    deep[np.setdiff1d(np.arange(N), TRAIN)] *= 64
    one, other = (
        judged(write(tmp_path / f"{i}.h5ad", x), "median,log1p") for i, x in enumerate((X, deep))
    )
    for first, second in zip(one, other):
        np.testing.assert_allclose(first, second, rtol=1e-12)


@pytest.mark.parametrize("later", ["cpm", "clr"])
def test_a_later_step_by_samples_is_no_part_of_what_is_judged(tmp_path, later):
    """What it finds of a sample depends on the median, which is another one in each fold."""
    path = write(tmp_path / "x.h5ad", cells())
    test, _ = judged(path, f"median,log1p,{later}")
    np.testing.assert_allclose(test, scaled(cells(), TRAIN).T, rtol=1e-6)


def test_samples_that_are_left_out_have_no_say_in_the_median(tmp_path):
    """Neither those without a label, nor those of a profile that the matrix lacks."""
    X = cells()
    path = write(tmp_path / "x.h5ad", X)
    some = tmp_path / "some.tsv"
    lines = [f"{name}\tk{i // 2 % 2}" for i, name in enumerate(names("c", N)) if i in TRAIN]
    some.write_text("sample\tclass\n" + "\n".join(lines) + "\n")
    more = {"labels": str(some), "samples": "intersect", "method": "fisher", "dtype": "float64"}
    found = sfs.rank(path, transform="median", **more).table
    alone = pd.DataFrame(scaled(X[TRAIN]), np.array(names("c", N))[TRAIN], names("g", M))
    by_hand = sfs.rank(np.expm1(alone), **more).table
    assert list(found.index[:30]) == list(by_hand.index[:30])
    np.testing.assert_allclose(found.score, by_hand.score, rtol=1e-6)

    tables = []
    for more_samples in (0, 9):
        profile = tmp_path / f"p{more_samples}.csv"
        wide = np.vstack([X, 1000 * X[:more_samples]])
        pd.DataFrame(wide.T, names("g", M), names("c", len(wide))).to_csv(profile)
        source = f"p=profile:{profile},transform=median,similarity=rbf"
        tables.append(sfs.rank(path, method="msfs", source=[source], transform="log1p").table)
    pd.testing.assert_frame_equal(*tables)


@pytest.mark.parametrize(
    ("steps", "depth", "warned"),
    [
        ("cp10k,log1p", 150, True),
        ("cp10k,log1p", 3000, False),
        ("total:1000,log1p", 150, False),
        ("cpm,rank", 150, False),
        ("log2cpm:tmm", 150, False),
    ],
)
def test_cells_of_few_counts_are_told(tmp_path, capfd, steps, depth, warned):
    X = cells(depth)
    if depth > 1000:  # most values are zero still
        X[:, M // 3 :] *= np.random.default_rng(0).random((N, M - M // 3)) < 0.2
    path = write(tmp_path / "x.h5ad", X)
    words = ["rank", path, "--transform", steps, "--method", "variance"]
    done = told(words, capfd)
    assert ("[shallow]" in done.err) is warned
    if warned:
        assert "give --transform median,log1p" in done.err


def test_counts_of_cells_are_to_be_scaled_to_their_median(tmp_path, capfd):
    path = write(tmp_path / "x.h5ad", cells())
    assert "give --transform median,log1p" in told(["rank", path], capfd).err
    assert "--transform median,log1p" in told(["inspect", path], capfd).out


@pytest.mark.parametrize(
    ("zeros", "method", "dense"), [(0.4, "mrsf-rounds", False), (0.6, "spec", True)]
)
def test_the_default_where_most_values_are_zero(tmp_path, capfd, zeros, method, dense):
    rng = np.random.default_rng(0)
    X = rng.gamma(2, 1, (N, 400)) * (rng.random((N, 400)) >= zeros)
    path = write(tmp_path / "x.h5ad", X, dense=dense)
    done = told(["rank", path, "--out", tmp_path / "a"], capfd)
    graph = "knn" if method == "spec" else "knn-correlation"
    assert f"--method {method} --similarity {graph}\n" in done.err
    record = json.loads((tmp_path / "a" / "run.json").read_text())
    assert record["method"]["name"] == method
    assert record["input"]["like_cells"] is (method == "spec")
    told(["rank", path, "--labels", "obs:kind", "--out", tmp_path / "b"], capfd)
    record = json.loads((tmp_path / "b" / "run.json").read_text())
    assert record["method"]["name"] == "f-test"


@pytest.mark.parametrize(
    ("n", "sparse", "held", "method", "graph"),
    [
        (100, True, (), "spec", "knn"),
        (100, False, (), "mrsf-rounds", None),
        (400, True, (), "spec", None),
        (100, True, ("obsp:connectivities",), "spec", "obsp:connectivities"),
        (20_000, False, (), "spec", None),
    ],
)
def test_the_graph_of_cells(n, sparse, held, method, graph):
    made = with_defaults(RankConfig("x.h5ad"), n, 2, sparse, held)
    assert (made.method, made.similarity) == (method, graph)


def test_samples_of_few_features_are_no_cells():
    """Documents have fewer words than cells have genes."""
    assert not like_cells(99, 1000, 1000)
    assert like_cells(100, 1000, 1000)
    assert not like_cells(500, 1000, 1000)


def test_folds_on_another_default_graph_are_told(tmp_path, capfd):
    rng, n = np.random.default_rng(0), 340
    X = pd.DataFrame(rng.normal(size=(20, n)), names("g", 20), names("s", n))
    X.to_csv(tmp_path / "x.csv")
    kinds = pd.DataFrame({"sample": X.columns, "kind": np.arange(n) % 2})
    kinds.to_csv(tmp_path / "y.csv", index=False)
    words = ["evaluate", tmp_path / "x.csv", "--labels", f"{tmp_path / 'y.csv'}:kind"]
    words += ["--method", "spec", "--lengths", "9", "--repeats", "1"]
    done = told([*words, "--out", tmp_path / "a"], capfd)
    assert "that of a fold of 272 samples knn-correlation" in done.err
