"""``--prefix``: names of files that tell one result from another in one folder."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from sfs_cli.io.files.lock import output_lock
from tests.cli.running import MODULE, run_here
from tests.cli.shard_study import make_study, sfs
from tests.results import RESULT

FILES = {*RESULT, "run.json"}


@pytest.fixture
def study(tmp_path, monkeypatch) -> Path:
    make_study(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_two_results_share_a_folder_and_each_is_up_to_date(study, capfd):
    for name, method in (("a", "variance"), ("b", "spec")):
        sfs("rank", "m.csv", "--method", method, "--out", "out", "--prefix", name)
    sfs("rank", "m.csv", "--method", "variance", "--out", "plain")
    out = study / "out"
    assert names(out) == {f"{name}.{file}" for name in "ab" for file in FILES}
    plain = (study / "plain" / "ranking.tsv").read_bytes()
    assert (out / "a.ranking.tsv").read_bytes() == plain
    assert set(json.loads((out / "a.run.json").read_text())["outputs"]) == {
        f"a.{name}" for name in FILES - {"run.json"}
    }
    assert "a.ranking.tsv" in (out / "a.report.html").read_text()
    assert json.loads((out / "a.sfs_mqc.json").read_text())["sfs"]["row"] == "a | Variance"
    again = ["rank", "m.csv", "--method", "variance", "--out", "out", "--prefix", "a"]
    assert "up to date" in run_here(again, capfd).err
    other = ["rank", "m.csv", "--method", "spec", "--out", "out", "--prefix", "a"]
    assert run_here(other, capfd).code == 4
    assert run_here([*other, "--force"], capfd).code == 0


def test_commands_that_read_a_result_find_its_record(study, capfd):
    sfs("rank", "m.csv", "--method", "variance", "--out", "out", "--prefix", "a")
    sfs("select", "out/a.ranking.tsv", "--top", "5", "--out", "out", "--prefix", "top")
    assert {"top.selected.txt", "top.selected.tsv", "top.run.json"} <= names(study / "out")
    sfs("select", "out", "--top", "5", "--write-matrix", "five.csv", "--out", "chosen")
    assert len((study / "five.csv").read_text().splitlines()) == 6
    over = ["select", "out/a.ranking.tsv", "--top", "5", "--out", "out", "--prefix", "a"]
    done = run_here([*over, "--force"], capfd)
    assert done.code == 2
    assert "--out" in done.err
    done = run_here(["aggregate", "out/a.ranking.tsv", "--out", "out", "--prefix", "a"], capfd)
    assert done.code == 2
    sfs("rank", "m.csv", "--method", "spec", "--out", "spec")
    lists = ("out/a.ranking.tsv", "spec/ranking.tsv")
    sfs("aggregate", *lists, "--out", "out", "--prefix", "both")
    assert "both.ranking.tsv" in names(study / "out")


def test_shards_write_the_bytes_of_one_run(study):
    words = ("m.csv", "--method", "variance", "--block-size", "20")
    sfs("rank", *words, "--out", "whole", "--prefix", "a")
    sfs("shard", "init", "plan", *words, "--shards", "2")
    sfs("shard", "merge", "plan", "--finish", "--out", "out", "--prefix", "a")
    for name in FILES - {"run.json"}:
        one, other = (study / folder / f"a.{name}" for folder in ("whole", "out"))
        assert one.read_bytes() == other.read_bytes()


@pytest.mark.parametrize("prefix", ["", "a/b", ".hidden", "-q", "../up", "x" * 200, "a\nb"])
def test_what_cannot_begin_a_name_is_refused(prefix, study, capfd):
    words = ["rank", "m.csv", "--method", "variance", "--out", "out", f"--prefix={prefix}"]
    done = run_here(words, capfd)
    assert done.code == 2
    assert "--prefix" in done.err
    assert not (study / "out").exists()


def test_it_needs_a_folder(study, capfd):
    done = run_here(["rank", "m.csv", "--method", "variance", "--prefix", "a"], capfd)
    assert done.code == 2
    assert "--out" in done.err


def test_runs_of_one_folder_do_not_wait_for_each_other(study, capfd):
    words = ["rank", "m.csv", "--method", "variance", "--out", "out", "--prefix"]
    out = study / "out"
    with output_lock(out / "a.run.json"):
        left = [out / f".{name}.run.json.sfs-partial-0" for name in "ab"]
        whole = out / ".a.run.json.sfs-whole-0"
        for folder in (*left, whole):
            folder.mkdir()
            (folder / "ranking.tsv").touch()
        assert run_here([*words, "a"], capfd).code == 4
        assert run_here([*words, "b"], capfd).code == 0
        assert run_here(words[:-1], capfd).code == 0
        # what the run of a is writing is there, and what one of b had left is not
        assert [folder.exists() for folder in (*left, whole)] == [True, False, True]
    assert run_here([*words, "a"], capfd).code == 0
    plain = FILES | {f"{name}.{file}" for name in "ab" for file in FILES}
    assert names(out) == plain


def test_runs_of_one_folder_at_the_same_time(study):
    words = [*MODULE, "rank", "m.csv", "--method", "variance", "--out", "out", "--prefix"]
    runs = [subprocess.Popen([*words, name], stderr=subprocess.PIPE) for name in "abcd"]
    said = [process.communicate(timeout=300)[1] for process in runs]
    assert [process.returncode for process in runs] == [0] * 4, said
    assert names(study / "out") == {f"{name}.{file}" for name in "abcd" for file in FILES}


def test_each_result_of_a_folder_keeps_its_own_checkpoints(study, capfd):
    words = ["rank", "m.csv", "--method", "variance", "--out", "out", "--prefix"]
    kept = study / "out" / ".a.run.json.sfs-resume"
    kept.mkdir(parents=True)
    assert run_here([*words, "b", "--resume"], capfd).code == 0
    assert run_here([*words, "b", "--resume"], capfd).code == 0
    assert kept.is_dir()
    assert run_here([*words, "a"], capfd).code == 0
    assert not kept.exists()
