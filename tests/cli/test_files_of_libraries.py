"""Files as AnnData, MuData and scanpy write them, now and before, are read and written back."""

from __future__ import annotations

import io
import json
import os
import subprocess
from pathlib import Path

import anndata as ad
import h5py
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from sfs_cli.io.files.sniff import Kind, recognize
from sfs_cli.io.matrix.base import ReadOptions, open_matrix
from tests.old_anndata import write_old
from tests.running import run_here, snapshot

N, M = 20, 15
CELLS = [f"cell{i}" for i in range(N)]
GENES = [f"gene{j}" for j in range(M)]
SIXTY = [f"cell{i}" for i in range(60)]
INTERSECT = ("--samples", "intersect")
RANK = ("rank", "--method", "variance")


def made(seed: int = 0) -> ad.AnnData:
    rng = np.random.default_rng(seed)
    return ad.AnnData(
        rng.random((N, M)).astype(np.float32),
        obs=pd.DataFrame({"type": pd.Categorical(["B", "T"] * (N // 2))}, index=CELLS),
        var=pd.DataFrame({"length": np.arange(M)}, index=GENES),
        obsm={"X_pca": rng.random((N, 3))},
    )


def values(path: Path | str) -> np.ndarray:
    reader = open_matrix(path, ReadOptions())
    found = np.concatenate([block.values for block in reader.blocks()])
    reader.close()
    return found if reader.fixed_rows == "samples" else found.T


def ranked(path: Path | str, capfd, *more: str) -> list[str]:
    done = run_here([*RANK, str(path), *more], capfd)
    assert done.code == 0, done.err
    return [line.split("\t")[1] for line in done.out.splitlines()[1:]]


def read_tsv(text: str) -> pd.DataFrame:
    return pd.read_csv(io.StringIO(text), sep="\t", index_col="feature")


def by_variance(X: np.ndarray) -> list[str]:
    return [GENES[j] for j in np.argsort(-X.astype(float).var(axis=0))]


def checked(path: Path, X: np.ndarray) -> ad.AnnData:
    """Return a written copy, whose scores are those of the matrix."""
    copy = ad.read_h5ad(path)
    np.testing.assert_array_equal(copy.X, X)
    assert copy.var.sort_values("sfs_rank").index.tolist() == by_variance(X)
    assert set(copy.var["sfs_status"]) == {"ok"}
    assert json.loads(copy.uns["sfs"]["record"])["config"]["method"] == "variance"
    return copy


def test_mudata_of_mudata_is_read(tmp_path, capfd):
    mudata = pytest.importorskip("mudata")
    path, parts = tmp_path / "cells.h5mu", {"rna": made(1), "prot": made(2)}
    mudata.MuData(parts).write_h5mu(path)
    with h5py.File(path) as file:
        assert file.userblock_size == 512
    assert recognize(path).kind is Kind.HDF5
    for name, part in parts.items():
        np.testing.assert_array_equal(values(f"{path}:{name}"), part.X)
        assert ranked(f"{path}:{name}", capfd) == by_variance(part.X)


WEIGHTED_NEIGHBORS = """
import sys, muon, scanpy
both = muon.read_h5mu(sys.argv[1])
for part in both.mod.values():
    scanpy.pp.pca(part, n_comps=5)
    scanpy.pp.neighbors(part, n_neighbors=6)
muon.pp.neighbors(both, n_neighbors=6, n_multineighbors=12)
both.write(sys.argv[2])
"""


@pytest.mark.nightly
@pytest.mark.skipif("SFS_SQUIDPY" not in os.environ, reason="SFS_SQUIDPY: a Python with muon")
def test_the_weighted_neighbors_of_muon_are_a_graph(tmp_path, capfd):
    mudata = pytest.importorskip("mudata")
    files = [str(tmp_path / name) for name in ("in.h5mu", "out.h5mu")]
    rng = np.random.default_rng(0)
    parts = {}
    for name in ("rna", "prot"):
        X = rng.normal(size=(60, M)) + np.outer(np.arange(60) % 3, rng.normal(size=M))
        cells = pd.DataFrame(index=SIXTY)
        genes = pd.DataFrame(index=[f"{name}{j}" for j in range(M)])
        parts[name] = ad.AnnData(X.astype(np.float32), cells, genes)
    mudata.MuData(parts).write_h5mu(files[0])
    alone = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    command = [os.environ["SFS_SQUIDPY"], "-W", "ignore", "-c", WEIGHTED_NEIGHBORS, *files]
    subprocess.run(command, check=True, env=alone, cwd=tmp_path)
    graph = mudata.read_h5mu(files[1]).obsp["connectivities"].toarray()
    given = tmp_path / "graph.tsv"
    pd.DataFrame(graph, SIXTY, SIXTY).to_csv(given, sep="\t", index_label="sample")
    words = ["rank", f"{files[1]}:rna", "--method", "laplacian"]
    found = run_here([*words, "--similarity", "obsp:connectivities"], capfd)
    assert found.code == 0, found.err
    expected = run_here([*words, "--similarity-file", str(given)], capfd)
    of_graph, of_table = (read_tsv(each.out) for each in (found, expected))
    assert sorted(of_graph.index) == sorted(parts["rna"].var_names)
    assert of_graph.index.tolist() == of_table.index.tolist()
    np.testing.assert_allclose(of_graph["score"], of_table["score"], rtol=1e-8)


@pytest.mark.parametrize(
    ("size", "block"),
    [(512, b""), (1024, b"MuData (format-version=0.1.0)"), (1 << 16, b"text, with a comma\n")],
)
def test_a_user_block_of_any_size_may_come_first(size, block, tmp_path, capfd):
    data = made()
    data.write_h5ad(tmp_path / "plain.h5ad")
    path = with_user_block(tmp_path / "plain.h5ad", tmp_path / "cells.h5ad", size, block)
    np.testing.assert_array_equal(values(path), data.X)
    copy = tmp_path / "copy.h5ad"
    assert ranked(path, capfd, "--write-h5ad", str(copy)) == by_variance(data.X)
    assert copy.read_bytes()[:size] == path.read_bytes()[:size]
    checked(copy, data.X)


def with_user_block(source: Path, path: Path, size: int, block: bytes) -> Path:
    with h5py.File(source) as old, h5py.File(path, "w", userblock_size=size) as new:
        for name in old:
            old.copy(name, new)
        new.attrs.update(old.attrs)
    with path.open("r+b") as file:
        file.write(block.ljust(size, b" " if b"text" in block else b"\0"))
    return path


def test_text_with_a_signature_that_is_not_at_its_place_stays_text(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(b"id,a,b\n" + b"g,1,2\n" * 1000)
    assert recognize(path).kind is Kind.TEXT


def old_form(path: Path, data: ad.AnnData) -> Path:
    """Write a file as AnnData 0.6 did, with columns and a graph that `data` has not."""
    rng = np.random.default_rng(5)
    graph = sparse.csr_matrix(np.triu(rng.random((N, N)), 1))
    more = ad.AnnData(
        data.X,
        obs=data.obs.assign(depth=rng.random(N, dtype=np.float32)),
        var=pd.DataFrame(
            {"means": rng.random(M, dtype=np.float32), "highly_variable": rng.random(M) > 0.5},
            index=GENES,
        ),
        obsm=data.obsm,
        obsp={"connectivities": graph + graph.T},
        uns={"method": "hand"},
    )
    more.raw = ad.AnnData(sparse.csr_matrix(2 * data.X), var=pd.DataFrame(index=GENES))
    return write_old(path, more)


@pytest.mark.filterwarnings("ignore")
def test_scores_go_into_a_copy_of_an_old_file_in_the_present_form(tmp_path, capfd):
    data = made()
    path = old_form(tmp_path / "old.h5ad", data)
    before, copy = path.read_bytes(), tmp_path / "copy.h5ad"
    assert ranked(path, capfd, "--write-h5ad", str(copy)) == by_variance(data.X)
    assert path.read_bytes() == before
    new = checked(copy, data.X)
    with h5py.File(copy) as file:
        assert file["var"].attrs["encoding-type"] == "dataframe"
    old = ad.read_h5ad(path)
    pd.testing.assert_frame_equal(new.obs, old.obs)
    pd.testing.assert_frame_equal(new.var[old.var.columns], old.var)
    np.testing.assert_array_equal(new.raw.X.toarray(), 2 * data.X)
    np.testing.assert_array_equal(new.obsm["X_pca"], data.obsm["X_pca"])
    assert (new.obsp["connectivities"] != old.obsp["connectivities"]).nnz == 0
    assert ranked(copy, capfd) == by_variance(data.X)
    assert run_here(["rank", str(path), "--labels", "obs:type"], capfd).code == 0


@pytest.mark.nightly
@pytest.mark.filterwarnings("ignore")
def test_data_that_scanpy_ships_can_be_ranked_and_written(tmp_path, capfd):
    scanpy = pytest.importorskip("scanpy")
    path = Path(scanpy.datasets.__file__).parent / "10x_pbmc68k_reduced.h5ad"
    copy = tmp_path / "copy.h5ad"
    done = run_here(["rank", str(path), "--write-h5ad", str(copy)], capfd)
    assert done.code == 0, done.err
    new, old = ad.read_h5ad(copy), scanpy.datasets.pbmc68k_reduced()
    np.testing.assert_array_equal(new.X, old.X)
    pd.testing.assert_frame_equal(new.obs, old.obs)
    pd.testing.assert_frame_equal(new.var[old.var.columns], old.var)
    assert (new.raw.X != old.raw.X).nnz == 0
    assert (new.obsp["connectivities"] != old.obsp["connectivities"]).nnz == 0
    scanpy.pp.pca(new)


COLUMNS = {
    "categorical": pd.Categorical(["p", "q", None] * (M // 3)),
    "ordered": pd.Categorical(["p", "q", "r"] * (M // 3), ["r", "q", "p"], ordered=True),
    "text": ["é", "", "x"] * (M // 3),
    "nullable integers": pd.array([1, None, 3] * (M // 3), "Int64"),
    "nullable booleans": pd.array([True, None, False] * (M // 3), "boolean"),
    "booleans": [True, False, True] * (M // 3),
    "strings": pd.array(["a", "b", "c"] * (M // 3), "string"),
    "nullable strings": pd.array(["a", None, "c"] * (M // 3), "string"),
}


@pytest.mark.parametrize("kind", COLUMNS)
def test_columns_of_every_type_stay_as_they_are(kind, tmp_path, capfd):
    data, path, copy = made(), tmp_path / "cells.h5ad", tmp_path / "copy.h5ad"
    data.var["column"] = COLUMNS[kind]
    data.obs["column"] = data.var["column"].array[np.arange(N) % M]
    allow = getattr(ad.settings, "allow_write_nullable_strings", None)
    if "strings" in kind:
        if allow is None:
            pytest.skip("this version of anndata cannot write them")
        with ad.settings.override(allow_write_nullable_strings=True):
            data.write_h5ad(path)
    else:
        data.write_h5ad(path)
    ranked(path, capfd, "--write-h5ad", str(copy))
    new, old = checked(copy, data.X), ad.read_h5ad(path)
    pd.testing.assert_frame_equal(new.obs, old.obs)
    pd.testing.assert_frame_equal(new.var[old.var.columns], old.var)
    if kind == "categorical":
        labeled = run_here([*RANK, str(path), "--labels", "obs:column", *INTERSECT], capfd)
        assert labeled.code == 0, labeled.err


def test_backed_files_and_files_without_columns_are_copied(tmp_path, capfd):
    data, path, copy = made(), tmp_path / "cells.h5ad", tmp_path / "copy.h5ad"
    data.obs, data.var = data.obs[[]], data.var[[]]
    data.write_h5ad(path)
    backed = ad.read_h5ad(path, backed="r")
    ranked(path, capfd, "--write-h5ad", str(copy))
    backed.file.close()
    assert checked(copy, data.X).var.columns.tolist() == ["sfs_rank", "sfs_score", "sfs_status"]


@pytest.mark.parametrize("old", [False, True])
def test_a_copy_that_cannot_be_written_leaves_no_result(old, tmp_path, capfd, monkeypatch):
    from sfs_cli.io.results import writers

    path = old_form(tmp_path / "a.h5ad", made()) if old else tmp_path / "a.h5ad"
    if not old:
        made().write_h5ad(path)
    arguments = [*RANK, str(path), "--out", str(tmp_path / "out"), "--write-h5ad"]
    arguments.append(str(tmp_path / "copy.h5ad"))
    whole = writers.write_scores

    def fails(_source: Path, path: Path, *_: object, **_named: object) -> None:
        path.write_bytes(b"half of it")
        raise OSError("the disk is gone")

    monkeypatch.setattr(writers, "write_scores", fails)
    failed = run_here(arguments, capfd)
    assert failed.code != 0
    assert "the disk is gone" in failed.err
    assert set(snapshot(tmp_path)) == {"a.h5ad"}
    monkeypatch.setattr(writers, "write_scores", whole)
    assert run_here(arguments, capfd).code == 0
    checked(tmp_path / "copy.h5ad", made().X)
    assert "up to date" in run_here(arguments, capfd).err


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("graph", ["obsm:X_pca", "obsm:X_one", "obsp:connectivities"])
def test_graphs_and_coordinates_of_an_old_file_are_those_of_its_present_form(
    graph, tmp_path, capfd
):
    data = made()
    data.obsm["X_one"] = data.obsm["X_pca"][:, :1].copy()
    old, new = old_form(tmp_path / "old.h5ad", data), tmp_path / "new.h5ad"
    ad.read_h5ad(old).write_h5ad(new)
    words = ("rank", "--similarity", graph, "--method", "laplacian")
    found = [run_here([*words, str(path)], capfd) for path in (old, new)]
    assert found[0].out == found[1].out
    assert found[0].code == 0
    assert graph in run_here(["inspect", str(old)], capfd).out


def test_what_cannot_be_written_is_refused_before_the_run(tmp_path, capfd):
    path = tmp_path / "a.h5ad"
    made().write_h5ad(path)
    with h5py.File(path, "r+") as file:
        del file["uns"]
        file["uns"] = 5
    arguments = [*RANK, str(path), "--out", str(tmp_path / "out"), "--write-h5ad"]
    done = run_here([*arguments, str(tmp_path / "copy.h5ad")], capfd)
    assert done.code == 3
    assert "uns" in done.err
    assert set(snapshot(tmp_path)) == {"a.h5ad"}
