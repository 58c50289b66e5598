"""Copies of h5ad, h5mu and zarr with scores and highly variable genes, for scanpy and mudata."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import anndata as ad
import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix

from tests.making import with_objects
from tests.making_commands import BAD, USAGE
from tests.running import run_here, snapshot

N, M, TOP = 30, 40, 12
CELLS = [f"cell{i}" for i in range(N)]
GENES = [f"gene{j}" for j in range(M)]
RANK = ("rank", "--method", "variance")
EXISTS = 4


def counts(seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.poisson(rng.gamma(1.0, 2.0, M), (N, M)).astype(np.float32)


def made(X: Any = None) -> ad.AnnData:
    X = counts() if X is None else X
    obs = pd.DataFrame({"type": pd.Categorical(["B", "T"] * (N // 2))}, index=CELLS)
    var = pd.DataFrame({"symbol": [f"S{j}" for j in range(M)]}, index=GENES)
    return ad.AnnData(X, obs=obs, var=var, layers={"double": 2 * X})


def best(X: np.ndarray, top: int = TOP) -> set[str]:
    return {GENES[j] for j in np.argsort(-X.astype(float).var(axis=0), kind="stable")[:top]}


def ranked(path: Path | str, copy: Path, capfd, *more: str) -> None:
    done = run_here([*RANK, str(path), "--write-h5ad", str(copy), *more], capfd)
    assert done.code == 0, done.err


def checked(data: ad.AnnData, X: np.ndarray, top: int = TOP) -> None:
    assert data.var["highly_variable"].dtype == bool
    assert set(data.var_names[data.var["highly_variable"]]) == best(X, top)
    assert data.var.sort_values("sfs_rank").index[0] in best(X, 1)
    assert data.uns["hvg"]["flavor"] == "sfs"
    assert data.uns["sfs"]["params"]["top"] == top


# ---- h5ad ----------------------------------------------------------------------------------------


def test_the_best_are_marked_in_a_copy(tmp_path, capfd):
    made().write_h5ad(tmp_path / "a.h5ad")
    ranked(tmp_path / "a.h5ad", tmp_path / "b.h5ad", capfd, "--top", str(TOP))
    checked(ad.read_h5ad(tmp_path / "b.h5ad"), counts())


def test_the_best_of_a_layer_are_marked(tmp_path, capfd):
    data = made()
    data.layers["other"] = counts(9)
    data.write_h5ad(tmp_path / "a.h5ad")
    more = ("--layer", "other", "--top", str(TOP))
    ranked(tmp_path / "a.h5ad", tmp_path / "b.h5ad", capfd, *more)
    checked(ad.read_h5ad(tmp_path / "b.h5ad"), counts(9))


def test_columns_of_the_flavors_of_scanpy_stay(tmp_path, capfd):
    data = made()
    for name in ("means", "variances", "variances_norm"):
        data.var[name] = np.arange(M) / 7
    data.var["highly_variable"] = True
    data.uns["hvg"] = {"flavor": "seurat_v3"}
    data.write_h5ad(tmp_path / "a.h5ad")
    arguments = [*RANK, str(tmp_path / "a.h5ad"), "--write-h5ad", str(tmp_path / "b.h5ad")]
    done = run_here([*arguments, "--top", "5"], capfd)
    assert done.code == 0
    assert "highly_variable was in var" in done.err
    copy = ad.read_h5ad(tmp_path / "b.h5ad")
    assert set(copy.var_names[copy.var["highly_variable"]]) == best(counts(), 5)
    np.testing.assert_allclose(copy.var["means"], np.arange(M) / 7)
    assert copy.uns["hvg"]["flavor"] == "sfs"


def test_features_without_a_score_are_not_marked(tmp_path, capfd):
    X = counts()
    X[:, 3:] = 0
    made(X).write_h5ad(tmp_path / "a.h5ad")
    ranked(tmp_path / "a.h5ad", tmp_path / "b.h5ad", capfd, "--top", "20")
    copy = ad.read_h5ad(tmp_path / "b.h5ad")
    assert copy.var_names[copy.var["highly_variable"]].tolist() == GENES[:3]


def test_python_writes_the_same(tmp_path, capfd):
    import sfs_cli

    made().write_h5ad(tmp_path / "a.h5ad")
    ranked(tmp_path / "a.h5ad", tmp_path / "b.h5ad", capfd, "--top", str(TOP))
    data = made()
    sfs_cli.rank(data, method="variance", top=TOP)
    copy = ad.read_h5ad(tmp_path / "b.h5ad")
    pd.testing.assert_frame_equal(copy.var, data.var)
    assert data.uns["hvg"] == copy.uns["hvg"]
    tables = copy.uns["sfs"]["table"], data.uns["sfs"]["table"]
    pd.testing.assert_frame_equal(*map(with_objects, tables))


def test_markers_are_in_a_copy_without_a_folder(tmp_path, capfd):
    path, copy = tmp_path / "a.h5ad", tmp_path / "b.h5ad"
    made().write_h5ad(path)
    words = ["rank", str(path), "--labels", "obs:type", "--markers", "welch"]
    done = run_here([*words, "--write-h5ad", str(copy)], capfd)
    assert done.code == 0, done.err
    assert "no effect" not in done.err
    of = ad.read_h5ad(copy).uns["rank_genes_groups"]
    assert of["names"].dtype.names == ("B", "T")
    assert "no effect without --out or --write-h5ad" in run_here(words, capfd).err


def test_the_table_is_cut_and_the_copy_has_all_scores(tmp_path, capfd):
    made().write_h5ad(tmp_path / "a.h5ad")
    words = [*RANK, str(tmp_path / "a.h5ad"), "--write-h5ad", str(tmp_path / "b.h5ad")]
    done = run_here([*words, "--top", "5"], capfd)
    assert done.code == 0
    assert len(done.out.splitlines()) == 6
    assert f"wrote the first 5 of {M} features" in done.err
    copy = ad.read_h5ad(tmp_path / "b.h5ad")
    assert (copy.var["sfs_score"].notna() == (copy.var["sfs_status"] == "ok")).all()
    assert copy.var["sfs_score"].count() > 30
    scored = copy.var["sfs_score"].notna()
    assert sorted(copy.var["sfs_rank"][scored]) == list(range(1, scored.sum() + 1))
    assert copy.var["sfs_rank"][~scored].isna().all()


# ---- h5mu ----------------------------------------------------------------------------------------


def mudata_file(folder: Path) -> tuple[Any, Path]:
    mudata = pytest.importorskip("mudata")
    rna, protein = made(), made(csr_matrix(counts(4)))
    protein.var_names = [f"p{j}" for j in range(M)]
    path = folder / "cells.h5mu"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        data = mudata.MuData({"rna": rna, "prot": protein})
        data.obsm["X_joint"] = np.arange(2.0 * N).reshape(N, 2)
        data.uns["about"] = "both"
        data.write_h5mu(path)
    return mudata, path


@pytest.mark.filterwarnings("ignore")
def test_a_modality_gets_the_scores_in_a_copy_of_the_whole(tmp_path, capfd):
    mudata, path = mudata_file(tmp_path)
    before = path.read_bytes()
    copy = tmp_path / "ranked.h5mu"
    ranked(f"{path}:rna", copy, capfd, "--top", str(TOP))
    assert path.read_bytes() == before
    assert copy.read_bytes()[:512] == before[:512]
    old, new = mudata.read_h5mu(path), mudata.read_h5mu(copy)
    checked(new["rna"], counts())
    pd.testing.assert_frame_equal(new["prot"].var, old["prot"].var)
    assert (new["prot"].X != old["prot"].X).nnz == 0
    pd.testing.assert_frame_equal(new.obs, old.obs)
    np.testing.assert_array_equal(new.obsm["X_joint"], old.obsm["X_joint"])
    assert new.uns["about"] == "both"


# ---- zarr ----------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore")
def test_a_zarr_folder_is_copied_with_the_scores(tmp_path, capfd):
    made(csr_matrix(counts())).write_zarr(tmp_path / "a.zarr")
    before = snapshot(tmp_path / "a.zarr")
    ranked(tmp_path / "a.zarr", tmp_path / "b.zarr", capfd, "--top", str(TOP))
    assert snapshot(tmp_path / "a.zarr") == before
    copy = ad.read_zarr(tmp_path / "b.zarr")
    checked(copy, counts())
    assert copy.var["symbol"].tolist() == [f"S{j}" for j in range(M)]
    assert abs(copy.layers["double"] - 2 * copy.X).max() == 0


@pytest.mark.filterwarnings("ignore")
def test_a_folder_of_other_things_is_never_replaced(tmp_path, capfd):
    made().write_zarr(tmp_path / "a.zarr")
    (tmp_path / "b.zarr").mkdir()
    (tmp_path / "b.zarr" / "thesis.txt").write_text("years")
    arguments = [*RANK, str(tmp_path / "a.zarr"), "--write-h5ad", str(tmp_path / "b.zarr")]
    assert run_here([*arguments, "--force"], capfd).code == EXISTS
    assert (tmp_path / "b.zarr" / "thesis.txt").read_text() == "years"


@pytest.mark.filterwarnings("ignore")
def test_no_copy_replaces_or_enters_its_source(tmp_path, capfd):
    mudata_file(tmp_path)
    made().write_zarr(tmp_path / "a.zarr")
    before = snapshot(tmp_path)
    for source, copy in (
        ("cells.h5mu:rna", "cells.h5mu"),
        ("a.zarr", "a.zarr"),
        ("a.zarr", "a.zarr/b.zarr"),
    ):
        words = [*RANK, str(tmp_path / source), "--write-h5ad", str(tmp_path / copy), "--force"]
        done = run_here(words, capfd)
        assert done.code == USAGE, done.err
        assert "--write-h5ad" in done.err
    assert snapshot(tmp_path) == before


def test_a_failure_while_writing_leaves_the_run_repeatable(tmp_path, capfd, monkeypatch):
    from sfs_cli.io.matrix import h5ad_copy

    made().write_h5ad(tmp_path / "a.h5ad")
    before = snapshot(tmp_path)
    words = [*RANK, str(tmp_path / "a.h5ad"), "--out", str(tmp_path / "out"), "--write-h5ad"]
    words.append(str(tmp_path / "copy.h5ad"))

    def fails(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(h5ad_copy, "write_member", fails)
        done = run_here(words, capfd)
    assert done.code == BAD
    assert "no space left" in done.err.lower()
    assert snapshot(tmp_path) == before
    assert run_here(words, capfd).code == 0
    assert "up to date" in run_here(words, capfd).err
