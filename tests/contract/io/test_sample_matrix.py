"""Similarities from files, in the order of the samples."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from sfs_cli.errors import InputError
from sfs_cli.io.knowledge.similarity import open_similarity

IDS = ["p", "q", "r", "s", "extra"]
WANTED = ["s", "q", "p", "r"]


@pytest.fixture
def similarity():
    made = np.random.default_rng(2).random((5, 5))
    made[made < 0.4] = 0
    return made + made.T


@pytest.fixture
def expected(similarity):
    places = [IDS.index(name) for name in WANTED]
    return similarity[np.ix_(places, places)]


def frame(similarity):
    return pd.DataFrame(similarity, index=IDS, columns=IDS)


@pytest.mark.parametrize("ending", [".tsv", ".csv", ".tsv.gz", ".parquet"])
def test_tables_are_aligned_by_id(tmp_path, similarity, expected, ending):
    path = tmp_path / f"s{ending}"
    # columns in another order than the rows
    table = frame(similarity)[IDS[::-1]]
    if ending == ".parquet":
        table.to_parquet(path)
    else:
        table.to_csv(path, sep="," if ending == ".csv" else "\t")
    result = open_similarity(str(path)).aligned(WANTED)
    assert result.dtype == np.float64
    np.testing.assert_array_equal(result, expected)


def test_npz_with_samples_is_aligned(tmp_path, similarity, expected):
    path = tmp_path / "s.npz"
    sparse.save_npz(path, sparse.csc_array(similarity))
    with np.load(path) as stored:
        arrays = dict(stored)
    np.savez(path, samples=np.array(IDS), **arrays)
    result = open_similarity(str(path)).aligned(WANTED)
    assert isinstance(result, sparse.csr_array)
    np.testing.assert_array_equal(result.toarray(), expected)


def test_arrays_without_ids_keep_their_order_and_must_fit(tmp_path, similarity):
    np.save(tmp_path / "s.npy", similarity.astype(np.float32))
    sparse.save_npz(tmp_path / "s.npz", sparse.coo_matrix(similarity))
    dense = open_similarity(str(tmp_path / "s.npy")).aligned(IDS)
    np.testing.assert_array_equal(dense, similarity.astype(np.float32))
    coded = open_similarity(str(tmp_path / "s.npz")).aligned(IDS)
    np.testing.assert_array_equal(coded.toarray(), similarity)
    for name in ("s.npy", "s.npz"):
        with pytest.raises(InputError, match=r"shape \(5, 5\), but there are 4 samples"):
            open_similarity(str(tmp_path / name)).aligned(WANTED)


@pytest.mark.parametrize("format", ["csr", "csc", "coo", "bsr", "dia"])
def test_every_format_of_scipy_is_the_same_matrix(tmp_path, similarity, format):
    sparse.save_npz(tmp_path / "s.npz", sparse.csr_array(similarity).asformat(format))
    found = open_similarity(str(tmp_path / "s.npz")).aligned(IDS)
    np.testing.assert_array_equal(found.toarray(), similarity)
    assert found.has_canonical_format


def changed_npz(path, matrix, change):
    """Write a sparse matrix as SciPy does, with its arrays changed."""
    sparse.save_npz(path, sparse.csr_array(matrix))
    with np.load(path) as stored:
        arrays = dict(stored)
    np.savez(path, **arrays | change(arrays))
    return str(path)


def test_unsorted_indices_are_the_same_matrix(tmp_path, similarity):
    def reverse(arrays):
        ends = zip(arrays["indptr"][:-1], arrays["indptr"][1:])
        order = np.concatenate([np.arange(lo, hi)[::-1] for lo, hi in ends])
        return {name: arrays[name][order] for name in ("indices", "data")}

    path = changed_npz(tmp_path / "s.npz", similarity, reverse)
    np.testing.assert_array_equal(open_similarity(path).aligned(IDS).toarray(), similarity)


def test_an_index_out_of_range_is_refused_with_the_name_of_the_file(tmp_path, similarity):
    path = changed_npz(tmp_path / "s.npz", similarity, lambda a: {"indices": a["indices"] + 5})
    with pytest.raises(InputError) as caught:
        open_similarity(path).aligned(IDS)
    assert "s.npz" in str(caught.value.where)


@pytest.mark.parametrize("axis", ["rows", "columns"])
def test_missing_samples_are_counted_and_named(tmp_path, similarity, axis):
    path = tmp_path / "s.tsv"
    table = frame(similarity)
    (table.drop(index=["q", "s"]) if axis == "rows" else table.drop(columns=["q", "s"])).to_csv(
        path, sep="\t"
    )
    with pytest.raises(InputError, match="2 of 4 samples are not in the similarity: s, q") as e:
        open_similarity(str(path)).aligned(WANTED)
    assert axis in e.value.where


def test_repeated_samples_are_refused(tmp_path, similarity):
    path = tmp_path / "s.npz"
    arrays = {"data": [1.0], "indices": [0], "indptr": [0, 1, 1], "shape": [2, 2]}
    np.savez(path, format=np.array("csr"), samples=np.array(["p", "p"]), **arrays)
    with pytest.raises(InputError, match="repeated: p"):
        open_similarity(str(path)).aligned(["p"])


def test_npz_with_another_number_of_ids_is_refused(tmp_path):
    path = tmp_path / "s.npz"
    arrays = {"data": [1.0], "indices": [0], "indptr": [0, 1, 1], "shape": [2, 2]}
    np.savez(path, format=np.array("csr"), samples=np.array(["p"]), **arrays)
    with pytest.raises(InputError, match="but 1 ids"):
        open_similarity(str(path)).aligned(["p"])


@pytest.mark.parametrize("name", ["s.npy", "s.npz"])
def test_damaged_missing_and_object_arrays_are_refused(tmp_path, name):
    path = tmp_path / name
    with pytest.raises(InputError, match="no such file"):
        open_similarity(str(path)).aligned(WANTED)
    path.write_bytes(b"not an array at all")
    with pytest.raises(InputError, match="cannot be read as an array"):
        open_similarity(str(path)).aligned(WANTED)
    objects = np.array([{}, "a"], dtype=object)
    np.save(path, objects) if name.endswith("npy") else np.savez(path, samples=objects)
    with pytest.raises(InputError, match="cannot be read as an array"):
        open_similarity(str(path)).aligned(WANTED)


def test_complex_and_textual_arrays_are_refused(tmp_path):
    for number, array in enumerate([np.eye(4) * 1j, np.full((4, 4), "a")]):
        path = tmp_path / f"{number}.npy"
        np.save(path, array)
        with pytest.raises(InputError, match="not numbers"):
            open_similarity(str(path)).aligned(WANTED)


@pytest.mark.parametrize("values", [np.float64(1), np.ones(3), np.ones((3, 3, 3))])
def test_an_array_that_is_no_matrix_is_refused(values, tmp_path):
    np.save(tmp_path / "S.npy", values)
    with pytest.raises(InputError, match="the similarity has shape"):
        open_similarity(str(tmp_path / "S.npy")).aligned(["a", "b", "c"])
