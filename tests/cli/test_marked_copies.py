"""Copies of h5ad, h5mu and zarr with scores and highly variable genes, for scanpy and mudata."""

from __future__ import annotations

import os
import subprocess
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anndata as ad
import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csc_matrix, csr_matrix

from tests.making import with_objects
from tests.making_commands import BAD, USAGE
from tests.oracles import dispersion as oracle
from tests.running import run_here, snapshot

N, M, TOP = 30, 40, 12
CELLS = [f"cell{i}" for i in range(N)]
GENES = [f"gene{j}" for j in range(M)]
RANK = ("rank", "--method", "variance")
PYTHONS = [p for p in os.environ.get("SFS_ANNDATA_PYTHONS", "").split(os.pathsep) if p]
EXISTS = 4


def slow(value: Any) -> Any:
    return pytest.param(value, marks=pytest.mark.nightly)


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
    means, plain, normalized = oracle.dispersions(X.astype(float))
    np.testing.assert_allclose(data.var["means"], means)
    np.testing.assert_allclose(data.var["dispersions"], plain, rtol=1e-6)
    np.testing.assert_allclose(data.var["dispersions_norm"], normalized, rtol=1e-5, atol=1e-9)
    assert data.uns["hvg"]["flavor"] == "sfs"
    assert data.uns["sfs"]["params"]["top"] == top


# ---- h5ad ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [np.asarray, slow(csr_matrix), slow(csc_matrix)])
def test_the_best_are_marked_in_a_copy(kind, tmp_path, capfd):
    made(kind(counts())).write_h5ad(tmp_path / "a.h5ad")
    ranked(tmp_path / "a.h5ad", tmp_path / "b.h5ad", capfd, "--top", str(TOP))
    checked(ad.read_h5ad(tmp_path / "b.h5ad"), counts())


def test_the_layer_that_was_ranked_is_what_is_described(tmp_path, capfd):
    data = made()
    data.layers["other"] = counts(9)
    data.write_h5ad(tmp_path / "a.h5ad")
    more = ("--layer", "other", "--top", str(TOP))
    ranked(tmp_path / "a.h5ad", tmp_path / "b.h5ad", capfd, *more)
    checked(ad.read_h5ad(tmp_path / "b.h5ad"), counts(9))


def test_what_is_there_for_the_plot_stays(tmp_path, capfd):
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
    np.testing.assert_allclose(copy.var["means"], counts().mean(axis=0), rtol=1e-6)
    assert copy.uns["hvg"]["flavor"] == "sfs"


def test_values_below_zero_have_no_dispersions_and_the_message_says_what_to_plot(tmp_path, capfd):
    made(counts() - 2).write_h5ad(tmp_path / "a.h5ad")
    arguments = [*RANK, str(tmp_path / "a.h5ad"), "--write-h5ad", str(tmp_path / "b.h5ad")]
    done = run_here([*arguments, "--top", "5"], capfd)
    assert done.code == 0
    assert "scanpy.pl.scatter" in done.err
    copy = ad.read_h5ad(tmp_path / "b.h5ad")
    assert copy.var["highly_variable"].sum() == 5
    assert "dispersions" not in copy.var


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


@pytest.mark.nightly
def test_a_copy_with_another_number_is_not_up_to_date(tmp_path, capfd):
    made().write_h5ad(tmp_path / "a.h5ad")
    copy = str(tmp_path / "b.h5ad")
    arguments = [
        *RANK,
        str(tmp_path / "a.h5ad"),
        "--out",
        str(tmp_path / "o"),
        "--write-h5ad",
        copy,
    ]
    assert run_here([*arguments, "--top", "5"], capfd).code == 0
    assert "up to date" in run_here([*arguments, "--top", "5"], capfd).err
    assert run_here([*arguments, "--top", "6"], capfd).code == EXISTS
    assert run_here([*arguments, "--top", "6", "--force"], capfd).code == 0
    assert ad.read_h5ad(copy).var["highly_variable"].sum() == 6


