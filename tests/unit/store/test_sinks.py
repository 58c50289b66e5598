"""Blocks of rows become the same feature-major matrix whatever their way."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.sparse import csr_array

from sfs_cli.store.build import Sink, ValueFiles


@pytest.mark.parametrize(("limit", "dtype"), [(1, "float64"), (500, "float32")])
@pytest.mark.parametrize("rows", ["features", "samples"])
@pytest.mark.parametrize("sparse", [False, True])
def test_every_way_into_a_store_gives_the_same_matrix(
    built, whole, counts, sparse, rows, limit, dtype
):
    values = (counts * np.pi).astype(dtype)
    for step, keep in itertools.product((1, 3, 100), (False, True)):
        made = built(values, rows=rows, sparse=sparse, step=step, limit=limit, keep=keep)
        assert made.matrix.dtype == dtype
        assert made.matrix.sparse == sparse
        np.testing.assert_array_equal(whole(made.matrix), values)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("rows", ["features", "samples"])
def test_a_small_matrix_leaves_no_file_and_a_large_one_no_panel(built, counts, rows, sparse):
    small = built(counts, rows=rows, sparse=sparse)
    assert not list(small.folder.iterdir())
    large = built(counts, rows=rows, sparse=sparse, limit=100)
    kept = built(counts, rows=rows, sparse=sparse, keep=True)
    values = {"indptr.bin", "indices.bin", "data.bin"} if sparse else {"values.bin"}
    whole = values | {"manifest.json", "features.parquet", "samples.parquet"}
    for made in (large, kept):
        assert {p.name for p in made.folder.iterdir()} == whole


@pytest.mark.parametrize("rows", ["features", "samples"])
def test_values_on_disk_are_the_same_bytes_whatever_the_limit(built, counts, rows):
    for sparse, name in ((False, "values.bin"), (True, "data.bin"), (True, "indices.bin")):
        contents = {
            (
                built(counts, rows=rows, sparse=sparse, limit=limit, keep=True).folder / name
            ).read_bytes()
            for limit in (1, 100, 500, 1 << 30)
        }
        assert len(contents) == 1


def test_blocks_without_a_stored_value(tmp_path, counts):
    empty = csr_array(np.zeros((4, 11)))
    for across in (False, True):
        for limit in (1, 1 << 20):
            sink = Sink(tmp_path, limit, across=across, sparse=True)
            sink.add(empty)
            sink.add(empty)
            made = sink.finish(to_disk=False)
            if made is None:
                assert not np.fromfile(tmp_path / "indptr.bin", np.int64).any()
                assert not (tmp_path / "data.bin").stat().st_size
            else:
                assert made.nnz == 0


def test_where_features_end_does_not_overflow_32_bits(tmp_path):
    most = np.iinfo(np.int32).max
    files = ValueFiles(tmp_path, sparse=True)
    files._counts = [np.array([most, most], np.int32), np.array([most], np.int32)]
    files.finish()
    found = np.fromfile(tmp_path / "indptr.bin", np.int64)
    assert found.tolist() == [0, most, 2 * most, 3 * most]
