"""The commands of the README do what it says."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def console_blocks() -> list[list[str]]:
    blocks = re.findall(r"```console\n(.*?)```", README, re.DOTALL)
    joined = [re.sub(r"\\\n\s*", "", block) for block in blocks]
    commands = [re.findall(r"^\$ (.*)$", block, re.MULTILINE) for block in joined]
    return [c for c in commands if not c[0].startswith(("pip install", "tests/"))]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copytree(ROOT / "sample_data", tmp_path / "sample_data")
    return tmp_path


def run(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    python = sys.executable
    command = re.sub(r"\bpython ", f"{python} ", command)
    command = re.sub(r"^sfs ", f"{python} -m sfs_cli ", command)
    return subprocess.run(command, shell=True, cwd=folder, capture_output=True, text=True)


@pytest.mark.slow
@pytest.mark.parametrize("commands", console_blocks(), ids=lambda c: c[0][:60])
def test_commands_of_a_block_succeed_in_order(commands: list[str], folder: Path) -> None:
    for command in commands:
        done = run(command, folder)
        assert done.returncode == 0, f"{command}\n{done.stderr}"
        if match := re.search(r"--out (\S+)", command):
            out = folder / match[1]
            assert (out if out.suffix else out / "run.json").is_file()


def test_second_run_is_up_to_date(folder: Path) -> None:
    command = "sfs rank --config sample_data/run.yaml --out results"
    assert "up to date" not in run(command, folder).stderr
    assert "up to date" in run(command, folder).stderr


def test_python_example_runs(folder: Path) -> None:
    code = re.search(r"```python\n(.*?)```", README, re.DOTALL)
    assert code is not None
    done = subprocess.run(
        [sys.executable, "-c", code[1]], cwd=folder, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("G") >= 10


def test_every_method_and_similarity_is_in_the_readme() -> None:
    from sfs_cli.catalog import METHODS
    from sfs_cli.options.graph import SIMILARITIES

    for name in (*METHODS, *SIMILARITIES):
        assert f"`{name}" in README, name
