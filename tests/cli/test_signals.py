"""Runs that are stopped from outside leave nothing behind, and can be repeated."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from tests.cli.running import MODULE, run_here, snapshot
from tests.results import RESULT

N_SAMPLES, N_FEATURES, N_DISTINCT = 300, 40_000, 400


@pytest.fixture(scope="module")
def large_matrix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A text file of 70 MB, of which a run takes some seconds."""
    path = tmp_path_factory.mktemp("large") / "large.csv"
    X = np.random.default_rng(1).gamma(2.0, 3.0, (N_DISTINCT, N_SAMPLES))
    rows = [",".join(f"{value:.3f}" for value in row) for row in X]
    with path.open("w") as file:
        file.write(",".join(["id", *(f"s{j}" for j in range(N_SAMPLES))]) + "\n")
        file.writelines(f"gene{i},{rows[i % N_DISTINCT]}\n" for i in range(N_FEATURES))
    return path


def wait_for_handlers(process: subprocess.Popen[str]) -> None:
    """Wait until the process handles SIGTERM: before that it is Python that is still starting."""
    status = Path(f"/proc/{process.pid}/status")
    if not status.exists():
        time.sleep(0.5)
        return
    for _ in range(1000):
        caught = re.search(r"SigCgt:\s*([0-9a-f]+)", status.read_text())
        if caught and int(caught[1], 16) >> (signal.SIGTERM - 1) & 1:
            return
        time.sleep(0.005)


def stopped(arguments: list[str], number: int, delay: float) -> tuple[int, str, str]:
    """Start a command, send it a signal, and return its exit code and what it said."""
    with subprocess.Popen(
        [*MODULE, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        wait_for_handlers(process)
        time.sleep(delay)
        os.kill(process.pid, number)
        out, err = process.communicate(timeout=60)
    return process.returncode, out, err


def started_ignoring(number: int, command: list[str]) -> subprocess.Popen[str]:
    """Start a command that inherits an ignored signal, as `nohup` does it."""
    before = signal.signal(number, signal.SIG_IGN)
    try:
        return subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    finally:
        signal.signal(number, before)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGINT])
def test_a_signal_that_is_ignored_at_the_start_stays_ignored(number, large_matrix, tmp_path):
    words = [*MODULE, "rank", str(large_matrix), "--out", str(tmp_path / "out")]
    words += ["--threads", "1", "--time-limit", "1h", "--method", "variance", "--transform", "rank"]
    with started_ignoring(number, words) as process:
        wait_for_handlers(process)
        for _ in range(5):
            time.sleep(0.2)
            process.send_signal(number)
        said = process.communicate(timeout=100)[1]
    assert process.returncode == 0, said
    assert (tmp_path / "out" / "ranking.tsv").exists()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize(
    "delay", [0.0, *(pytest.param(s, marks=pytest.mark.nightly) for s in (0.2, 0.5, 0.9, 1.5))]
)
def test_interrupted_ranking_leaves_nothing(number, code, delay, large_matrix, tmp_path):
    out, scratch = tmp_path / "out", tmp_path / "scratch"
    slow = ["--threads", "1", "--transform", "cpm,log1p,rank", "--memory", "64M"]
    arguments = ["rank", str(large_matrix), "--out", str(out), "--scratch", str(scratch), *slow]
    ended, said_out, said = stopped(arguments, number, delay)
    if ended == 0:
        pytest.skip("the run was over before the signal came")
    assert ended == code, said
    assert said_out == ""
    assert "interrupted" in said
    assert "Traceback" not in said
    assert "Exception ignored" not in said
    left = set(snapshot(tmp_path)) - {"scratch"}
    if "out/run.json" in left:  # the signal came after this, which is written last
        names = ("run.json", *RESULT)
        assert {f"out/{name}" for name in names} <= left
        left -= {"out", *(f"out/{name}" for name in names)}
    assert not left


@pytest.mark.parametrize("delay", [0.1, 0.4, 0.7])
def test_interrupted_conversion_leaves_nothing(delay, large_matrix, tmp_path):
    arguments = ["convert", str(large_matrix), str(tmp_path / "deep" / "m.store")]
    ended, _, said = stopped(arguments, signal.SIGTERM, delay)
    if ended == 0:
        pytest.skip("the run was over before the signal came")
    assert ended == 143, said
    assert "Traceback" not in said
    assert snapshot(tmp_path) == {}


def test_signal_of_an_impatient_user_may_come_twice(large_matrix, tmp_path):
    scratch = tmp_path / "scratch"
    arguments = ["rank", str(large_matrix), "--scratch", str(scratch), "--memory", "32M"]
    with subprocess.Popen(
        [*MODULE, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        wait_for_handlers(process)
        time.sleep(0.8)
        for _ in range(20):
            process.send_signal(signal.SIGINT)
            time.sleep(0.001)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    assert "Traceback" not in said
    assert set(snapshot(tmp_path)) <= {"scratch"}


def test_a_signal_whose_exception_was_swallowed_is_still_told(monkeypatch, capfd):
    """Exceptions in a finaliser go nowhere; the exit code must not say that no signal came."""
    from sfs_cli.run import rank

    def swallowing(*_args: object, **_options: object) -> bytes:
        with contextlib.suppress(BaseException):
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(1)
        return b""

    monkeypatch.setattr(rank, "run", swallowing)
    done = run_here(["rank", "any.csv"], capfd)
    assert done.code == 143
    assert "interrupted" in done.err


class Finalized:
    """Gets a signal while it is finalized, where Python ignores exceptions."""

    def __del__(self) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(0.01)


def test_a_signal_in_a_finalizer_stops_the_run_all_the_same(monkeypatch, capfd):
    from sfs_cli.run import rank

    ended = []

    def finalizing(*_args: object, **_options: object) -> bytes:
        Finalized()
        for _ in range(500):
            time.sleep(0.01)
        ended.append(True)
        return b""

    monkeypatch.setattr(rank, "run", finalizing)
    done = run_here(["rank", "any.csv"], capfd)
    assert done.code == 143
    assert not ended, "the run went on to its end"
    assert "Exception ignored" not in done.err
    assert "interrupted" in done.err


@pytest.mark.one_in(3)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_after_the_work_does_not_change_the_exit_code(number):
    code = (
        "import atexit, time\n"
        "from sfs_cli.cli.app import main\n"
        "atexit.register(time.sleep, 1)\n"
        "atexit.register(print, 'at the exit', flush=True)\n"
        "main(['--version'])\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        while "at the exit" not in process.stdout.readline():
            pass
        process.send_signal(number)
        _, said = process.communicate(timeout=60)
    assert (process.returncode, said) == (0, "")
