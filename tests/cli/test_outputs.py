"""Outputs: none of another format's name, none lost or taken for another, all or nothing."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.making_commands import BAD, EXISTS, USAGE, good, h5ad
from tests.running import run_here, snapshot

RANK = "rank x.csv --method variance"
H5AD = "rank x.h5ad --method variance --write-h5ad"


@pytest.fixture
def study(tmp_path, monkeypatch, capfd):
    """A working folder with a matrix in two formats, and a ranking of it."""
    monkeypatch.chdir(tmp_path)
    good(tmp_path, "x.csv")
    h5ad(tmp_path, "x.h5ad")
    assert run_here(f"{RANK} --out ranked".split(), capfd).code == 0
    return tmp_path


# ---- names ---------------------------------------------------------------------------------------

WRONG = {
    "report": ("report ranked --out", "--out", "page.PNG page.html.gz"),
    "fuse": ("fuse x.csv --source a=target: --out", "--out", "S.npy"),
    "convert": ("convert x.csv", "OUTPUT", "x.gct y.rds z.h5ad.gz"),
    "copy": (H5AD, "--write-h5ad", "y.csv y.h5mu y.zarr"),
    "matrix": ("select ranked --top 3 --write-matrix", "--write-matrix", "y.h5ad y.gct"),
}
RIGHT = {
    "report": ("report ranked --out", "page.HTM page.v1.2"),
    "rank": (f"{RANK} --out", "2024.01.31 of-x.csv"),
    "convert": ("convert x.csv", "x.store z.v1 x.PARQUET y.tsv.gz z.h5ad"),
    "copy": (H5AD, "y.H5AD y.scored"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_suffix_of_another_format_is_refused(case, study, capfd):
    command, label, names = WRONG[case]
    before = snapshot(study)
    for name in names.split():
        done = run_here([*command.split(), name, "--force"], capfd)
        assert done.code == USAGE, f"{name}\n{done.err}"
        assert f"{label} {name}" in " ".join(done.err.split())
        assert snapshot(study) == before


@pytest.mark.parametrize("case", RIGHT)
def test_any_other_name_is_taken(case, study, capfd):
    command, names = RIGHT[case]
    for name in names.split():
        done = run_here([*command.split(), name], capfd)
        assert done.code == 0, f"{name}\n{done.err}"
        assert Path(name).exists()


@pytest.mark.parametrize(
    "words", ["rank x.csv --out -", "shard init - x.csv --shards 2", "convert x.csv -"]
)
def test_an_output_is_not_named_as_standard_output(words, study, capfd):
    before = snapshot(study)
    done = run_here(words.split(), capfd)
    assert done.code == USAGE
    assert "not to standard output" in done.err.replace("\n", " ")
    assert snapshot(study) == before


# ---- files beside the folder of the result -------------------------------------------------------

BESIDE = {
    "h5ad": (f"{H5AD} copy.h5ad --out out", "copy.h5ad"),
    "matrix": ("select ranked --top 5 --write-matrix cut.csv --out out", "cut.csv"),
}


@pytest.mark.parametrize("case", BESIDE)
def test_a_result_is_up_to_date_with_its_own_file_alone(case, study, capfd):
    command, name = BESIDE[case]
    words = command.split()
    assert run_here(words, capfd).code == 0
    assert "up to date" in run_here(words, capfd).err
    other = f"other{Path(name).suffix}"
    Path(other).write_text("other things")
    assert run_here(command.replace(name, other).split(), capfd).code == EXISTS
    Path(name).unlink()
    done = run_here(words, capfd)
    assert done.code == EXISTS
    assert "files of it are gone" in done.err
    assert name in done.err
    assert run_here([*words, "--force"], capfd).code == 0
    assert Path(name).exists()


@pytest.mark.parametrize(
    ("command", "option"),
    [
        (f"{H5AD} new/report.html --out new", "--write-h5ad"),
        ("select ranked --top 2 --write-matrix new/selected.tsv --out new", "--write-matrix"),
    ],
)
def test_no_file_of_the_result_has_its_place(command, option, study, capfd):
    done = run_here(command.split(), capfd)
    assert done.code == USAGE
    assert option in done.err
    assert not Path("new").exists()


# ---- what cannot be replaced ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "command",
    [
        f"{RANK} --modules --out out",
        "select ranked --top 3 --out out",
        "fuse x.csv --source a=target: --out out/S.npz",
    ],
)
def test_a_folder_in_the_place_of_any_file_leaves_the_old_result(command, study, capfd):
    words = [*command.split(), "--force"]
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

    data = anndata.read_h5ad("x.h5ad")
    if suffix == "zarr":
        data.write_zarr("x.zarr")
        Path("copy.zarr").write_text("mine")
    else:
        data.write_zarr("copy.h5ad")
    words = f"rank x.{suffix} --method variance --out out --write-h5ad copy.{suffix}".split()
    before = snapshot(study)
    done = run_here([*words, "--force"], capfd)
    assert done.code == EXISTS, done.err
    assert f"copy.{suffix}" in done.err
    assert snapshot(study) == before
