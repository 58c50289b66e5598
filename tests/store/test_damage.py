"""A store is not believed: any change of its files is found when what they hold is read."""

from __future__ import annotations

import pickle
import weakref

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfs_cli.compute.matrix import Span
from sfs_cli.errors import InputError
from sfs_cli.store import checksums
from sfs_cli.store.disk import check_store, open_store, read_manifest
from sfs_cli.store.matrix import FeatureView, rises_in_bounds
from tests.store.damaging import as_if_written, flip

BLOCK = 64


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch):
    """Let a small store have many blocks, and borders inside features."""
    monkeypatch.setattr(checksums, "BLOCK", BLOCK)


@pytest.fixture(params=["dense", "sparse"])
def store(request, built, counts):
    return built(counts, sparse=request.param == "sparse", keep=True).folder


def everything(folder, whole):
    matrix = open_store(folder)
    return whole(matrix), list(matrix.ids.features), list(matrix.ids.samples)


@pytest.mark.parametrize("seed", range(40))
def test_one_bit_of_any_file_is_found_and_its_file_is_named(store, whole, seed):
    rng = np.random.default_rng(seed)
    path = rng.choice(sorted(store.iterdir()))
    flip(path, int(rng.integers(8 * path.stat().st_size)))
    with pytest.raises(InputError) as caught:
        everything(store, whole)
    assert path.name in f"{caught.value.what} {caught.value.where}" or "manifest" in str(caught)
    assert "sfs convert --force" in caught.value.hint
    with pytest.raises(InputError):
        check_store(store, threads=2)


@pytest.mark.slow
def test_every_bit_of_the_manifest_counts(store):
    path = store / "manifest.json"
    for bit in range(0, 8 * path.stat().st_size, 3):
        flip(path, bit)
        with pytest.raises(InputError):
            open_store(store, ids_later=True)
        flip(path, bit)
    open_store(store)


def test_the_place_of_the_damage_is_told_by_bytes_and_features(built, counts):
    folder = built(counts, keep=True).folder  # 88 bytes for a feature
    flip(folder / "values.bin", 8 * (20 * 88 + 3))
    with pytest.raises(InputError, match=r"values\.bin of the store is damaged") as caught:
        open_store(folder).read(Span(19, 22), np.empty((3, 11)))
    block = 20 * 88 // BLOCK
    lo = block * BLOCK
    place = f"bytes {lo:,} to {lo + BLOCK - 1:,} (features {lo // 88 + 1} to 21)"
    assert place in caught.value.where
    flip(folder / "values.bin", 8 * (2 * 88))
    with pytest.raises(InputError, match="2 places") as caught:
        check_store(folder)
    assert place in caught.value.where


