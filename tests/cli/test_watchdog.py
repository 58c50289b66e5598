"""A main thread that does not answer a signal does not keep the process."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest

from tests.cli.running import run_here, snapshot

STUCK = """
    import ctypes, sys
    from sfs_cli.cli import app
    from sfs_cli.run import rank
    app.CLEANUP_SECONDS = 0.5
    def stuck(run):
        print("stuck", flush=True)
        libc = ctypes.CDLL(None)  # a mutex that is locked twice: as a long call of LAPACK, it
        mutex = ctypes.create_string_buffer(128)  # holds the main thread, but no lock of Python
        libc.pthread_mutex_lock(mutex)
        libc.pthread_mutex_lock(mutex)
    rank._score = stuck
    app.main(sys.argv[1:])
    """


@pytest.fixture
def matrix(tmp_path) -> Path:
    path = tmp_path / "m.csv"
    X = np.random.default_rng(0).random((50, 8))
    lines = [f"g{i}," + ",".join(map(str, row)) for i, row in enumerate(X)]
    path.write_text("\n".join(["id," + ",".join(f"s{j}" for j in range(8)), *lines, ""]))
    return path


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGALRM, 143)]
)
def test_a_main_thread_that_does_not_answer_is_not_waited_for(number, code, matrix, tmp_path):
    scratch = tmp_path / "scratch"
    arguments = ["rank", str(matrix), "--scratch", str(scratch), "--out", str(tmp_path / "out")]
    limit = ["--time-limit", "3"] if number == signal.SIGALRM else []
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(STUCK), *arguments, *limit],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout.readline() == "stuck\n"
        if number != signal.SIGALRM:
            time.sleep(0.2)
            process.send_signal(number)
        _, said = process.communicate(timeout=60)
    assert process.returncode == code, said
    assert "did not stop within 0.5 s" in said
    assert ("time limit" in said) == (number == signal.SIGALRM)
    assert list(scratch.iterdir()) == []


def test_a_limit_that_is_over_at_once_is_no_bug(matrix, tmp_path, capfd):
    out = tmp_path / "out"
    done = run_here(["rank", str(matrix), "--out", str(out), "--time-limit", "1e-9"], capfd)
    assert done.code == 143
    assert "time limit" in done.err


@pytest.mark.slow
def test_the_next_run_takes_over_what_it_left(matrix, tmp_path, capfd):
    out = tmp_path / "out"
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(STUCK), "rank", str(matrix), "--out", str(out)],
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        process.stdout.readline()
        process.terminate()
        process.wait(60)
    assert run_here(["rank", str(matrix), "--out", str(out)], capfd).code == 0
    assert {name for name in snapshot(tmp_path) if name.startswith(".")} == set()


@pytest.mark.slow
@pytest.mark.parametrize(
    "method", [("l21", "--lambda", "0.0002", "--response", "lda"), ("rfs", "--gamma", "0.001")]
)
def test_a_long_solver_stops_at_the_limit_and_says_how_far_it_came(method, tmp_path, capfd):
    rng, n, m = np.random.default_rng(0), 300, 3000
    X = rng.normal(size=(m, n)).round(3)
    path, labels = tmp_path / "m.csv", tmp_path / "labels.csv"
    lines = [f"g{i}," + ",".join(map(str, row)) for i, row in enumerate(X.tolist())]
    path.write_text("\n".join(["id," + ",".join(f"s{j}" for j in range(n)), *lines, ""]))
    classes = rng.integers(0, 12, n)
    labels.write_text("id,class\n" + "".join(f"s{j},c{c}\n" for j, c in enumerate(classes)))
    arguments = ["rank", str(path), "--labels", str(labels), "--method", *method]
    done = run_here([*arguments, "--time-limit", "4"], capfd)
    if done.code == 0:
        pytest.skip("it was solved in time")
    assert done.code == 143
    assert "features" in done.err.split("reached:")[1]
