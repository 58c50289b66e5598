"""AnnData in HDF5: layouts of the matrix, annotations, graphs, and damage."""

from __future__ import annotations

from contextlib import closing

import anndata as ad
import h5py
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from sfs_cli.errors import InputError
from sfs_cli.io.matrix.anndata import open_h5ad, read_inside
from sfs_cli.io.matrix.base import ReadOptions
from tests.contract.io.reading import read_all
from tests.running import run_here

CELLS = [f"cell{i}" for i in range(40)]
GENES = [f"g{i}" for i in range(15)]


@pytest.fixture
def adata():
    rng = np.random.default_rng(3)
    counts = sparse.csr_matrix(rng.poisson(0.6, (40, 15)).astype(np.float32))
    obs = pd.DataFrame(
        {
            "type": pd.Categorical(["B", None, "T", "T"] * 10),
            "plate": pd.Categorical([1, 2] * 20),
            "age": np.arange(40),
            "note": ["x", None] * 20,
        },
        index=CELLS,
    )
    made = ad.AnnData(counts, obs=obs, var=pd.DataFrame(index=GENES))
    made.raw = made.copy()
    made = made[:, :10].copy()
    made.layers["counts"] = made.X.astype(np.int64)
    made.layers["by gene"] = sparse.csc_matrix(made.X * 2)
    made.layers["dense"] = made.X.toarray() * 3
    made.obsp["connectivities"] = sparse.random(40, 40, 0.2, "csr", rng=rng)
    made.obsp["dense"] = rng.random((40, 40))
    return made


@pytest.fixture
def path(adata, tmp_path):
    adata.write_h5ad(tmp_path / "a.h5ad")
    return tmp_path / "a.h5ad"


def read(path, **options):
    return read_all(path, open_h5ad, **options)


def edit(path, change):
    with h5py.File(path, "r+") as file:
        change(file)


@pytest.mark.parametrize("chunks", [(7, 300), (200, 1)])
def test_dense_chunks_of_any_shape_are_read(tmp_path, chunks):
    X = np.random.default_rng(0).random((200, 300)).astype(np.float32)
    path = tmp_path / "d.h5ad"
    ad.AnnData(X).write_h5ad(path)

    def rechunk(file):
        attributes = dict(file["X"].attrs)
        del file["X"]
        file.create_dataset("X", data=X, chunks=chunks).attrs.update(attributes)

    edit(path, rechunk)
    _, values, reader = read(path, block_bytes=20_000)
    assert reader.fixed_rows == "samples"
    np.testing.assert_array_equal(values, X)
    assert values.flags.c_contiguous


def test_obsp_is_read_with_its_samples(path, adata):
    graph, _, samples = read_inside(path, "obsp", "connectivities")
    assert samples == CELLS
    assert isinstance(graph, sparse.csr_array)
    np.testing.assert_array_equal(graph.toarray(), adata.obsp["connectivities"].toarray())
    np.testing.assert_array_equal(read_inside(path, "obsp", "dense")[0], adata.obsp["dense"])
    with pytest.raises(InputError, match="no graph 'umap'") as caught:
        read_inside(path, "obsp", "umap")
    assert "connectivities, dense" in caught.value.hint


def test_long_pointers_of_a_file_make_no_long_indices(path):
    edit(path, long_pointers)
    with closing(open_h5ad(path, ReadOptions())) as reader:
        values = [block.values for block in reader.blocks()]
    assert {each.indices.dtype for each in values} == {np.dtype(np.int32)}
    assert {each.indptr.dtype for each in values} == {np.dtype(np.int32)}


def long_pointers(file):
    pointers = file["X/indptr"][:].astype(np.int64)
    del file["X/indptr"]
    file["X/indptr"] = pointers


def test_missing_X_and_missing_raw_are_refused(tmp_path):
    path = tmp_path / "a.h5ad"
    layers = {"counts": np.ones((3, 2))}
    ad.AnnData(None, layers=layers, obs=pd.DataFrame(index=CELLS[:3])).write_h5ad(path)
    with pytest.raises(InputError, match="there is no X") as caught:
        read(path)
    assert "counts" in caught.value.hint
    with pytest.raises(InputError, match="no raw") as caught:
        read(path, layer="raw.X")
    assert caught.value.hint == "the file has --layer 'counts'"
    assert read(path, layer="counts")[1].sum() == 6


def test_an_encoding_of_the_future_is_refused(path):
    edit(path, lambda file: file["obs"].attrs.__setitem__("encoding-version", "1.0.0"))
    with pytest.raises(InputError, match=r"1\.0\.0"):
        read(path)


