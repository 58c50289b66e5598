from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfs_cli.errors import InputError
from sfs_cli.graph.distances import (
    correlation,
    linear,
    median_bandwidth,
    rbf,
    self_tuning_bandwidths,
    squared_distances,
)
from tests.oracles import similarities

Data = tuple[np.ndarray, np.ndarray]


def centred_gram(X: np.ndarray) -> np.ndarray:
    Z = X - X.mean(axis=0)
    return Z @ Z.T


def distances_of(X: np.ndarray) -> np.ndarray:
    return squared_distances(centred_gram(X))


@settings(max_examples=50)
@given(
    st.integers(2, 30),
    st.integers(1, 400),
    st.floats(1e-6, 1e6),
    st.integers(0, 2**32 - 1),
)
def test_distances_are_symmetric_and_zero_exactly_for_copies(
    n: int, m: int, scale: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    distinct = scale * rng.normal(size=(n, m))
    copy_of = rng.integers(n, size=2 * n)
    gram = centred_gram(distinct[copy_of])
    # what another order of summation may do to any entry
    gram *= 1.0 + np.finfo(np.float64).eps * rng.integers(-2, 3, size=gram.shape)
    d2 = squared_distances(gram)
    np.testing.assert_array_equal(d2, d2.T)
    assert np.all(d2 >= 0.0)
    same = copy_of[:, None] == copy_of
    assert np.all(d2[same] == 0.0)
    for i, first in enumerate(np.argmax(same, axis=1)):
        np.testing.assert_array_equal(d2[i], d2[first])


def test_noise_limit_follows_the_precision_of_the_gram_matrix() -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(12, 3000)).astype(np.float32)
    X[7] = X[2]
    gram = X @ X.T
    gram[7, 7] = gram[2, 2]  # but for the rounding of the product, which differs by the library
    gram[7, 2] = gram[2, 7] = np.nextafter(gram[2, 2], np.float32(0))
    eps = float(np.finfo(np.float32).eps)
    assert squared_distances(gram)[7, 2] > 0.0
    assert squared_distances(gram, eps)[7, 2] == 0.0


def test_median_leaves_out_infinite_distances() -> None:
    d2 = np.array([[0, 4, np.inf], [4, 0, np.inf], [np.inf, np.inf, 0]], dtype=float)
    assert median_bandwidth(d2) == 2.0


def test_median_of_mostly_identical_samples_is_refused() -> None:
    X = np.zeros((10, 3))
    X[9] = 1.0
    with pytest.raises(InputError, match="median distance between samples is 0") as caught:
        median_bandwidth(distances_of(X))
    assert "as a number" in str(caught.value)


def test_self_tuning_counts_samples_with_seven_copies() -> None:
    X = np.random.default_rng(0).normal(size=(20, 3))
    X[4:12] = X[4]
    with pytest.raises(InputError, match="0 for 8 samples") as caught:
        self_tuning_bandwidths(distances_of(X))
    assert "sample number 5, 6" in str(caught.value)


@pytest.mark.parametrize("bandwidth", [0.0, np.nan, 1e-200])
def test_rbf_refuses_a_bandwidth_that_is_not_a_positive_number(bandwidth: float) -> None:
    with pytest.raises(InputError, match="positive finite"):
        rbf(np.zeros((2, 2)), bandwidth)


def test_rbf_of_far_samples_is_zero_without_warning() -> None:
    S = rbf(np.array([[0.0, 1e300], [1e300, 0.0]]), 1e-100)
    np.testing.assert_array_equal(S, np.eye(2))


def test_linear_equals_the_twin(random: Data) -> None:
    X, _ = random
    expected = similarities.linear(X)
    for gram in (centred_gram(X), centred_gram(X) + 3.0):
        S = linear(gram)
        np.testing.assert_array_equal(S, S.T)
        np.testing.assert_allclose(S, expected, rtol=0, atol=1e-12 * expected.max())


def test_correlation_of_standardized_features_is_a_graph_and_a_kernel(random: Data) -> None:
    X, _ = random
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    assert (np.corrcoef(Z).sum(axis=1) < 0.5).any()
    S = correlation(Z @ Z.T, Z.sum(axis=1), Z.shape[1])
    assert S.min() >= 0
    assert np.linalg.eigvalsh(S).min() > -1e-10
    center = np.eye(len(S)) - 1 / len(S)
    np.testing.assert_allclose(
        2 * center @ S @ center, center @ np.corrcoef(Z) @ center, rtol=0, atol=1e-12
    )


@pytest.mark.parametrize("value", [0.1])
def test_correlation_names_a_constant_sample(value: float) -> None:
    X = np.random.default_rng(0).normal(size=(6, 50))
    X[3] = value
    with pytest.raises(InputError, match="1 samples have the same value") as caught:
        correlation(X @ X.T, X.sum(axis=1), 50)
    assert "sample number 4" in str(caught.value)
