"""Configuration files for the tests."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from sfs_cli.options import RankConfig
from sfs_cli.options.fields import options_of
from sfs_cli.options.files import ConfigFile

DEFAULTS: dict[str, Any] = {o.name: o.default for o in options_of(RankConfig)}
"""What a verb is given where no flag is."""


def written(folder: Path, content: Any, name: str = "run.yaml") -> Path:
    """Write a file, plain data as JSON."""
    path = folder / name
    text = content if isinstance(content, str) else json.dumps(content)
    path.write_text(text, encoding="utf-8")
    return path


def configured(
    file: ConfigFile, given: Mapping[str, Any], flags: Collection[str] = ()
) -> RankConfig:
    """Return the configuration of a ranking by a file, options with their values, and flags."""
    found = file.checked(RankConfig, file.merged(given, flags), flags)
    assert isinstance(found, RankConfig)
    return found
