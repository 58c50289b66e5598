"""AnnData in Zarr folders of both formats."""

from __future__ import annotations

import json
import pickle
import shutil
import tracemalloc
import warnings
from pathlib import Path

import anndata as ad
import numcodecs
import numpy as np
import pandas as pd
import pytest
import zarr
from numcodecs import BZ2, Delta, Shuffle
from scipy import sparse

from sfs_cli.errors import InputError
from sfs_cli.io.matrix.anndata import open_zarr, read_inside
from sfs_cli.io.matrix.base import ReadOptions
from tests.cli.running import run_here


@pytest.fixture
def adata():
    rng = np.random.default_rng(4)
    names = pd.DataFrame({"type": pd.Categorical(["B", "T"] * 15)}, index=[*map(str, range(30))])
    made = ad.AnnData(sparse.random(30, 12, 0.3, "csr", rng=rng), obs=names)
    made.layers["dense"] = made.X.toarray()
    made.layers["by gene"] = made.X.tocsc()
    made.obsp["connectivities"] = sparse.random(30, 30, 0.2, "csr", rng=rng)
    return made


@pytest.fixture(params=[2, 3])
def path(request, adata, tmp_path):
    path = tmp_path / "a.zarr"
    with ad.settings.override(zarr_write_format=request.param), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        adata.write_zarr(path)
    return path


def read(path, **options):
    reader = open_zarr(path, ReadOptions(dtype="float64", block_bytes=500, **options))
    blocks = list(reader.blocks())
    reader.close()
    values = [b.values.toarray() if reader.sparse else b.values for b in blocks]
    return np.concatenate(values), reader


@pytest.mark.one_in(2)
@pytest.mark.parametrize("layer", [None, "dense", "by gene"])
def test_every_layout_gives_the_same_matrix(path, adata, layer):
    values, reader = read(path, layer=layer)
    assert reader.fixed_rows == ("features" if layer == "by gene" else "samples")
    by_sample = values.T if reader.fixed_rows == "features" else values
    np.testing.assert_array_equal(by_sample, adata.X.toarray())


def test_annotations_and_graphs(path, adata):
    _, reader = read(path)
    assert reader.annotations.obs["type"].to_pylist() == list(adata.obs["type"])
    assert reader.annotations.graphs == ("obsp:connectivities",)
    graph, _, samples = read_inside(path, "obsp", "connectivities")
    assert samples == list(adata.obs_names)
    np.testing.assert_array_equal(graph.toarray(), adata.obsp["connectivities"].toarray())


def test_missing_layer_and_graph_list_those_there_are(path):
    with pytest.raises(InputError, match="no layer 'x'") as caught:
        read(path, layer="x")
    assert "by gene" in caught.value.hint
    with pytest.raises(InputError, match="no graph 'x'") as caught:
        read_inside(path, "obsp", "x")
    assert "connectivities" in caught.value.hint


def test_folders_that_are_not_anndata_are_refused(tmp_path):
    with pytest.raises(InputError, match="cannot be read as Zarr"):
        open_zarr(tmp_path, ReadOptions())
    with pytest.raises(InputError, match="cannot be read as Zarr"):
        open_zarr(tmp_path / "absent.zarr", ReadOptions())
    zarr.open_group(str(tmp_path / "other.zarr"), mode="w").create_group("images")
    with pytest.raises(InputError, match="not AnnData") as caught:
        open_zarr(tmp_path / "other.zarr", ReadOptions())
    assert "images" in caught.value.where


def test_incomplete_copies_are_refused(path):
    shutil.rmtree(path / "X" / "indptr")
    with pytest.raises(InputError):
        read(path)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("member", ["data", "indices"])
def test_lost_chunks_are_not_taken_for_zeros(path, member):
    chunks = [p for p in (path / "X" / member).rglob("*") if p.is_file() and p.name in ("0",)]
    assert len(chunks) == 1
    chunks[0].unlink()
    with pytest.raises(InputError, match=r"lost|two values"):
        read(path)


def test_damaged_chunks_are_refused(path):
    for chunk in (path / "X" / "data").rglob("0"):
        chunk.write_bytes(chunk.read_bytes()[:7])
    with pytest.raises(InputError, match="cannot be read as zarr"):
        read(path)


MARK = "executed"


