"""A small random study, and the similarity that `sfs fuse` makes of sources about it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tests.contract.numbers.commands import sfs
from tests.making import table_text
from tests.making_commands import text
from tests.oracles import knowledge as twin

N, M = 14, 30
SAMPLES = [f"s{i}" for i in range(N)]
GENES = [f"g{i}" for i in range(M)]
CLASSES = [f"c{i % 3}" for i in range(N)]


@dataclass(frozen=True)
class Study:
    """A matrix in a file, and a folder for what is known of it.

    Attributes
    ----------
    folder : Path
        Where files go.
    X : ndarray, shape (N, M)
        Positive values, samples in rows.
    matrix : Path
        Where they are.
    """

    folder: Path
    X: np.ndarray
    matrix: Path

    def text(self, content: str, name: str) -> str:
        return text(self.folder, content, name)

    def table(
        self, values: np.ndarray, rows: Sequence[str], columns: Sequence[str], name: str
    ) -> str:
        return self.text(table_text(values, rows, columns), name)

    def labels(self, count: int = N) -> str:
        rows = [f"{s}\t{c}\tz{i}\n" for i, (s, c) in enumerate(zip(SAMPLES[:count], CLASSES))]
        return self.text("sample\ttissue\tbatch\n" + "".join(rows), "labels.tsv")

    def profile(self, order: np.ndarray, extra: int = 0, name: str = "p.csv") -> np.ndarray:
        """Write a profile of some samples in an order, and of strangers; return it as (N, 12)."""
        rng = np.random.default_rng(5)
        P = rng.gamma(2.0, size=(N + extra, 12)).round(4)
        ids = [*SAMPLES, *(f"stranger{i}" for i in range(extra))]
        kept = [*order, *range(N, N + extra)]
        self.table(P[kept].T, [f"p{i}" for i in range(12)], [ids[i] for i in kept], name)
        return P[:N]

    def fused(self, *sources: str, more: Sequence[str | Path] = ()) -> Fused:
        """Fuse sources in float64."""
        out = self.folder / "fused.npz"
        words = [word for source in sources for word in ("--source", source)]
        sfs("fuse", self.matrix, "--out", out, "--dtype", "float64", "--force", *words, *more)
        with np.load(out) as arrays:
            assert "dense" in arrays
            record = json.loads(out.with_name("fused.npz.run.json").read_text())
            return Fused(arrays["dense"], arrays["samples"].tolist(), record)


@dataclass(frozen=True)
class Fused:
    """What `sfs fuse` wrote."""

    S: np.ndarray
    samples: list[str]
    record: dict[str, Any]

    @property
    def source(self) -> dict[str, Any]:
        """The facts of the first source."""
        return self.record["sources"][0]


def make_study(folder: Path, seed: int = 0) -> Study:
    X = np.random.default_rng(seed).gamma(2.0, 2.0, size=(N, M)).round(4)
    study = Study(folder, X, folder / "x.csv")
    study.table(X.T, GENES, SAMPLES, "x.csv")
    return study


def check(S: np.ndarray, expected: np.ndarray) -> None:
    """Compare with a similarity on the scale of all."""
    np.testing.assert_array_equal(S, S.T)
    np.testing.assert_allclose(S, twin.scaled(expected), rtol=1e-9, atol=1e-11)
