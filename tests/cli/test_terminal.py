"""A terminal gets colours, a progress bar and the first rows; files and pipes get all rows."""

from __future__ import annotations

import os
import pty
import subprocess
from pathlib import Path

import numpy as np
import pytest

from tests.making import write_table
from tests.running import MODULE, run_here, shown_on

pytestmark = pytest.mark.any_python

M = 2000
ESCAPE = "\x1b"
RANK = ("rank", "--method", "variance", "x.csv")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A working folder with a matrix, and a terminal of many colours."""
    X = np.random.default_rng(0).normal(size=(M, 8))
    write_table(tmp_path / "x.csv", X)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")


def out_on_terminal(*words: str) -> tuple[int, list[str], str]:
    """Run a command whose stdout is a terminal; return its code, its lines and its messages."""
    main, side = pty.openpty()
    process = subprocess.Popen([*MODULE, *words], stdout=side, stderr=subprocess.PIPE, text=True)
    os.close(side)
    said = shown_on(main)
    err = process.communicate(timeout=120)[1]
    return process.returncode, said.replace("\r\n", "\n").splitlines(), err


def messages_on_terminal(*words: str) -> tuple[int, str]:
    """Run a command whose stderr is a terminal; return its code and what was shown there."""
    main, side = pty.openpty()
    process = subprocess.Popen([*MODULE, *words], stdout=subprocess.DEVNULL, stderr=side)
    os.close(side)
    shown = shown_on(main)
    return process.wait(60), shown


def test_a_terminal_gets_the_first_rows_and_is_told_how_to_get_all(capfd):
    whole = run_here([*RANK], capfd).out.splitlines()
    assert len(whole) == M + 1
    code, lines, err = out_on_terminal(*RANK)
    assert code == 0
    assert lines == whole[:21]
    assert f"first 20 of {M:,} rows" in err
    assert "--out" in err


def test_quietly_a_terminal_gets_all_rows(capfd):
    code, lines, err = out_on_terminal(*RANK, "-q")
    assert (code, len(lines), err) == (0, M + 1, "")


def test_a_terminal_gets_a_progress_bar_and_colours():
    code, shown = messages_on_terminal(*RANK)
    assert code == 0
    assert "ranking" in shown
    assert ESCAPE in shown
    assert f"ranked {M:,} of {M:,} features" in shown


def test_colours_heed_no_color(monkeypatch):
    red = f"{ESCAPE}[1;31m"
    assert red in messages_on_terminal("rank", "no.csv")[1]
    monkeypatch.setenv("NO_COLOR", "1")
    assert ESCAPE not in messages_on_terminal("rank", "no.csv")[1]
