"""The papers' "Dijkstra" similarity: distances along the neighbour graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sfs_cli.graph.kernels import median_bandwidth, rbf
from sfs_cli.graph.similarity import DenseSimilarity

if TYPE_CHECKING:
    from scipy.sparse import csr_array


def geodesic_similarity(lengths: csr_array) -> DenseSimilarity:
    """Gaussian similarity of shortest paths over the neighbour graph (Isomap distances).

    Parameters
    ----------
    lengths : csr_array, shape (n, n)
        Symmetric edge lengths, as `sfs_cli.graph.neighbors.knn_lengths` gives them.

    Returns
    -------
    DenseSimilarity
        exp(-path^2 / (2 delta^2)), delta the median path over connected pairs i < j; 1 on the
        diagonal, 0 between components.

    Raises
    ------
    InputError
        When the median path has length 0.
    """
    from scipy.sparse.csgraph import dijkstra

    paths = dijkstra(lengths)
    # the two directions of a path are summed in opposite orders
    np.minimum(paths, paths.T, out=paths)
    d2 = np.square(paths, out=paths)
    return DenseSimilarity(rbf(d2, median_bandwidth(d2)))
