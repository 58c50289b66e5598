"""Ranking through the command line, in this process, and reading back what it wrote."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from sfs_cli.cli.app import run
from tests.running import handlers_restored


@dataclass(frozen=True)
class Table:
    """A ranking, best first."""

    feature: list[str]
    score: np.ndarray
    status: list[str]

    def by_feature(self) -> np.ndarray:
        """Scores in the order of the ids, to compare two rankings."""
        return self.score[np.argsort(self.feature)]


def sfs(*arguments: str | Path) -> None:
    """Run the command line, quietly, and insist on success."""
    assert code_of(*arguments) == 0, arguments


def code_of(*arguments: str | Path) -> int:
    """Run the command line, quietly, and return its exit code."""
    with handlers_restored():
        return run([*map(str, arguments), "-q"])


def rank_to(out: Path, matrix: str | Path, *options: str | Path) -> Path:
    sfs("rank", matrix, "--out", out, *options)
    return out


def ranked(out: Path, matrix: str | Path, *options: str | Path) -> Table:
    """Rank with all digits."""
    rank_to(out, matrix, "--format", "parquet", *options)
    table = pq.read_table(out / "ranking.parquet")
    assert table["rank"].to_pylist() == list(range(1, len(table) + 1))
    return Table(
        table["feature"].to_pylist(), table["score"].to_numpy(), table["status"].to_pylist()
    )


def ranking_bytes(out: Path, matrix: str | Path, *options: str | Path) -> bytes:
    return (rank_to(out, matrix, *options) / "ranking.tsv").read_bytes()


def facts(out: Path) -> dict[str, Any]:
    return json.loads((out / "run.json").read_text())
