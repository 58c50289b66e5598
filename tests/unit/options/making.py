"""Configuration files for the tests."""

from __future__ import annotations

import json
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

from sfs_cli.options import RankConfig

DEFAULTS: dict[str, Any] = {
    f.name: f.default for f in fields(RankConfig) if f.default is not MISSING
} | {"matrix": None}
"""What a verb is given where no flag is."""


def written(folder: Path, content: Any, name: str = "run.yaml") -> Path:
    """Write a file, plain data as JSON."""
    path = folder / name
    text = content if isinstance(content, str) else json.dumps(content)
    path.write_text(text, encoding="utf-8")
    return path
