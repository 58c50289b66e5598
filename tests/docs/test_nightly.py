"""The table of the nightly programs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.nightly import __main__ as nightly

OF_AN_ENGINE = """
import pytest
def test_one(): pass
def test_two(): pytest.skip("engine is not installed")
def test_three(): pytest.skip("engine is not installed")
def test_four(): pytest.importorskip("no_such_engine")
"""


def test_the_row_of_a_program_says_which_engines_were_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "test_engine.py").write_text(OF_AN_ENGINE)

    def tests_of_engines(*command: object, **_: object) -> None:
        options = [str(each) for each in command if str(each).startswith("--junitxml")]
        words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options]
        subprocess.run(words, cwd=tmp_path, check=True, capture_output=True)

    monkeypatch.setattr(nightly, "call", tests_of_engines)
    monkeypatch.setattr(nightly, "environment", lambda *_: tmp_path)
    monkeypatch.setattr(nightly, "old_anndata", lambda: tmp_path)
    monkeypatch.setattr(sys, "argv", ["nightly", "tests"])
    assert nightly.main() == 0
    row = capsys.readouterr().out.splitlines()[-1]
    assert "passed; 2 skipped: engine is not installed; 1 skipped: could not import" in row
