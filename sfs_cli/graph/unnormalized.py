"""The Laplacian ``L = D - S`` of a sample graph, behind the interface of the normalized one."""

from __future__ import annotations

import numpy as np

from sfs_cli.graph.laplacian import NormalizedLaplacian
from sfs_cli.graph.similarity import Similarity


class UnnormalizedLaplacian(NormalizedLaplacian):
    """``L = D - S`` where `NormalizedLaplacian` has ``N``: features keep their own scale.

    ``L`` is the normalized Laplacian of ``I - L``, every degree of which is 1. So `degrees` (the
    weights that features are centred with) and `root` are 1, `trivial` is ``1 / sqrt(n)``, and
    ``I - L`` takes the place of ``D^-1/2 S D^-1/2``.

    Parameters
    ----------
    similarity : Similarity
        Symmetric, n x n.

    Attributes
    ----------
    diagonal : ndarray, shape (n,)
        The degrees of `similarity`.
    """

    def __init__(self, similarity: Similarity) -> None:
        super().__init__(similarity)
        self.diagonal = similarity.degrees
        self.degrees = np.ones(self.n)
        self.root = np.ones(self.n)
        self.volume = float(self.n)
        self.trivial = np.full(self.n, self.n**-0.5)

    def apply(self, G: np.ndarray) -> np.ndarray:
        """Return ``G L``."""
        product = self.similarity.matmul(G)
        return np.subtract(G * self.diagonal.astype(G.dtype), product, out=product)

    def smooth(self, G: np.ndarray) -> np.ndarray:
        """Return ``G (I - L - xi_1 xi_1')``."""
        if self.dense:
            return G @ self._operand(G.dtype)
        xi = self.trivial.astype(G.dtype)
        return G - self.apply(G) - np.outer(G @ xi, xi)

    def smooth_matrix(self) -> np.ndarray:
        """Return ``I - L - xi_1 xi_1'`` as a dense matrix, shape (n, n), float64."""
        S = self.similarity.to_dense() - np.outer(self.trivial, self.trivial)
        S[np.diag_indices(self.n)] += 1 - self.diagonal
        return S
