"""The Laplacian Score.

X. He, D. Cai and P. Niyogi, "Laplacian score for feature selection", NIPS 2005; Eq. 3.11 of the
dissertation. It is computed from ``L = D - S`` as published; that it equals phi2 (Theorem 9) is
left to the tests.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sfs_cli.compute.workspace import Workspace
from sfs_cli.graph.similarity import DenseSimilarity
from sfs_cli.methods.base import BlockLike, Context, Scorer, Status
from sfs_cli.methods.centering import center
from sfs_cli.methods.nonzero_scorers import NonZeroLaplacian, NonZeroScorer
from sfs_cli.methods.nonzeros import can_measure
from sfs_cli.methods.precision import WEAK_BELOW, Scored, refined


class LaplacianScorer:
    """``f' L f / f' D f`` for features around their D-weighted means; smaller is better."""

    larger_is_better = False

    def __init__(self, context: Context) -> None:
        assert context.similarity is not None
        self.similarity = context.similarity
        dense = isinstance(context.similarity, DenseSimilarity)
        self.dtype = context.dtype if dense else np.dtype(np.float64)
        self.work = Workspace()
        self.facts: dict[str, Any] = {}
        self.warnings: list[str] = []

    def score_block(self, block: BlockLike) -> tuple[np.ndarray, np.ndarray]:
        """Return the scores and statuses of a block; may overwrite it."""
        return refined(block, self._score)

    def on_nonzeros(self) -> NonZeroScorer | None:
        """Return what scores blocks of non-zero values, where the graph allows."""
        return NonZeroLaplacian(self) if can_measure(self.similarity) else None

    def _score(self, block: BlockLike) -> Scored:
        degrees = self.similarity.degrees
        keep = block.values.dtype == np.float32
        centred = center(block, degrees, self.work if keep else None)
        F = centred.values
        square = (F * F) @ degrees
        status = centred.status(square, float(degrees.sum()))
        smooth = np.vecdot(F, self.similarity.matmul(F)).astype(np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            score = (square - smooth) / square
        score[status != Status.OK] = np.nan
        return Scored(score, status, score < WEAK_BELOW)


def prepare(context: Context) -> Scorer:
    """Return the scorer of the Laplacian Score."""
    return LaplacianScorer(context)
