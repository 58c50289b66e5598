"""Time ReliefF against scikit-rebate, in one run.

usage: python tests/benchmarks/bench_relieff.py [--samples N] [--features M] [--repeat R]

Prints a Markdown table: ours is the median of several runs, scikit-rebate's a single one. Both get
the same matrix in memory, and the largest difference between their scores is printed too.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import numpy as np


def timed(function: Callable[[], np.ndarray]) -> tuple[float, np.ndarray]:
    """Return the wall time of a call, and its result."""
    start = time.perf_counter()
    result = function()
    return time.perf_counter() - start, result


def ours(X: np.ndarray, codes: np.ndarray, k: int) -> np.ndarray:
    """Scores by this project."""
    from sfs_cli.methods.relieff import solve
    from tests.methods.contexts import make_context

    return solve(make_context(X, codes=codes, neighbors=k)).score


def rebate(X: np.ndarray, codes: np.ndarray, k: int) -> np.ndarray:
    """Scores by scikit-rebate."""
    from skrebate import ReliefF

    return ReliefF(n_neighbors=k).fit(X.copy(), codes).feature_importances_


def rows(n: int, m: int, repeat: int, k: int = 10) -> list[str]:
    """Measure; return the rows of the table."""
    X = np.random.default_rng(0).normal(8, 2, (n, m))
    codes = np.arange(n) % 2
    ours(X, codes, k)  # imports
    runs = [timed(lambda: ours(X, codes, k)) for _ in range(repeat)]
    mine = statistics.median(seconds for seconds, _ in runs)
    table = [f"| sfs | {mine:.3f} s | 1 | 0 |"]
    if find_spec("skrebate") is None:
        return [*table, "| scikit-rebate | not installed | | |"]
    theirs, scores = timed(lambda: rebate(X, codes, k))
    apart = np.abs(scores - runs[0][1]).max()
    return [*table, f"| scikit-rebate | {theirs:.2f} s | {theirs / mine:.0f} | {apart:.1e} |"]


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=200)
    parser.add_argument("--features", type=int, default=2000)
    parser.add_argument("--repeat", type=int, default=5)
    given = parser.parse_args()
    sys.path.insert(0, str(Path(__file__).parents[2]))
    table = rows(given.samples, given.features, given.repeat)
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}")
    print(
        f"\n| ReliefF, {given.samples} x {given.features:,}, k = 10 | time | ratio | difference |"
    )
    print("|---|---|---|---|")
    print("\n".join(table))


if __name__ == "__main__":
    main()
