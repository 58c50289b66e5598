"""The oracles are checked too: against theorems, and against hand-made cases."""

from __future__ import annotations

import numpy as np
import pytest

from tests.oracles import similarities, spec

CODES = np.repeat([0, 1, 2], [9, 12, 6])


def _data() -> np.ndarray:
    rng = np.random.default_rng(0)
    return rng.normal(size=(27, 6)) + 2.0 * rng.normal(size=(3, 6))[CODES]


X = _data()
GRAPHS = {
    "rbf": similarities.rbf(X),
    "knn": similarities.knn(X, 3),
    "label": similarities.label(CODES),
}


def linear(values: np.ndarray) -> np.ndarray:
    return values


@pytest.fixture(params=GRAPHS)
def S(request: pytest.FixtureRequest) -> np.ndarray:
    return GRAPHS[request.param]


def test_eigenpairs_rebuild_the_normalized_laplacian(S: np.ndarray) -> None:
    values, xi = spec.eigenpairs(S)
    d = S.sum(axis=1)
    np.testing.assert_allclose(xi.T @ xi, np.eye(27), atol=1e-13)
    np.testing.assert_allclose(xi[:, 0], np.sqrt(d / d.sum()), rtol=1e-13)
    N = np.eye(27) - S / np.sqrt(np.outer(d, d))
    np.testing.assert_allclose((xi * values) @ xi.T, N, atol=1e-13)


def test_phi2_is_the_laplacian_score(S: np.ndarray) -> None:
    for offset in (0.0, 1e3):
        np.testing.assert_allclose(
            spec.phi2(X + offset, S, linear), spec.laplacian_score(X, S), rtol=1e-10
        )


def test_phi2_with_labels_is_the_fisher_score_in_disguise() -> None:
    expected = 1.0 / (1.0 + spec.fisher_score(X, CODES))
    np.testing.assert_allclose(spec.phi2(X, GRAPHS["label"], linear), expected, rtol=1e-10)


@pytest.mark.parametrize("power", [1, 2, 3])
def test_phi1_is_a_quadratic_form(S: np.ndarray, power: int) -> None:
    d = S.sum(axis=1)
    N = np.eye(27) - S / np.sqrt(np.outer(d, d))
    for f, score in zip(X.T, spec.phi1(X, S, lambda v: v**power)):
        f_hat = np.sqrt(d) * f / np.linalg.norm(np.sqrt(d) * f)
        assert score == pytest.approx(f_hat @ np.linalg.matrix_power(N, power) @ f_hat, rel=1e-10)


def test_phi3_over_all_pairs_is_what_phi1_leaves(S: np.ndarray) -> None:
    d = S.sum(axis=1)
    first = (d @ X) ** 2 / d.sum() / (d @ X**2)
    expected = 2.0 * (1.0 - first) - spec.phi1(X, S, linear)
    np.testing.assert_allclose(spec.phi3(X, S, linear, 27), expected, rtol=1e-10)


def test_constant_features_score_nan(S: np.ndarray) -> None:
    with_constants = np.column_stack([X[:, 0], np.zeros(27), np.full(27, 0.1)])
    for scores in (
        spec.phi1(with_constants, S, linear),
        spec.phi2(with_constants, S, linear),
        spec.phi3(with_constants, S, linear, 3),
        spec.laplacian_score(with_constants, S),
        spec.fisher_score(with_constants, CODES),
    ):
        np.testing.assert_array_equal(np.isnan(scores), [False, True, True])


def test_clusters_are_the_blocks_of_a_block_matrix() -> None:
    assert spec.choose_clusters(GRAPHS["label"], 10) == 3
