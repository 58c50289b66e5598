"""The most variable features are those of the twin."""

from __future__ import annotations

import numpy as np
import pytest

from sfs_cli.graph.pca import all_alike, most_variable, normalized_dispersion
from tests.oracles import components as oracle


def counts(seed: int, n: int = 60, m: int = 300) -> np.ndarray:
    rng = np.random.default_rng(seed)
    level = rng.gamma(0.7, 3, m)
    return rng.poisson(level * rng.gamma(rng.uniform(0.5, 5, m), 1, (n, m))).astype(float)


def moments(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return X.mean(axis=0), np.where(np.ptp(X, axis=0) > 0, X.var(axis=0, ddof=1), 0)


@pytest.mark.parametrize("seed", range(2))
def test_the_dispersion_is_its_twin(seed):
    X = counts(seed)
    X[:, [5, 80]] = 0
    X[:, 7] = 3
    found = normalized_dispersion(*moments(X))
    np.testing.assert_allclose(found, oracle.normalized_dispersion(X), rtol=1e-9, atol=1e-12)
    assert np.isnan(found[[5, 7, 80]]).all()
    for count in (1, 40, 250):
        assert most_variable(*moments(X), count).tolist() == oracle.most_variable(X, count)


def test_a_feature_alone_in_its_bin_gets_one_and_equal_ones_get_nothing():
    mean = np.array([1.0, 1.0, 1.01, 50.0, 1.0])
    dispersion = np.array([2.0, 4.0, 3.0, 9.0, 3.0])
    found = normalized_dispersion(mean, dispersion * mean)
    assert found[3] == 1
    assert found[0] < found[4] < found[1]
    alike = normalized_dispersion(mean, np.array([2.0, 2.0, 2.0, 9.0, 2.0]) * mean)
    np.testing.assert_array_equal(alike, [0, 0, 0, 1, 0])
    np.testing.assert_array_equal(normalized_dispersion(np.ones(3), np.ones(3)), np.zeros(3))
    assert np.isnan(normalized_dispersion(np.ones(3), np.zeros(3))).all()


def test_equal_features_come_by_index_and_constant_ones_never():
    mean, variance = np.ones(6), np.array([2.0, 0.0, 2.0, 5.0, 2.0, 0.0])
    for by in ("dispersion", "variance"):
        assert most_variable(mean, variance, 3, by).tolist() == [0, 2, 3]
        assert most_variable(mean, variance, 6, by).tolist() == [0, 2, 3, 4]


def test_it_is_told_when_none_varies_most():
    mean = np.array([1.0, 2.0, 4.0])
    assert all_alike(mean, np.array([1, 1 + 1e-12, 0]), "variance")
    assert not all_alike(mean, np.array([1, 1.1, 1]), "variance")
    assert all_alike(mean, 3 * mean, "dispersion")
    assert not all_alike(mean, np.ones(3), "dispersion")
    assert not all_alike(mean, np.zeros(3), "dispersion")
