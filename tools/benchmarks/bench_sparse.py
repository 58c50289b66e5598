"""Time a scoring pass over single cells against Geary's C of scanpy, in one run.

usage: python tools/benchmarks/bench_sparse.py --scanpy PYTHON [--cells N] [--genes M]
           [--threads T] [--repeat R]

PYTHON is that of an environment with scanpy. Both get the same matrix (genes x cells, CSR) and
graph in memory, and as many threads. Ours is SPEC's phi2 and the Laplacian Score; Geary's C is

    C = (n - 1) / (2 W) sum_ij w_ij (x_i - x_j)^2 / sum_i (x_i - mean)^2

so it is found from our quadratic forms with weights of 1, and the largest relative difference is
printed with the times. Prints a Markdown table of medians; processor time, that of all threads
together, is what a machine that others use too measures best.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import scipy
from scipy.sparse import csr_array

sys.path.insert(0, str(Path(__file__).parents[2]))

from tools.benchmarks.peers import Peer, run_peer

Times = tuple[float, float]
"""Seconds by the clock and of the processor."""


def make(folder: Path, n: int, m: int) -> tuple[Any, csr_array]:
    """Simulate cells; return their features, in memory, and their graph."""
    from sfs_cli.compute.memory import default_memory
    from sfs_cli.io.matrix.anndata import read_inside
    from sfs_cli.logs import Messages
    from sfs_cli.options import RankConfig
    from sfs_cli.run.inputs import load
    from tools.benchmarks.make_cells import make_cells

    path = folder / "cells.h5ad"
    make_cells(path, n, m)
    config = RankConfig(matrix=str(path))
    opened = load(config, [], default_memory(), folder, Messages(verbosity=-1))
    S = read_inside(path, "obsp", "connectivities")[0]
    assert not isinstance(S, np.ndarray)
    return opened.matrix, csr_array(S.astype(np.float64))


def ours(matrix: Any, S: csr_array, threads: int, repeat: int) -> dict[str, list[Times]]:
    """Time passes that score every gene."""
    from sfs_cli.compute.engine import Engine, ThreadExecutor
    from sfs_cli.graph.similarity import SparseSimilarity
    from sfs_cli.methods.spectral import SpecScorer, laplacian_score
    from sfs_cli.store.prepared import PreparedMatrix
    from tests.making import problem_of

    double = np.dtype(np.float64)
    engine = Engine(PreparedMatrix(matrix), ThreadExecutor(threads), double, nonzeros=True)
    phi2 = {"ranking": "phi2", "gamma": "power", "gamma_power": 1, "clusters": None}
    context = problem_of(engine, SparseSimilarity(S), options=phi2)
    times: dict[str, list[Times]] = {}
    for name, scorer_of in {"SPEC phi2": SpecScorer, "Laplacian Score": laplacian_score}.items():
        scorer = scorer_of(context).on_nonzeros()
        assert scorer is not None
        times[name] = []
        for at in range(repeat + 1):
            start = time.perf_counter(), time.process_time()
            engine.columns(scorer.score_block, double)
            if at:  # the first one compiles
                wall, processor = time.perf_counter() - start[0], time.process_time() - start[1]
                times[name].append((wall, processor))
    return times


def geary(matrix: Any, S: csr_array) -> np.ndarray:
    """Find Geary's C of every gene from our quadratic forms."""
    from sfs_cli.compute.matrix import Span
    from sfs_cli.graph.similarity import SparseSimilarity
    from sfs_cli.methods.stored import SparseForms
    from sfs_cli.store.prepared import PreparedMatrix

    n = matrix.n_samples
    forms = SparseForms(SparseSimilarity(S), np.ones(n), None)
    source = PreparedMatrix(matrix)
    block = source.read_nonzeros(Span(0, matrix.n_features), np.dtype(np.float64))
    found = forms.variation(block)
    return (n - 1) / S.sum() * forms.laplacian(found) / found.square


def theirs(
    python: str | Path, matrix: Any, S: csr_array, threads: int, repeat: int
) -> tuple[Peer, float]:
    """Run scanpy in its own environment; return it, and the largest relative difference."""
    inputs = {"X": matrix.values, "S": S}
    peer = run_peer(python, "scanpy", "gearys_c", inputs, repeat=repeat, threads=threads)
    return peer, float(np.abs(geary(matrix, S) / peer.found["score"] - 1).max())


def medians(seconds: list[Times]) -> Times:
    """Return the median of each kind of time."""
    wall, processor = zip(*seconds)
    return statistics.median(wall), statistics.median(processor)


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scanpy", required=True, metavar="PYTHON")
    parser.add_argument("--cells", type=int, default=100_000)
    parser.add_argument("--genes", type=int, default=2000)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--repeat", type=int, default=3)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        matrix, S = make(Path(name), given.cells, given.genes)
        filled = matrix.values.nnz / (given.cells * given.genes)
        times = ours(matrix, S, given.threads, given.repeat)
        peer, apart = theirs(given.scanpy, matrix, S, given.threads, given.repeat)
    print(
        f"{platform.machine()}, {given.threads} threads, Python {platform.python_version()}, "
        f"numpy {np.__version__}, scipy {scipy.__version__}\n"
    )
    print(
        f"| {given.cells:,} cells x {given.genes:,} genes, {filled:.1%} filled, "
        f"{S.nnz / given.cells:.0f} neighbours | time | ratio | processor | ratio |\n"
        "|---|---|---|---|---|"
    )
    reference = (peer.wall, peer.processor)
    rows = {f"gearys_c of {peer.name}": reference}
    rows |= {method: medians(seconds) for method, seconds in times.items()}
    for method, mine in rows.items():
        cells = [f"{t:.2f} s | {r / t:.1f}" for t, r in zip(mine, reference)]
        print(f"| {method} | {' | '.join(cells)} |")
    print(f"\nLargest relative difference of Geary's C: {apart:.1e}")


if __name__ == "__main__":
    main()
