"""A result that cannot be replaced stays as it was; the message names what is in the way."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.making_commands import good, h5ad
from tests.running import run_here, snapshot

BAD, EXISTS = 3, 4
RANK = "rank x.csv --method variance"
COMMANDS = {
    "rank --modules": f"{RANK} --modules --out out",
    "select": "select ranked --top 3 --out out",
    "fuse": "fuse x.csv --source a=target: --out out/S.npz",
}


@pytest.fixture
def study(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    good(tmp_path, "x.csv")
    assert run_here(f"{RANK} --out ranked".split(), capfd).code == 0
    return tmp_path


@pytest.mark.parametrize("case", COMMANDS)
def test_a_folder_in_the_place_of_any_file_leaves_the_old_result(case, study, capfd):
    words = [*COMMANDS[case].split(), "--force"]
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
