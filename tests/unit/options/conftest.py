"""Fixtures for configuration files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sfs_cli.options.files import ConfigFile, load
from tests.unit.options.making import written


@pytest.fixture
def read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., ConfigFile]:
    """What writes a file into the current folder and reads it."""
    monkeypatch.chdir(tmp_path)

    def write_and_load(content: Any, name: str = "run.yaml") -> ConfigFile:
        written(tmp_path, content, name)
        return load(name)

    return write_and_load
