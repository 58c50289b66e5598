"""The commands of the README of the workflows do what it says."""

from __future__ import annotations

import re

import pytest

from tests.docs.workflows.commands import WORKFLOWS, environment, run
from tests.places import ROOT

pytestmark = pytest.mark.any_python


@pytest.mark.nightly
def test_commands_of_the_readme_succeed_in_order(tmp_path):
    text = (WORKFLOWS / "README.md").read_text(encoding="utf-8")
    env = environment(tmp_path / "bin")
    (tmp_path / "sample_data").symlink_to(ROOT / "sample_data")
    commands = re.findall(r"^\$ (.*)$", text, re.MULTILINE)
    assert len(commands) >= 5
    for command in commands:
        done = run(command.split(), tmp_path, env)
        assert done.returncode == 0, f"{command}\n{done.stderr}"
    assert (tmp_path / "results" / "sharded" / "ranking.tsv").is_file()


def test_linked_folders_are_there():
    for readme in WORKFLOWS.rglob("README.md"):
        for link in re.findall(r"\]\(([^)]+)\)", readme.read_text(encoding="utf-8")):
            assert (readme.parent / link).exists(), f"{readme}: {link}"
