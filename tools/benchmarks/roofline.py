"""What this machine could do at best, to hold a measured time against.

The rates are those of this machine now, on all its cores, for blocks of 16,384 features of n
samples in float32: a symmetric rank-k update (``syrk``: n^2 operations a feature) and a product
with an n x n matrix (``gemm``: 2 n^2). Reading is a sequential read of the file. From them:

- the rbf graph: n^2 m / syrk, and one reading;
- a pass of phi2, GDCOV, HSIC: 2 n^2 m / gemm, and one reading;
- a pass of phi3 with few clusters, or on the graph of labels with few classes: every value is cast
  to float64, squared, and multiplied by 4 columns, at the rate of that on 512 kB that stay in each
  core's cache (``thin``), and one reading; the
  eigenvectors of phi3, 4/3 n^3 / gemm, are made once and belong to the whole command.

The limit is the larger of arithmetic and reading.
"""

from __future__ import annotations

import json
import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sfs_cli.methods.kernel import Thin
from tools.benchmarks.processes import ONE_THREAD, free_threads, printed

RATES = """
import json, sys, time
import numpy as np
from scipy.linalg import blas
n, block = int(sys.argv[1]), 16384
F = np.random.default_rng(0).standard_normal((block, n)).astype("f4")
S = np.random.default_rng(1).standard_normal((n, n)).astype("f4")
out = np.empty_like(F)
def best(f):
    times = []
    for _ in range(5):
        start = time.perf_counter(); f(); times.append(time.perf_counter() - start)
    return min(times)
syrk, gemm = best(lambda: blas.ssyrk(1.0, F.T)), best(lambda: np.dot(F, S, out=out))
print(json.dumps([n * n * block / syrk, 2 * n * n * block / gemm]))
"""


@dataclass(frozen=True)
class Rates:
    """Operations a second; of `thin` values a second."""

    syrk: float
    gemm: float
    thin: float

    def graph(self, n: int, m: int) -> float:
        """Return the seconds of the products of the rbf graph."""
        return n * n * m / self.syrk

    def square(self, n: int, m: int) -> float:
        """Return the seconds of a pass that multiplies by an n x n matrix."""
        return 2 * n * n * m / self.gemm

    def few_columns(self, n: int, m: int) -> float:
        """Return the seconds of a pass that squares, and multiplies by a few columns."""
        return n * m / self.thin

    def decomposition(self, n: int) -> float:
        """Return the seconds of the leading eigenvectors of an n x n matrix."""
        return 4 / 3 * n**3 / self.gemm


def rates(n: int) -> Rates:
    """Measure the rates in a process that may use all cores."""
    syrk, gemm = json.loads(printed("-c", RATES, str(n), environment=free_threads()))
    thin = float(printed("-m", __name__, str(n), environment=os.environ | ONE_THREAD))
    return Rates(syrk, gemm, thin * len(os.sched_getaffinity(0)))


def reading(store: Path) -> float:
    """Return the seconds that reading the values of a store once takes."""
    buffer = bytearray(8 << 20)
    start = time.perf_counter()
    with (store / "values.bin").open("rb", buffering=0) as file:
        while file.readinto(buffer):
            pass
    return time.perf_counter() - start


def main() -> None:
    """Print the values a second of a pass over few columns, of the samples that are given."""
    n, rng, repeat = int(sys.argv[1]), np.random.default_rng(0), 20
    values = rng.standard_normal(((1 << 19) // (4 * n), n)).astype("f4")
    scores = Thin(np.ones(n), rng.standard_normal((n, 3)))
    times = []
    for _ in range(5):
        start = time.perf_counter()
        for _ in range(repeat):
            scores.read(values)
        times.append(time.perf_counter() - start)
    print(repeat * values.size / min(times))


if __name__ == "__main__":
    main()
