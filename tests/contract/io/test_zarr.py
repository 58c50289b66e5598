"""AnnData in Zarr folders of both formats."""

from __future__ import annotations

import shutil
import warnings
from pathlib import Path

import anndata as ad
import numpy as np
import pandas as pd
import pytest
import zarr
from scipy import sparse

from sfs_cli.errors import InputError
from sfs_cli.io.matrix.anndata import open_zarr
from sfs_cli.io.matrix.base import ReadOptions
from tests.contract.io.reading import read_all


@pytest.fixture(scope="module")
def adata():
    rng = np.random.default_rng(4)
    names = pd.DataFrame({"type": pd.Categorical(["B", "T"] * 15)}, index=[*map(str, range(30))])
    made = ad.AnnData(sparse.random(30, 12, 0.3, "csr", rng=rng), obs=names)
    made.layers["dense"] = made.X.toarray()
    made.layers["by gene"] = made.X.tocsc()
    made.obsp["connectivities"] = sparse.random(30, 30, 0.2, "csr", rng=rng)
    return made


@pytest.fixture(scope="module", params=[2, 3])
def written(request, adata, tmp_path_factory):
    path = tmp_path_factory.mktemp("zarr") / "a.zarr"
    with ad.settings.override(zarr_write_format=request.param), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        adata.write_zarr(path)
    return path


@pytest.fixture
def path(written, tmp_path):
    """A copy of the folder, which a test may damage."""
    return Path(shutil.copytree(written, tmp_path / "a.zarr"))


def read(path, **options):
    return read_all(path, open_zarr, dtype="float64", block_bytes=500, **options)[1:]


@pytest.mark.parametrize("layer", [None, "dense", "by gene"])
def test_every_layout_gives_the_same_matrix(path, adata, layer):
    values, reader = read(path, layer=layer)
    assert reader.fixed_rows == ("features" if layer == "by gene" else "samples")
    assert reader.annotations.obs["type"].to_pylist() == list(adata.obs["type"])
    by_sample = values.T if reader.fixed_rows == "features" else values
    np.testing.assert_array_equal(by_sample, adata.X.toarray())


def test_folders_that_are_not_anndata_are_refused(tmp_path):
    with pytest.raises(InputError, match="cannot be read as Zarr"):
        open_zarr(tmp_path, ReadOptions())
    with pytest.raises(InputError, match="cannot be read as Zarr"):
        open_zarr(tmp_path / "absent.zarr", ReadOptions())
    zarr.open_group(str(tmp_path / "other.zarr"), mode="w").create_group("images")
    with pytest.raises(InputError, match="not AnnData") as caught:
        open_zarr(tmp_path / "other.zarr", ReadOptions())
    assert "images" in caught.value.where


def test_incomplete_copies_are_refused_and_lost_chunks_are_no_zeros(path):
    (chunk,) = (p for p in (path / "X" / "data").rglob("0") if p.is_file())
    chunk.unlink()
    with pytest.raises(InputError, match="lost"):
        read(path)
    shutil.rmtree(path / "X" / "indptr")
    with pytest.raises(InputError):
        read(path)
