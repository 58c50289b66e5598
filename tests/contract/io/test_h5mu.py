"""MuData: which modality is read, and that it is read as AnnData is."""

from __future__ import annotations

from pathlib import Path

import anndata as ad
import h5py
import numpy as np
import pandas as pd
import pytest
from anndata.io import write_elem
from scipy import sparse

from sfs_cli.errors import InputError
from sfs_cli.io.files.sniff import Kind, recognize
from sfs_cli.io.matrix.anndata import read_inside
from sfs_cli.io.matrix.base import ReadOptions, open_matrix
from tests.contract.io.reading import read_all

CELLS = [f"cell{i}" for i in range(12)]


def modality(prefix: str, m: int, seed: int) -> ad.AnnData:
    rng = np.random.default_rng(seed)
    obs = pd.DataFrame({"type": pd.Categorical(["B", "T"] * 6)}, index=CELLS)
    made = ad.AnnData(
        rng.random((12, m)), obs=obs, var=pd.DataFrame(index=[f"{prefix}{i}" for i in range(m)])
    )
    made.raw = made.copy()
    made.layers["double"] = 2 * made.X
    graph = rng.random((12, 12))
    made.obsp["connectivities"] = sparse.csr_matrix(graph + graph.T)
    return made


PARTS = {"rna": modality("g", 9, 1), "prot": modality("p", 5, 2)}


@pytest.fixture
def path(tmp_path) -> Path:
    return write(tmp_path / "cells.h5mu", *PARTS)


def write(path: Path, *names: str) -> Path:
    with h5py.File(path, "w") as file:
        file.attrs["encoding-type"] = "MuData"
        write_elem(file, "obs", pd.DataFrame(index=CELLS))
        for name in names:
            write_elem(file.require_group("mod"), name, PARTS[name])
    return path


def values(spec, **options) -> np.ndarray:
    _, found, reader = read_all(spec, dtype="float64", **options)
    assert reader.format == "h5mu"
    return found if reader.fixed_rows == "samples" else found.T


@pytest.mark.parametrize("name", PARTS)
def test_each_modality_is_its_own_matrix(path, name):
    spec, X = f"{path}:{name}", PARTS[name].X
    np.testing.assert_array_equal(values(spec), X)
    np.testing.assert_array_equal(values(spec, layer="double"), 2 * X)
    np.testing.assert_array_equal(values(spec, layer="raw.X"), X)
    graph, _, samples = read_inside(Path(spec), "obsp", "connectivities")
    np.testing.assert_array_equal(graph.toarray(), PARTS[name].obsp["connectivities"].toarray())
    assert samples == CELLS


def test_several_modalities_and_none_named_lists_them(path):
    with pytest.raises(InputError, match="2 modalities") as caught:
        open_matrix(path, ReadOptions())
    assert "prot, rna" in caught.value.where


def test_unknown_modality_names_the_nearest(path):
    with pytest.raises(InputError, match="no modality 'rn'") as caught:
        open_matrix(f"{path}:rn", ReadOptions())
    assert "did you mean rna?" in caught.value.hint


def test_missing_files_and_files_that_are_not_mudata_are_refused(tmp_path):
    assert recognize(tmp_path / "none.h5mu:rna").kind is Kind.MISSING
    with pytest.raises(InputError, match="no such file"):
        open_matrix(tmp_path / "none.h5mu:rna", ReadOptions())
    PARTS["rna"].write_h5ad(tmp_path / "a.h5mu")
    with pytest.raises(InputError, match="not MuData"):
        open_matrix(tmp_path / "a.h5mu:rna", ReadOptions())


def test_graphs_of_the_whole_are_cut_to_the_samples_of_the_modality(path):
    """As muon writes its neighbors: samples of all modalities, in another order."""
    order = [*CELLS[6:], "other", *CELLS[:6]]
    rng = np.random.default_rng(4)
    graph = rng.random((13, 13))
    frame = pd.DataFrame(graph + graph.T, order, order)
    factors = pd.DataFrame(rng.random((13, 3)), order)
    with h5py.File(path, "a") as file:
        del file["obs"]
        write_elem(file, "obs", pd.DataFrame(index=order))
        file.create_group("obsp"), file.create_group("obsm")
        write_elem(file["obsp"], "connectivities", sparse.csr_matrix(frame.to_numpy()))
        write_elem(file["obsp"], "dense", frame.to_numpy())
        write_elem(file["obsm"], "X_mofa", factors.to_numpy())
    whole, own = frame.loc[CELLS, CELLS], PARTS["rna"].obsp["connectivities"]
    graphs = {"connectivities": whole, "dense": whole, "rna:connectivities": own}
    for key, expected in graphs.items():
        found = read_inside(Path(f"{path}:rna"), "obsp", key)[0]
        found = found.toarray() if sparse.issparse(found) else np.asarray(found)
        expected = expected.toarray() if sparse.issparse(expected) else expected.to_numpy()
        np.testing.assert_array_equal(found, expected)
    folder = path.parent / "obsp"  # names of folders say nothing of the part
    folder.mkdir()
    found = read_inside(Path(f"{path.rename(folder / path.name)}:rna"), "obsm", "X_mofa")[0]
    np.testing.assert_array_equal(found, factors.loc[CELLS])
