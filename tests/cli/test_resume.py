"""Runs that are killed or run out of time are gone on with, and end with the same bytes."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from sfs_cli.io.files.atomic import WHOLE, OutputFolder
from tests.cli.running import MODULE, run_apart, run_here, snapshot
from tests.cli.shard_study import sfs
from tests.making import write_table
from tests.results import RESULT, result

N, M = 120, 4_000
OPTIONS = ("--transform", "median", "--block-size", "40", "--threads", "1")


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A matrix, and its ranking by a run that nothing disturbs."""
    folder = tmp_path_factory.mktemp("study")
    X = np.random.default_rng(2).gamma(2, 3, (M, N)).round(2)
    write_table(folder / "m.csv", X)
    sfs("rank", folder / "m.csv", *OPTIONS, "--out", folder / "whole")
    return folder


@contextmanager
def started(words: list[object]) -> Iterator[subprocess.Popen[bytes]]:
    """Start a command, which is killed at the end of the block if it goes on, or was stopped."""
    with subprocess.Popen([*MODULE, *map(str, words), "-q"]) as process:
        try:
            yield process
        finally:
            process.kill()


def killed(words: list[object], delay: float) -> bool:
    """Kill a command after a while; tell whether it was over before."""
    with started(words) as process:
        try:
            assert process.wait(delay) == 0
        except subprocess.TimeoutExpired:
            process.kill()
            return False
    return True


def assert_clean(folder: Path, *names: str) -> None:
    assert sorted(path.name for path in folder.iterdir()) == sorted(names)
    assert sorted(path.name for path in (folder / "out").iterdir()) == sorted((*RESULT, "run.json"))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_a_run_that_is_killed_at_any_moment_is_gone_on_with(seed, study, tmp_path):
    rng = random.Random(seed)
    scratch = tmp_path / "scratch"
    rank = ["rank", study / "m.csv", *OPTIONS, "--scratch", scratch, "--out", tmp_path / "out"]
    for _ in range(4):
        if killed([*rank, "--resume"], rng.uniform(0.3, 1.6)):
            break
    sfs(*rank, "--resume")
    assert result(tmp_path / "out") == result(study / "whole")
    assert_clean(tmp_path, "out", "scratch")
    assert not list(scratch.iterdir())


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_shards_and_merges_that_are_killed_are_run_again(seed, study, tmp_path):
    rng = random.Random(seed)
    plan = tmp_path / "plan"
    steps = [
        ["shard", "init", plan, study / "m.csv", *OPTIONS, "--shards", 2],
        *(["shard", "run", plan, i] for _ in range(3) for i in (1, 2)),
        ["shard", "merge", plan, "--out", tmp_path / "out"],
    ]
    for step in steps:
        if not killed(step, rng.uniform(0.4, 1.4)):
            sfs(*step)
    assert result(tmp_path / "out") == result(study / "whole")
    assert_clean(tmp_path, "out", "plan")


@pytest.mark.slow
def test_what_is_kept_is_used_and_gone_at_the_end(study, tmp_path, capfd):
    rank = ["rank", str(study / "m.csv"), *OPTIONS, "--out", str(tmp_path / "out")]
    kept = tmp_path / ".out.sfs-resume"
    with started([*rank, "--resume"]) as process:
        for _ in range(6000):
            if list(kept.glob("pass-02-*")):
                break
            time.sleep(0.005)
        process.kill()
    assert (kept / "store" / "manifest.json").exists()
    shutil.copytree(kept, tmp_path / "copy")
    done = run_here([*rank, "--resume"], capfd)
    assert done.code == 0
    assert "continuing an interrupted run" in done.err
    assert "removed the leftovers of an interrupted run" in done.err
    assert result(tmp_path / "out") == result(study / "whole")
    assert_clean(tmp_path, "out", "copy")

    shutil.rmtree(tmp_path / "out")
    shutil.copytree(tmp_path / "copy", kept)
    done = run_here([*rank, "--ranking", "phi1", "--resume"], capfd)  # other work
    assert "continuing" not in done.err
    shutil.copytree(tmp_path / "copy", kept)
    done = run_here([*rank, "--force"], capfd)
    assert "continuing" not in done.err
    assert result(tmp_path / "out") == result(study / "whole")
    assert_clean(tmp_path, "out", "copy")

    shutil.rmtree(tmp_path / "out")
    for damaged in ("store/values.bin", "reading.json", "pass-01-chunks-01-to-64-done-64.npz"):
        shutil.copytree(tmp_path / "copy", kept, dirs_exist_ok=True)
        (kept / damaged).write_bytes(b"PK")
        sfs(*rank, "--resume", "--force")
        assert result(tmp_path / "out") == result(study / "whole")
    shutil.copytree(tmp_path / "copy", kept, dirs_exist_ok=True)
    text = (kept / "reading.json").read_text()
    (kept / "reading.json").write_text(text.replace('"rows"', '"lines"'))
    sfs(*rank, "--resume", "--force")
    assert result(tmp_path / "out") == result(study / "whole")
    assert_clean(tmp_path, "out", "copy")


