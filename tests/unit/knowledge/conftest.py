"""Fixtures of the tests of sources."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.knowledge.study import Study, make_study


@pytest.fixture
def study(tmp_path: Path) -> Study:
    return make_study(tmp_path)
