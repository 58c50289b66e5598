"""What p-values of tests by theory promise, once permutations take their place where they must.

usage: python -m tools.benchmarks.calibration_tests [--designs DESIGN,...] [--data DATA,...]
           [--methods METHOD,...] [--features M] [--seeds K] [--out FILE.md]

A cell is a test, a design (the classes, an outcome, times with events) and a kind of data. For each
of K seeds the samples of the design are put in a random order, and M features that have nothing to
do with it are ranked as `sfs rank` does. A cell holds if in all seeds together p-values up to .05,
.01 and .001 are no more frequent than they say, but for 10 % and three standard errors (of the
rates of the seeds, and at least those of independent features). The command ends with 1 if a cell
does not hold; with --out its table replaces what is between its two marks of the file.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
import pandas as pd

import sfs_cli as sfs
from tools.benchmarks.calibration import with_table
from tools.benchmarks.processes import ONE_THREAD

LEVELS = np.array([0.05, 0.01, 0.001])
SPARE, ERRORS = 0.1, 3.0
"""What a rate may exceed its level by, as a part of it and in standard errors."""
NAME = "tests"
Draw = Callable[[np.random.Generator, tuple[int, int]], np.ndarray]


def _zeros(rng: np.random.Generator, size: tuple[int, int]) -> np.ndarray:
    return np.where(rng.random(size) < 0.8, 0, rng.lognormal(size=size))


def _outliers(rng: np.random.Generator, size: tuple[int, int]) -> np.ndarray:
    values = rng.normal(size=size)
    values[:2] *= 10
    return values


DATA: dict[str, Draw] = {
    "normal": lambda rng, size: rng.normal(size=size),
    "lognormal": lambda rng, size: rng.lognormal(size=size),
    "t3": lambda rng, size: rng.standard_t(3, size=size),
    "zeros": _zeros,
    "0-1-2": lambda rng, size: rng.binomial(2, 0.1, size=size).astype(float),
    "ties": lambda rng, size: rng.normal(size=size).round(),
    "outliers": _outliers,
}
"""Values of samples (rows) and features."""


class Design(NamedTuple):
    """What is known of the samples, and the methods that test it."""

    labels: Callable[[np.random.Generator], pd.DataFrame]
    methods: tuple[str, ...]
    options: dict[str, Any]


def _classes(*sizes: int) -> Design:
    def labels(_rng: np.random.Generator) -> pd.DataFrame:
        return pd.DataFrame({"labels": np.repeat([*"abc"[: len(sizes)]], sizes)})

    test = "t-test" if len(sizes) == 2 else "welch"
    return Design(labels, ("f-test", test, "rank-test"), {})


def _outcome(n: int) -> Design:
    def labels(rng: np.random.Generator) -> pd.DataFrame:
        return pd.DataFrame({"labels": rng.lognormal(size=n)})

    return Design(labels, ("f-test", "spearman"), {"label_type": "continuous"})


def _times(n: int, events: int) -> Design:
    def labels(rng: np.random.Generator) -> pd.DataFrame:
        happened = np.arange(n) < events
        return pd.DataFrame({"labels": rng.exponential(size=n), "event": happened.astype(int)})

    return Design(labels, ("cox",), {})


DESIGNS: dict[str, Design] = {
    "4-20": _classes(4, 20),
    "8-9": _classes(8, 9),
    "70-25-5": _classes(70, 25, 5),
    "9-391": _classes(9, 391),
    "outcome-17": _outcome(17),
    "outcome-37": _outcome(37),
    "times-17-8": _times(17, 8),
    "times-37-12": _times(37, 12),
    "times-140-10": _times(140, 10),
}


class Cell(NamedTuple):
    """A design, a kind of data and a test."""

    design: str
    data: str
    method: str

    def line(self, features: int, seeds: int) -> tuple[str, bool]:
        """Draw and test the matrices; return the row of the table, and whether it holds."""
        found = [self._tested(seed, features) for seed in range(seeds)]
        rates = np.array([rate for rate, _ in found])
        rate, error = rates.mean(axis=0), rates.std(axis=0, ddof=1) / np.sqrt(seeds)
        error = np.maximum(error, np.sqrt(LEVELS * (1 - LEVELS) / (features * seeds)))
        over = LEVELS[rate > (1 + SPARE) * LEVELS + ERRORS * error]
        permuted = sum(by for _, by in found)
        verdict = f"**fails** at {', '.join(f'{x:g}' for x in over)}" if len(over) else "holds"
        shown = [f"{x:.2f}" for x in rate / LEVELS]
        return f"| {' | '.join([*self, *shown, f'{permuted} of {seeds}', verdict])} |", not len(
            over
        )

    def _tested(self, seed: int, features: int) -> tuple[np.ndarray, bool]:
        """Return the rates of small p-values in a matrix, and whether they are by permutation."""
        design = DESIGNS[self.design]
        rng = np.random.default_rng((seed, crc32(" ".join(self[:2]).encode())))
        known = design.labels(rng)
        known = known.iloc[rng.permutation(len(known))].reset_index(drop=True)
        values = DATA[self.data](rng, (len(known), features))
        known.index = [f"s{i}" for i in known.index]
        X = pd.DataFrame(values, known.index, [f"f{i}" for i in range(features)])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ranked = sfs.rank(X, rows="samples", method=self.method, **known, **design.options)
        p = ranked.table["p_value"].dropna().to_numpy()
        return np.mean(p[:, None] <= LEVELS, axis=0), "pvalues" in ranked.facts["method"]


HEADER = (
    "| design | data | test | .05 | .01 | .001 | permuted | |",
    "|---|---|---|---|---|---|---|---|",
)


def main(words: Sequence[str] | None = None) -> int:
    """Run the command."""
    os.environ.update(ONE_THREAD)
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    methods = tuple(dict.fromkeys(m for each in DESIGNS.values() for m in each.methods))
    for name, known in (("designs", [*DESIGNS]), ("data", [*DATA]), ("methods", methods)):
        parser.add_argument(f"--{name}", type=lambda text: text.split(","), default=known)
    parser.add_argument("--features", type=int, default=4000, metavar="M")
    parser.add_argument("--seeds", type=int, default=5, metavar="K")
    parser.add_argument("--out", type=Path, help="Markdown file whose table is replaced")
    given = parser.parse_args(words)
    cells = [
        Cell(design, data, method)
        for design in given.designs
        for data in given.data
        for method in DESIGNS[design].methods
        if method in given.methods
    ]
    lines, failed = [*HEADER], 0
    for cell in cells:
        line, holds = cell.line(given.features, given.seeds)
        lines.append(line)
        failed += not holds
        print(line, flush=True)
    said = f"{len(cells)} cells, {given.features:,} features x {given.seeds} seeds; {failed} fail."
    print(said)
    if given.out is not None:
        page = given.out.read_text(encoding="utf-8")
        given.out.write_text(with_table(page, NAME, "\n".join([said, "", *lines])), "utf-8")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
