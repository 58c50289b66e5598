from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse.csgraph import dijkstra

from sfs_cli.errors import InputError
from sfs_cli.graph.distances import median_bandwidth, self_tuning_bandwidths, squared_distances
from sfs_cli.graph.neighbors import (
    knn_lengths,
    knn_similarity,
    nearest_in_panel,
)
from sfs_cli.graph.similarity import check_degrees
from tests.oracles import similarities

Data = tuple[np.ndarray, np.ndarray]


def distances_of(X: np.ndarray) -> np.ndarray:
    Z = X - X.mean(axis=0)
    return squared_distances(Z @ Z.T)


def sorted_neighbors(d2: np.ndarray, k: int) -> np.ndarray:
    return np.array([similarities.neighbors(d2, i, k) for i in range(len(d2))])


@settings(max_examples=50)
@given(st.data())
def test_ties_are_broken_by_index(data: st.DataObject) -> None:
    n = data.draw(st.integers(2, 25))
    k = data.draw(st.integers(1, n - 1))
    values = data.draw(st.integers(1, 6))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    d2 = rng.integers(values, size=(n, n)).astype(float)
    np.fill_diagonal(d2, 0.0)
    indices, nearest = nearest_in_panel(d2, 0, k)
    np.testing.assert_array_equal(indices, sorted_neighbors(d2, k))
    np.testing.assert_array_equal(nearest, np.take_along_axis(d2, indices, axis=1))
    assert indices.dtype == np.int64


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_panels_of_any_height_give_the_same_neighbors(
    dtype: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(0)
    d2 = rng.integers(9, size=(31, 31)).astype(dtype)
    expected = sorted_neighbors(d2, 6)
    for limit in (1, 70, 1 << 20):
        monkeypatch.setattr("sfs_cli.graph.neighbors.PANEL_VALUES", limit)
        for height in (1, 4, 31):
            parts = [
                nearest_in_panel(d2[low : low + height], low, 6) for low in range(0, 31, height)
            ]
            np.testing.assert_array_equal(np.concatenate([p[0] for p in parts]), expected)
            assert all(p[1].dtype == dtype for p in parts)


def test_knn_with_every_weight_equals_the_twin_on_random_data(random: Data) -> None:
    X, _ = random
    d2 = distances_of(X)
    indices, near = nearest_in_panel(d2, 0, 4)
    for weight, twin, bandwidth in [
        ("rbf", "median", median_bandwidth(d2)),
        ("rbf", "self-tuning", self_tuning_bandwidths(d2)),
        ("rbf", 3.5, 3.5),
        ("binary", "median", None),
    ]:
        S = knn_similarity(indices, near, bandwidth)
        expected = similarities.knn(X, 4, weight, twin)
        np.testing.assert_allclose(S.to_dense(), expected, rtol=1e-11)
        np.testing.assert_array_equal(S.to_dense(), S.to_dense().T)
        assert S.matrix.nnz == np.count_nonzero(expected)


def test_knn_follows_a_permutation_of_samples(random: Data) -> None:
    X, _ = random
    order = np.random.default_rng(5).permutation(len(X))
    graphs = [
        knn_similarity(*nearest_in_panel(distances_of(Y), 0, 5), 4.0).to_dense()
        for Y in (X, X[order])
    ]
    np.testing.assert_allclose(graphs[1], graphs[0][np.ix_(order, order)], rtol=1e-11)


def test_knn_breaks_ties_of_identical_samples_by_index() -> None:
    X = np.random.default_rng(2).normal(size=(6, 900))[[0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5]]
    for k in range(1, 11):
        S = knn_similarity(*nearest_in_panel(distances_of(X), 0, k))
        np.testing.assert_array_equal(S.to_dense(), similarities.knn(X, k, "binary"))


def test_weights_that_underflow_are_found_as_zero_degrees() -> None:
    d2 = distances_of(np.array([[0.0], [1.0], [2.0], [1e6], [2e6]]))
    S = knn_similarity(*nearest_in_panel(d2, 0, 1), 1.0)
    with pytest.raises(InputError, match=r"2 of 5 samples .*\(2 zero") as caught:
        check_degrees(S, list("abcde"), "knn")
    assert caught.value.where == "knn: d, e"
    assert "larger bandwidth" in str(caught.value)


def test_edges_between_identical_samples_have_length_zero_and_carry_paths() -> None:
    X = np.array([[0.0], [1.0], [1.0], [2.0]])
    indices = np.array([[1], [2], [3], [2]])
    d2 = np.square(X - X[indices[:, 0]])
    lengths = knn_lengths(indices, d2)
    assert lengths.nnz == 6
    np.testing.assert_array_equal(dijkstra(lengths)[0], [0.0, 1.0, 1.0, 2.0])


def test_lengths_are_the_distances_of_knn_edges(random: Data) -> None:
    X, _ = random
    lengths = knn_lengths(*nearest_in_panel(distances_of(X), 0, 10))
    edges = np.zeros(lengths.shape, dtype=bool)
    edges[lengths.tocoo().row, lengths.tocoo().col] = True
    np.testing.assert_array_equal(edges, similarities.knn(X, 10, "binary") > 0)
    expected = np.where(edges, similarities.distances(X), 0.0)
    np.testing.assert_allclose(lengths.toarray(), expected, rtol=1e-9)
