"""Time the scoring pass of GDCOV against that of SPEC's phi2 on the same graph and matrix.

usage: python tests/benchmarks/bench_gdcov.py [--samples N] [--features M] [--repeat R]

Prints a Markdown table: medians of several passes made in turn, with their ratio, since absolute
times differ between machines and hours. The matrix is in memory and the graph is made before.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from sfs_cli.compute.executor import ThreadExecutor
from sfs_cli.compute.passes import Engine, gram
from sfs_cli.graph.similarity import DenseSimilarity
from sfs_cli.methods import gdcov, gdcov_spca, hsic, spec
from sfs_cli.methods.base import Context
from sfs_cli.store.matrix import DenseMatrix, Ids
from sfs_cli.store.prepared import PreparedMatrix

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


def one_pass(prepare: Callable[[Context], Any], context: Context) -> float:
    """Time a scoring pass, the preparation apart."""
    assert context.engine is not None
    scorer = prepare(context)
    start = time.perf_counter()
    for _ in context.engine.run(scorer.score_block, scorer.dtype):
        pass
    return time.perf_counter() - start


def whole_path(context: Context) -> float:
    """Time the sparse-PCA path, all its passes."""
    start = time.perf_counter()
    gdcov_spca.solve(context)
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=500)
    parser.add_argument("--features", type=int, default=200_000)
    parser.add_argument("--repeat", type=int, default=5)
    given = parser.parse_args()
    engine = make_engine(given.samples, given.features)
    similarity = make_similarity(engine)

    def context(gamma: str, **more: Any) -> Context:
        options = OPTIONS | {"gamma": gamma} | more
        return Context(given.samples, engine.dtype, similarity, options=options, engine=engine)

    cases: dict[str, Callable[[], float]] = {
        "GDCOV one-minus": lambda: one_pass(gdcov.prepare, context("one-minus")),
        "GDCOV inverse": lambda: one_pass(gdcov.prepare, context("inverse")),
        "GDCOV heat:1": lambda: one_pass(gdcov.prepare, context("heat:1")),
        "GDCOV heat:0.01, definition 1": lambda: one_pass(
            gdcov.prepare, context("heat:0.01", definition=1)
        ),
        "HSIC": lambda: one_pass(hsic.prepare, context("")),
        "GDCOV SPCA, 50 features": lambda: whole_path(context("one-minus")),
    }
    print(f"{given.samples} samples x {given.features:,} features, float32, one thread\n")
    print("| pass | time | SPEC phi2 | ratio |\n|---|---|---|---|")
    for name, case in cases.items():
        pairs = [(case(), one_pass(spec.prepare, context("power"))) for _ in range(given.repeat)]
        ours, spec_time = (statistics.median(pair[i] for pair in pairs) for i in (0, 1))
        ratio = statistics.median(a / b for a, b in pairs)
        print(f"| {name} | {ours:.2f} s | {spec_time:.2f} s | {ratio:.2f} |", flush=True)


if __name__ == "__main__":
    main()