@pytest.mark.nightly
def test_shards_write_the_same_copy(tmp_path, capfd):
    made().write_h5ad(tmp_path / "a.h5ad")
    ranked(tmp_path / "a.h5ad", tmp_path / "b.h5ad", capfd, "--top", str(TOP))
    plan = str(tmp_path / "plan")
    init = ["shard", "init", plan, str(tmp_path / "a.h5ad"), "--method", "variance"]
    assert run_here([*init, "--shards", "2"], capfd).code == 0
    merge = ["shard", "merge", plan, "--finish", "--out", str(tmp_path / "o"), "--top", str(TOP)]
    done = run_here([*merge, "--write-h5ad", str(tmp_path / "c.h5ad")], capfd)
    assert done.code == 0, done.err
    one, other = (ad.read_h5ad(tmp_path / name) for name in ("b.h5ad", "c.h5ad"))
    pd.testing.assert_frame_equal(one.var, other.var)


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
    new.write_h5mu(tmp_path / "again.h5mu")
    again = [
        "rank",
        "--method",
        "variance",
        f"{copy}:rna",
        "--write-h5ad",
        str(tmp_path / "c.h5mu"),
    ]
    assert run_here(again, capfd).code == 0


@pytest.mark.nightly
@pytest.mark.filterwarnings("ignore")
def test_both_modalities_can_be_ranked_one_after_the_other(tmp_path, capfd):
    mudata, path = mudata_file(tmp_path)
    ranked(f"{path}:rna", tmp_path / "one.h5mu", capfd)
    ranked(f"{tmp_path / 'one.h5mu'}:prot", tmp_path / "two.h5mu", capfd)
    both = mudata.read_h5mu(tmp_path / "two.h5mu")
    assert all("sfs_rank" in both[name].var for name in ("rna", "prot"))


# ---- zarr ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [slow(2), 3])
@pytest.mark.parametrize("kind", [np.asarray, slow(csr_matrix)])
@pytest.mark.filterwarnings("ignore")
def test_a_zarr_folder_is_copied_with_the_scores(form, kind, tmp_path, capfd):
    if not hasattr(ad.settings, "zarr_write_format"):
        pytest.skip("this version of anndata writes one format of Zarr")
    with ad.settings.override(zarr_write_format=form):
        made(kind(counts())).write_zarr(tmp_path / "a.zarr")
    before = snapshot(tmp_path / "a.zarr")
    ranked(tmp_path / "a.zarr", tmp_path / "b.zarr", capfd, "--top", str(TOP))
    assert snapshot(tmp_path / "a.zarr") == before
    copy = ad.read_zarr(tmp_path / "b.zarr")
    checked(copy, counts())
    assert copy.var["symbol"].tolist() == [f"S{j}" for j in range(M)]
    assert abs(copy.layers["double"] - 2 * copy.X).max() == 0
    again = [*RANK, str(tmp_path / "b.zarr"), "--write-h5ad", str(tmp_path / "c.zarr")]
    assert run_here(again, capfd).code == 0


@pytest.mark.nightly
@pytest.mark.filterwarnings("ignore")
def test_a_folder_of_other_things_is_never_replaced(tmp_path, capfd):
    made().write_zarr(tmp_path / "a.zarr")
    (tmp_path / "b.zarr").mkdir()
    (tmp_path / "b.zarr" / "thesis.txt").write_text("years")
    arguments = [*RANK, str(tmp_path / "a.zarr"), "--write-h5ad", str(tmp_path / "b.zarr")]
    assert run_here([*arguments, "--force"], capfd).code == EXISTS
    assert (tmp_path / "b.zarr" / "thesis.txt").read_text() == "years"
    made(counts(3)).write_zarr(tmp_path / "c.zarr")
    arguments[-1] = str(tmp_path / "c.zarr")
    assert run_here(arguments, capfd).code == EXISTS
    assert run_here([*arguments, "--force"], capfd).code == 0
    np.testing.assert_array_equal(ad.read_zarr(tmp_path / "c.zarr").X, counts())


