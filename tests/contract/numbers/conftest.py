"""Fixtures of the tests of numbers that come through the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.contract.numbers.source_study import write_study


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A matrix and what is known of it, not to be written to."""
    made = tmp_path_factory.mktemp("study")
    write_study(made)
    return made
