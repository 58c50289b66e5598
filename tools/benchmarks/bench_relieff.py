"""Time ReliefF against scikit-rebate, in one run.

usage: python tools/benchmarks/bench_relieff.py [--samples N] [--features M] [--repeat R]
           [--peer-python PYTHON]

Prints a Markdown table: ours is the median of several runs, scikit-rebate's a single one. Both get
the same matrix in memory, and the largest difference between their scores is printed too.
`--peer-python` is an interpreter that has scikit-rebate.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))

from tools.benchmarks.peers import Peer, run_peer


def timed(function: Callable[[], np.ndarray]) -> tuple[float, np.ndarray]:
    """Return the wall time of a call, and its result."""
    start = time.perf_counter()
    result = function()
    return time.perf_counter() - start, result


def ours(X: np.ndarray, codes: np.ndarray, k: int) -> np.ndarray:
    """Scores by this project."""
    from sfs_cli.methods.relieff import solve
    from tests.making import make_problem

    return solve(make_problem(X, codes=codes, neighbors=k)).score


def measure(
    n: int, m: int, repeat: int, interpreter: str | Path, k: int = 10
) -> tuple[float, Peer, float]:
    """Return our seconds, what the peer took, and the largest difference of the scores."""
    X = np.random.default_rng(0).normal(8, 2, (n, m))
    codes = np.arange(n) % 2
    ours(X, codes, k)  # imports
    runs = [timed(lambda: ours(X, codes, k)) for _ in range(repeat)]
    mine = statistics.median(seconds for seconds, _ in runs)
    peer = run_peer(interpreter, "skrebate", "relieff", {"X": X, "y": codes}, neighbors=k)
    return mine, peer, float(np.abs(peer.found["score"] - runs[0][1]).max())


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=200)
    parser.add_argument("--features", type=int, default=2000)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--peer-python", default=sys.executable)
    given = parser.parse_args()
    n, m = given.samples, given.features
    mine, peer, apart = measure(n, m, given.repeat, given.peer_python)
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}")
    print(f"\n| ReliefF, {n} x {m:,}, k = 10 | time | ratio | difference |\n|---|---|---|---|")
    print(f"| sfs | {mine:.3f} s | 1 | 0 |")
    print(f"| {peer.name} | {peer.wall:.2f} s | {peer.wall / mine:.0f} | {apart:.1e} |")


if __name__ == "__main__":
    main()
