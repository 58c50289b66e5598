"""Files as AnnData and MuData write them are read and written back."""

from __future__ import annotations

import json
from pathlib import Path

import anndata as ad
import h5py
import numpy as np
import pandas as pd
import pytest

from sfs_cli.io.matrix.base import ReadOptions, open_matrix
from tests.running import run_here, snapshot

N, M = 20, 15
CELLS = [f"cell{i}" for i in range(N)]
GENES = [f"gene{j}" for j in range(M)]
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


def test_a_user_block_of_mudata_may_come_first(tmp_path, capfd):
    size, block = 512, b"MuData (format-version=0.1.0)"
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


@pytest.mark.parametrize("strings", [False, True])
def test_columns_of_every_type_stay_as_they_are(strings, tmp_path, capfd):
    data, path, copy = made(), tmp_path / "cells.h5ad", tmp_path / "copy.h5ad"
    for kind, column in COLUMNS.items():
        if ("strings" in kind) == strings:
            data.var[kind] = column
            data.obs[kind] = data.var[kind].array[np.arange(N) % M]
    if strings:
        if not hasattr(ad.settings, "allow_write_nullable_strings"):
            pytest.skip("this version of anndata cannot write them")
        with ad.settings.override(allow_write_nullable_strings=True):
            data.write_h5ad(path)
    else:
        data.write_h5ad(path)
    ranked(path, capfd, "--write-h5ad", str(copy))
    new, old = checked(copy, data.X), ad.read_h5ad(path)
    pd.testing.assert_frame_equal(new.obs, old.obs)
    pd.testing.assert_frame_equal(new.var[old.var.columns], old.var)


def test_what_cannot_be_written_is_refused_before_the_run(tmp_path, capfd):
    path = tmp_path / "a.h5ad"
    made().write_h5ad(path)
    with h5py.File(path, "r+") as file:
        del file["uns"]
        file["uns"] = 5
    arguments = [*RANK, str(path), "--out", str(tmp_path / "out"), "--write-h5ad"]
    done = run_here([*arguments, str(tmp_path / "copy.h5ad")], capfd)
    assert done.code == 3
    assert "cannot be read as AnnData" in done.err
    assert set(snapshot(tmp_path)) == {"a.h5ad"}


def test_values_in_another_file_are_read_as_h5py_reads_them(tmp_path, capfd):
    path = tmp_path / "cells.h5ad"
    made().write_h5ad(tmp_path / "values.h5ad")
    made().write_h5ad(path)
    with h5py.File(path, "r+") as file:
        del file["X"]
        file["X"] = h5py.ExternalLink("values.h5ad", "/X")
    assert ranked(path, capfd) == by_variance(made().X)


@pytest.mark.parametrize("member", ["obs", "X"])
def test_members_of_another_kind_are_no_traceback(member, tmp_path, capfd):
    path = tmp_path / "cells.h5ad"
    made().write_h5ad(path)
    with h5py.File(path, "r+") as file:
        del file[member]
        file[member] = 5
    done = run_here([*RANK, str(path)], capfd)
    assert done.code == 3, done.err
    assert "Traceback" not in done.err
    assert str(path) in done.err
