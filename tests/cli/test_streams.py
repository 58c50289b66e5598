"""Streams that are full or closed, and a working folder that is gone."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.making_commands import BAD, good
from tests.places import ROOT
from tests.running import MODULE, run_apart, run_here

pytestmark = pytest.mark.any_python

FULL = Path("/dev/full")
needs_full = pytest.mark.skipif(not FULL.exists(), reason="there is no /dev/full here")


@needs_full
@pytest.mark.parametrize("words", [["rank", "good.csv"], ["--help"]])
def test_full_device_behind_stdout_is_told(words, tmp_path):
    good(tmp_path)
    with FULL.open("wb") as full:
        done = subprocess.run(
            [*MODULE, *words],
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert done.returncode == BAD, done.stderr
    assert "no space left" in done.stderr
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr


@needs_full
def test_messages_that_cannot_be_written_change_neither_code_nor_result(tmp_path, capfd):
    words = ["rank", good(tmp_path), "--method", "spec"]
    plain = run_here(words, capfd).out.encode()
    with FULL.open("wb") as full:
        done = subprocess.run([*MODULE, *words], stdout=subprocess.PIPE, stderr=full)
        failed = subprocess.run([*MODULE, "rank", "no.csv"], stderr=full)
    assert (done.returncode, done.stdout) == (0, plain)
    assert failed.returncode == BAD


def test_closed_stdout_is_an_error_for_what_belongs_there(tmp_path):
    shell = ("sh", "-c", '"$0" "$@" >&-')
    table = run_apart(["rank", good(tmp_path)], launcher=(*shell, *MODULE))
    assert table.code == BAD
    assert "standard output is closed" in table.err


def test_closed_streams_do_no_harm_to_what_belongs_in_files(tmp_path, capfd):
    launcher = ("sh", "-c", '"$0" "$@" <&- >&- 2>&-', *MODULE)
    out, other = tmp_path / "out", tmp_path / "other"
    assert run_apart(["rank", good(tmp_path), "--out", str(out)], launcher=launcher).code == 0
    assert run_here(["rank", good(tmp_path), "--out", str(other)], capfd).code == 0
    assert (out / "ranking.tsv").read_bytes() == (other / "ranking.tsv").read_bytes()


def test_a_folder_that_has_been_removed_is_named(tmp_path):
    matrix, gone = good(tmp_path), tmp_path / "gone"
    gone.mkdir()
    done = subprocess.run(
        ["sh", "-c", 'rmdir ../gone && exec "$@"', "sh", *MODULE, "rank", matrix, "--out", "out"],
        cwd=gone,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == BAD, done.stderr
    assert "the current folder cannot be used" in done.stderr
    assert str(gone) in done.stderr
