"""What scorers of sparse features do without the zeros; spectral ones need a sparse graph."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np

from sfs_cli.methods.base import Status
from sfs_cli.methods.nonzeros import Groups, NonZeroForms, NonZerosLike, NonZeroSpread, Spread

if TYPE_CHECKING:
    from sfs_cli.methods.gdcov import GdcovScorer
    from sfs_cli.methods.laplacian_score import LaplacianScorer
    from sfs_cli.methods.spec import SpecScorer


class NonZeroScorer(ABC):
    """Scores blocks of non-zero values."""

    dtype = np.dtype(np.float64)
    forms: NonZeroSpread

    def score_block(self, block: NonZerosLike) -> tuple[np.ndarray, np.ndarray]:
        """Return the scores (b,) and statuses (b,) of a block; overwrites it."""
        spread = self.forms.spread(block)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            score = self.score(block, spread)
        score[spread.status != Status.OK] = np.nan
        return score, spread.status

    @abstractmethod
    def score(self, block: NonZerosLike, spread: Spread) -> np.ndarray:
        """Return the scores of a block after `NonZeroForms.spread`, shape (b,)."""


class NonZeroVariance(NonZeroScorer):
    """The unbiased variance, ``sum_i (f_i - mu)^2 / (n - 1)``."""

    def __init__(self, n_samples: int) -> None:
        self.forms = NonZeroSpread(np.ones(n_samples))

    def score(self, block: NonZerosLike, spread: Spread) -> np.ndarray:
        """Return the scores, shape (b,)."""
        return spread.square / (block.n_samples - 1) * spread.scale * spread.scale


class NonZeroLaplacian(NonZeroScorer):
    """The Laplacian Score, ``f' L f / sum_i d_i (f_i - mu)^2``."""

    forms: NonZeroForms

    def __init__(self, scorer: LaplacianScorer) -> None:
        self.forms = NonZeroForms(scorer.similarity, scorer.similarity.degrees)

    def score(self, block: NonZerosLike, spread: Spread) -> np.ndarray:
        """Return the scores, shape (b,)."""
        return self.forms.laplacian(block) / spread.square


class NonZeroSpec(NonZeroScorer):
    """phi1 and phi2 with gamma(lambda) = lambda or lambda^2, and phi3."""

    forms: NonZeroForms

    def __init__(self, scorer: SpecScorer) -> None:
        laplacian = scorer.laplacian
        self.forms = NonZeroForms(laplacian.similarity, laplacian.degrees)
        self.ranking, self.power = scorer.ranking, scorer.power
        if self.ranking == "phi3":
            self.vectors = laplacian.root[:, None] * scorer.spectrum.vectors[:, 1:]
            self.along_mean = self.vectors.sum(axis=0)
            self.weights = scorer.phi3_weights

    def score(self, block: NonZerosLike, spread: Spread) -> np.ndarray:
        """Return the scores, shape (b,)."""
        total = spread.square + self.forms.volume * spread.offset**2
        if self.ranking == "phi3":
            alpha = self._project(block) - np.outer(spread.mean, self.along_mean)
            return (alpha * alpha) @ self.weights / total
        form = self.forms.second(block) if self.power == 2 else self.forms.laplacian(block)
        return form / (spread.square if self.ranking == "phi2" else total)

    def _project(self, block: NonZerosLike) -> np.ndarray:
        """Return ``D^1/2 f . xi_j`` for the eigenvectors of phi3, shape (b, k - 1)."""
        from scipy.sparse import csr_array

        shape = (len(block.indptr) - 1, block.n_samples)
        features: Any = csr_array((block.data, block.indices, block.indptr), shape=shape)
        return features @ self.vectors


class NonZeroGdcov(NonZeroScorer):
    """GDCOV with gamma one-minus: what varies within the pieces of the graph, less ``f' L f``."""

    forms: NonZeroForms

    def __init__(self, scorer: GdcovScorer) -> None:
        geometry = scorer.geometry
        laplacian = geometry.laplacian
        self.n, self.normalized = scorer.n, geometry.normalized
        self.forms = NonZeroForms(laplacian.similarity, laplacian.degrees)
        self.pieces: Groups | None = None
        if geometry.null.shape[1] > 1:
            self.pieces = Groups.of(laplacian.degrees, geometry.null.indices)

    def score(self, block: NonZerosLike, spread: Spread) -> np.ndarray:
        """Return the scores, shape (b,)."""
        within = spread.square
        if self.pieces is not None:
            within = self.forms.within(block, self.pieces)
        form = within - self.forms.laplacian(block)
        if not self.normalized:
            return form * spread.scale**2 / (self.n - 1)
        return form / (spread.square + self.forms.volume * spread.offset**2) / (self.n - 1)
