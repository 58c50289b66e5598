"""What is installed from nothing, as documents say."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest

from tests.docs.pages import Reader, console_blocks
from tests.docs.test_packaging import README, script
from tests.places import ROOT


@pytest.mark.skipif(shutil.which("groff") is None, reason="groff is not installed")
def test_manual_pages_are_free_of_mistakes_in_troff(tmp_path):
    script("make_man").main([str(tmp_path)])
    paths = sorted(tmp_path.iterdir())
    for path in [paths[0], tmp_path / "sfs-rank.1", tmp_path / "sfs-shard.1"]:
        done = subprocess.run(
            ["groff", "-man", "-ww", "-Tutf8", str(path)], capture_output=True, check=True
        )
        assert done.stderr == b""
        assert b"SEE ALSO" in re.sub(rb".\x08", b"", done.stdout)


def test_commands_of_the_readme_leave_a_clone_clean(tmp_path, capfd):
    """Files that they write are ignored, or in folders that are."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("this is no clone")
    reader = Reader(tmp_path)
    for block in console_blocks(README):
        for command in block:
            if not command.startswith(("pip", "tests/")):
                reader.follow_here(command, capfd)
    written = [
        str(path.relative_to(reader.folder)) for path in reader.folder.rglob("*") if path.is_file()
    ]
    tracked = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    new = sorted(set(written) - set(tracked))
    assert len(new) > 10
    ignored = subprocess.run(
        ["git", "check-ignore", "--no-index", "--stdin"],
        cwd=ROOT,
        input="\n".join(new),
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    assert set(new) - set(ignored) == set()
