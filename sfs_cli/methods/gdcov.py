"""GDCOV: features ranked by their variance in the geometry of a sample graph.

Z. Zhao and H. Liu, "Multi-source feature selection via geometry-dependent covariance analysis",
JMLR Workshop and Conference Proceedings 4, 2008 (Definitions 1 and 3, Theorem 6, Eq. 10).
"""

from __future__ import annotations

import numpy as np

from sfs_cli.compute.workspace import Workspace
from sfs_cli.graph.spectral_functions import Smoothing
from sfs_cli.methods.base import BlockLike, Context, Scorer, Status
from sfs_cli.methods.geometry import Geometry
from sfs_cli.methods.nonzero_scorers import NonZeroGdcov, NonZeroScorer
from sfs_cli.methods.nonzeros import can_measure
from sfs_cli.methods.precision import WEAK_BELOW, Scored, refined


class GdcovScorer:
    """The diagonal of the geometry-dependent covariance; larger is better.

    - Definition 3: ``f~' Gamma(N) f~ / (n - 1)`` with ``f~ = D^1/2 f / |D^1/2 f|``. The norm is
      that of the feature as it is given, so a large mean makes for a small score.
    - Definition 1: ``f' Gamma(L) f / (n - 1)``, in the squared units of the feature; its mean does
      not matter (Theorem 2).
    """

    larger_is_better = True

    def __init__(self, context: Context) -> None:
        self.n = context.n_samples
        self.geometry = Geometry(context)
        self.dtype = context.dtype if self.geometry.dense else np.dtype(np.float64)
        self.facts = self.geometry.facts
        self.warnings = self.geometry.warnings
        self.work = Workspace()

    def score_block(self, block: BlockLike) -> tuple[np.ndarray, np.ndarray]:
        """Return the scores and statuses of a block; may overwrite it."""
        return refined(block, self._score)

    def on_nonzeros(self) -> NonZeroScorer | None:
        """Return what scores blocks of non-zero values, where gamma and the graph allow."""
        smoothing = isinstance(self.geometry.function, Smoothing)
        able = smoothing and can_measure(self.geometry.laplacian.similarity)
        return NonZeroGdcov(self) if able else None

    def _score(self, block: BlockLike) -> Scored:
        keep = block.values.dtype == np.float32
        found = self.geometry.measure(block, self.work if keep else None)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            score = found.form / found.norm / (self.n - 1)
        score[found.status != Status.OK] = np.nan
        weak = np.abs(found.form) < WEAK_BELOW * self.geometry.function.typical * found.square
        return Scored(score, found.status, weak & (found.status == Status.OK))


def prepare(context: Context) -> Scorer:
    """Return the scorer of GDCOV."""
    return GdcovScorer(context)