WRITE: dict[str, Callable[[Path], Any]] = {
    "h5ad": lambda path: made().write_h5ad(path),
    "zarr": lambda path: made().write_zarr(path),
}


@pytest.mark.parametrize(("source", "copy"), [("h5ad", "zarr"), ("zarr", "h5ad"), ("h5ad", "h5mu")])
@pytest.mark.filterwarnings("ignore")
def test_a_name_of_another_format_is_refused(source, copy, tmp_path, capfd):
    WRITE[source](tmp_path / f"a.{source}")
    words = [*RANK, str(tmp_path / f"a.{source}"), "--write-h5ad", str(tmp_path / f"b.{copy}")]
    done = run_here(words, capfd)
    assert done.code == USAGE
    assert "--write-h5ad" in done.err
    assert not (tmp_path / f"b.{copy}").exists()


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


# ---- failures ------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["h5ad", slow("h5mu"), slow("zarr")])
@pytest.mark.filterwarnings("ignore")
def test_a_failure_while_writing_leaves_the_run_repeatable(form, tmp_path, capfd, monkeypatch):
    from sfs_cli.io.matrix import h5ad_copy

    if form == "h5mu":
        matrix = f"{mudata_file(tmp_path)[1]}:rna"
    else:
        WRITE[form](tmp_path / f"cells.{form}")
        matrix = str(tmp_path / f"cells.{form}")
    before = snapshot(tmp_path)
    words = [*RANK, matrix, "--out", str(tmp_path / "out"), "--top", str(TOP), "--write-h5ad"]
    words.append(str(tmp_path / f"copy.{form}"))
    whole = h5ad_copy.write_member

    def fails(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(h5ad_copy, "write_member", fails)
    done = run_here(words, capfd)
    assert done.code == BAD
    assert "no space left" in done.err.lower()
    assert snapshot(tmp_path) == before
    monkeypatch.setattr(h5ad_copy, "write_member", whole)
    assert run_here(words, capfd).code == 0
    assert "up to date" in run_here(words, capfd).err


# ---- scanpy and other versions of anndata --------------------------------------------------------


def scanpy_plots(data: ad.AnnData) -> None:
    scanpy = pytest.importorskip("scanpy")
    pytest.importorskip("matplotlib").use("agg")
    scanpy.pp.pca(data, n_comps=5)
    loadings = data.varm["PCs"]
    marked = data.var["highly_variable"].to_numpy()
    assert np.abs(loadings[marked]).sum(axis=1).min() > 0
    assert np.abs(loadings[~marked]).max() == 0
    for log in (False, True):
        axes = scanpy.pl.highly_variable_genes(data, show=False, log=log)
        assert sum(len(points.get_offsets()) for points in axes.collections) == data.n_vars


@pytest.mark.nightly
@pytest.mark.filterwarnings("ignore")
def test_scanpy_works_on_what_is_written(tmp_path, capfd):
    pytest.importorskip("scanpy")
    made().write_h5ad(tmp_path / "a.h5ad")
    ranked(tmp_path / "a.h5ad", tmp_path / "b.h5ad", capfd, "--top", str(TOP))
    scanpy_plots(ad.read_h5ad(tmp_path / "b.h5ad"))
    made().write_zarr(tmp_path / "a.zarr")
    ranked(tmp_path / "a.zarr", tmp_path / "b.zarr", capfd, "--top", str(TOP))
    scanpy_plots(ad.read_zarr(tmp_path / "b.zarr"))
    mudata, path = mudata_file(tmp_path)
    ranked(f"{path}:rna", tmp_path / "c.h5mu", capfd, "--top", str(TOP))
    scanpy_plots(mudata.read_h5mu(tmp_path / "c.h5mu")["rna"])


@pytest.mark.nightly
@pytest.mark.filterwarnings("ignore")
def test_scanpy_works_on_its_own_data_with_our_genes(tmp_path, capfd):
    scanpy = pytest.importorskip("scanpy")
    path = Path(scanpy.datasets.__file__).parent / "10x_pbmc68k_reduced.h5ad"
    done = run_here(
        ["rank", str(path), "--write-h5ad", str(tmp_path / "b.h5ad"), "--top", "100"], capfd
    )
    assert done.code == 0, done.err
    old, new = scanpy.datasets.pbmc68k_reduced(), ad.read_h5ad(tmp_path / "b.h5ad")
    assert new.var["highly_variable"].sum() == 100
    np.testing.assert_array_equal(new.var["dispersions"], old.var["dispersions"])
    scanpy_plots(new)


@pytest.mark.nightly
@pytest.mark.filterwarnings("ignore")
def test_scanpy_plots_the_scores_of_a_scaled_matrix(tmp_path, capfd):
    scanpy = pytest.importorskip("scanpy")
    made(counts() - 2).write_h5ad(tmp_path / "a.h5ad")
    ranked(tmp_path / "a.h5ad", tmp_path / "b.h5ad", capfd, "--top", "5")
    copy = ad.read_h5ad(tmp_path / "b.h5ad")
    axes = scanpy.pl.scatter(copy, x="sfs_rank", y="sfs_score", show=False)
    assert len(axes.collections[0].get_offsets()) == M


MAKE = """
import sys, numpy as np, pandas as pd, anndata as ad
folder, X = sys.argv[1], np.load(sys.argv[2])
obs = pd.DataFrame({"type": pd.Categorical(["B", "T"] * (len(X) // 2))},
                   index=["cell%d" % i for i in range(len(X))])
var = pd.DataFrame({"flag": np.arange(X.shape[1]) % 2 == 0,
                    "kind": pd.Categorical(["p", "q"] * (X.shape[1] // 2))},
                   index=["gene%d" % j for j in range(X.shape[1])])
a = ad.AnnData(X, obs=obs, var=var)
a.uns["note"] = "made elsewhere"
getattr(a, "write_h5ad", a.write)(folder + "/a.h5ad")
try:
    a.write_zarr(folder + "/a.zarr")
except (ImportError, TypeError):
    pass  # zarr is optional there, and takes chunks in 0.6
print(ad.__version__)
"""
READ = """
import sys, anndata as ad
read = ad.read_zarr if sys.argv[1].endswith("zarr") else ad.read_h5ad
a = read(sys.argv[1])
found = a.var["highly_variable"].sum(), a.uns["note"], a.uns["hvg"]["flavor"]
print(*found, a.var["means"].iloc[0], sep="|")
"""


@pytest.mark.nightly
@pytest.mark.skipif(not PYTHONS, reason="SFS_ANNDATA_PYTHONS names no Pythons with an anndata")
@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.filterwarnings("ignore")
def test_files_of_other_versions_of_anndata_come_back_to_them(python, tmp_path, capfd):
    """The versions are those of the Pythons in SFS_ANNDATA_PYTHONS, from 0.6 on."""

    def elsewhere(script: str, *words: Path) -> str:
        done = subprocess.run(
            [python, "-W", "ignore", "-c", script, *map(str, words)],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            env={"PATH": os.environ["PATH"]},
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    np.save(tmp_path / "X.npy", counts())
    version = elsewhere(MAKE, tmp_path, tmp_path / "X.npy").split()[-1]
    before_07 = tuple(map(int, version.split(".")[:2])) < (0, 7)
    forms = [path.suffix for path in sorted(tmp_path.glob("a.*"))]
    assert ".h5ad" in forms
    for form in forms[: 1 if before_07 else None]:
        copy = tmp_path / f"copy{form}"
        ranked(tmp_path / f"a{form}", copy, capfd, "--top", str(TOP))
        data = ad.read_zarr(copy) if form == ".zarr" else ad.read_h5ad(copy)
        checked(data, counts())
        assert data.var["kind"].tolist() == ["p", "q"] * (M // 2)
        if not before_07:  # which cannot read the present form
            said = elsewhere(READ, copy).split("|")
            assert said[:3] == [str(TOP), "made elsewhere", "sfs"]
            np.testing.assert_allclose(float(said[3]), counts()[:, 0].mean(), rtol=1e-4)
