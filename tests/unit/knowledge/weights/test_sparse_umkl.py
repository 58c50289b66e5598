"""Sparse UMKL: the formula, optimality, neighbors of graphs and of kernels with ties."""

from __future__ import annotations

import numpy as np
import pytest

from sfs_cli.errors import InputError
from sfs_cli.knowledge.weights.sparse_umkl import neighbor_graph
from tests.oracles import fusion as oracle
from tests.unit.knowledge.weights.problems import knn_of, planted, profile


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


@pytest.mark.parametrize("neighbors", [1, 4])
def test_neighbors(neighbors):
    tied = np.round(planted(4, n=30).kernels[1], 1)
    for K in (tied, planted(4, n=30).kernels[0], knn_of(profile(np.arange(30) % 3, 1.0, 1), 3)):
        W = neighbor_graph(K, neighbors).toarray()
        np.testing.assert_array_equal(W, oracle.neighbor_counts([K], neighbors))


def test_neighbors_are_fewer_than_samples():
    p = planted(0, n=4)
    assert p.learn("sparse-umkl").facts["neighbors"] == 3
    assert planted(0).learn("sparse-umkl").facts["neighbors"] == 5
    with pytest.raises(InputError, match="neighbors=5 of --weights") as caught:
        p.learn("sparse-umkl", neighbors=5)
    assert "3" in caught.value.hint