def set_item(name, index, value):
    return lambda file: file[name].__setitem__(index, value)


def repeat_column(file):
    indices, indptr = file["X/indices"], file["X/indptr"][:]
    first = int(indptr[np.argmax(np.diff(indptr) >= 2)])
    indices[first + 1] = indices[first]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (set_item("X/indices", 0, 10), "indices must be < 10"),
        (set_item("X/indptr", 3, 10_000), "cannot be read as a sparse matrix"),
        (set_item("X/indptr", -1, 5), "row pointers"),
        (repeat_column, "two values for one row and column"),
    ],
)
def test_sparse_arrays_that_contradict_each_other_are_refused(path, change, message):
    edit(path, change)
    with pytest.raises(InputError, match=message):
        read(path)


def test_a_damaged_chunk_is_refused(tmp_path):
    path = tmp_path / "z.h5ad"
    X = np.random.default_rng(0).random((300, 200))
    ad.AnnData(X).write_h5ad(path, compression="gzip")
    with h5py.File(path) as file:
        start = file["X"].id.get_chunk_info(0).byte_offset
    data = bytearray(path.read_bytes())
    data[start + 20 : start + 80] = bytes(60)
    path.write_bytes(data)
    with pytest.raises(InputError, match="cannot be read as h5ad"):
        read(path)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", [None, "csr", "csc"])
def test_a_file_from_before_anndata_0_7_is_read_and_copied(tmp_path, capfd, kind):
    """Tables are arrays of records, categories codes, ``raw.X`` a name, and graphs are in uns."""
    path, rng = tmp_path / "old.h5ad", np.random.default_rng(5)
    X = rng.poisson(1.0, (6, 4)).astype(np.float32)
    graph = sparse.csr_matrix(np.ones((6, 6)))

    def table(ids, **columns):
        kinds = [("index", "S5"), *((name, values.dtype) for name, values in columns.items())]
        made = np.zeros(len(ids), kinds)
        for name, values in {"index": ids, **columns}.items():
            made[name] = values
        return made

    def write_sparse(file, name, matrix):
        group = file.create_group(name)
        group.attrs["h5sparse_format"], group.attrs["h5sparse_shape"] = matrix.format, matrix.shape
        for part in ("data", "indices", "indptr"):
            group[part] = getattr(matrix, part)

    with h5py.File(path, "w") as file:
        if kind is None:
            file["X"] = X
        else:
            write_sparse(file, "X", getattr(sparse, f"{kind}_matrix")(X))
        write_sparse(file, "raw.X", sparse.csr_matrix(np.c_[X, X]))
        codes = np.array([0, 1, 0, 1, 1, 0], np.int8)
        file["obs"] = table(CELLS[:6], type=codes, age=np.arange(6.0))
        file["uns/type_categories"] = np.array([b"B", b"T"])
        file["var"], file["raw.var"] = table(GENES[:4]), table(GENES[:8])
        file["obsm"] = np.zeros(6, [("X_pca", "f8", 2)])
        write_sparse(file, "uns/neighbors/connectivities", graph)
    ids, values, reader = read_all(path, dtype="float64")
    by_feature = reader.fixed_rows == "features"
    assert (ids, list(reader.column_ids)) in ((CELLS[:6], GENES[:4]), (GENES[:4], CELLS[:6]))
    np.testing.assert_array_equal(values.T if by_feature else values, X)
    assert reader.format == "h5ad"
    known = reader.annotations.obs.to_pydict()
    assert known == {"type": ["B", "T", "B", "T", "T", "B"], "age": list(range(6))}
    np.testing.assert_array_equal(read(path, layer="raw.X")[1], np.c_[X, X])
    assert sorted(reader.annotations.graphs) == ["obsm:X_pca", "obsp:connectivities"]
    found, _, samples = read_inside(path, "obsp", "connectivities")
    assert (found != graph).nnz == 0
    assert list(samples) == CELLS[:6]
    assert read_inside(path, "obsm", "X_pca")[0].shape == (6, 2)
    copy = tmp_path / "copy.h5ad"
    words = ["--method", "variance", "--out", str(tmp_path / "out"), "--write-h5ad", str(copy)]
    done = run_here(["rank", str(path), *words], capfd)
    assert done.code == 0, done.err
    made = ad.read_h5ad(copy)
    assert sorted(made.var["sfs_rank"]) == [1, 2, 3, 4]
    assert list(made.obs["type"]) == known["type"]