def test_resume_needs_an_output(study, capfd):
    done = run_here(["rank", str(study / "m.csv"), "--resume"], capfd)
    assert done.code == 2
    assert "--resume has no effect without --out" in done.err
    assert "to do:" in done.err


def test_moves_that_a_run_was_killed_among_are_finished(study, tmp_path, capfd):
    """The files were whole: the result is that of the run which was killed."""
    rank = ["rank", str(study / "m.csv"), *OPTIONS, "--out", str(tmp_path / "out")]
    sfs(*rank)
    out, staging = tmp_path / "out", tmp_path / "out" / f"..{WHOLE}-0123456789ab"
    staging.mkdir()
    for name in ("run.json", "sfs_mqc.json"):
        (out / name).rename(staging / name)
    (out / "..sfs-partial-0123456789ab").mkdir()
    done = run_here(rank, capfd)
    assert "up to date" in done.err
    assert_clean(tmp_path, "out")


def test_an_interruption_among_the_moves_does_not_stop_them(tmp_path, monkeypatch):
    real, moved = Path.replace, []

    def interrupted(one: Path, other: Path) -> Path:
        moved.append(other.name)
        if len(moved) == 2:
            raise KeyboardInterrupt
        return real(one, other)

    monkeypatch.setattr(Path, "replace", interrupted)

    def write_all() -> None:
        with OutputFolder(tmp_path) as out:
            for name in ("a", "b", "run.json"):
                out.file(name).write_text(name)
            out.commit(last="run.json")

    with pytest.raises(KeyboardInterrupt):
        write_all()
    assert snapshot(tmp_path) == {"a": b"a", "b": b"b", "run.json": b"run.json"}


def test_two_runs_of_one_output_do_not_meet(study, tmp_path, capfd):
    rank = ["rank", str(study / "m.csv"), *OPTIONS, "--out", str(tmp_path / "out")]
    with started(rank) as process:
        lock = tmp_path / ".out.sfs-lock"
        while not (lock.exists() and lock.read_text()) and process.poll() is None:
            time.sleep(0.002)  # the holder is written a moment after the file is made
        process.send_signal(signal.SIGSTOP)
        assert process.poll() is None
        for command in (
            [*rank, "--force"],
            ["aggregate", *[str(study / "whole" / "ranking.tsv")] * 2, *rank[-2:]],
        ):
            done = run_here(command, capfd)
            assert done.code == 4, done.err
            assert "another run is writing" in done.err
            assert f"process {process.pid}" in done.err
            assert "to do: wait" in done.err
        process.send_signal(signal.SIGCONT)
        assert process.wait(60) == 0
    assert_clean(tmp_path, "out")


def test_a_conversion_that_was_killed_leaves_nothing_to_the_next(study, tmp_path):
    convert = ["convert", study / "m.csv", tmp_path / "m.store"]
    with started(convert) as process:
        while not list(tmp_path.glob(".m.store.sfs-partial-*/*")) and process.poll() is None:
            time.sleep(0.002)
        process.kill()
    sfs(*convert)
    assert [path.name for path in tmp_path.iterdir()] == ["m.store"]


LIMITS = ("0.05s", "0.2", "0.4", "0.6", "1h")


