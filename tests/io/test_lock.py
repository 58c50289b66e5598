"""One run for an output at a time; a run that was killed holds nothing up."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sfs_cli.errors import InputError, OutputBusyError
from sfs_cli.io.files import lock as lock_of
from sfs_cli.io.files.lock import output_lock

HOLD = """
import sys, time
from pathlib import Path
from sfs_cli.io.files.lock import output_lock
with output_lock(Path(sys.argv[1])) as lock:
    lock.leaves(Path(sys.argv[1] + "-scratch"))
    print("held", flush=True)
    time.sleep(60)
"""


def holder(out: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(out)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def lock_file(out: Path) -> Path:
    return out.with_name(f".{out.name}.sfs-lock")


def test_a_lock_is_there_while_it_is_held_and_gone_after(tmp_path):
    out = tmp_path / "deep" / "out"
    with output_lock(out) as lock:
        assert lock.stale is None
        content = json.loads(lock_file(out).read_text())
        assert content["pid"] == os.getpid()
    assert not (tmp_path / "deep").exists()


def test_another_run_is_refused_and_told_who_holds_it(tmp_path):
    out = tmp_path / "out"
    with holder(out) as process:
        with pytest.raises(OutputBusyError) as caught, output_lock(out):
            pass
        assert f"process {process.pid} on {lock_of.socket.gethostname()}" in str(caught.value.where)
        assert caught.value.exit_code == 4
        assert lock_file(out).exists()
        process.kill()


def test_the_lock_of_a_run_that_was_killed_is_taken_over_with_what_it_left(tmp_path):
    out = tmp_path / "out"
    with holder(out) as process:
        process.kill()
    assert lock_file(out).exists()
    with output_lock(out) as lock:
        assert lock.stale is not None
        assert lock.stale["pid"] == process.pid
        assert lock.left == [f"{out}-scratch"]
    assert not lock_file(out).exists()


def foreign(out: Path, age: float, **facts: object) -> None:
    content = {"host": "elsewhere", "boot": "another", "pid": 1, "started": 1} | facts
    path = lock_file(out)
    path.write_text(json.dumps(content) + "\n")
    then = time.time() - age
    os.utime(path, (then, then))


def test_a_run_on_another_machine_is_alive_while_it_gives_signs_of_life(tmp_path):
    out = tmp_path / "out"
    foreign(out, age=200)
    with pytest.raises(OutputBusyError, match="another run") as caught, output_lock(out):
        pass
    assert "elsewhere" in str(caught.value.where)
    foreign(out, age=400)
    with output_lock(out) as lock:
        assert lock.stale is not None


def test_a_container_of_the_same_machine_need_not_wait(tmp_path):
    if lock_of.boot_id() is None:
        pytest.skip("this system does not tell when it was started")
    out = tmp_path / "out"
    foreign(out, age=1, boot=lock_of.boot_id())
    with output_lock(out) as lock:
        assert lock.stale is not None


@pytest.mark.parametrize("content", ["", "{", "[1]\n", '\n{"host": "els', "\x00\xff"])
def test_a_lock_file_that_was_cut_off_holds_nothing_up(content, tmp_path):
    out = tmp_path / "out"
    lock_file(out).write_text(content)
    with output_lock(out) as lock:
        assert lock.left == []


def test_a_link_to_an_output_has_the_same_lock(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with (
        output_lock(tmp_path / "real"),
        pytest.raises(OutputBusyError),
        output_lock(tmp_path / "link"),
    ):
        pass


def test_a_sign_of_life_is_given(tmp_path):
    out = tmp_path / "out"
    with output_lock(out, touch_seconds=0.02):
        os.utime(lock_file(out), (1, 1))
        for _ in range(200):
            if lock_file(out).stat().st_mtime > 1:
                break
            time.sleep(0.01)
        assert lock_file(out).stat().st_mtime > 1


def test_without_locks_of_the_kernel_the_process_is_looked_for(tmp_path, monkeypatch):
    def refuse(_handle: int, _how: int) -> None:
        raise OSError(lock_of.errno.ENOLCK, "no locks available")

    monkeypatch.setattr(lock_of.fcntl, "flock", refuse)
    out = tmp_path / "out"
    with holder(out) as process:
        with pytest.raises(OutputBusyError), output_lock(out):
            pass
        process.kill()
    with output_lock(out) as lock:
        assert lock.stale is not None


def test_a_place_that_cannot_be_written_is_told(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match="cannot be written"), output_lock(tmp_path / "file" / "o"):
        pass


def linked(path: Path, victim: Path) -> None:
    path.symlink_to(victim)


def dangling(path: Path, _: Path) -> None:
    path.symlink_to("nowhere")


def hard_linked(path: Path, victim: Path) -> None:
    path.hardlink_to(victim)


def folder(path: Path, _: Path) -> None:
    path.mkdir()


def fifo(path: Path, _: Path) -> None:
    os.mkfifo(path)


def bound(path: Path, _: Path) -> None:
    with lock_of.socket.socket(lock_of.socket.AF_UNIX) as listening:
        listening.bind(str(path))


@pytest.mark.parametrize("plant", [linked, dangling, hard_linked, folder, fifo, bound])
def test_what_has_the_place_of_a_lock_is_neither_followed_nor_written_to(
    plant, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)  # the path of a socket has to be short
    victim = tmp_path / "victim"
    victim.write_text('{"pid": 1}\n')
    plant(Path(".out.sfs-lock"), victim)
    before = sorted(tmp_path.iterdir())
    with pytest.raises(InputError, match="cannot be locked") as caught, output_lock(Path("out")):
        pass
    assert str(lock_file(tmp_path / "out")) == str(caught.value.where)
    assert victim.read_text() == '{"pid": 1}\n'
    assert sorted(tmp_path.iterdir()) == before


def test_what_the_lock_of_another_user_announces_is_not_believed(tmp_path, monkeypatch):
    lock_file(tmp_path / "out").write_text('{"leaves": "/x/sfs-1-0123456789ab"}\n')
    with output_lock(tmp_path / "out") as lock:
        assert lock.left == ["/x/sfs-1-0123456789ab"]
    lock_file(tmp_path / "out").write_text('{"leaves": "/x/sfs-1-0123456789ab"}\n')
    user = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: user + 1)
    with output_lock(tmp_path / "out") as lock:
        assert lock.left == []


@pytest.mark.parametrize("content", ['"a\\u0000b"', '"\\ud800"', "[1]", "null", "{}"])
def test_what_is_no_path_is_not_announced(content, tmp_path):
    lock_file(tmp_path / "out").write_text(f'{{"leaves": {content}}}\n')
    with output_lock(tmp_path / "out") as lock:
        assert all(isinstance(os.fsencode(path), bytes) for path in lock.left)


@pytest.mark.parametrize("pid", ["../../x", None, [1], 2.5])
def test_a_process_that_is_no_number_is_not_looked_for(pid, tmp_path, monkeypatch):
    def refuse(_handle: int, _how: int) -> None:
        raise OSError(lock_of.errno.ENOLCK, "no locks available")

    monkeypatch.setattr(lock_of.fcntl, "flock", refuse)
    monkeypatch.setattr(lock_of, "_started", lambda asked: 1 if asked == pid else 2)
    foreign(tmp_path / "out", age=1, boot=lock_of.boot_id(), pid=pid)
    with output_lock(tmp_path / "out"):
        pass


@pytest.mark.parametrize("content", ["", '{"host": "h", "boot": "b", "pid": 1}\n'])
def test_a_signal_while_the_lock_is_taken_leaves_no_file_of_its_own(content, tmp_path, monkeypatch):
    class Signal(BaseException):
        pass

    def stop(handle):
        raise Signal

    monkeypatch.setattr("sfs_cli.io.files.lock._read", stop)
    (path := tmp_path / "new" / ".out.sfs-lock").parent.mkdir()
    if content:
        path.write_text(content)
    else:
        path.parent.rmdir()
    with pytest.raises(Signal), output_lock(tmp_path / "new" / "out"):
        pass
    # what a killed run has announced is kept for the next one
    assert [each.read_text() for each in tmp_path.rglob("*lock")] == [content] * bool(content)
    assert (tmp_path / "new").exists() == bool(content)
