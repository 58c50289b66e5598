"""Where files of the project are that tests read."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SAMPLE_DATA = ROOT / "sample_data"
REFERENCES = ROOT / "tests" / "oracles" / "r"
"""Numbers that programs of R gave, see the ``make.R`` there."""
