from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from sfs_cli.errors import InputError
from sfs_cli.graph.distances import median_bandwidth, squared_distances
from sfs_cli.graph.kinds import diffusion_similarity
from sfs_cli.graph.neighbors import knn_similarity, nearest_in_panel
from sfs_cli.graph.similarity import SparseSimilarity

Data = tuple[np.ndarray, np.ndarray]


def knn(X: np.ndarray, k: int) -> SparseSimilarity:
    Z = X - X.mean(axis=0)
    d2 = squared_distances(Z @ Z.T)
    return knn_similarity(*nearest_in_panel(d2, 0, k), median_bandwidth(d2))


def test_diffusion_keeps_the_stationary_vector_and_is_never_negative(random: Data) -> None:
    graph = knn(random[0], 3)
    for beta in (0.1, 1.0, 25.0):
        S = diffusion_similarity(graph, beta).matrix
        root = np.sqrt(graph.degrees)
        np.testing.assert_allclose(S @ root, root, rtol=1e-12)
        assert S.min() >= 0.0


def test_diffusion_refuses_isolated_samples() -> None:
    S = np.ones((3, 3))
    S[1] = S[:, 1] = 0.0
    with pytest.raises(InputError, match="1 of 3 samples"):
        diffusion_similarity(SparseSimilarity(csr_array(S)))
