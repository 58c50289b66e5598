"""Planning a run before it reads anything: passes, memory and time."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfs_cli.compute.spans import block_features
from sfs_cli.errors import OutOfMemoryError

FLOAT64_BELOW = 2e10
"""Dense arithmetic (n^2 m) below this is done in float64: it takes well under a second."""
BUFFERS = 5
"""Blocks of one worker: as read, prepared, centred and their products."""
BYTES_PER_FEATURE = 120
"""An id, a score, a status and its place in the table."""


@dataclass(frozen=True)
class Plan:
    """What a run will take.

    Attributes
    ----------
    n_samples, n_features : int
        Shape.
    dtype : dtype
        Of the dense arithmetic.
    block_size : int
        Features in a block.
    workers : int
        Threads that run at a time, as far as the memory allows.
    passes : int
        Reads of the matrix.
    needed : int
        Bytes of anonymous memory, the matrix itself left out.
    flops : float
        Dense arithmetic.
    """

    n_samples: int
    n_features: int
    dtype: np.dtype[Any]
    block_size: int
    workers: int
    passes: int
    needed: int
    flops: float


def arithmetic_dtype(n: int, m: int, stored: np.dtype[Any]) -> np.dtype[Any]:
    """Return the type of the dense arithmetic: float64 where that costs nothing to speak of."""
    return np.dtype(np.float64) if n * n * m <= FLOAT64_BELOW else stored


def make_plan(
    n: int,
    m: int,
    stored: np.dtype[Any],
    *,
    dense_graph: bool,
    distances: bool,
    threads: int,
    memory: int,
    block_size: int | None = None,
) -> Plan:
    """Fit a run into memory, with fewer workers where it must.

    Parameters
    ----------
    n, m : int
        Samples and features.
    stored : dtype
        Type of the stored values.
    dense_graph : bool
        Whether the sample graph is an n x n array.
    distances : bool
        Whether a pass finds the distances of the samples.
    threads, memory : int
        What may be used.
    block_size : int, optional
        Features in a block, where the user says so.

    Raises
    ------
    OutOfMemoryError
        When one worker alone does not fit.
    """
    dtype = arithmetic_dtype(n, m, stored)
    size = min(m, block_size or block_features(n, dtype.itemsize))
    block = BUFFERS * size * n * 8
    square = n * n * 8 if dense_graph else 0
    fixed = 4 * square + BYTES_PER_FEATURE * m
    each = block + (square if distances else 0)
    workers = min(threads, max(1, -(-m // size)))
    while workers > 1 and fixed + each * workers > memory:
        workers -= 1
    needed = fixed + each * workers
    if needed > memory:
        raise OutOfMemoryError(
            f"{n:,} samples x {m:,} features need {needed / 2**20:,.0f} MiB beside the matrix",
            where=f"--memory allows {memory / 2**20:,.0f} MiB",
            hint="raise --memory"
            + (", or take --similarity knn, which stays sparse" if 4 * square > memory else ""),
        )
    flops = float(n) * n * m * (2 * dense_graph + distances)
    return Plan(n, m, dtype, size, workers, 1 + int(distances), needed, flops)


def estimate_seconds(plan: Plan, read_rate: float = 1e9) -> float:
    """Estimate the time of the passes from a product of the plan's own shape, timed now.

    Parameters
    ----------
    plan : Plan
        What will be done.
    read_rate : float
        Bytes per second of reading.
    """
    rows = min(plan.block_size, 1024)
    columns = min(plan.n_samples, 1024)
    A = np.ones((rows, columns), plan.dtype)
    B = np.ones((columns, columns), plan.dtype)
    best = float("inf")
    for _ in range(3):
        start = time.perf_counter()
        A @ B
        best = min(best, time.perf_counter() - start)
    rate = plan.workers * 2 * rows * columns * columns / best
    values = float(plan.n_samples) * plan.n_features
    reading = plan.passes * values * plan.dtype.itemsize / read_rate
    return plan.flops / rate + reading
