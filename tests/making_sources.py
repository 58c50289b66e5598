"""Commands on knowledge sources that are wrong, for the table of bad inputs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tests.making_commands import (
    SAMPLES,
    Make,
    good,
    table,
    text,
    values,
)

TARGET = "all=target:"


def on(folder: Path, *sources: str, more: Sequence[str] = (), method: str = "msfs") -> list[str]:
    words = [word for source in sources for word in ("--source", source)]
    return ["rank", good(folder), "--method", method, *words, *more]


def file_of(kind: str, content: str, name: str, options: str = "", part: str = "") -> Make:
    """Return a command on a source of one file that is wrong."""
    return lambda f: on(f, f"x={kind}:{text(f, content, name)}{part}{options}")


def profile(folder: Path, samples: Sequence[str] = SAMPLES, name: str = "p.csv", rows: int = 4):
    return text(folder, table(values(rows, len(samples)), samples=samples), name)


def square(folder: Path, S: np.ndarray, ids: Sequence[str], name: str = "S.csv") -> str:
    return text(folder, table(S, ids, ids), name)
