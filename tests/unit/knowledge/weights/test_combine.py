"""Weighted sums and averages over the sources that have a pair."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from sfs_cli.errors import InputError
from sfs_cli.knowledge.fuse import weighted_sum
from tests.oracles import fusion as oracle
from tests.unit.knowledge.weights.problems import planted

KERNELS = planted(3, graph=True).kernels
N = len(KERNELS[0])


def sparse_kernels(count: int, n: int) -> list[csr_array]:
    rng = np.random.default_rng(5)
    found = []
    for _ in range(count):
        A = rng.random((n, n)) * (rng.random((n, n)) < 0.2)
        found.append(csr_array(A + A.T))
    return found


def places(seed: int, sizes: list[int], n: int) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [np.sort(rng.permutation(n)[:size]) for size in sizes]


def test_sparse_graphs_stay_sparse():
    graphs = sparse_kernels(3, 25)
    S = weighted_sum(graphs, [1.0, 0.0, 0.5])
    assert isinstance(S, csr_array)
    np.testing.assert_allclose(S.toarray(), (graphs[0] + 0.5 * graphs[2]).toarray(), rtol=1e-15)
    assert (S != S.T).nnz == 0


def test_sparse_and_dense_together_are_dense():
    graph = sparse_kernels(1, N)[0]
    S = weighted_sum([KERNELS[0], graph], [1.0, 2.0])
    np.testing.assert_allclose(S, KERNELS[0] + 2 * graph.toarray(), rtol=1e-15)


@pytest.mark.parametrize("seed", range(1))
@pytest.mark.parametrize("form", [np.array, csr_array])
def test_each_pair_is_averaged_over_the_sources_that_have_it(seed, form):
    n, sizes, weights = 20, [20, 12, 9, 15], [0.5, 0.0, 2.0, 1.3]
    at = places(seed, sizes, n)
    rng = np.random.default_rng(seed)
    kernels = [rng.normal(size=(k, k)) for k in sizes]
    kernels = [K + K.T for K in kernels]
    S = weighted_sum([form(K) for K in kernels], weights, at, n)
    dense = S if isinstance(S, np.ndarray) else S.toarray()
    assert isinstance(S, np.ndarray) == (form is np.array)
    np.testing.assert_allclose(dense, oracle.average(kernels, at, weights, n), rtol=1e-13)
    np.testing.assert_array_equal(dense, dense.T)


def test_a_source_may_have_all_samples_in_another_order():
    at = [np.arange(N), np.random.default_rng(3).permutation(N)]
    S = weighted_sum(KERNELS[:2], [1.0, 2.0], at, N)
    np.testing.assert_allclose(S, oracle.average(KERNELS[:2], at, [1.0, 2.0], N), rtol=1e-13)


def test_samples_of_no_source_are_named():
    kernels, at = [np.eye(2), np.eye(2)], [np.array([0, 1]), np.array([2, 3])]
    with pytest.raises(InputError, match="2 of 4 samples") as caught:
        weighted_sum(kernels, [1.0, 0.0], at, 4, ["a", "b", "c", "d"])
    assert caught.value.where == "c, d"
    assert "--samples intersect" in caught.value.hint
