"""The normalized Laplacian of a sample graph, applied to blocks of features.

``N = I - D^-1/2 S D^-1/2`` has the trivial eigenpair ``(0, xi_1)`` with ``xi_1`` proportional to
``D^1/2 1``. Everything here works on the complement of ``xi_1``: the trivial direction is taken
out of the operator itself, so that large offsets of the features cost no digits, and so that on a
graph in several pieces the other eigenvectors of eigenvalue 0 are orthogonal to it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sfs_cli.graph.similarity import DenseSimilarity, Similarity


class NormalizedLaplacian:
    """The normalized Laplacian of a similarity with positive degrees.

    Parameters
    ----------
    similarity : Similarity
        Symmetric, n x n.

    Attributes
    ----------
    n : int
        Number of samples.
    degrees, root : ndarray, shape (n,)
        ``d = S 1`` and its square root.
    volume : float
        ``sum(d)``.
    trivial : ndarray, shape (n,)
        ``xi_1``, of unit norm.
    dense : bool
        Whether blocks are multiplied by an n x n matrix.
    """

    def __init__(self, similarity: Similarity) -> None:
        self.similarity = similarity
        self.n = similarity.n
        self.degrees = similarity.degrees
        self.root = np.sqrt(self.degrees)
        self.volume = float(self.degrees.sum())
        self.trivial = self.root / np.sqrt(self.volume)
        self.dense = isinstance(similarity, DenseSimilarity)
        self._operands: dict[np.dtype[Any], np.ndarray] = {}

    def smooth(self, G: np.ndarray) -> np.ndarray:
        """Return ``G (D^-1/2 S D^-1/2 - xi_1 xi_1')``.

        Parameters
        ----------
        G : ndarray, shape (b, n)
            Rows ``D^1/2 f``.

        Returns
        -------
        ndarray, shape (b, n), of the dtype of `G`
        """
        if self.dense:
            return G @ self._operand(G.dtype)
        inverse = (1 / self.root).astype(G.dtype)
        product = self.similarity.matmul(G * inverse)
        product *= inverse
        product -= np.outer(G @ self.trivial.astype(G.dtype), self.trivial.astype(G.dtype))
        return product

    def apply(self, G: np.ndarray) -> np.ndarray:
        """Return ``G N`` for rows orthogonal to ``xi_1``."""
        product = self.smooth(G)
        return np.subtract(G, product, out=product)

    def form(self, G: np.ndarray, power: int) -> np.ndarray:
        """Return ``g N^power g'`` for every row g, orthogonal to ``xi_1``.

        Half of the power is applied to the block, so a power r costs ceil(r / 2) products and no
        decomposition.

        Returns
        -------
        ndarray, shape (b,), float64
        """
        for _ in range(power // 2):
            G = self.apply(G)
        square = np.vecdot(G, G).astype(np.float64)
        if power % 2:
            square -= self._smooth_form(G)
        return square

    def _smooth_form(self, G: np.ndarray) -> np.ndarray:
        """Return ``g (D^-1/2 S D^-1/2 - xi_1 xi_1') g'`` for every row g, shape (b,)."""
        if self.dense:
            return np.vecdot(G, self.smooth(G))
        along = G @ self.trivial.astype(G.dtype)
        return self.similarity.form(G * (1 / self.root).astype(G.dtype)) - along * along

    def smooth_matrix(self) -> np.ndarray:
        """Return ``D^-1/2 S D^-1/2 - xi_1 xi_1'`` as a dense matrix, shape (n, n), float64."""
        S = self.similarity.to_dense()
        S = S / self.root[:, None]
        S /= self.root
        S -= np.outer(self.trivial, self.trivial)
        return S

    def _operand(self, dtype: np.dtype[Any]) -> np.ndarray:
        if dtype not in self._operands:
            self._operands[dtype] = self.smooth_matrix().astype(dtype, copy=False)
        return self._operands[dtype]

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_operands": {}}
