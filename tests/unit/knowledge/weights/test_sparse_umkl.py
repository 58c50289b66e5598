"""Sparse UMKL: the formula, optimality, neighbors of graphs and of kernels with ties."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from sfs_cli.errors import InputError
from sfs_cli.knowledge.weights.sparse_umkl import distortions, neighbor_graph, unit_diagonal
from tests.oracles import fusion as oracle
from tests.unit.knowledge.weights.problems import knn_of, learn, planted, profile


def distortion_matrix(kernels: list[np.ndarray], k: int) -> np.ndarray:
    scaled = [oracle.cosine_scaled(K) if np.diag(K).all() else K for K in kernels]
    W = oracle.neighbor_counts(scaled, k)
    return oracle.distortions([oracle.centered(K) for K in scaled], W)


@pytest.mark.parametrize("seed", range(1))
@pytest.mark.parametrize("k", [5, 2])
def test_optimality(seed, k):
    p = planted(seed, graph=True)
    found = p.learn("sparse-umkl", neighbors=k)
    S = distortion_matrix(p.kernels, k)
    beta = found.weights
    np.testing.assert_allclose(found.facts["distortions"], np.diag(S), rtol=1e-10)
    value = beta @ S @ beta
    assert found.objective == pytest.approx(value, rel=1e-10)
    assert (beta >= 0).all()
    assert beta.sum() == pytest.approx(1.0, rel=1e-12)
    assert ((S @ beta) >= value * (1 - 1e-9)).all()  # the multiplier of the sum is the value
    np.testing.assert_allclose((S @ beta)[beta > 0], value, rtol=1e-9)
    assert found.converged


def test_an_independent_solver_finds_nothing_lower():
    p = planted(0, graph=True)
    S = distortion_matrix(p.kernels, 5)
    scale = np.trace(S)
    found = minimize(
        lambda b: b @ S @ b / scale,
        np.full(5, 0.2),
        bounds=[(0, 1)] * 5,
        constraints={"type": "eq", "fun": lambda b: b.sum() - 1},
        method="SLSQP",
        options={"ftol": 1e-15},
    )
    np.testing.assert_allclose(p.learn("sparse-umkl").weights, found.x, atol=1e-5)


def test_five_neighbors_by_default():
    p = planted(0)
    found = p.learn("sparse-umkl")
    assert found.facts["neighbors"] == 5
    np.testing.assert_array_equal(found.weights, p.learn("sparse-umkl", neighbors=5).weights)


def test_the_laplacian_form_is_the_sum_over_pairs():
    p = planted(1, n=24)
    C = [oracle.centered(K) for K in p.kernels]
    W = neighbor_graph(p.kernels[0], 3)
    np.testing.assert_allclose(distortions(C, W), oracle.distortions(C, W.toarray()), rtol=1e-10)


@pytest.mark.parametrize("neighbors", [1, 4])
def test_neighbors(neighbors):
    tied = np.round(planted(4, n=30).kernels[1], 1)
    for K in (tied, planted(4, n=30).kernels[0], knn_of(profile(np.arange(30) % 3, 1.0, 1), 3)):
        W = neighbor_graph(K, neighbors).toarray()
        np.testing.assert_array_equal(W, oracle.neighbor_counts([K], neighbors))


def test_only_edges_of_a_graph_make_neighbors():
    graph = knn_of(profile(np.arange(30) % 3, 1.0, 1), 3)
    W = neighbor_graph(graph, 20).toarray()
    np.testing.assert_array_equal(W > 0, graph > 0)


def test_scales_and_diagonals_play_no_part():
    p = planted(1)
    expected = p.learn("sparse-umkl").weights
    size = np.random.default_rng(0).uniform(0.5, 2.0, len(p.codes))
    scaled = [p.kernels[0] * np.outer(size, size), *(7.0 * K for K in p.kernels[1:])]
    found = learn("sparse-umkl", scaled)
    np.testing.assert_allclose(found.weights, expected, rtol=1e-8, atol=1e-12)
    graph = knn_of(profile(p.codes, 1.0, 1))
    assert unit_diagonal(graph) is graph


def test_neighbors_are_fewer_than_samples():
    p = planted(0, n=4)
    assert p.learn("sparse-umkl").facts["neighbors"] == 3
    with pytest.raises(InputError, match="neighbors=5 of --weights") as caught:
        p.learn("sparse-umkl", neighbors=5)
    assert "3" in caught.value.hint