@pytest.mark.parametrize("seed", range(10))
def test_a_part_that_is_read_is_checked_whatever_its_borders(store, counts, seed):
    """A span, or scattered features: damage in them is an error, elsewhere it is not looked at."""
    rng = np.random.default_rng(seed)
    name = "values.bin" if (store / "values.bin").exists() else "data.bin"
    size = (store / name).stat().st_size
    byte = int(rng.integers(size))
    flip(store / name, 8 * byte + int(rng.integers(8)))
    matrix = open_store(store)
    indptr = getattr(matrix, "indptr", np.arange(38) * 11)
    damaged = int(np.searchsorted(indptr, byte // 8, side="right")) - 1
    block = range(byte // BLOCK * BLOCK, min(size, (byte // BLOCK + 1) * BLOCK))
    touched = {int(np.searchsorted(indptr, at // 8, side="right")) - 1 for at in block}
    for reader in (matrix, open_store(store), pickle.loads(pickle.dumps(matrix))):
        some = np.flatnonzero(rng.random(37) < 0.3)
        clean = np.setdiff1d(some, range(min(touched), max(touched) + 1))
        for chosen in (clean, np.union1d(some, [damaged])):
            view = FeatureView(reader, chosen)
            out = np.empty((len(chosen), 11))
            if damaged in chosen:
                with pytest.raises(InputError, match=f"{name} of the store is damaged"):
                    view.read(Span(0, len(chosen)), out)
            else:
                view.read(Span(0, len(chosen)), out)
                np.testing.assert_array_equal(out, counts[chosen])


def test_a_block_is_compared_once_and_an_error_is_given_again(store, whole, monkeypatch):
    once = checksums.CheckedFile._check
    compared = []

    def check(file, block, *rest):
        compared.append((file.path.name, block))
        return once(file, block, *rest)

    monkeypatch.setattr(checksums.CheckedFile, "_check", check)
    matrix = open_store(store)
    for size in (5, 37, 1):
        whole(matrix, size)
    files = read_manifest(store).files
    assert sorted(compared) == sorted(
        (name, block)
        for name, facts in files.items()
        for block in range(-(-facts["bytes"] // BLOCK))
    )
    flip(store / "samples.parquet", 100)
    again = open_store(store, ids_later=True)
    for _ in range(2):
        with pytest.raises(InputError, match=r"samples\.parquet"):
            again.ids  # noqa: B018


def test_values_replaced_and_ids_swapped_are_found(store, counts):
    name = "values.bin" if (store / "values.bin").exists() else "data.bin"
    content = (store / name).read_bytes()
    half = len(content) // 16 * 8
    (store / name).write_bytes(content[half:] + content[:half])
    with pytest.raises(InputError, match=name):
        check_store(store)
    (store / name).write_bytes(content)
    table = pq.read_table(store / "features.parquet")
    names = table["feature"].to_pylist()
    names[3], names[4] = names[4], names[3]
    pq.write_table(pa.table({"feature": names}), store / "features.parquet")
    with pytest.raises(InputError):
        check_store(store)


def test_files_of_another_store_are_found(built, counts):
    """Each store is whole; files of both together are not."""
    one, other = (built(values, keep=True).folder for values in (counts, counts[:, ::-1].copy()))
    for name in ("values.bin", "checksums.bin"):
        content = (one / name).read_bytes()
        (one / name).write_bytes((other / name).read_bytes())
        with pytest.raises(InputError):
            check_store(one)
        if name == "values.bin":
            (one / name).write_bytes(content)


def _change_indices(folder, changed):
    indices = np.fromfile(folder / "indices.bin", np.int32)
    changed(indices).tofile(folder / "indices.bin")
    as_if_written(folder)


@pytest.mark.parametrize("place", [0, 5, -1])
@pytest.mark.parametrize("value", [-1, 11, np.iinfo(np.int32).max, np.iinfo(np.int32).min])
def test_indices_out_of_bounds_are_refused_also_with_right_checksums(
    built, counts, whole, value, place
):
    folder = built(counts, sparse=True, keep=True).folder

    def change(indices):
        indices[place] = value
        return indices

    _change_indices(folder, change)
    for read in (whole, lambda matrix: matrix.read_stored(Span(0, 37))):
        with pytest.raises(InputError, match=r"indices.bin of the store is damaged: samples of"):
            read(open_store(folder))
    with pytest.raises(InputError, match="damaged"):
        check_store(folder)


@pytest.mark.parametrize("kind", ["reversed", "repeated"])
def test_indices_out_of_order_or_repeated_are_refused(built, counts, kind):
    folder = built(counts, sparse=True, keep=True).folder
    indptr = np.fromfile(folder / "indptr.bin", np.int64)
    row = int(np.argmax(np.diff(indptr)))
    lo, hi = indptr[row : row + 2]

    def change(indices):
        indices[lo:hi] = indices[lo:hi][::-1] if kind == "reversed" else indices[lo]
        return indices

    _change_indices(folder, change)
    matrix = open_store(folder)
    with pytest.raises(InputError, match=f"features {row + 1} to {row + 1} are out of bounds"):
        matrix.read_stored(Span(row, row + 1))


@pytest.mark.parametrize("change", [(0, 1), (7, -1), (7, 2**62), (-1, 5), (20, 0)])
def test_pointers_that_go_back_or_beyond_are_refused(built, counts, change):
    folder = built(counts, sparse=True, keep=True).folder
    indptr = np.fromfile(folder / "indptr.bin", np.int64)
    indptr[change[0]] = change[1]
    indptr.tofile(folder / "indptr.bin")
    as_if_written(folder)
    with pytest.raises(InputError, match=r"indptr\.bin of the store is damaged"):
        open_store(folder)


def test_rises_in_bounds_is_what_it_says():
    rng = np.random.default_rng(0)
    for _ in range(2000):
        n, b = int(rng.integers(1, 6)), int(rng.integers(1, 5))
        rows = [
            np.sort(rng.choice(n, rng.integers(0, n + 1), replace=False)).astype(np.int32)
            for _ in range(b)
        ]
        indices = np.concatenate(rows)
        if indices.size and rng.random() < 0.5:
            indices[rng.integers(indices.size)] = rng.integers(-1, n + 1)
        counts = np.array([len(row) for row in rows])
        parts = np.split(indices, np.cumsum(counts)[:-1])
        fine = all((np.diff(p) > 0).all() and ((p >= 0) & (p < n)).all() for p in parts)
        assert rises_in_bounds(indices, counts, n) == fine


@pytest.mark.parametrize("size", [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 5 * BLOCK])
def test_sums_do_not_depend_on_the_pieces_that_are_written(size):
    content = np.random.default_rng(size).bytes(size)
    for step in (1, 7, BLOCK, 1000):
        sums = checksums.BlockSums()
        for lo in range(0, size, step):
            sums.add(memoryview(content[lo : lo + step]))
        expected = [
            checksums.xxh3_64_intdigest(content[lo : lo + BLOCK]) for lo in range(0, size, BLOCK)
        ]
        assert sums.result().tolist() == expected


def test_a_store_that_nobody_holds_is_closed(store):
    matrix = open_store(store, ids_later=True)
    assert matrix.ids.samples[0]
    held = weakref.ref(matrix)
    del matrix
    assert held() is None  # at once, without a search for reference cycles
