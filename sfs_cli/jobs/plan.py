"""Fitting a run into memory before it starts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sfs_cli.compute.spans import arithmetic_dtype, block_features
from sfs_cli.errors import OutOfMemoryError

BUFFERS = 5
"""Blocks of one worker: as read, prepared, centred and their products."""
SERIES_BUFFERS = 12
"""Those where a series or an iteration takes the place of a matrix: its terms, and transposes."""
SQUARES = 4
"""Arrays of the shape of a dense sample graph: products, distances, weights, operator; before, the
sums of products that wait for each other."""
DOUBLE_SQUARES = 2
"""Those that finished tasks take, beside one for each worker, where their sums are in float64."""
SENT_SQUARES = 3
"""Those of a worker in another process, which adds up several blocks and sends the sum."""
ID_BYTES = 40
"""An id, where ids are not read yet."""
FEATURE_BYTES = {"score": 32, "solve": 136, "compare": 240}
"""Beside its id: a score, a status and a place in the table; what a solver knows of each feature;
several rankings that are compared."""


@dataclass(frozen=True)
class Load:
    """What a run holds in memory beside the matrix.

    Attributes
    ----------
    dense_graph : bool
        Whether the sample graph is an n x n array.
    distances : bool
        Whether a pass finds the distances of the samples.
    squares : int
        n x n arrays that are held beside each other, where the graph is one.
    buffers : int
        Blocks of a worker.
    panel : int
        Bytes that a worker holds to find neighbours: distances, sums of components.
    held : int
        Bytes of the principal components, where neighbours are searched among those.
    sums : int
        n x n arrays of a worker that sums products.
    feature_bytes : int
        Bytes for every feature, its id included.
    """

    dense_graph: bool
    distances: bool
    squares: int = SQUARES
    buffers: int = BUFFERS
    panel: int = 0
    held: int = 0
    sums: int = 1
    feature_bytes: int = ID_BYTES + FEATURE_BYTES["score"]

    def of_graph(self, n: int, dtype: np.dtype[Any]) -> int:
        """Return the bytes of the graph of n samples, and of what it is made from."""
        doubles = DOUBLE_SQUARES * self._summed(n) if dtype.itemsize == 8 else 0
        return self.squares * self.of_square(n) + self.held + doubles

    def of_worker(self, n: int, block_size: int) -> int:
        """Return the bytes of one worker: its blocks and sums."""
        return self.buffers * block_size * n * 8 + self.panel + self.sums * self._summed(n)

    def of_square(self, n: int) -> int:
        """Return the bytes of one n x n array, 0 where the graph is none."""
        return n * n * 8 if self.dense_graph else 0

    def _summed(self, n: int) -> int:
        return self.of_square(n) if self.distances else 0


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
    parts : dict
        What `needed` is made of: ``features``, ``graph``, and ``threads`` (their blocks and sums).
    """

    n_samples: int
    n_features: int
    dtype: np.dtype[Any]
    block_size: int
    workers: int
    passes: int
    needed: int
    parts: dict[str, int]


def make_plan(
    n: int,
    m: int,
    stored: np.dtype[Any],
    load: Load,
    *,
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
    load : Load
        What is held beside the matrix.
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
    features, graph, each = load.feature_bytes * m, load.of_graph(n, dtype), load.of_worker(n, size)
    fixed = graph + features
    workers = min(threads, max(1, -(-m // size)))
    while workers > 1 and fixed + each * workers > memory:
        workers -= 1
    needed = fixed + each * workers
    if needed > memory:
        dense = load.squares * load.of_square(n) > memory
        raise OutOfMemoryError(
            f"{n:,} samples x {m:,} features need {needed / 2**20:,.0f} MiB beside the matrix",
            where=f"--memory allows {memory / 2**20:,.0f} MiB",
            hint="raise --memory"
            + (", or take --similarity knn, which stays sparse" if dense else ""),
        )
    parts = {"features": features, "graph": graph, "threads": each * workers}
    return Plan(n, m, dtype, size, workers, 1 + int(load.distances), needed, parts)
