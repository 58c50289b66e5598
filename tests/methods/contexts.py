"""Contexts of methods over matrices in memory, without a run around them."""

from __future__ import annotations

from typing import Any

import numpy as np

from sfs_cli.compute.engine import Engine
from sfs_cli.compute.executor import ThreadExecutor
from sfs_cli.graph.similarity import DenseSimilarity, Similarity
from sfs_cli.methods.base import Context, Scorer, Solution, Status
from sfs_cli.store.matrix import DenseMatrix, Ids
from sfs_cli.store.prepared import PreparedMatrix

HELD = 1 << 30
STREAMED = 0
"""Memory that makes `centred_features` hold the matrix, or read it in every pass."""


def make_engine(X: np.ndarray, *, block_size: int | None = None, workers: int = 1) -> Engine:
    """An engine over samples x features."""
    ids = Ids([f"g{i}" for i in range(X.shape[1])], [f"s{i}" for i in range(len(X))])
    values = np.array(X.T, np.float64, order="C")
    matrix = PreparedMatrix(DenseMatrix(values, ids))
    return Engine(matrix, ThreadExecutor(workers), np.dtype(np.float64), block_size)


def make_context(
    X: np.ndarray,
    *,
    codes: np.ndarray | None = None,
    S: np.ndarray | Similarity | None = None,
    block_size: int | None = None,
    workers: int = 1,
    memory: int = HELD,
    seed: int = 0,
    **options: Any,
) -> Context:
    """A context over samples x features; options are the method's own, all of them."""
    similarity = DenseSimilarity(S) if isinstance(S, np.ndarray) else S
    engine = make_engine(X, block_size=block_size, workers=workers)
    return Context(
        len(X),
        np.dtype(np.float64),
        similarity,
        codes,
        options=options,
        engine=engine,
        memory=memory,
        seed=seed,
    )


def score_all(scorer: Scorer, context: Context) -> tuple[np.ndarray, np.ndarray]:
    """Scores and statuses of all features by a scorer, block by block."""
    assert context.engine is not None
    parts = [part for _, part in context.engine.run(scorer.score_block, scorer.dtype)]
    score, status = (np.concatenate(column) for column in zip(*parts))
    np.testing.assert_array_equal(np.isnan(score), status != Status.OK)
    return score, status


def check_solution(solution: Solution) -> None:
    """What holds of every solution: NaN exactly where the status is not ok, no feature twice."""
    np.testing.assert_array_equal(np.isnan(solution.score), solution.status != Status.OK)
    if solution.order is not None:
        assert len(np.unique(solution.order)) == len(solution.order)
