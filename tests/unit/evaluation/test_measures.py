"""Measures of lists: against slow twins, scikit-learn and SciPy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import false_discovery_control, hypergeom
from sklearn.metrics import adjusted_rand_score

from sfs_cli.evaluation.measures import clustering, enrichment, jaccard, points_of, redundancy
from tests.oracles import evaluate as twin


def values(n: int = 20, m: int = 9) -> np.ndarray:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, m))
    X[:, 1] = 3 - 2 * X[:, 0]
    return X


def test_redundancy_is_that_of_the_slow_twin():
    X = values()
    assert redundancy(X.T) == pytest.approx(twin.redundancy(X), rel=1e-12)
    assert redundancy(X[:, :2].T) == pytest.approx(1)
    assert redundancy(1e-200 * X.T) == pytest.approx(redundancy(X.T))  # no square underflows
    assert np.isnan(redundancy(X[:, :1].T))
    constant = np.column_stack([X[:, 0], np.full(20, 4.0)])
    assert redundancy(constant.T) == 0


def test_constant_features_are_redundant_with_none():
    """The mean of ten times 0.1 is not 0.1: what is left by rounding is no correlation."""
    X = np.column_stack([np.full(10, 0.1), np.full(10, 0.3), np.arange(10)])
    assert redundancy(X.T) == 0


def test_jaccard_is_that_of_the_slow_twin():
    X = values()
    some = X[:, :4]
    found = jaccard(some @ some.T, X @ X.T)
    assert found == pytest.approx(twin.jaccard(some, X, 5), rel=1e-12)
    assert jaccard(X @ X.T, X @ X.T) == 1


def test_more_neighbors_than_samples_are_all_of_them():
    X = values(4)
    assert jaccard(X[:, :1] @ X[:, :1].T, X @ X.T) == 1


def test_points_have_the_inner_products_that_they_are_made_from():
    X = values()
    points = points_of(X @ X.T)
    np.testing.assert_allclose(points @ points.T, X @ X.T, atol=1e-10)
    assert points.shape[1] <= 9


def test_clusters_of_clear_groups_are_the_classes():
    y = np.arange(30) % 3
    X = np.random.default_rng(0).normal(size=(30, 5)) + 20 * np.eye(3, 5)[y]
    assert clustering(X, y, 0) == pytest.approx((1, 1))
    assert clustering(points_of(X @ X.T), y, 0) == pytest.approx((1, 1))
    shuffled = np.random.default_rng(1).permutation(y)
    nmi, ari = clustering(X, shuffled, 0)
    assert ari == pytest.approx(adjusted_rand_score(shuffled, y))
    assert nmi < 0.5


def test_over_representation_is_hypergeometric():
    ranked = [f"g{i}" for i in range(60)]
    rng = np.random.default_rng(3)
    sets = {f"set{j}": rng.choice(80, 5 + j, replace=False) for j in range(12)}
    named = {name: [f"g{i}" for i in of] for name, of in sets.items()}
    named["outside"] = ["x", "y"]
    found = enrichment(ranked, 15, named)
    assert {each.name for each in found} == set(sets)
    assert [each.p_value for each in found] == sorted(each.p_value for each in found)
    for each in found:
        size, overlap = int((sets[each.name] < 60).sum()), int((sets[each.name] < 15).sum())
        assert (each.size, each.overlap) == (size, overlap)
        assert each.expected == pytest.approx(15 * size / 60)
        assert each.p_value == pytest.approx(hypergeom.sf(overlap - 1, 60, size, 15), rel=1e-12)
        assert each.p_value == pytest.approx(twin.hypergeometric(60, size, 15, overlap), rel=1e-10)
        assert each.members == [f"g{i}" for i in sorted(sets[each.name].tolist()) if i < 15]
    p = [each.p_value for each in found]
    np.testing.assert_allclose([each.q_value for each in found], false_discovery_control(p))


def test_no_set_that_is_ranked_is_no_test():
    assert enrichment(["a", "b"], 1, {"one": ["x"]}) == []


def test_a_member_that_is_named_twice_counts_once():
    (found,) = enrichment(["a", "b", "c"], 1, {"one": ["a", "a", "c"]})
    assert (found.size, found.overlap) == (2, 1)
