"""The commands of the README do what it says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.pages import SET_UP, Reader, blocks_of, console_blocks
from tests.places import ROOT

pytestmark = pytest.mark.any_python

README = (ROOT / "README.md").read_text(encoding="utf-8")
EXAMPLES = [block for block in console_blocks(README) if not block[0].startswith(SET_UP)]


@pytest.fixture
def reader(tmp_path: Path) -> Reader:
    return Reader(tmp_path)


@pytest.mark.parametrize("commands", EXAMPLES, ids=lambda c: c[0][:60])
def test_commands_of_a_block_succeed_in_order(
    commands: list[str], reader: Reader, capfd: pytest.CaptureFixture[str]
) -> None:
    for command in commands:
        reader.follow_here(command, capfd)


def test_it_writes_the_files_that_it_names_and_a_second_run_is_up_to_date(reader: Reader) -> None:
    command = "sfs rank --config sample_data/run.yaml --out results"
    assert f"pip install . && {command}" in README
    assert "up to date" not in reader.run(command).stderr
    for name in ("ranking.tsv", "report.html", "run.json", "sfs_mqc.json"):
        assert f"`{name}`" in README
        assert (reader.folder / "results" / name).is_file()
    assert "up to date" in reader.run(command).stderr


def test_python_example_runs(reader: Reader) -> None:
    (code,) = blocks_of(README, "python")
    assert reader.follow_python(code).count("G") >= 10


def test_it_is_a_front_door() -> None:
    assert len(README.splitlines()) < 120
    assert len(re.findall(r"^\*\*\d\. ", README, re.MULTILINE)) == 5
    assert [block[0].split()[0] for block in console_blocks(README)][:2] == ["pip", "tests/run.sh"]
