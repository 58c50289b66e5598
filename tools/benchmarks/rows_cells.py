"""Single cells: a pass over the non-zeros against scanpy, with its numbers."""

from __future__ import annotations

import os
import statistics
import time

import numpy as np

from tools.benchmarks import bench_sparse
from tools.benchmarks.peers import environment, run_peer
from tools.benchmarks.table import Bench, Found, Note, Row, job, seconds


def size(bench: Bench) -> tuple[int, int]:
    """Return cells and genes."""
    return (2000, 200) if bench.small else (100_000, 2000)


@job("cells", "scanpy: Geary's C")
def cells(bench: Bench) -> Found:
    interpreter, threads = environment(bench, "scanpy"), os.cpu_count() or 1
    n, m = size(bench)
    matrix, S = bench_sparse.make(bench.scratch, n, m)
    filled = matrix.values.nnz / (n * m)
    times = bench_sparse.ours(matrix, S, threads, bench.repeat)
    peer, apart = bench_sparse.theirs(interpreter, matrix, S, threads, bench.repeat)
    shape = f"{n:,} cells x {m:,} genes, {filled:.1%} filled, {S.nnz / n:.0f} neighbours"
    for name, runs in times.items():
        mine = bench_sparse.medians(runs)
        theirs = (peer.wall, peer.processor)
        for kind, a, b in zip(("wall", "processor"), mine, theirs):
            reference = f"gearys_c of {peer.name}: {seconds(b)}"
            yield Row(f"{name}, {shape}, {kind}", seconds(a), reference, a / b, bench.asked(1.0))
    what = "Geary's C from our forms, largest relative difference"
    yield Row(what, "", "", apart, 1e-6)


@job("variable", "scanpy: highly variable genes")
def variable(bench: Bench) -> Found:
    from sfs_cli.compute.engine import Engine, ThreadExecutor
    from sfs_cli.methods.classical import VarianceScorer
    from sfs_cli.methods.stored import best_read
    from sfs_cli.store.prepared import PreparedMatrix
    from tests.making import problem_of

    interpreter, threads = environment(bench, "scanpy"), os.cpu_count() or 1
    n, m = size(bench)
    matrix, _ = bench_sparse.make(bench.scratch, n, m)
    double = np.dtype(np.float64)
    engine = Engine(PreparedMatrix(matrix), ThreadExecutor(threads), double)
    engine, scorer = best_read(engine, VarianceScorer(problem_of(engine)))
    times, score = [], np.empty(0)
    for _ in range(bench.repeat + 1):
        start = time.perf_counter()
        score = engine.columns(scorer.score_block, double)["score"]
        times.append(time.perf_counter() - start)
    given = {"X": matrix.values}
    peer = run_peer(
        interpreter, "scanpy", "highly_variable_genes", given, repeat=bench.repeat, threads=threads
    )
    mine = statistics.median(times[1:])
    reference = f"highly_variable_genes of {peer.name}: {seconds(peer.wall)}"
    yield Row(f"variance, {n:,} cells x {m:,} genes", seconds(mine), reference, mine / peer.wall)
    apart = float(np.abs(peer.found["variance"] / score - 1).max())
    yield Row("variance, largest relative difference", "", "", apart, 1e-4)
    yield Note(
        "scanpy takes the variance of expm1 of the float32 log1p of the counts, hence the digits; "
        "it also bins the dispersions by their means, which ours does not."
    )
