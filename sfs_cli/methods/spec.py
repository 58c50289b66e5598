"""SPEC: features ranked by their consistency with the spectrum of a sample graph.

Z. Zhao and H. Liu, "Spectral feature selection for supervised and unsupervised learning",
ICML 2007; Z. Zhao, dissertation, Arizona State University 2010, Chapter 2 (Eq. 2.6-2.8).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sfs_cli.compute.workspace import Workspace
from sfs_cli.errors import InputError
from sfs_cli.graph.laplacian import NormalizedLaplacian
from sfs_cli.graph.similarity import FactoredSimilarity, SparseSimilarity
from sfs_cli.graph.spectrum import (
    MAX_CLUSTERS,
    Spectrum,
    apply_series,
    chebyshev_exponential,
    clusters_by_eigengap,
    exponential,
    leading,
    spectral_interval,
)
from sfs_cli.methods.base import BlockLike, Context, Scorer, Status
from sfs_cli.methods.centering import Centred, center
from sfs_cli.methods.nonzero_scorers import NonZeroScorer, NonZeroSpec
from sfs_cli.methods.nonzeros import can_measure
from sfs_cli.methods.precision import WEAK_BELOW, Scored, piecewise, refined
from sfs_cli.methods.thin import Moments, ThinScores, normalized_factor, without

Form = Callable[[np.ndarray], np.ndarray]
"""From rows g (b, n), orthogonal to xi_1, to ``g gamma(N) g'`` (b,)."""


