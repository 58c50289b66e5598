"""The README of the workflows, run."""

from __future__ import annotations

import re

from tests.docs.workflows.commands import WORKFLOWS, environment, run
from tests.places import ROOT


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
