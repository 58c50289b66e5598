"""The pieces of a sample graph, which are the eigenvectors of eigenvalue 0 of its Laplacian."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sfs_cli.graph.similarity import (
    DenseSimilarity,
    FactoredSimilarity,
    Similarity,
    SparseSimilarity,
)

if TYPE_CHECKING:
    from scipy.sparse import csr_array


def components(similarity: Similarity) -> np.ndarray:
    """Find the pieces of a graph whose edges are the entries of S that are not exactly 0.

    Pieces are numbered by their first sample. A factored similarity has an edge where two samples
    share a column of the factor.

    Returns
    -------
    ndarray of int, shape (n,)
        The piece of each sample.
    """
    from scipy.sparse import block_array, csr_array
    from scipy.sparse.csgraph import connected_components

    if isinstance(similarity, DenseSimilarity):
        return _dense_components(similarity.matrix)
    pattern: Any
    if isinstance(similarity, FactoredSimilarity):
        factor: Any = csr_array(similarity.factor)
        factor = factor != 0
        pattern = block_array([[None, factor], [factor.T, None]], format="csr")
    else:
        assert isinstance(similarity, SparseSimilarity)
        pattern = similarity.matrix != 0
    _, found = connected_components(pattern, directed=False)
    return np.unique(found[: similarity.n], return_inverse=True)[1]


def _dense_components(S: np.ndarray) -> np.ndarray:
    """Spread from one sample at a time; every row is read at most once."""
    piece = np.full(len(S), -1)
    count = 0
    while (piece < 0).any():
        frontier = np.flatnonzero(piece < 0)[:1]
        while frontier.size:
            piece[frontier] = count
            unseen = np.flatnonzero(piece < 0)
            reached = np.zeros(unseen.size, bool)
            for i in frontier:
                if reached.all():
                    break
                reached |= S[i, unseen] != 0
            frontier = unseen[reached]
        count += 1
    return piece


def null_vectors(pieces: np.ndarray, root: np.ndarray) -> csr_array:
    """Return an orthonormal basis of the null space of N (or of L, where `root` is 1).

    Parameters
    ----------
    pieces : ndarray of int, shape (n,)
        From `components`, c of them.
    root : ndarray, shape (n,)
        ``D^1/2 1``.

    Returns
    -------
    csr_array, shape (n, c)
        Column j is ``D^1/2`` times the indicator of piece j, of unit norm.
    """
    from scipy.sparse import csr_array

    norm = np.sqrt(np.bincount(pieces, weights=root**2))
    n = len(pieces)
    return csr_array((root / norm[pieces], pieces, np.arange(n + 1)), shape=(n, len(norm)))
