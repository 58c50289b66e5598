"""What the tests of workflows share: the real `sfs` on a PATH, tools that may be absent, bytes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.places import ROOT
from tests.results import result

WORKFLOWS = ROOT / "workflows"
MATRIX = ROOT / "sample_data" / "expression.csv"

SFS = """#!{python}
import sys
from sfs_cli.run import needs
needs.block_features = lambda *_: 100  # small blocks, so that every shard has some
from sfs_cli.cli.app import main
if __name__ == "__main__":  # processes of a cluster import it
    sys.exit(main())
"""

KILLED_ONCE = """#!{python}
# sfs, whose command with the words below dies the first time it is run
import os, signal, sys
from pathlib import Path
once, words = Path({once!r}), {words!r}
if once.exists() or not set(words) <= set(sys.argv):
    os.execv({sfs!r}, [{sfs!r}, *sys.argv[1:]])
once.touch()
os.kill(os.getpid(), signal.SIGKILL)
"""


def tool(name: str, variable: str) -> str:
    """Return the path of a tool, from a variable or the PATH, or skip by its name."""
    if named := os.environ.get(variable):
        assert Path(named).exists(), f"{variable} is {named}, which is not there"
        return named
    found = shutil.which(name)
    if not found:
        pytest.skip(f"{name} is not installed ({variable} says where it is)")
    return found


def write_script(path: Path, text: str, **values: object) -> Path:
    """Write a script that can be run."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text.format(python=sys.executable, root=str(ROOT), **values))
    path.chmod(0o755)
    return path


def environment(folder: Path, **variables: str) -> dict[str, str]:
    """Return an environment whose `sfs` is the one under test, and first on the PATH."""
    if not (folder / "sfs").exists():
        write_script(folder / "sfs", SFS)
    path = f"{folder}{os.pathsep}{os.environ['PATH']}"
    return os.environ | {"PATH": path, "OMP_NUM_THREADS": "1"} | variables


def run(command: list[str], folder: Path, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run a command in a folder."""
    return subprocess.run(
        command, cwd=folder, env=env, capture_output=True, text=True, timeout=300, check=False
    )


def ranked(out: Path, options: Sequence[str], env: dict[str, str]) -> dict[str, bytes]:
    """Rank the sample data in one run, and return the files made."""
    done = run(["sfs", "rank", str(MATRIX), *options, "--out", str(out)], ROOT, env)
    assert done.returncode == 0, done.stderr
    return contents(out)


def contents(folder: Path) -> dict[str, bytes]:
    """Return the files of a ranking that have the same bytes however they were made."""
    return result(folder)