@pytest.mark.slow
@pytest.mark.parametrize("method", ["spec", "mrsf"])
def test_a_time_limit_ends_any_phase_with_143_and_what_is_done_is_kept(method, study, tmp_path):
    rank = ["rank", str(study / "m.csv"), *OPTIONS, "--method", method]
    out, other = tmp_path / "out", tmp_path / "other"
    sfs(*rank, "--out", other)
    codes = []
    for limit in LIMITS:
        done = run_apart([*rank, "--out", str(out), "--resume", "--time-limit", limit])
        codes.append(done.code)
        assert done.code in (0, 143), done.err
        if done.code == 143:
            assert f"stopped at the time limit of {limit}" in done.err
            assert "reached: " in done.err
            assert not out.exists()
            assert not list(tmp_path.glob("*lock*"))
        else:
            break
    assert codes[0] == 143
    assert codes[-1] == 0
    assert result(out) == result(other)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["other", "out"]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[tuple[Path, list[str]]]:
    """A place for a small file system, and the command that mounts it but for its size."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "none", str(place)]
    if shutil.which("mount") is None or subprocess.run([*mount, "-o", "size=64k"]).returncode:
        pytest.skip("mounting a small file system is not permitted here")
    yield place, ["mount", "-o", "remount", str(place)]
    subprocess.run(["umount", str(place)], check=True)


# kB: the store takes 1.9 MB, each part of the Gram matrix 0.1 MB, the outputs 0.3 MB
SIZES = [4, 300, 1200, 1900, 1960, 2080, 2220, 2450, 20_000]


@pytest.mark.slow
@pytest.mark.parametrize("way", ["rank", "shards"])
def test_a_disk_that_is_full_at_any_point_is_told_and_more_room_is_enough(
    way, study, tmp_path, small_disk
):
    disk, mount = small_disk
    out, plan = disk / "out", disk / "plan"
    rank = ["rank", study / "m.csv", *OPTIONS, "--resume", "--out", out]
    steps: list[list[object]] = [
        ["shard", "init", plan, study / "m.csv", *OPTIONS, "--shards", 1],
        ["shard", "run", plan, 1],
        ["shard", "merge", plan, "--out", out],
    ]
    full = 0
    for size in SIZES:
        subprocess.run([*mount, "-o", f"remount,size={size}k"], check=True)
        for words in [rank] if way == "rank" else steps:
            done = run_apart([*map(str, words), "-q"], TMPDIR=str(tmp_path))
            if done.code:
                break
        if done.code == 0:
            break
        full += 1
        assert done.code == 3, done.err
        assert "there is no space left on the disk" in done.err
        assert "to do: free some space" in done.err
        assert "Traceback" not in done.err
        assert not out.exists()
        assert not list(disk.glob("*lock*"))
    assert done.code == 0, done.err
    assert full >= len(SIZES) * 2 // 3
    assert result(out) == result(study / "whole")
    assert {path.name for path in disk.iterdir()} == {"out", *(["plan"] if way != "rank" else [])}


def test_the_scratch_folder_of_a_run_that_was_killed_is_removed(study, tmp_path):
    scratch = tmp_path / "scratch"
    rank = ["rank", study / "m.csv", *OPTIONS, "--scratch", scratch, "--out", tmp_path / "out"]
    with started(rank) as process:
        while not (scratch.exists() and os.listdir(scratch)) and process.poll() is None:  # noqa: PTH208
            time.sleep(0.002)
        process.kill()
    assert list(scratch.iterdir())
    sfs(*rank)
    assert not list(scratch.iterdir())
    assert_clean(tmp_path, "out", "scratch")


def test_the_scratch_folder_of_a_shard_that_was_killed_goes_with_its_next_run(study, tmp_path):
    scratch, plan = tmp_path / "scratch", tmp_path / "plan"
    sfs("shard", "init", plan, study / "m.csv", *OPTIONS, "--shards", "1")
    shard = ["shard", "run", plan, "1", "--scratch", scratch]
    with started(shard) as process:
        while not list(scratch.glob("sfs-*/owner")) and process.poll() is None:
            time.sleep(0.002)
        process.kill()
    assert list(scratch.iterdir())
    sfs(*shard)
    assert not list(scratch.iterdir())
