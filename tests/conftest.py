"""Fixtures that every room of the tests shares."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def find_shared() -> Path:
    """Return the folder of the shared data sets (it need not exist)."""
    return Path(os.environ.get("SFS_SHARED", ROOT.parent / "shared"))


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The shared data sets, or a skip that names what is missing."""
    folder = find_shared() / "data"
    if not folder.is_dir():
        pytest.skip(f"shared data sets are absent: {folder}")
    return folder


@pytest.fixture(scope="session")
def sample_data() -> Path:
    """The simulated data that comes with the project."""
    return ROOT / "sample_data"
