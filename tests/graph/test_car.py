from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from sfs_cli.errors import InputError
from sfs_cli.graph.distances import squared_distances
from sfs_cli.graph.neighbors import knn_similarity, nearest_in_panel
from sfs_cli.graph.others import car_similarity
from sfs_cli.graph.similarity import SparseSimilarity, check_degrees, connected_components
from tests.oracles import similarities

Data = tuple[np.ndarray, np.ndarray]


def knn(X: np.ndarray, k: int) -> SparseSimilarity:
    Z = X - X.mean(axis=0)
    return knn_similarity(*nearest_in_panel(squared_distances(Z @ Z.T), 0, k))


@pytest.mark.parametrize("rho", [0.01, 0.5, 0.9, 0.999])
def test_car_equals_the_twin(random: Data, rho: float) -> None:
    X, _ = random
    S = car_similarity(knn(X, 4), rho).matrix
    np.testing.assert_array_equal(S, S.T)
    np.testing.assert_allclose(S, similarities.car(X, 4, rho), rtol=1e-9, atol=1e-12)


def test_car_equals_the_twin_on_real_data(real: Data) -> None:
    X, _ = real
    S = car_similarity(knn(X, 10))
    np.testing.assert_allclose(S.matrix, similarities.car(X, 10), rtol=1e-9, atol=1e-13)
    check_degrees(S, None, "car")


@pytest.mark.parametrize("rho", [0.1, 0.9, 0.99])
def test_car_is_positive_definite_and_never_negative(random: Data, rho: float) -> None:
    graph = knn(random[0], 3)
    S = car_similarity(graph, rho).matrix
    values = np.linalg.eigvalsh(S)
    # the eigenvector D^1/2 1 of the normalized adjacency has the eigenvalue 1
    np.testing.assert_allclose(values[-1], 1 / (1 - rho), rtol=1e-10)
    assert values[0] >= 1 / (1 + rho) - 1e-10
    assert S.min() >= 0.0


def test_car_is_the_sum_of_its_series(random: Data) -> None:
    graph, rho = knn(random[0], 5), 0.6
    root = np.sqrt(graph.degrees)
    W = graph.to_dense() / np.outer(root, root)
    series = sum(rho**t * np.linalg.matrix_power(W, t) for t in range(80))
    np.testing.assert_allclose(car_similarity(graph, rho).matrix, series, rtol=1e-9, atol=1e-14)


def test_car_does_not_reach_other_connected_components() -> None:
    rng = np.random.default_rng(0)
    side = np.arange(40) % 2
    graph = knn(rng.normal(size=(40, 3)) + 1000.0 * side[:, None], 4)
    S = car_similarity(graph)
    assert not S.matrix[side[:, None] != side].any()
    np.testing.assert_array_equal(connected_components(S), connected_components(graph))


@pytest.mark.parametrize("n", [1, 1100])
def test_car_of_one_or_many_panels_is_symmetric(n: int) -> None:
    ring = np.roll(np.eye(n), 1, axis=1) + np.roll(np.eye(n), -1, axis=1)
    S = car_similarity(SparseSimilarity(csr_array(ring))).matrix
    np.testing.assert_array_equal(S, S.T)
    np.testing.assert_allclose(S.sum(axis=1), 10.0)  # 1 / (1 - rho): W has constant row sums


def test_car_refuses_isolated_samples() -> None:
    S = np.ones((3, 3))
    S[1] = S[:, 1] = 0.0
    with pytest.raises(InputError, match="1 of 3 samples"):
        car_similarity(SparseSimilarity(csr_array(S)))
