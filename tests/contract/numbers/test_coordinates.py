"""Graphs of coordinates of the samples, from the command line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.contract.numbers.commands import code_of, facts, ranked, sfs
from tests.making import annotated
from tests.oracles import similarities as oracle

SPEC = ("--method", "spec")
N = 60


@pytest.fixture
def Z() -> np.ndarray:
    return np.random.default_rng(1).normal(size=(N, 4))


@pytest.fixture
def cells(Z: np.ndarray, tmp_path: Path) -> Path:
    """A matrix with an embedding that is not made from it."""
    X = np.random.default_rng(2).normal(size=(N, 90)).astype(np.float32)
    X[:, :30] += (Z @ np.random.default_rng(3).normal(size=(4, 30))).astype(np.float32)
    made = annotated(X, obsm={"X_pca": Z, "spatial": Z[:, :2]})
    made.obs["batch"] = ["a", "b"] * (N // 2)
    made.write_h5ad(tmp_path / "cells.h5ad")
    return tmp_path / "cells.h5ad"


@pytest.fixture
def table(Z: np.ndarray, tmp_path: Path) -> Path:
    """The same coordinates in a file, in another order."""
    frame = pd.DataFrame(Z, index=annotated(np.eye(N)).obs_names)
    frame.iloc[::-1].to_parquet(tmp_path / "z.parquet")
    return tmp_path / "z.parquet"


GRAPHS = {
    "knn": (
        ("--similarity", "obsm:X_pca,neighbors=5"),
        lambda Z: oracle.knn(Z, 5),
    ),
    "rbf": (("--coordinates", "obsm:X_pca", "--similarity", "rbf"), oracle.rbf),
    "diffusion": (
        ("--coordinates", "obsm:X_pca", "--similarity", "diffusion,beta=0.5,neighbors=7"),
        lambda Z: oracle.diffusion(Z, 7, 0.5),
    ),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_the_graph_is_that_of_the_twin(
    name: str, cells: Path, Z: np.ndarray, tmp_path: Path
) -> None:
    asked, twin = GRAPHS[name]
    ids = annotated(np.eye(N)).obs_names
    S = pd.DataFrame(twin(Z), index=ids, columns=ids)
    S.to_csv(tmp_path / "S.tsv", sep="\t")
    found = ranked(tmp_path / "found", cells, *SPEC, *asked)
    expected = ranked(tmp_path / "twin", cells, *SPEC, "--similarity", f"file:{tmp_path / 'S.tsv'}")
    np.testing.assert_allclose(found.by_feature(), expected.by_feature(), rtol=1e-7)
    graph = facts(tmp_path / "found")["graph"]
    assert graph["coordinates"] == "obsm:X_pca"
    assert graph["dimensions"] == 4


def test_features_have_no_part_in_the_graph(cells: Path, tmp_path: Path) -> None:
    """Planted genes follow the embedding; those of noise do not."""
    given = (*SPEC, "--similarity", "obsm:X_pca,neighbors=5")
    top = ranked(tmp_path / "out", cells, *given).feature[:30]
    planted = set(annotated(np.eye(90)).var_names[:30])
    assert len(planted.intersection(top)) >= 28
    passes = facts(tmp_path / "out")["passes"]
    assert not [p["purpose"] for p in passes if "inner products" in p["purpose"]]
    # features left out change nothing of the others
    some = ranked(tmp_path / "some", cells, *given, "--exclude", "g1$")
    kept = {f: s for f, s in zip(some.feature, some.score) if not np.isnan(s)}
    whole = ranked(tmp_path / "whole", cells, *given)
    score = dict(zip(whole.feature, whole.score))
    assert 0 < len(kept) < 90
    assert all(score[f] == kept[f] for f in kept)


def test_shards_notice_other_coordinates(cells: Path, table: Path, tmp_path: Path) -> None:
    import anndata as ad

    for i, given in enumerate([("--similarity", "obsm:X_pca"), ("--coordinates", table)]):
        plan = tmp_path / f"plan{i}"
        sfs("shard", "init", plan, cells, *SPEC, *given, "--shards", "2")
        if i:
            pd.read_parquet(table).mul(2).to_parquet(table)
        else:
            made = ad.read_h5ad(cells)
            made.obsm["X_pca"] = made.obsm["X_pca"] + np.arange(4)
            made.write_h5ad(cells)
        assert code_of("shard", "merge", plan, "--out", tmp_path / "out") == 3


def test_two_profiles_of_one_file_are_fused(cells: Path, tmp_path: Path) -> None:
    given = (
        *("--method", "msfs", "--source", "p=profile:obsm:X_pca,similarity=knn"),
        *("--source", "s=profile:obsm:spatial,similarity=knn,neighbors=4"),
        *("--source", "e=target:,similarity=knn"),
    )
    ranked(tmp_path / "out", cells, *given)
    sources = facts(tmp_path / "out")["knowledge"]["sources"]
    assert [s["name"] for s in sources] == ["p", "s", "e"]


def test_samples_without_coordinates_are_left_out_on_request(
    cells: Path, table: Path, tmp_path: Path
) -> None:
    few = tmp_path / "few.parquet"
    pd.read_parquet(table).iloc[:50].to_parquet(few)
    given = (*SPEC, "--coordinates", few)
    assert code_of("rank", cells, *given) == 3
    sfs("rank", cells, *given, "--samples", "intersect", "--out", tmp_path / "out")
    assert facts(tmp_path / "out")["input"]["n_samples"] == 50


def test_a_batch_has_the_graph_of_its_own_samples(cells: Path, tmp_path: Path) -> None:
    import anndata as ad

    whole = ad.read_h5ad(cells)
    given = (*SPEC, "--similarity", "obsm:X_pca,neighbors=4", "--transform", "quantile")
    ranked(tmp_path / "both", cells, *given, "--batch", "obs:batch")
    for i, name in enumerate(["a", "b"]):
        part = tmp_path / f"{name}.h5ad"
        whole[whole.obs["batch"] == name].copy().write_h5ad(part)
        ranked(tmp_path / name, part, *given)
        found = facts(tmp_path / "both")["batches"]["ranked"][i]
        assert found["graph"] == facts(tmp_path / name)["graph"]
    table = pd.read_parquet(tmp_path / "both" / "ranking.parquet").set_index("feature")
    for name in ("a", "b"):
        alone = pd.read_parquet(tmp_path / name / "ranking.parquet").set_index("feature")
        np.testing.assert_array_equal(table[f"rank_{name}"], alone["rank"].loc[table.index])
