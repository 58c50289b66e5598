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


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csc_array, sparse.coo_array])
def test_values_of_one_place_are_added_up_beyond_the_range_of_their_type(tmp_path, kind):
    starts = [[1, 1, 0, 0], [0, 0, 1, 1]] if kind is sparse.coo_array else None
    values = np.full(4, 200, np.uint8)
    arrays = (values, starts) if starts else (values, [1, 1, 0, 0], [0, 2, 4])
    sparse.save_npz(tmp_path / "s.npz", kind(arrays, shape=(2, 2)))
    found = open_similarity(str(tmp_path / "s.npz")).aligned(["p", "q"])
    np.testing.assert_array_equal(found.toarray(), [[0, 400], [400, 0]])


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


@pytest.mark.parametrize(
    ("samples", "message"), [(["p", "p"], "repeated: p"), (["p"], "there are 1 samples")]
)
def test_ids_that_do_not_fit_are_refused(tmp_path, samples, message):
    path = tmp_path / "s.npz"
    arrays = {"data": [1.0], "indices": [0], "indptr": [0, 1, 1], "shape": [2, 2]}
    np.savez(path, format=np.array("csr"), samples=np.array(samples), **arrays)
    with pytest.raises(InputError, match=message):
        open_similarity(str(path)).aligned(["p"])


@pytest.mark.parametrize(
    ("indices", "indptr"), [([0, 9], [0, 1, 2]), ([0, -1], [0, 1, 2]), ([0, 1], [0, 5, 1])]
)
def test_indices_that_do_not_exist_are_refused(tmp_path, indices, indptr):
    arrays = {"data": [1.0, 1.0], "indices": indices, "indptr": indptr, "shape": [2, 2]}
    np.savez(tmp_path / "s.npz", format=np.array("csr"), **arrays)
    with pytest.raises(InputError, match="cannot be read as"):
        open_similarity(str(tmp_path / "s.npz")).aligned(["p", "q"])


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
