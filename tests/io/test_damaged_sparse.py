"""No index of a sparse matrix in a file is followed before it is checked.

A compiled loop that follows a wrong one ends the process, or gives another ranking.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from scipy import sparse

from sfs_cli.errors import InputError
from sfs_cli.io.knowledge.similarity import open_similarity
from sfs_cli.io.matrix.anndata import check_anndata, read_inside
from sfs_cli.io.matrix.stored import checked_csr
from tests.cli.running import run_here
from tests.making import annotated, table_text

N = 8


def graph(seed: int = 1) -> np.ndarray:
    made = np.random.default_rng(seed).random((N, N)) * (
        np.random.default_rng(seed + 1).random((N, N)) < 0.6
    )
    return made + made.T + np.eye(N)


def saved(path: Path, format: str, **changed: Any) -> str:
    """Write a similarity as SciPy does, with other arrays."""
    sparse.save_npz(path, sparse.csr_array(graph()).asformat(format))
    with np.load(path) as stored:
        arrays = dict(stored)
    for name, change in changed.items():
        arrays[name] = change(arrays[name].copy())
    np.savez(path, **arrays)
    return str(path)


def put(place: int, value: Any) -> Any:
    def change(array: np.ndarray) -> np.ndarray:
        array[place] = value
        return array

    return change


COMPRESSED = {
    "index -1": {"indices": put(3, -1)},
    "index n": {"indices": put(0, N)},
    "index far away": {"indices": put(-1, 2**30)},
    "index of 64 bits": {"indices": lambda a: put(2, 2**62)(a.astype(np.int64))},
    "index without a sign": {"indices": lambda a: put(2, 2**64 - 1)(a.astype(np.uint64))},
    "indices that are no integers": {"indices": lambda a: a + 0.5},
    "indices repeated": {"indices": put(1, 0)},
    "indices too few": {"indices": lambda a: a[:-1]},
    "values too few": {"data": lambda a: a[:-1]},
    "values too many": {"data": lambda a: np.append(a, 1.0), "indices": lambda a: np.append(a, 1)},
    "pointers go back": {"indptr": lambda a: put(3, a[2] - 1)(a)},
    "pointer far away": {"indptr": put(3, 2**30)},
    "pointer below 0": {"indptr": put(1, -1)},
    "pointers begin late": {"indptr": put(0, 1)},
    "pointers end early": {"indptr": lambda a: put(-1, a[-1] - 1)(a)},
    "pointers end late": {"indptr": lambda a: put(-1, a[-1] + 9)(a)},
    "pointers too few": {"indptr": lambda a: a[:-1]},
    "pointers too many": {"indptr": lambda a: np.append(a, a[-1])},
    "pointers of two axes": {"indptr": lambda a: a[None]},
    "another shape": {"shape": lambda a: a + 1},
    "values of text": {"data": lambda a: a.astype("U5")},
    "complex values": {"data": lambda a: a + 1j},
}


@pytest.mark.parametrize("case", COMPRESSED)
@pytest.mark.parametrize("format", ["csr", "csc"])
def test_a_damaged_similarity_in_npz_is_refused_by_name(tmp_path, format, case):
    path = saved(tmp_path / "S.npz", format, **COMPRESSED[case])
    with pytest.raises(InputError) as caught:
        open_similarity(path).aligned([f"s{i}" for i in range(N)])
    assert "S.npz" in str(caught.value.where)


@pytest.mark.parametrize(
    ("format", "changed"),
    [
        ("coo", {"row": put(0, -1)}),
        ("coo", {"col": put(3, N)}),
        ("coo", {"row": lambda a: a[:-1]}),
        ("coo", {"row": put(slice(0, 2), 0), "col": put(slice(0, 2), 0)}),
        ("coo", {"shape": lambda a: a * 10**9}),
        ("bsr", {"indices": put(0, -1)}),
        ("bsr", {"indices": put(0, N)}),
        ("bsr", {"indptr": put(2, 2**30)}),
        ("dia", {"shape": lambda a: a * 10**9}),
        ("dia", {"offsets": lambda a: np.append(a, 3)}),
    ],
)
def test_other_formats_are_checked_too(tmp_path, format, changed):
    path = saved(tmp_path / "S.npz", format, **changed)
    with pytest.raises(InputError) as caught:
        open_similarity(path).aligned([f"s{i}" for i in range(N)])
    assert "S.npz" in str(caught.value.where)


@pytest.mark.parametrize("format", ["csr", "csc", "coo", "bsr", "dia"])
def test_a_whole_matrix_is_the_same_from_every_format(format):
    S = graph()
    found = checked_csr(sparse.csr_array(S).asformat(format), "S")
    np.testing.assert_array_equal(found.toarray(), S)
    assert found.has_canonical_format


def test_unsorted_indices_are_the_same_matrix(tmp_path):
    S = sparse.csr_array(graph())
    order = np.concatenate([np.arange(lo, hi)[::-1] for lo, hi in zip(S.indptr[:-1], S.indptr[1:])])
    changed = {"indices": lambda a: a[order], "data": lambda a: a[order]}
    found = open_similarity(saved(tmp_path / "S.npz", "csr", **changed)).aligned(list("abcdefgh"))
    np.testing.assert_array_equal(found.toarray(), graph())


@pytest.mark.parametrize("seed", range(60))
def test_arrays_changed_at_random_are_a_matrix_or_refused(tmp_path, seed):
    rng = np.random.default_rng(seed)
    format = rng.choice(["csr", "csc", "coo", "bsr", "dia"])
    sparse.save_npz(tmp_path / "S.npz", sparse.csr_array(graph()).asformat(format))
    with np.load(tmp_path / "S.npz") as stored:
        arrays = dict(stored)
    numbers = [name for name, array in arrays.items() if array.dtype.kind in "if" and array.size]
    for _ in range(rng.integers(1, 4)):
        name = rng.choice(numbers)
        content = bytearray(arrays[name].tobytes())
        content[rng.integers(len(content))] ^= 1 << int(rng.integers(8))
        arrays[name] = np.frombuffer(content, arrays[name].dtype).reshape(arrays[name].shape)
    np.savez(tmp_path / "S.npz", **arrays)
    try:
        found = open_similarity(str(tmp_path / "S.npz")).aligned([f"s{i}" for i in range(N)])
    except InputError:
        return
    assert found.shape == (N, N)
    assert found.has_canonical_format
    found.check_format(full_check=True)


def h5ad(path: Path, format: str, place: str, **changed: Any) -> Path:
    """Write AnnData with sparse matrices everywhere, and change the arrays of one."""
    rng = np.random.default_rng(0)
    S = sparse.csr_matrix(graph()).asformat(format)
    counts = sparse.random(N, N, 0.5, random_state=0, format=format)
    annotated(
        sparse.csr_matrix(rng.poisson(2.0, (N, N)).astype(np.float32)),
        obsp={"g": S},
        varp={"g": S},
        layers={"raw": counts},
        obsm={"sparse": counts},
    ).write_h5ad(path)
    with h5py.File(path, "r+") as file:
        for name, change in changed.items():
            array = file[place][name][:]
            del file[place][name]
            file[place][name] = change(array)
    return path


NOT_IN_HDF5 = ("values of text", "another shape")
STORED = [case for case in COMPRESSED if case not in NOT_IN_HDF5]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("case", STORED)
@pytest.mark.parametrize("format", ["csr", "csc"])
def test_a_damaged_graph_of_anndata_is_refused_by_name(tmp_path, format, case):
    path = h5ad(tmp_path / "m.h5ad", format, "obsp/g", **COMPRESSED[case])
    with pytest.raises(InputError) as caught:
        read_inside(path, "obsp", "g")
    assert "m.h5ad" in str(caught.value.where)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("place", ["X", "layers/raw", "varp/g", "obsm/sparse"])
@pytest.mark.parametrize("format", ["csr", "csc"])
def test_all_sparse_matrices_are_checked_before_they_are_cut(tmp_path, format, place):
    check_anndata(h5ad(tmp_path / "whole.h5ad", format, place))
    for case in ("index -1", "index far away", "pointer far away"):
        path = h5ad(tmp_path / "m.h5ad", format, place, **COMPRESSED[case])
        with pytest.raises(InputError, match="damaged") as caught:
            check_anndata(path)
        assert place in str(caught.value.where)


@pytest.mark.parametrize("case", ["index -1", "index n", "pointers go back", "values of NaN"])
def test_the_command_ends_with_bad_input(tmp_path, capfd, case):
    changed = COMPRESSED.get(case) or {"data": put(0, np.nan)}
    path = saved(tmp_path / "S.npz", "csr", **changed)
    X = np.random.default_rng(3).normal(5, 1, (20, N))
    matrix = tmp_path / "m.csv"
    features, samples = [f"g{i}" for i in range(20)], [f"s{i}" for i in range(N)]
    matrix.write_text(table_text(X, features, samples, ","))
    found = run_here(["rank", str(matrix), "--similarity-file", path], capfd)
    assert found.code == 3
    assert "S.npz" in found.err
    assert "Traceback" not in found.err
