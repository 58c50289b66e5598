"""The whole MRSF path against scikit-learn's MultiTaskLasso at the final lambda alone.

usage: python tools/benchmarks/bench_mrsf.py DATA_FOLDER [--select 100] [--large]
           [--peer-python PYTHON]

Both get the same centred unit-norm features and the same full-rank rbf response, in one run.
`--large` adds 200 samples x 200,000 features (simulated), without scikit-learn.
"""

from __future__ import annotations

import argparse
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from sfs_cli.compute.engine import Engine, ThreadExecutor
from sfs_cli.compute.matrix import Ids
from sfs_cli.compute.memory import format_size
from sfs_cli.graph import distances as kernels
from sfs_cli.graph.similarity import DenseSimilarity
from sfs_cli.methods.base import Solution
from sfs_cli.methods.l21 import mrsf
from sfs_cli.methods.l21.regression import similarity_response
from sfs_cli.store.matrix import HeldMatrix
from sfs_cli.store.prepared import PreparedMatrix

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.making import problem_of
from tools.benchmarks.peers import Peer, run_peer
from tools.benchmarks.processes import memory

NAMES = ("tox171", "pix10p", "orl10p")


def load(data: Path, name: str) -> np.ndarray:
    """Return samples x features."""
    table = pq.read_table(data / name / "expression.parquet").drop_columns(["feature_id"])
    return np.column_stack([c.to_numpy() for c in table.columns]).T.astype(np.float64)


def rbf(X: np.ndarray) -> np.ndarray:
    """Return the rbf similarity with the median bandwidth."""
    X = X - X.mean(axis=0)
    d2 = kernels.squared_distances(X @ X.T)
    return kernels.rbf(d2, kernels.median_bandwidth(d2))


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


def peer(X: np.ndarray, S: np.ndarray, lam: float, interpreter: str | Path) -> Peer:
    """Return what scikit-learn takes for one lambda."""
    F = X - X.mean(axis=0)
    norms = np.linalg.norm(F, axis=0)
    F = F[:, norms > 0] / norms[norms > 0]
    Y = similarity_response(DenseSimilarity(S), None, 1 << 30)
    inputs = {"X": F, "y": Y - Y.mean(axis=0)}
    return run_peer(interpreter, "sklearn", "lasso", inputs, alpha=lam / len(X), tol=1e-8)


@dataclass(frozen=True)
class Measured:
    """The path of a data set, and the peer's single penalty.

    Attributes
    ----------
    seconds : float
        Median of three paths.
    theirs : Peer
        scikit-learn at the last penalty alone.
    gap : float
        Largest relative duality gap of the path.
    passes : int
        Over the matrix.
    """

    seconds: float
    theirs: Peer
    gap: float
    passes: int


def measure(X: np.ndarray, select: int, interpreter: str | Path) -> Measured:
    """Measure one data set (samples x features)."""
    S = rbf(X)
    values = np.ascontiguousarray(X.T)
    runs = [follow(values, S, select) for _ in range(3)]
    facts, ours = runs[0][0].facts, float(np.median([seconds for _, seconds in runs]))
    theirs = peer(X, S, facts["lambda_end"], interpreter)
    return Measured(ours, theirs, facts["largest_relative_gap"], facts["passes"])


def row(name: str, X: np.ndarray, select: int, interpreter: str) -> str:
    """Measure one data set; return its row."""
    found = measure(X, select, interpreter)
    theirs = found.theirs.wall
    return (
        f"| {name}, {X.shape[0]} x {X.shape[1]:,} | {found.seconds:.2f} s | {theirs:.1f} s | "
        f"1/{theirs / found.seconds:.0f} | {found.gap:.0e} | {found.passes} |"
    )


def large(select: int) -> str:
    """Measure 200 samples x 200,000 features, a tenth of them in clusters."""
    rng = np.random.default_rng(0)
    values = rng.standard_normal((200_000, 200), dtype=np.float32)
    clusters = rng.integers(0, 5, 200)
    values[:20_000] += 1.5 * rng.standard_normal((20_000, 5), dtype=np.float32)[:, clusters]
    S = rbf(values[:20_000].T.astype(np.float64))
    before = memory(os.getpid())[0]
    found, seconds = follow(values, S, select)
    return (
        f"| simulated, 200 x 200,000 | {seconds:.1f} s | | | "
        f"{found.facts['largest_relative_gap']:.0e} | {found.facts['passes']} |\n\n"
        "anonymous memory beside the matrix at the end: "
        f"{format_size(memory(os.getpid())[0] - before)}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--select", type=int, default=100)
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--peer-python", default=sys.executable)
    given = parser.parse_args()
    print("| data | path | MultiTaskLasso(tol=1e-8), last lambda | ratio | gap | passes |")
    print("|---|---|---|---|---|---|")
    for name in NAMES:
        X = load(given.data, name)
        print(row(name, X, given.select, given.peer_python), flush=True)
    if given.large:
        print(large(given.select))


if __name__ == "__main__":
    main()
