"""Recipes and containers with their own tools."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.docs.workflows.commands import MATRIX
from tests.places import ROOT


@pytest.mark.skipif(os.geteuid() != 0, reason="only root becomes another user")
def test_a_user_without_name_home_or_writable_folder_ranks():
    """What a container does with a random user id: no entry in passwd, HOME unset."""
    python = Path(sys.executable).resolve()
    if any(not folder.stat().st_mode & 0o001 for folder in python.parents):
        pytest.skip(f"another user cannot run {python}")
    with tempfile.TemporaryDirectory(prefix="sfs-user-") as folder:  # others cannot read tmp_path
        Path(folder).chmod(0o777)
        words = ["rank", str(MATRIX), "--out", f"{folder}/r", "--similarity", "knn"]
        done = subprocess.run(
            [sys.executable, "-m", "sfs_cli", *words],
            cwd="/",
            env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)},
            user=54321,
            group=54321,
            extra_groups=[],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert Path(folder, "r", "ranking.tsv").exists()
