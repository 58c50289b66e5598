"""Runs that are stopped from outside leave nothing behind.

The command stops at a named point, says so through its standard output, and waits there for a line
that never comes; then it gets the signal.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.making_commands import good
from tests.running import snapshot

pytestmark = pytest.mark.any_python

STOPPED = """
import importlib, sys
module, _, name = sys.argv.pop(1).partition(":")
*path, name = name.split(".")
owner = importlib.import_module(module)
for part in path:
    owner = getattr(owner, part)
def stop(*_args, **_options):
    print("here", flush=True)
    sys.stdin.readline()
    raise SystemExit("the signal did not come")
setattr(owner, name, stop)
from sfs_cli.cli.app import main
main(sys.argv[1:])
"""
POINTS = {
    "before it reads": ("sfs_cli.run.load:loaded", "rank"),
    "while it scores": ("sfs_cli.compute.engine:Engine.spans", "rank"),
    "when all is written but the names": ("sfs_cli.io.files.atomic:OutputFolder.commit", "rank"),
    "when a store is written but its name": ("sfs_cli.io.files.atomic:_replace", "convert"),
}


def stopped_at(point: str, words: Sequence[str], number: int, times: int = 1) -> tuple[int, str]:
    """Run a command to a point, send a signal there, and return the exit code and what it said."""
    with subprocess.Popen(
        [sys.executable, "-c", STOPPED, point, *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "here\n"
        for _ in range(times):
            process.send_signal(number)
        _, said = process.communicate()
    return process.returncode, said


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("where", POINTS)
def test_an_interrupted_command_leaves_nothing(
    where: str, number: int, code: int, tmp_path: Path
) -> None:
    point, verb = POINTS[where]
    matrix = good(tmp_path)
    before = snapshot(tmp_path)
    out = str(tmp_path / "deep" / "out")
    words = [verb, matrix, out] if verb == "convert" else [verb, matrix, "--out", out]
    ended, said = stopped_at(point, words, number)
    assert ended == code, said
    assert "interrupted" in said
    assert "Traceback" not in said
    assert "Exception ignored" not in said
    assert snapshot(tmp_path) == before


def test_a_terminal_that_goes_away_ends_a_run(tmp_path: Path) -> None:
    ended, said = stopped_at("sfs_cli.run.load:loaded", ["rank", good(tmp_path)], signal.SIGHUP)
    assert ended == 129, said


def test_a_signal_that_is_ignored_at_the_start_stays_ignored(tmp_path: Path) -> None:
    """As `nohup` does it."""
    asked = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        ended, said = stopped_at("sfs_cli.run.load:loaded", ["rank", good(tmp_path)], signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, asked)
    assert ended == 1
    assert "the signal did not come" in said


def test_an_impatient_user_presses_twice(tmp_path: Path) -> None:
    matrix = good(tmp_path)
    before = snapshot(tmp_path)
    words = ["rank", matrix, "--out", str(tmp_path / "out")]
    ended, said = stopped_at("sfs_cli.run.load:loaded", words, signal.SIGINT, times=2)
    assert ended == 130, said
    assert "Traceback" not in said
    assert snapshot(tmp_path) == before


SWALLOWED = """
import os, signal, sys
from sfs_cli.workflow import rank
class Finalized:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGTERM)
        for _ in range(1000):
            pass
def described(*given, before=rank.facts_of):
    made = Finalized()
    del made
    return before(*given)
rank.facts_of = described
from sfs_cli.cli.app import main
main(sys.argv[1:])
"""


def test_a_signal_during_a_finalizer_ends_the_command(tmp_path: Path) -> None:
    words = ["rank", good(tmp_path), "--out", str(tmp_path / "out")]
    ended = subprocess.run([sys.executable, "-c", SWALLOWED, *words], capture_output=True)
    assert ended.returncode == 143, ended.stderr
    assert not (tmp_path / "out").exists()
