"""The whole MRSF path against scikit-learn's MultiTaskLasso at the last penalty alone.

Both get the same centred unit-norm features and the same full-rank rbf response.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from sfs_cli.compute.engine import Engine, ThreadExecutor
from sfs_cli.compute.matrix import Ids
from sfs_cli.graph.similarity import DenseSimilarity
from sfs_cli.methods.base import Solution
from sfs_cli.methods.l21 import mrsf
from sfs_cli.methods.l21.regression import similarity_response
from sfs_cli.store.matrix import HeldMatrix
from sfs_cli.store.prepared import PreparedMatrix
from tests.making import problem_of
from tools.benchmarks.peers import Peer, environment, run_peer
from tools.benchmarks.rows_peers import SAME, rbf, simulated, timing
from tools.benchmarks.table import Bench, Found, Part, Row, job

RUNS = 3
"""Paths of which the median time is told."""


def load(folder: Path) -> np.ndarray:
    """Return samples x features."""
    table = pq.read_table(folder / "expression.parquet").drop_columns(["feature_id"])
    return np.column_stack([c.to_numpy() for c in table.columns]).T.astype(np.float64)


def follow(values: np.ndarray, S: np.ndarray, select: int) -> tuple[Solution, float]:
    """Follow the path on features x samples; return it and the seconds it took."""
    m, n = values.shape
    ids = Ids([f"f{i}" for i in range(m)], [f"s{i}" for i in range(n)])
    source = PreparedMatrix(HeldMatrix(values, ids))
    engine = Engine(source, ThreadExecutor(2), np.dtype(np.float64))
    options = {"select": select, "response": "similarity", "response_rank": None}
    context = problem_of(engine, DenseSimilarity(S), options=options)
    start = time.perf_counter()
    found = mrsf.solve(context)
    return found, time.perf_counter() - start


def peer(X: np.ndarray, S: np.ndarray, lam: float, interpreter: Path) -> Peer:
    """Return what scikit-learn takes for one lambda."""
    F = X - X.mean(axis=0)
    norms = np.linalg.norm(F, axis=0)
    F = F[:, norms > 0] / norms[norms > 0]
    Y = similarity_response(DenseSimilarity(S), None, 1 << 30)
    inputs = {"X": F, "y": Y - Y.mean(axis=0)}
    return run_peer(interpreter, "sklearn", "lasso", inputs, alpha=lam / len(X), tol=1e-8)


@job("mrsf", "scikit-learn: MultiTaskLasso at the last penalty, against the whole MRSF path")
def path(bench: Bench) -> Found:
    interpreter = environment(bench, "sklearn")
    cases: dict[str, Callable[[], np.ndarray]] = {"simulated": lambda: simulated(60, 300)[0]}
    if not bench.small:
        cases = {name: partial(load, bench.data_set(name)) for name in ("tox171", "pix10p")}
    select = 10 if bench.small else 100

    def measured(name: str) -> Found:
        X = cases[name]()
        S, values = rbf(X), np.ascontiguousarray(X.T)
        runs = [follow(values, S, select) for _ in range(RUNS)]
        facts, mine = runs[0][0].facts, statistics.median(seconds for _, seconds in runs)
        theirs = peer(X, S, facts["lambda_end"], interpreter)
        size = f"{X.shape[0]} x {X.shape[1]:,}"
        yield timing(f"MRSF path to {select} features, {name}, {size}", mine, theirs)
        gap = facts["largest_relative_gap"]
        yield Row(f"MRSF, {name}, largest relative duality gap", "", "", gap, SAME)

    for name in cases:
        yield Part(name, partial(measured, name))
