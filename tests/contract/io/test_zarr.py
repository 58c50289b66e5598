"""AnnData in Zarr folders of both formats."""

from __future__ import annotations

import json
import pickle
import shutil
import warnings
from pathlib import Path

import anndata as ad
import numpy as np
import pandas as pd
import pytest
import zarr
from numcodecs import BZ2, Delta, Shuffle
from scipy import sparse

from sfs_cli.errors import InputError
from sfs_cli.io.matrix.anndata import open_zarr, read_inside
from sfs_cli.io.matrix.base import ReadOptions
from tests.running import run_here


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
    reader = open_zarr(path, ReadOptions(dtype="float64", block_bytes=500, **options))
    blocks = list(reader.blocks())
    reader.close()
    values = [b.values.toarray() if reader.sparse else b.values for b in blocks]
    return np.concatenate(values), reader


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


@pytest.mark.parametrize(("member", "place"), [("X", "filters"), ("obs/_index", "compressor")])
def test_nothing_that_a_file_holds_is_executed(member, place, adata, tmp_path, capfd):
    path, mark = tmp_path / "a.zarr", tmp_path / MARK
    adata = adata.copy()
    del adata.layers["by gene"]
    with ad.settings.override(zarr_write_format=2), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        adata.X = adata.X.toarray()
        adata.write_zarr(path)
    words = ["rank", str(path), "--method", "variance"]
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
