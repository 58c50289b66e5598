"""The Laplacians of a sample graph, normalized and not, applied to blocks of features.

``N = I - D^-1/2 S D^-1/2`` has the trivial eigenpair ``(0, xi_1)`` with ``xi_1`` proportional to
``D^1/2 1``. Everything here works on the complement of ``xi_1``: that direction is removed from the
operator itself, so that large offsets of the features cost no digits, and so that on a graph of
several connected components the other eigenvectors of eigenvalue 0 are orthogonal to it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sfs_cli.graph.similarity import DenseSimilarity, FactoredSimilarity, Similarity


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
        # the trivial direction is removed by the operator: large offsets of features cost no digits
        product -= np.outer(G @ self.trivial.astype(G.dtype), self.trivial.astype(G.dtype))
        return product

    @property
    def factor(self) -> np.ndarray | None:
        """X, shape (n, r - 1), with ``X X'`` the matrix of `smooth`; None without a thin factor."""
        factor = normalized_factor(self.similarity)
        if factor is None:
            return None
        # D^-1/2 S D^-1/2 = Y Y' has xi_1 to the eigenvalue 1, so it is Y Y' xi_1
        return without(factor, self.trivial @ factor)

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
        return square if power % 2 == 0 else self._first_power(G, square)

    def _first_power(self, G: np.ndarray, square: np.ndarray) -> np.ndarray:
        """Return ``g N g'`` for every row g, of which `square` is ``|g|^2``; both (b,)."""
        if self.dense:
            return square - np.vecdot(G, self.smooth(G))
        # not through `smooth`: the form of a similarity may cost less than a product with it
        projection = G @ self.trivial.astype(G.dtype)
        form = self.similarity.form(G * (1 / self.root).astype(G.dtype))
        return square - (form - projection * projection)

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
        # workers make their own: else n x n matrices would travel with every task
        return self.__dict__ | {"_operands": {}}


class UnnormalizedLaplacian(NormalizedLaplacian):
    """``L = D - S`` where `NormalizedLaplacian` has ``N``: features keep their own scale.

    ``L`` is the normalized Laplacian of ``I - L``, every degree of which is 1. So `degrees` (the
    weights that features are centered with) and `root` are 1, `trivial` is ``1 / sqrt(n)``, and
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

    @property
    def factor(self) -> None:
        """None: ``I - L - xi_1 xi_1'`` has full rank."""

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

    def _first_power(self, G: np.ndarray, _square: np.ndarray) -> np.ndarray:
        """Return ``g L g' = sum_i d_i g_i^2 - g S g'`` for every row g, shape (b,)."""
        # not by way of I - L, whose identity would be added only to be taken away again
        weighted = np.vecdot(G * self.diagonal.astype(G.dtype), G).astype(np.float64)
        return weighted - self.similarity.form(G)

    def smooth_matrix(self) -> np.ndarray:
        """Return ``I - L - xi_1 xi_1'`` as a dense matrix, shape (n, n), float64."""
        S = self.similarity.to_dense() - np.outer(self.trivial, self.trivial)
        S[np.diag_indices(self.n)] += 1 - self.diagonal
        return S


def normalized_factor(similarity: Similarity) -> np.ndarray | None:
    """Return ``D^-1/2 Z``, shape (n, r), of a similarity that is held as a dense, thin factor Z."""
    if isinstance(similarity, FactoredSimilarity) and isinstance(similarity.factor, np.ndarray):
        return similarity.factor / np.sqrt(similarity.degrees)[:, None]
    return None


def without(factor: np.ndarray, unit: np.ndarray) -> np.ndarray:
    """Remove one direction from a factor.

    Parameters
    ----------
    factor : ndarray, shape (n, r)
        Y.
    unit : ndarray, shape (r,)
        u, of unit norm.

    Returns
    -------
    ndarray, shape (n, r - 1)
        X with ``X X' = Y Y' - (Y u) (Y u)'``.
    """
    return factor @ np.linalg.qr(unit[:, None], mode="complete")[0][:, 1:]
