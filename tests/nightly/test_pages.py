"""The documentation, built."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import DOCS
from tests.docs.test_pages import PICTURE, size_of
from tests.places import ROOT


def test_the_script_makes_the_picture(tmp_path: Path):
    if not any(map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))):
        pytest.skip("no browser is installed")
    script = str(DOCS / "make_pictures.py")
    done = subprocess.run([sys.executable, script, str(tmp_path)], cwd=ROOT, check=False)
    assert done.returncode == 0
    assert size_of(tmp_path / PICTURE.name) == size_of(PICTURE)
