"""A short series of the fuzzer, whose list of failures must be empty."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def fuzz(tmp_path: Path, *arguments: str) -> None:
    """Run the fuzzer in a process of its own, which has no thread of the tests to fork."""
    done = subprocess.run(
        [sys.executable, "-m", "tools.fuzz", *arguments, "--keep", str(tmp_path / "failed")],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=1500,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    assert done.stdout.splitlines()[-1].endswith(" tried, 0 failed")


@pytest.mark.slow
@pytest.mark.timeout(1600)
def test_damaged_and_hostile_files_of_every_format(tmp_path):
    fuzz(tmp_path, "--cases", "100", "--seed", "5", "--every", "24", "--minutes", "12")


@pytest.mark.slow
@pytest.mark.timeout(1600)
def test_undamaged_files_of_every_format_are_read_right(tmp_path):
    fuzz(tmp_path, "--cases", "0", "--no-table", "--undamaged", "--every", "8")
