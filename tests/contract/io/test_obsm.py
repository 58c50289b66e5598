"""Coordinates of samples: obsm of AnnData and MuData, and tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anndata as ad
import h5py
import numpy as np
import pandas as pd
import pytest
from anndata.io import write_elem
from scipy import sparse

from sfs_cli.errors import InputError
from sfs_cli.io.knowledge.coordinates import Coordinates, open_coordinates

CELLS = [f"cell{i}" for i in range(9)]
Z = np.random.default_rng(4).normal(size=(9, 3))


def cells(**obsm: Any) -> ad.AnnData:
    made = ad.AnnData(np.eye(9), obs=pd.DataFrame(index=CELLS), obsm={"X_pca": Z} | obsm)
    made.var_names = [f"g{i}" for i in range(9)]
    return made


def written(made: ad.AnnData, folder: Path, format: str) -> Path:
    path = folder / f"cells.{format}"
    if format == "h5ad":
        made.write_h5ad(path)
    elif format == "zarr":
        made.write_zarr(path)
    else:
        with h5py.File(path, "w") as file:
            file.attrs["encoding-type"] = "MuData"
            write_elem(file.require_group("mod"), "rna", made)
    return path


@pytest.mark.parametrize("format", ["h5ad", "zarr", "h5mu"])
def test_each_format_has_them(format: str, tmp_path: Path) -> None:
    frame = pd.DataFrame(Z, index=CELLS, columns=["u", "v", "w"])
    made = cells(frame=frame, spatial=(100 * Z[:, :2]).astype(int), X_umap=Z.astype(np.float32))
    path = str(written(made, tmp_path, format))
    for spec in [path] if format != "h5mu" else [path, f"{path}:rna"]:
        found = open_coordinates("obsm:X_pca", spec)
        np.testing.assert_array_equal(found.values, Z)
        assert (found.samples, len(found.names)) == (CELLS, 3)
        found = open_coordinates("obsm:frame", spec)
        np.testing.assert_array_equal(found.values, Z)
        assert found.names == ["u", "v", "w"]
        found = open_coordinates("obsm:spatial", spec)
        np.testing.assert_array_equal(found.values, (100 * Z[:, :2]).astype(int))
        assert open_coordinates("obsm:X_umap", spec).values.dtype == np.float64


@pytest.mark.parametrize(
    ("stored", "what"),
    [
        (sparse.csr_matrix(Z), "sparse"),
        (pd.DataFrame({"x": 1.0, "y": ["a"] * 9}, index=CELLS), "not numbers"),
        (np.ones((9, 2, 2)), "shape .9, 2, 2."),
    ],
    ids=["sparse", "text", "cube"],
)
def test_what_is_no_table_of_numbers_is_refused(stored: Any, what: str, tmp_path: Path) -> None:
    path = str(written(cells(other=stored), tmp_path, "h5ad"))
    with pytest.raises(InputError, match=what) as caught:
        open_coordinates("obsm:other", path)
    assert "obsm/other" in str(caught.value.where)


def test_a_table_is_matched_by_its_ids(tmp_path: Path) -> None:
    path = tmp_path / "z.tsv"
    pd.DataFrame(Z[::-1], index=CELLS[::-1], columns=["u", "v", "w"]).to_csv(path, sep="\t")
    found = open_coordinates(str(path), "x.csv")
    np.testing.assert_allclose(found.aligned(CELLS), Z, rtol=1e-15)
    np.testing.assert_array_equal(found.aligned(CELLS[3:6]), found.aligned(CELLS)[3:6])
    with pytest.raises(InputError, match="1 of 2 samples have no coordinates: cell11"):
        found.aligned(["cell1", "cell11"])


def coordinates(values: np.ndarray, samples: list[str] = CELLS) -> Coordinates:
    return Coordinates("here", samples, ["u", "v", "w"], values)


@pytest.mark.parametrize("value", [np.nan, -np.inf])
def test_what_is_not_finite_is_refused_with_its_place(value: float) -> None:
    values = Z.copy()
    values[4, 1] = value
    with pytest.raises(InputError, match="NaN or infinite: 1") as caught:
        coordinates(values).aligned(CELLS)
    assert "sample cell4, v" in str(caught.value.where)
    coordinates(values).aligned(CELLS[:4])  # of samples that are used


def test_repeated_and_identical_samples_are_refused() -> None:
    with pytest.raises(InputError, match="repeated: cell0"):
        coordinates(Z, [*CELLS[:8], "cell0"]).aligned(CELLS[:3])
    with pytest.raises(InputError, match="same coordinates"):
        coordinates(np.ones((9, 3))).aligned(CELLS)
