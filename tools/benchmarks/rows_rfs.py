"""RFS against skfeature-chappers on the same z-scored matrix.

The peer inverts an (m + n) x (m + n) matrix in every iteration, so it runs as a process that is
ended after `LIMIT`. It codes classes as -1 and 1 rather than 0 and 1, so its objective is not
comparable; how many of the best features are the same is.
"""

from __future__ import annotations

import statistics
import subprocess
import time
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from sfs_cli.methods.rfs import solve
from tests.making import make_problem
from tools.benchmarks.peers import Peer, environment, run_peer
from tools.benchmarks.rows_peers import SAME, simulated, timing
from tools.benchmarks.table import Bench, Found, Note, Row, job, seconds

GAMMA = 0.1
BEST = 20
"""Features that are compared."""
LIMIT = 90.0
"""Seconds of the peer."""


def read(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return samples x features, and class codes."""
    table = pq.read_table(folder / "expression.parquet").drop_columns(["feature_id"])
    X = np.array([column.to_numpy() for column in table.columns], np.float64)
    lines = (folder / "labels.tsv").read_text().splitlines()[1:]
    label_of = dict(line.split("\t") for line in lines)
    _, codes = np.unique([label_of[name] for name in table.column_names], return_inverse=True)
    return X, codes


def ours(X: np.ndarray, codes: np.ndarray, repeat: int) -> tuple[float, float, set[int]]:
    """Solve several times; return the median of seconds, the gap, and the best features."""
    times = []
    for _ in range(repeat + 1):  # the first one warms up
        start = time.perf_counter()
        found = solve(make_problem(X, codes=codes, gamma=GAMMA))
        times.append(time.perf_counter() - start)
    assert found.order is not None
    best = set(found.order[:BEST].tolist())
    return statistics.median(times[1:]), found.facts["relative_gap"], best


def peer(X: np.ndarray, codes: np.ndarray, interpreter: Path) -> tuple[Peer, set[int]]:
    """Run skfeature-chappers; return what it took, and its best features."""
    spread = X.std(axis=0)
    Z = np.column_stack([(X - X.mean(axis=0)) / np.where(spread > 0, spread, 1), np.ones(len(X))])
    inputs = {"X": Z, "y": codes}
    found = run_peer(interpreter, "skfeature", "rfs", inputs, timeout=LIMIT, gamma=GAMMA)
    return found, set(np.argsort(-found.found["score"])[:BEST].tolist())


@job("rfs", "skfeature-chappers: RFS")
def robust(bench: Bench) -> Found:
    interpreter = environment(bench, "skfeature")
    if bench.small:
        name, (X, codes, _) = "simulated", simulated(30, 40)
    else:
        name, (X, codes) = "colon", read(bench.data_set("colon"))
    size = f"RFS, {name}, {X.shape[0]} x {X.shape[1]:,}, gamma {GAMMA:g}"
    mine, gap, best = ours(X, codes, bench.repeat)
    yield Row(f"{size}, relative gap", "", "", gap, SAME)
    try:
        theirs, top = peer(X, codes, interpreter)
    except subprocess.TimeoutExpired:
        reference = f"skfeature-chappers: more than {LIMIT:.0f} s, ended then"
        yield Row(size, seconds(mine), reference)
        return
    yield timing(size, mine, theirs)
    yield Row(f"{size}, of its {BEST} best also ours", str(len(best & top)), str(BEST))
    yield Note(
        "skfeature codes the classes as -1 and 1 rather than 0 and 1, and penalises the intercept "
        "with the features, so its objective is another one."
    )
