"""Time RFS against skfeature-chappers on the same z-scored matrix, in one run.

usage: python tools/benchmarks/bench_rfs.py DATA_FOLDER [--name allaml] [--gamma 0.1] [--repeat R]
           [--peer-python PYTHON] [--peer-timeout SECONDS] [--skip-peer]

Prints a Markdown table: ours is the median of several solves, the peer's a single one. The peer
inverts an (m + n) x (m + n) matrix in every iteration, so it runs as a process that is ended after
`--peer-timeout`; `--peer-python` is an interpreter that has it. It codes classes as -1 and 1 rather
than 0 and 1, so its objective is not comparable; how many of the 20 best features are the same is.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import subprocess
import sys
import time
from pathlib import Path

for variable in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")  # as the command line does; the peer may use all cores

import numpy as np  # noqa: E402

sys.path.insert(0, str(Path(__file__).parents[2]))

from tools.benchmarks.peers import Peer, run_peer  # noqa: E402


def read(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return samples x features, and class codes."""
    import pyarrow.parquet as pq

    table = pq.read_table(folder / "expression.parquet").drop_columns(["feature_id"])
    X = np.array([column.to_numpy() for column in table.columns], np.float64)
    lines = (folder / "labels.tsv").read_text().splitlines()[1:]
    label_of = dict(line.split("\t") for line in lines)
    _, codes = np.unique([label_of[name] for name in table.column_names], return_inverse=True)
    return X, codes


def ours(
    X: np.ndarray, codes: np.ndarray, gamma: float, repeat: int
) -> tuple[float, float, set[int]]:
    """Solve several times; return the median of seconds, the gap, and the 20 best features."""
    from sfs_cli.methods.rfs import solve
    from tests.making import make_problem

    times = []
    for _ in range(repeat + 1):  # the first one warms up
        start = time.perf_counter()
        found = solve(make_problem(X, codes=codes, gamma=gamma))
        times.append(time.perf_counter() - start)
    best = set(found.order[:20].tolist())
    return statistics.median(times[1:]), found.facts["relative_gap"], best


def peer(
    X: np.ndarray, codes: np.ndarray, gamma: float, interpreter: str | Path, timeout: float
) -> tuple[Peer, set[int]]:
    """Run skfeature-chappers; return what it took, and its 20 best features."""
    spread = X.std(axis=0)
    Z = np.column_stack([(X - X.mean(axis=0)) / np.where(spread > 0, spread, 1), np.ones(len(X))])
    inputs = {"X": Z, "y": codes}
    found = run_peer(interpreter, "skfeature", "rfs", inputs, timeout=timeout, gamma=gamma)
    return found, set(np.argsort(-found.found["score"])[:20].tolist())


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--name", default="allaml")
    parser.add_argument("--gamma", type=float, default=0.1)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--peer-python", default=sys.executable)
    parser.add_argument("--peer-timeout", type=float, default=600)
    parser.add_argument("--skip-peer", action="store_true")
    given = parser.parse_args()
    X, codes = read(given.data / given.name)
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}")
    print(f"\n| RFS, {given.name} {X.shape[0]} x {X.shape[1]:,}, gamma {given.gamma:g} ", end="")
    print("| time | relative gap | same among the best 20 |\n|---|---|---|---|")
    seconds, gap, best = ours(X, codes, given.gamma, given.repeat)
    print(f"| sfs | {seconds:.3f} s | {gap:.0e} | 20 |", flush=True)
    if given.skip_peer:
        return
    try:
        theirs, top = peer(X, codes, given.gamma, given.peer_python, given.peer_timeout)
    except subprocess.TimeoutExpired:
        print(f"| skfeature-chappers | more than {given.peer_timeout:.0f} s | | |")
    else:
        print(f"| {theirs.name} | {theirs.wall:.1f} s | | {len(best & top)} |")


if __name__ == "__main__":
    main()
