"""A lock file that somebody has planted removes nothing, and lets nothing be replaced."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from sfs_cli.io.files.scratch import scratch_folder
from tests.cli.making import good, h5ad
from tests.cli.running import run_here, snapshot

EXISTS = 4
RANK = ["rank", "x.csv", "--method", "variance", "--out", "out"]
WEIGHTS = ["rank", "x.csv", "--method", "mrsf", "--select", "5", "--out", "out", "--weights-out"]
SCRATCH = "sfs-1-0123456789ab"


@pytest.fixture
def study(tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    good(Path(), "x.csv")
    return tmp_path


def plant(*leaves: object) -> None:
    lines = [json.dumps({"leaves": each}) for each in leaves]
    Path(".out.sfs-lock").write_text("\n".join(lines) + "\n")


@pytest.mark.parametrize("where", ["elsewhere", "here", "here/out", "elsewhere/deep/../"])
def test_no_folder_is_removed_because_a_lock_names_it(where, study, capfd):
    victim = study / where / SCRATCH
    (study / "elsewhere" / "deep").mkdir(parents=True)
    victim.mkdir(parents=True)
    (victim / "mine.txt").write_text("mine")
    (victim / "owner").write_text("mine")  # a scratch folder has one, with something else in it
    link = study / "here" / "sfs-2-0123456789ab"
    link.symlink_to(victim)
    named = [str(victim), f"{study}/here/../{where}/{SCRATCH}", str(link)]
    plant(*named, os.path.relpath(victim), "..", "", ".", "/", str(study), f"{study}/x/..")
    before = snapshot(study / "elsewhere")
    assert run_here(RANK, capfd).code == 0
    assert (victim / "mine.txt").read_text() == "mine"
    assert link.is_symlink()
    assert snapshot(study / "elsewhere") == before


def test_the_scratch_of_a_run_that_goes_on_stays_and_that_of_a_dead_one_goes(study, capfd):
    elsewhere = study / "scratch"
    dead = elsewhere / SCRATCH
    with scratch_folder(elsewhere) as live:
        dead.mkdir(mode=0o700)
        (dead / "owner").write_bytes((live / "owner").read_bytes())
        (dead / "panels.bin").write_text("x")
        plant(str(live), str(dead))
        assert run_here(RANK, capfd).code == 0
        assert live.is_dir()
        assert not dead.exists()


@pytest.mark.parametrize("name", ["other.parquet", "../elsewhere/other.parquet"])
def test_no_other_output_is_replaced_because_a_lock_names_it(name, study, capfd):
    (study / "elsewhere").mkdir()
    Path(name).write_text("mine")
    plant(str(Path(name).absolute()), name, os.path.realpath(name))
    done = run_here([*WEIGHTS, name], capfd)
    assert done.code == EXISTS, done.err
    assert Path(name).read_text() == "mine"
    assert not Path("out").exists()


def test_what_was_begun_in_another_folder_stays(study, capfd):
    (study / "elsewhere").mkdir()
    left = study / "elsewhere" / ".w.parquet.sfs-partial-0"
    left.touch()
    Path("link.parquet").symlink_to(study / "elsewhere" / "w.parquet")
    plant(str(study / "elsewhere" / "w.parquet"), str(Path("link.parquet").absolute()))
    assert run_here(RANK, capfd).code == 0
    assert left.exists()


def test_a_copy_of_a_killed_run_is_replaced_where_the_result_says_so(study, capfd):
    """It was killed when one copy had its name, and the other had not."""
    words = [*WEIGHTS, "w.parquet", "--write-h5ad", "copy.h5ad"]
    words[1] = h5ad(Path(), "x.h5ad")
    assert run_here(words, capfd).code == 0
    Path("copy.h5ad").unlink()
    assert run_here(words, capfd).code == 0
    assert "up to date" in run_here(words, capfd).err
    Path("copy.h5ad").unlink()
    Path("w.parquet").write_text("mine")
    assert run_here(words, capfd).code == EXISTS
    assert Path("w.parquet").read_text() == "mine"
