from __future__ import annotations

import numpy as np
import pytest

from sfs_cli.errors import InputError
from sfs_cli.graph.distances import squared_distances
from sfs_cli.graph.kinds import geodesic_similarity
from sfs_cli.graph.neighbors import knn_lengths, nearest_in_panel
from sfs_cli.graph.similarity import DenseSimilarity
from tests.oracles import similarities


def geodesic(X: np.ndarray, k: int) -> DenseSimilarity:
    Z = X - X.mean(axis=0)
    return geodesic_similarity(knn_lengths(*nearest_in_panel(squared_distances(Z @ Z.T), 0, k)))


def test_components_are_not_similar_and_do_not_enter_the_bandwidth() -> None:
    rng = np.random.default_rng(0)
    near = rng.normal(size=(12, 3))
    far = rng.normal(size=(12, 3)) + 1e3
    X = np.vstack([near, far])
    S = geodesic(X, 4).matrix
    assert np.all(S[:12, 12:] == 0.0)
    assert np.all(S[:12, :12] > 0.0)
    np.testing.assert_allclose(S, similarities.geodesic(X, 4), rtol=1e-9)


def test_identical_samples_are_one_point_of_the_graph() -> None:
    X = np.arange(12.0).repeat(2)[:, None]
    S = geodesic(X, 3).matrix
    np.testing.assert_array_equal(S[0::2], S[1::2])
    assert np.all(S[np.arange(0, 24, 2), np.arange(1, 24, 2)] == 1.0)
    np.testing.assert_allclose(S, similarities.geodesic(X, 3), rtol=1e-12)


def test_copies_that_only_know_each_other_are_refused() -> None:
    with pytest.raises(InputError, match="median distance"):
        geodesic(np.arange(4.0).repeat(6)[:, None], 5)