class SpecScorer:
    """phi1, phi2 or phi3 of every feature of a block.

    With ``g = D^1/2 (f - c)``, c the D-weighted mean of f, and ``|D^1/2 f|^2 = |g|^2 + c^2 vol``:

    - phi1 = (g gamma(N) g' + gamma(0) c^2 vol) / |D^1/2 f|^2 (Eq. 2.6)
    - phi2 = g gamma(N) g' / |g|^2 (Eq. 2.7, whose sums start at j = 2)
    - phi3 = sum_{j=2..k} (gamma(2) - gamma(lambda_j)) (g . xi_j)^2 / |D^1/2 f|^2 (Eq. 2.8)
    """

    def __init__(self, context: Context) -> None:
        assert context.similarity is not None
        self.laplacian = NormalizedLaplacian(context.similarity)
        self.ranking: str = context.options["ranking"]
        self.gamma: str = context.options["gamma"]
        self.power: int = context.options["gamma_power"]
        self.larger_is_better = self.ranking == "phi3"
        self.work = Workspace()
        self.facts: dict[str, Any] = {}
        self.warnings: list[str] = []
        # only products with a dense n x n matrix are worth a shorter type
        single = self.laplacian.dense and self.ranking != "phi3"
        self.dtype = context.dtype if single else np.dtype(np.float64)
        if self.ranking == "phi3":
            self.spectrum = self._choose(context.options["clusters"])
            self.phi3_weights = self._phi3_weights()
        else:
            self.form = self._form()
        self.thin = self._thin()
        if self.thin is not None:
            self.dtype = context.exact

    def score_block(self, block: BlockLike) -> tuple[np.ndarray, np.ndarray]:
        """Return the scores and statuses of a block; may overwrite it."""
        if self.thin is not None:
            return self.thin.score_block(block, self._of_moments, self._carefully)
        if isinstance(self.laplacian.similarity, FactoredSimilarity):
            return piecewise(block, self._carefully)
        return self._carefully(block)

    def on_nonzeros(self) -> NonZeroScorer | None:
        """Return what scores blocks of non-zero values, where the formula and the graph allow."""
        similarity = self.laplacian.similarity
        highest = 2 if isinstance(similarity, SparseSimilarity) else 1
        forms = self.gamma == "power" and self.power <= highest
        able = can_measure(similarity) and (self.ranking == "phi3" or forms)
        return NonZeroSpec(self) if able else None

    def _thin(self) -> ThinScores | None:
        """Return what scores by products with a few columns, where the formula allows."""
        degrees = self.laplacian.degrees
        if self.ranking == "phi3":
            return ThinScores(degrees, self.spectrum.vectors[:, 1:])
        factor = normalized_factor(self.laplacian.similarity)
        if factor is None or self.gamma != "power" or self.power != 1:
            return None
        # D^-1/2 S D^-1/2 = Y Y' has xi_1 to the eigenvalue 1, so it is Y Y' xi_1
        return ThinScores(degrees, without(factor, self.laplacian.trivial @ factor))

    def _of_moments(self, moments: Moments) -> tuple[np.ndarray, np.ndarray]:
        if self.ranking == "phi3":
            score = moments.weighted_squares(self.phi3_weights) / moments.whole
            return score, moments.square
        form = moments.square - moments.along_squares
        return form / (moments.square if self.ranking == "phi2" else moments.whole), form

    def _carefully(self, block: BlockLike) -> tuple[np.ndarray, np.ndarray]:
        return refined(block, self._score_once)

    def _score_once(self, block: BlockLike) -> Scored:
        keep = block.values.dtype == np.float32
        centred = center(block, self.laplacian.degrees, self.work if keep else None)
        G = centred.values
        G *= self.laplacian.root.astype(G.dtype)
        square = np.vecdot(G, G).astype(np.float64)
        status = centred.status(square, self.laplacian.volume)
        scored = status == Status.OK
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            score, weak = self._score(G, square, centred)
        score[~scored] = np.nan
        return Scored(score, status, weak & scored)

    def _score(
        self, G: np.ndarray, square: np.ndarray, centred: Centred
    ) -> tuple[np.ndarray, np.ndarray]:
        trivial = self.laplacian.volume * centred.offset**2
        if self.ranking == "phi3":
            alpha = G @ self.spectrum.vectors[:, 1:]
            return (alpha * alpha) @ self.phi3_weights / (square + trivial), np.zeros(len(G), bool)
        form = self.form(G)
        weak = form < WEAK_BELOW * square
        if self.ranking == "phi2":
            return form / square, weak
        zero = 1.0 if self.gamma == "exp" else 0.0
        return (form + zero * trivial) / (square + trivial), weak

    def _form(self) -> Form:
        if self.gamma == "power":
            return lambda G: self.laplacian.form(G, self.power)
        if self.laplacian.dense:
            operand = exponential(self.laplacian)
            operands = {np.dtype(t): operand.astype(t) for t in (np.float64, self.dtype)}
            return lambda G: np.vecdot(G, G @ operands[G.dtype]).astype(np.float64)
        interval = spectral_interval(self.laplacian)
        series = chebyshev_exponential(interval, 0.5)

        def form(G: np.ndarray) -> np.ndarray:
            half = apply_series(self.laplacian, G, series, interval)
            return np.vecdot(half, half)

        return form

    def _gamma_of(self, values: np.ndarray) -> np.ndarray:
        return np.exp(values) if self.gamma == "exp" else values**self.power

    def _phi3_weights(self) -> np.ndarray:
        return self._gamma_of(np.array([2.0])) - self._gamma_of(self.spectrum.values[1:])

    def _choose(self, clusters: int | None) -> Spectrum:
        """Find the eigenpairs of phi3: as many as asked for, or up to the largest gap."""
        n = self.laplacian.n
        if clusters is not None:
            if clusters > n:
                raise InputError(
                    f"--clusters {clusters} is more than the {n} samples",
                    hint=f"give a number from 2 to {n}, or leave it to the eigengap",
                )
            found = leading(self.laplacian, min(clusters + 1, n))
            k = clusters
        else:
            if n < 3:
                raise InputError(
                    "an eigengap needs at least 3 samples", hint="give --clusters, or take phi2"
                )
            found = leading(self.laplacian, min(MAX_CLUSTERS + 1, n))
            k = clusters_by_eigengap(found.values)
        self.facts["clusters"] = k
        self.facts["eigenvalues"] = found.values
        if k < len(found.values) and found.values[k] - found.values[k - 1] < 1e-10:
            self.warnings.append(
                f"eigenvalues {k} and {k + 1} of the sample graph are equal, so phi3 depends on "
                "the choice among their eigenvectors; take another --clusters"
            )
        return Spectrum(found.values[:k], found.vectors[:, :k])


def prepare(context: Context) -> Scorer:
    """Return the scorer of SPEC."""
    return SpecScorer(context)