class Executing:
    """Leaves a file where it is unpickled."""

    def __init__(self, place: str) -> None:
        self.place = place

    def __reduce__(self):
        return Path.touch, (Path(self.place),)


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("command", "member"),
    [
        *(("rank", name) for name in ("X", "obs/_index", "var/_index", "uns/extra")),
        *(("inspect", "obs/_index"), ("select", "obs/_index")),
    ],
)
@pytest.mark.parametrize("place", ["filters", "compressor"])
def test_nothing_that_a_file_holds_is_executed(command, member, place, adata, tmp_path, capfd):
    path, mark = tmp_path / "a.zarr", tmp_path / MARK
    del adata.layers["by gene"]
    with ad.settings.override(zarr_write_format=2), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        adata.X = adata.X.toarray()
        adata.uns["extra"] = np.array(["a", "b"], dtype=object)
        adata.write_zarr(path)
    words = ["rank", str(path), "--method", "variance", "--out", str(tmp_path / "out")]
    assert run_here(words, capfd).code == 0
    # newer versions write text as a group of values and a mask
    array = max(path.joinpath(member).rglob(".zarray")).parent
    facts = json.loads((array / ".zarray").read_text())
    codec = {"id": "pickle", "protocol": 5}
    if place == "filters":  # the package refuses some arrays of which it is the first codec
        facts |= {"filters": [*(facts["filters"] or []), codec], "compressor": None}
    else:
        facts |= {"compressor": codec}
    (array / ".zarray").write_text(json.dumps(facts))
    for consolidated in path.rglob(".zmetadata"):
        consolidated.unlink()
    for chunk in (p for p in array.iterdir() if not p.name.startswith(".")):
        chunk.write_bytes(pickle.dumps(Executing(str(mark))))
    if command == "select":
        words = ["select", str(tmp_path / "out"), "--top", "3", "--matrix", str(path)]
        words += ["--write-matrix", str(tmp_path / "chosen.zarr")]
    elif command == "inspect":
        words = ["inspect", str(path)]
    else:
        words += ["--force"]
    done = run_here(words, capfd)
    assert done.code == 3, done.err
    assert not mark.exists()
    assert "'pickle'" in done.err
    if member != "X":
        assert f"{path}, {member}" in done.err


@pytest.mark.parametrize("format", [2, 3])
def test_codecs_that_hold_data_are_read(format, adata, tmp_path):
    path = tmp_path / "a.zarr"
    with ad.settings.override(zarr_write_format=format), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        adata.write_zarr(path, chunks=(7, 12))
    found = zarr.open_group(str(path), mode="r+")
    X = adata.layers["dense"]
    del found["layers/dense"]
    if format == 2:
        more = {"filters": [Delta("f8"), Shuffle(8)], "compressors": BZ2(1)}
    else:
        more = {"shards": (28, 12), "compressors": [zarr.codecs.GzipCodec()]}
    made = found.create_array("layers/dense", shape=X.shape, chunks=(7, 12), dtype="f8", **more)
    made[:] = X
    made.attrs.update({"encoding-type": "array", "encoding-version": "0.2.0"})
    for name in (".zmetadata",):
        (path / name).unlink(missing_ok=True)
    zarr.consolidate_metadata(str(path))
    values, _ = read(path, layer="dense")
    np.testing.assert_array_equal(values, X)


def test_a_chunk_cannot_hold_more_texts_than_bytes(path, adata):
    format = 3 if (path / "zarr.json").exists() else 2
    # newer versions write text as a group of values and a mask, and the values in shards
    array = path / "obs" / "_index"
    array = array / "values" if (array / "values").exists() else array
    facts = array / (".zarray" if format == 2 else "zarr.json")
    plain = {"compressor": None} if format == 2 else {"codecs": [{"name": "vlen-utf8"}]}
    facts.write_text(json.dumps(json.loads(facts.read_text()) | plain))
    (path / ".zmetadata").unlink(missing_ok=True)
    if format == 3:
        root = json.loads((path / "zarr.json").read_text()) | {"consolidated_metadata": None}
        (path / "zarr.json").write_text(json.dumps(root))
    texts = bytearray(numcodecs.VLenUTF8().encode(adata.obs_names.to_numpy(object)))
    chunk = array / ("0" if format == 2 else "c/0")
    chunk.write_bytes(texts)
    assert open_zarr(path, ReadOptions()).first_row_ids()[0] == "0"
    assert texts[:4] == (30).to_bytes(4, "little")
    texts[3] = 0x04  # 67,108,894 texts, which would take half a GiB
    chunk.write_bytes(texts)
    tracemalloc.start()
    try:
        with pytest.raises(InputError, match="67,108,894 texts"):
            open_zarr(path, ReadOptions())
        assert tracemalloc.get_traced_memory()[1] < 100 << 20
    finally:
        tracemalloc.stop()


def test_arrays_of_texts_still_go_to_other_processes(path, adata):
    """What a program does with the folder besides: our codecs are in place for all of it."""
    open_zarr(path, ReadOptions())
    texts = zarr.open_group(str(path), mode="r")["obs/_index"]
    texts = texts["values"] if hasattr(texts, "keys") else texts
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(texts))[:], texts[:])
    np.testing.assert_array_equal(ad.read_zarr(path).obs_names, adata.obs_names)


@pytest.mark.slow
def test_a_large_array_of_few_chunks_is_whole(tmp_path):
    made = ad.AnnData(np.broadcast_to(np.float32(1), (150_000, 1000)))  # 572 MiB
    made.obs_names, made.var_names = ([*map(str, range(n))] for n in made.shape)
    path = tmp_path / "a.zarr"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made.write_zarr(path, chunks=(50_000, 1000))
    reader = open_zarr(path, ReadOptions())
    assert len(reader.column_ids) == 1000
    reader.close()
