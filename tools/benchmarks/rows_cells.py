"""Single cells: a pass over the non-zeros against scanpy, with its numbers.

Both get the same matrix (genes x cells, CSR) and graph in memory, and as many threads. Ours is
SPEC's phi2 and the Laplacian Score; Geary's C is

    C = (n - 1) / (2 W) sum_ij w_ij (x_i - x_j)^2 / sum_i (x_i - mean)^2

so it is found from our quadratic forms with weights of 1, and the largest relative difference is
told with the times. Processor time, that of all threads together, is what a machine that others use
too measures best.
"""

from __future__ import annotations

import os
import statistics
import time
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from sfs_cli.compute.engine import Engine, ThreadExecutor
from sfs_cli.compute.matrix import Span
from sfs_cli.compute.memory import default_memory
from sfs_cli.graph.similarity import SparseSimilarity
from sfs_cli.io.matrix.anndata import read_inside
from sfs_cli.logs import Messages
from sfs_cli.methods.classical import VarianceScorer
from sfs_cli.methods.spectral import SpecScorer, laplacian_score
from sfs_cli.methods.stored import SparseForms, best_read
from sfs_cli.options import RankConfig
from sfs_cli.run.inputs import load
from sfs_cli.store.prepared import PreparedMatrix
from tests.making import problem_of
from tools.benchmarks.make_cells import make_cells
from tools.benchmarks.peers import Peer, environment, run_peer
from tools.benchmarks.table import Bench, Found, Note, Row, job, seconds

Times = tuple[float, float]
"""Seconds by the clock and of the processor."""


def make(folder: Path, n: int, m: int) -> tuple[Any, csr_array]:
    """Simulate cells; return their features, in memory, and their graph."""
    path = folder / "cells.h5ad"
    make_cells(path, n, m)
    config = RankConfig(matrix=str(path))
    opened = load(config, [], default_memory(), folder, Messages(verbosity=-1))
    S = read_inside(path, "obsp", "connectivities")[0]
    assert not isinstance(S, np.ndarray)
    return opened.matrix, csr_array(S.astype(np.float64))


def ours(matrix: Any, S: csr_array, threads: int, repeat: int) -> dict[str, list[Times]]:
    """Time passes that score every gene."""
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
            if at:  # the first one warms up
                wall, processor = time.perf_counter() - start[0], time.process_time() - start[1]
                times[name].append((wall, processor))
    return times


def geary(matrix: Any, S: csr_array) -> np.ndarray:
    """Find Geary's C of every gene from our quadratic forms."""
    n = matrix.n_samples
    forms = SparseForms(SparseSimilarity(S), np.ones(n), None)
    source = PreparedMatrix(matrix)
    block = source.read_nonzeros(Span(0, matrix.n_features), np.dtype(np.float64))
    found = forms.variation(block)
    return (n - 1) / S.sum() * forms.laplacian(found) / found.square


def theirs(
    python: Path, matrix: Any, S: csr_array, threads: int, repeat: int
) -> tuple[Peer, float]:
    """Run scanpy in its own environment; return it, and the largest relative difference."""
    inputs = {"X": matrix.values, "S": S}
    peer = run_peer(python, "scanpy", "gearys_c", inputs, repeat=repeat, threads=threads)
    return peer, float(np.abs(geary(matrix, S) / peer.found["score"] - 1).max())


def medians(seconds: list[Times]) -> Times:
    """Return the median of each kind of time."""
    wall, processor = zip(*seconds)
    return statistics.median(wall), statistics.median(processor)


def size(bench: Bench) -> tuple[int, int]:
    """Return cells and genes."""
    return (2000, 200) if bench.small else (100_000, 2000)


@job("cells", "scanpy: Geary's C")
def cells(bench: Bench) -> Found:
    interpreter, threads = environment(bench, "scanpy"), os.cpu_count() or 1
    n, m = size(bench)
    matrix, S = make(bench.scratch, n, m)
    filled = matrix.values.nnz / (n * m)
    times = ours(matrix, S, threads, bench.repeat)
    peer, apart = theirs(interpreter, matrix, S, threads, bench.repeat)
    shape = f"{n:,} cells x {m:,} genes, {filled:.1%} filled, {S.nnz / n:.0f} neighbours"
    for name, runs in times.items():
        mine = medians(runs)
        for kind, a, b in zip(("wall", "processor"), mine, (peer.wall, peer.processor)):
            reference = f"gearys_c of {peer.name}: {seconds(b)}"
            yield Row(f"{name}, {shape}, {kind}", seconds(a), reference, a / b, bench.asked(1.0))
    what = "Geary's C from our forms, largest relative difference"
    yield Row(what, "", "", apart, 1e-6)


@job("variable", "scanpy: highly variable genes")
def variable(bench: Bench) -> Found:
    interpreter, threads = environment(bench, "scanpy"), os.cpu_count() or 1
    n, m = size(bench)
    matrix, _ = make(bench.scratch, n, m)
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
