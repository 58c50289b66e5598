"""Time the scoring pass of GDCOV against that of SPEC's phi2 on the same graph and matrix.

usage: python tools/benchmarks/bench_gdcov.py [--samples N] [--features M] [--repeat R]

Prints a Markdown table: medians of several passes made in turn, with their ratio, since absolute
times differ between machines and hours. The matrix is in memory and the graph is made before.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from sfs_cli.compute.engine import Engine, ThreadExecutor
from sfs_cli.compute.matrix import Ids
from sfs_cli.graph.distances import gram
from sfs_cli.graph.similarity import DenseSimilarity
from sfs_cli.methods.base import Problem
from sfs_cli.methods.gdcov import sparse_pca
from sfs_cli.methods.gdcov.covariance import GdcovScorer
from sfs_cli.methods.spectral import HsicScorer, SpecScorer
from sfs_cli.store.matrix import DenseMatrix
from sfs_cli.store.prepared import PreparedMatrix

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.making import problem_of
from tools.benchmarks.table import in_turn

OPTIONS: dict[str, Any] = {
    "ranking": "phi2",
    "gamma_power": 1,
    "clusters": None,
    "definition": 3,
    "select": 50,
}


def make_engine(n: int, m: int) -> Engine:
    """An engine over float32 features, a tenth of which follow four clusters of the samples."""
    rng = np.random.default_rng(0)
    values = rng.standard_normal((m, n), dtype=np.float32)
    centres = rng.standard_normal((m // 10, 4), dtype=np.float32)
    values[: m // 10] += 1.5 * centres[:, rng.integers(0, 4, n)]
    values += rng.uniform(2, 12, (m, 1)).astype(np.float32)
    ids = Ids([str(i) for i in range(m)], [str(i) for i in range(n)])
    source = PreparedMatrix(DenseMatrix(values, ids))
    return Engine(source, ThreadExecutor(1), np.dtype(np.float32))


def make_similarity(engine: Engine) -> DenseSimilarity:
    """The rbf of the samples' distances, with their median as its width."""
    product = gram(engine)
    square = np.maximum(np.add.outer(np.diag(product), np.diag(product)) - 2 * product, 0)
    return DenseSimilarity(np.exp(-square / (2 * np.median(square))))


def one_pass(prepare: Callable[[Problem], Any], context: Problem) -> float:
    """Time a scoring pass, the preparation apart."""
    scorer = prepare(context)
    start = time.perf_counter()
    for _ in context.engine.run(scorer.score_block, scorer.dtype):
        pass
    return time.perf_counter() - start


def whole_path(context: Problem) -> float:
    """Time the sparse-PCA path, all its passes."""
    start = time.perf_counter()
    sparse_pca.solve(context)
    return time.perf_counter() - start


def cases(engine: Engine) -> Iterator[tuple[str, Callable[[], float], Callable[[], float]]]:
    """Yield what is timed, and the pass of phi2 on the same graph beside it."""
    similarity = make_similarity(engine)

    def context(gamma: str, **more: Any) -> Problem:
        options = OPTIONS | {"gamma": gamma} | more
        return problem_of(engine, similarity, options=options)

    def phi2() -> float:
        return one_pass(SpecScorer, context("power"))

    for gamma in ("one-minus", "inverse", "heat:1"):
        yield f"GDCOV {gamma}", lambda g=gamma: one_pass(GdcovScorer, context(g)), phi2
    local = context("heat:0.01", definition=1)
    yield "GDCOV heat:0.01, definition 1", lambda: one_pass(GdcovScorer, local), phi2
    yield "HSIC", lambda: one_pass(HsicScorer, context("")), phi2
    yield "GDCOV SPCA, 50 features", lambda: whole_path(context("one-minus")), phi2


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=500)
    parser.add_argument("--features", type=int, default=200_000)
    parser.add_argument("--repeat", type=int, default=5)
    given = parser.parse_args()
    engine = make_engine(given.samples, given.features)
    print(f"{given.samples} samples x {given.features:,} features, float32, one thread\n")
    print("| pass | time | SPEC phi2 | ratio |\n|---|---|---|---|")
    for name, case, phi2 in cases(engine):
        ours, reference, ratio = in_turn(case, phi2, given.repeat)
        print(f"| {name} | {ours:.2f} s | {reference:.2f} s | {ratio:.2f} |", flush=True)


if __name__ == "__main__":
    main()
