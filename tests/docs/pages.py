"""What the tests of the documentation share: pages, their blocks, and running them in a folder."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.workflows.commands import environment, write_script
from tests.places import ROOT
from tests.running import run_here

DOCS = ROOT / "docs"
PAGES = [DOCS / "index.md", *sorted((DOCS / "guides").glob("*.md"))]
SET_UP = ("pip install", "tests/", "workflows/")
"""What commands begin with that set up the project, or need a scheduler."""
ENGINES = ("snakemake", "nextflow")
FOR_THE_SHELL = r"[|<>&;$`*?~]|dask"
"""What needs a shell, or a program whose processes can import it again."""
SFS = """#!{python}
import sys
from sfs_cli.cli.app import main
if __name__ == "__main__":  # processes of Dask import it again
    sys.exit(main())
"""


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def blocks_of(text: str, language: str) -> list[str]:
    """The blocks of code in a language, in their order."""
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def console_blocks(text: str) -> list[list[str]]:
    """The commands of each console block; lines that go on are joined."""
    joined = [re.sub(r"\\\n\s*", "", block) for block in blocks_of(text, "console")]
    return [re.findall(r"^\$ (.*)$", block, re.MULTILINE) for block in joined]


def runnable(text: str) -> str:
    """The Python blocks of a page as one program, without those whose imports are absent."""
    kept = []
    for block in blocks_of(text, "python"):
        names = re.findall(r"^(?:import|from) (\w+)", block, re.MULTILINE)
        if all(importlib.util.find_spec(name) for name in names):
            kept.append(block)
    return "\n".join(kept)


class Reader:
    """Somebody who follows a page: a folder with the sample data, and `sfs` on the PATH."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "here"
        shutil.copytree(ROOT / "sample_data", self.folder / "sample_data")
        write_script(folder / "bin" / "sfs", SFS)
        self.env = environment(folder / "bin")
        write_script(folder / "bin" / "python", '#!/bin/sh\nexec "{python}" "$@"\n')
        paths = (str(ROOT), os.environ.get("PYTHONPATH", ""))
        self.env["PYTHONPATH"] = os.pathsep.join(filter(None, paths))

    def run(self, command: str) -> subprocess.CompletedProcess[str]:
        """Run a command of the shell."""
        return subprocess.run(
            ["bash", "-o", "pipefail", "-c", command],
            cwd=self.folder,
            env=self.env,
            capture_output=True,
            text=True,
            check=False,
        )

    def follow(self, command: str) -> None:
        """Run a command that has to succeed, and to write what it says."""
        done = self.run(command)
        # a reader that has enough, as `head`, ends what writes to it
        assert done.returncode == 0, f"{command}\n{done.stderr}"
        self._assert_written(command)

    def follow_here(self, command: str, capfd: pytest.CaptureFixture[str]) -> None:
        """Do so in this process, which takes half of the time, if it is `sfs` alone."""
        if not command.startswith("sfs ") or re.search(FOR_THE_SHELL, command):
            self.follow(command)
            return
        with contextlib.chdir(self.folder):
            done = run_here(shlex.split(command)[1:], capfd)
        assert done.code == 0, f"{command}\n{done.err}"
        self._assert_written(command)

    def _assert_written(self, command: str) -> None:
        if match := re.search(r"--out (\S+)", command):
            out = self.folder / match[1]
            assert (out if out.suffix else out / "run.json").is_file(), command

    def follow_python(self, code: str) -> str:
        """Run a program that has to succeed; return what it prints."""
        done = subprocess.run(
            [sys.executable, "-c", code],
            cwd=self.folder,
            env=self.env,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{code}\n{done.stderr}"
        return done.stdout
