"""Damaged HDF5 files, and those that are not what they seem, are refused with their names."""

from __future__ import annotations

import sys
from pathlib import Path

import anndata as ad
import h5py
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from tests.running import run_here, snapshot

N, M = 12, 30
RANK = ("rank", "--method", "variance")
linux = pytest.mark.skipif(sys.platform != "linux", reason="the file is read in a child process")


def cells(path: Path, compressed: bool = False) -> Path:
    rng = np.random.default_rng(0)
    X = rng.random((N, M)).astype(np.float32)
    data = ad.AnnData(
        sparse.csr_matrix(X * (X > 0.4)) if compressed else X,
        obs=pd.DataFrame(
            {"type": pd.Categorical(list("ab") * 6), "name": [f"n{i}" for i in range(N)]},
            index=[f"c{i}" for i in range(N)],
        ),
        var=pd.DataFrame(
            {"symbol": [f"s{j}" for j in range(M)]}, index=[f"g{j}" for j in range(M)]
        ),
        obsm={"X_pca": rng.random((N, 3))},
        obsp={"connectivities": sparse.csr_matrix(np.ones((N, N)))},
        uns={"made": {"by": "hand"}},
    )
    data.write_h5ad(path, compression="gzip" if compressed else None)
    return path


def virtual(path: Path) -> str:
    with h5py.File(path, "r+") as file:
        del file["X"]
        layout = h5py.VirtualLayout((N, M), np.float32)
        layout[:] = h5py.VirtualSource(path.with_name("other.h5ad"), "X", (N, M), np.float32)
        file.create_virtual_dataset("X", layout)
    return "X (a virtual data set"


def test_links_inside_a_file_are_followed(tmp_path, capfd):
    path = cells(tmp_path / "cells.h5ad")
    wanted = run_here([*RANK, str(path)], capfd).out
    assert wanted
    with h5py.File(path, "r+") as file:
        file["values"] = file["X"]
        del file["X"]
        file["X"] = h5py.SoftLink("/values")
        file["elsewhere"] = h5py.SoftLink("/nothing")
    done = run_here([*RANK, str(path)], capfd)
    assert (done.code, done.out) == (0, wanted)


@pytest.mark.parametrize("command", ["rank"])
@pytest.mark.parametrize("member", ["obs", "var", "X", "layers"])
@pytest.mark.parametrize("kind", ["number", "empty"])
def test_members_of_another_kind_are_no_traceback(command, member, kind, tmp_path, capfd):
    path = cells(tmp_path / "cells.h5ad")
    with h5py.File(path, "r+") as file:
        if member in file:
            del file[member]
        file[member] = 5 if kind == "number" else h5py.Empty("f")
    done = run_here([command, str(path)], capfd)
    assert done.code in (0, 3), done.err
    assert "Traceback" not in done.err
    assert done.code == 0 or str(path) in done.err


def test_a_missing_file_is_not_called_damaged(tmp_path, capfd):
    done = run_here(["rank", str(tmp_path / "none.h5ad")], capfd)
    assert done.code == 3
    assert "no such file" in done.err
    assert snapshot(tmp_path) == {}
