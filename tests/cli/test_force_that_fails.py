"""A result that cannot be replaced stays as it was; the message names what is in the way."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.making_commands import AB, good, h5ad, labels
from tests.running import run_here, snapshot

BAD, EXISTS = 3, 4
RANK = "rank x.csv --method variance"
SMALL = "--method variance --labels labels.csv --lengths 3 --splits 2 --repeats 1"
COMMANDS = {
    "rank": f"{RANK} --out out",
    "rank --modules": f"{RANK} --modules --module-features 5 --out out",
    "select": "select ranked --top 3 --out out",
    "evaluate": f"evaluate x.csv {SMALL} --out out",
    "compare": "compare x.csv --method variance --method spec --lengths 3 --out out",
    "aggregate": "aggregate ranked ranked --out out",
    "fuse": "fuse x.csv --source a=target: --out out/S.npz",
    "shard merge": "shard merge plan --out out",
}


@pytest.fixture
def study(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    good(tmp_path, "x.csv")
    Path(labels(tmp_path, AB)).rename("labels.csv")
    assert run_here(f"{RANK} --out ranked".split(), capfd).code == 0
    return tmp_path


@pytest.mark.parametrize("case", COMMANDS)
def test_a_folder_in_the_place_of_any_file_leaves_the_old_result(case, study, capfd):
    words = [*COMMANDS[case].split(), "--force"]
    if case == "shard merge":
        for step in ("shard init plan x.csv --shards 1 --method variance", "shard run plan 1"):
            assert run_here(step.split(), capfd).code == 0
    assert run_here(words, capfd).code == 0
    names = sorted(path.name for path in Path("out").iterdir())
    assert len(names) > 1
    for name in names:
        shutil.copytree("out", "kept")
        Path("out", name).unlink()
        Path("out", name).mkdir()
        before = snapshot(study)
        done = run_here(words, capfd)
        assert done.code == BAD, done.err
        assert f"out/{name} is a folder" in done.err
        assert "sfs-" not in done.err
        assert snapshot(study) == before
        shutil.rmtree("out")
        Path("kept").rename("out")
    assert run_here(words, capfd).code == 0


@pytest.mark.parametrize("suffix", ["h5ad", "zarr"])
def test_a_copy_of_another_kind_is_refused_before_the_result_is_replaced(suffix, study, capfd):
    """A folder cannot replace a file, nor a file a folder, whatever is in it."""
    import anndata

    matrix = h5ad(study, "x.h5ad")
    if suffix == "zarr":
        anndata.read_h5ad(matrix).write_zarr("x.zarr")
        Path("copy.zarr").write_text("mine")
    else:
        anndata.read_h5ad(matrix).write_zarr("copy.h5ad")
    words = f"rank x.{suffix} --method variance --out out --write-h5ad copy.{suffix}".split()
    before = snapshot(study)
    done = run_here([*words, "--force"], capfd)
    assert done.code == EXISTS, done.err
    assert f"copy.{suffix}" in done.err
    assert snapshot(study) == before
