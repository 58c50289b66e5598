"""Stores on disk: read by any span, reopened after pickling, refused when damaged."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pyarrow as pa
import pytest

from sfs_cli.compute.matrix import Span
from sfs_cli.errors import InputError
from sfs_cli.store.disk import open_store, read_manifest


@pytest.fixture(params=[False, True], ids=["dense", "sparse"])
def store(request, built, counts):
    obs = pa.table({"batch": [f"b{i % 3}" for i in range(11)]})
    return built(counts, sparse=request.param, keep=True, obs=obs)


def change(folder, **fields):
    """Write a manifest with other fields."""
    content = json.loads((folder / "manifest.json").read_text()) | fields
    content = {k: v for k, v in content.items() if v is not None}
    (folder / "manifest.json").write_text(json.dumps(content))


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("where", ["memory", "disk"])
def test_any_span_can_be_read(built, counts, kind, where):
    matrix = built(counts, sparse=kind == "sparse", keep=where == "disk").matrix
    for lo in range(0, 37, 5):
        for hi in (lo, lo + 1, lo + 7, 37):
            span = Span(lo, max(lo, min(hi, 37)))
            out = np.full((span.size, 11), -1.0)
            matrix.read(span, out)
            np.testing.assert_array_equal(out, counts[span.lo : span.hi])


def test_a_pickled_store_reopens_its_files(store, whole, counts):
    again = pickle.loads(pickle.dumps(store.matrix))
    del store.matrix
    np.testing.assert_array_equal(whole(again), counts)
    assert list(again.ids.samples) == [f"s{i}" for i in range(11)]
    assert again.ids.obs["batch"].to_pylist()[:4] == ["b0", "b1", "b2", "b0"]


def test_reading_ahead_changes_nothing_also_at_the_end(store, whole, counts):
    for span in (Span(0, 5), Span(36, 37), Span(37, 37), Span(5, 6)):
        store.matrix.prefetch(span)
    np.testing.assert_array_equal(whole(store.matrix), counts)


def test_an_annotation_named_sample_is_kept_beside_the_ids(built, counts):
    """As single cells have it, for the donor or the library."""
    obs = pa.table({"sample": [f"donor {i % 2}" for i in range(11)], "age": range(11)})
    opened = open_store(built(counts, keep=True, obs=obs).folder)
    assert list(opened.ids.samples) == [f"s{i}" for i in range(11)]
    assert opened.ids.obs.to_pydict() == obs.to_pydict()


def test_a_store_keeps_ids_annotations_and_what_is_missing(built, counts):
    counts[2, 3] = np.nan
    made = built(counts, keep=True, source={"format": "csv"}, obs=pa.table({"age": range(11)}))
    opened = open_store(made.folder)
    assert opened.ids == made.matrix.ids
    assert opened.ids.obs["age"].to_pylist() == list(range(11))
    assert opened.missing == made.matrix.missing
    assert opened.missing.places == (("g2", "s3"),)
    assert read_manifest(made.folder).source == {"format": "csv"}


@pytest.mark.parametrize("content", ["{", '{"format": "sfs-store"}'])
def test_a_damaged_manifest_is_refused(store, content):
    (store.folder / "manifest.json").write_text(content, encoding="latin-1")
    with pytest.raises(InputError, match="manifest of the store cannot be read") as caught:
        open_store(store.folder)
    assert "sfs convert" in caught.value.hint


def test_another_version_says_so(store):
    change(store.folder, version=1)
    with pytest.raises(InputError, match="this version reads sfs-store 3"):
        open_store(store.folder)


def test_a_truncated_or_absent_file_is_named(store):
    for name in read_manifest(store.folder).files:
        path = store.folder / name
        content = path.read_bytes()
        path.write_bytes(content[:-1])
        with pytest.raises(InputError, match=f"{name} of the store has .* the manifest says"):
            open_store(store.folder)
        path.unlink()
        with pytest.raises(InputError, match=f"{name} of the store is missing"):
            open_store(store.folder)
        path.write_bytes(content)
    open_store(store.folder)


@pytest.mark.parametrize(
    ("name", "kind", "at", "value"),
    [
        ("indptr.bin", np.int64, 2, -5),
        ("indptr.bin", np.int64, -1, 2),
        ("indices.bin", np.int32, 1, 1 << 30),
        ("indices.bin", np.int32, 1, -1),
    ],
)
def test_arrays_that_lead_elsewhere_are_refused(built, counts, name, kind, at, value):
    """A disk or a copy may change bytes, and the size stays."""
    folder = built(counts, sparse=True, keep=True).folder
    numbers = np.fromfile(folder / name, kind)
    numbers[at] = value
    numbers.tofile(folder / name)

    def read():
        opened = open_store(folder)
        opened.read_stored(Span(0, opened.n_features))

    with pytest.raises(InputError, match=f"{name} of the store is damaged"):
        read()
