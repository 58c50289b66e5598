"""What this machine could do at best, to hold a measured time against.

The rates are those of this machine now, on all its cores, for blocks of 16,384 features of n
samples in float32: a symmetric rank-k update (``syrk``: n^2 operations a feature) and a product
with an n x n matrix (``gemm``: 2 n^2). Reading is a sequential read of the file. From them:

- the rbf graph: n^2 m / syrk, and one reading;
- a pass of phi2, GDCOV, HSIC: 2 n^2 m / gemm, and one reading;
- a pass of phi3 with k clusters: 2 n (k - 1) m / gemm, and one reading. The rate of `gemm` is
  taken although a product with k - 1 columns cannot reach it; the eigenvectors, 4/3 n^3 / gemm,
  are made once and belong to the whole command;
- a pass on the graph of labels with c classes: the sums of each class and their squares,
  2 n m + 2 c m, at the rate of `gemm`, and one reading.

The limit is the larger of arithmetic and reading. With few columns that is reading.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path

from tests.benchmarks.processes import free_threads, printed

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
    """Operations a second."""

    syrk: float
    gemm: float

    def graph(self, n: int, m: int) -> float:
        """Return the seconds of the products of the rbf graph."""
        return n * n * m / self.syrk

    def square(self, n: int, m: int) -> float:
        """Return the seconds of a pass that multiplies by an n x n matrix."""
        return 2 * n * n * m / self.gemm

    def thin(self, n: int, m: int, columns: int) -> float:
        """Return the seconds of a pass that multiplies by a few columns."""
        return 2 * n * columns * m / self.gemm

    def decomposition(self, n: int) -> float:
        """Return the seconds of the leading eigenvectors of an n x n matrix."""
        return 4 / 3 * n**3 / self.gemm

    def labels(self, n: int, m: int, classes: int) -> float:
        """Return the seconds of class sums and their squares."""
        return (2 * n * m + 2 * classes * m) / self.gemm


def rates(n: int) -> Rates:
    """Measure the rates in a process that may use all cores."""
    return Rates(*json.loads(printed(RATES, str(n), environment=free_threads())))


def reading(store: Path) -> float:
    """Return the seconds that reading the values of a store once takes."""
    buffer = bytearray(8 << 20)
    start = time.perf_counter()
    with (store / "values.bin").open("rb", buffering=0) as file:
        while file.readinto(buffer):
            pass
    return time.perf_counter() - start
