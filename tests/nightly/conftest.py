"""What only the nightly tests need."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.places import ROOT


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Real data sets beside the project, or a skip that names what is missing."""
    folder = Path(os.environ.get("SFS_SHARED", ROOT.parent / "shared")) / "data"
    if not folder.is_dir():
        pytest.skip(f"shared data sets are absent: {folder}")
    return folder
