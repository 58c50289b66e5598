"""MRSF and l21 against scikit-learn, against each other, and against the theory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import MultiTaskLasso

from sfs_cli.graph import distances as kernels
from sfs_cli.methods.base import Solution
from sfs_cli.methods.l21 import fixed, mrsf
from tests.making import make_problem
from tests.unit.methods.helpers import check_solution

Array = np.ndarray


def rbf(X: Array) -> Array:
    d2 = kernels.squared_distances(X @ X.T)
    return kernels.rbf(d2, kernels.median_bandwidth(d2))


def unit(X: Array) -> Array:
    X = X - X.mean(axis=0)
    return X / np.linalg.norm(X, axis=0)


def response(S: Array) -> Array:
    """Y with Y Y' = S, from a full decomposition."""
    values, vectors = np.linalg.eigh(S)
    kept = values > 1e-10 * values[-1]
    return vectors[:, kept] * np.sqrt(values[kept])


def path(X: Array, S: Array, select: int, **given: Any) -> Solution:
    options = {"select": select, "response": "similarity", "response_rank": None}
    context = make_problem(X, S=S, **(options | given))
    return mrsf.solve(context)


def simulated(n: int = 40, m: int = 120, seed: int = 0) -> Array:
    rng = np.random.default_rng(seed)
    clusters = rng.integers(0, 3, n)
    X = rng.normal(size=(n, m))
    X[:, :12] += 2 * rng.normal(size=(3, 12))[clusters]
    X[:, 12:20] = X[:, :8] + 0.3 * rng.normal(size=(n, 8))
    return X


def sklearn_weights(X: Array, Y: Array, lam: float) -> Array:
    n = len(X)
    model = MultiTaskLasso(alpha=lam / n, fit_intercept=False, tol=1e-10, max_iter=200_000)
    return model.fit(unit(X), Y - Y.mean(axis=0)).coef_.T


def check_against_sklearn(X: Array, S: Array, found: Solution) -> None:
    W = sklearn_weights(X, response(S), found.facts["lambda_end"])
    norms = np.linalg.norm(W, axis=1)
    own = np.nan_to_num(found.extra["row_norm"])
    # at the last breakpoint the newest feature has just entered, with no weight yet
    np.testing.assert_allclose(own, norms, atol=2e-6 * norms.max())
    active = set(np.flatnonzero(norms > 1e-5 * norms.max()))
    assert active <= set(np.flatnonzero(own > 0))
    assert found.coefficients is not None
    indices, rows = found.coefficients
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), own[indices], rtol=1e-8)


@pytest.mark.parametrize("seed", range(3))
def test_last_breakpoint_is_scikit_learns_solution(seed: int) -> None:
    X = simulated(seed=seed)
    S = rbf(X)
    found = path(X, S, 25)
    check_solution(found)
    assert found.facts["largest_relative_gap"] <= 1e-6
    check_against_sklearn(X, S, found)


def test_path_does_not_change_when_the_response_is_centred() -> None:
    X = simulated()
    S = rbf(X)
    J = np.eye(len(X)) - 1 / len(X)
    same(path(X, S, 20), path(X, J @ S @ J, 20))


def test_path_does_not_change_when_the_response_is_rotated() -> None:
    """A factor Z and Z Q give one S; the solver sees the factor, so rotate that."""
    from sfs_cli.graph.similarity import FactoredSimilarity

    X = simulated()
    rng = np.random.default_rng(5)
    Z = rng.normal(size=(len(X), 6))
    Q = np.linalg.qr(rng.normal(size=(6, 6)))[0]
    same(path(X, FactoredSimilarity(Z), 20), path(X, FactoredSimilarity(Z @ Q), 20))


def same(a: Solution, b: Solution) -> None:
    assert a.order is not None
    assert b.order is not None
    selected = int((~np.isnan(a.score)).sum())
    np.testing.assert_array_equal(a.order[:selected], b.order[:selected])
    np.testing.assert_allclose(a.score, b.score, rtol=1e-7)
    np.testing.assert_allclose(a.extra["row_norm"], b.extra["row_norm"], atol=1e-7)


@pytest.mark.parametrize("select", [6, 18])
def test_l21_at_points_of_the_path_equals_the_path(select: int) -> None:
    X = simulated()
    S = rbf(X)
    found = path(X, S, select)
    options = {"budget": None, "response": "similarity", "response_rank": None}
    single = fixed.solve(make_problem(X, S=S, lambda_=found.facts["lambda_end"], **options))
    np.testing.assert_allclose(
        np.nan_to_num(single.score), np.nan_to_num(found.extra["row_norm"]), atol=1e-7
    )
    budget = found.facts["l21_norm_end"]
    given = fixed.solve(make_problem(X, S=S, lambda_=None, **(options | {"budget": budget})))
    np.testing.assert_allclose(
        np.nan_to_num(given.score), np.nan_to_num(found.extra["row_norm"]), atol=1e-6
    )
    assert np.nansum(given.score) == pytest.approx(budget, rel=1e-6)


def test_correlations_with_the_residual_are_lambda_on_the_active_set_and_less_off_it() -> None:
    """Proposition 2."""
    X = simulated()
    S = rbf(X)
    found = path(X, S, 20)
    assert found.coefficients is not None
    indices, rows = found.coefficients
    lam, F, Y = found.facts["lambda_end"], unit(X), response(S)
    Y = Y - Y.mean(axis=0)
    # coefficients are in the solver's columns of Y; the residual's products are not, but its Gram
    W = sklearn_weights(X, Y, lam)
    pull = np.linalg.norm(F.T @ (Y - F @ W), axis=1)
    np.testing.assert_allclose(pull[indices], lam, rtol=1e-6)
    assert pull.max() <= lam * (1 + 1e-6)
    assert rows.shape[0] == len(indices)


def test_of_two_equally_relevant_features_the_less_redundant_enters() -> None:
    """Theorem 16: a selected feature's double is passed over for one that adds something."""
    rng = np.random.default_rng(3)
    Q = np.linalg.qr(rng.normal(size=(30, 4)) - 0)[0]
    Q = np.linalg.qr(Q - Q.mean(axis=0))[0]
    y1, y2, noise = Q[:, 0], Q[:, 1], Q[:, 2]
    S = 4 * np.outer(y1, y1) + np.outer(y2, y2)
    first = y1
    redundant = 0.9 * y1 + np.sqrt(1 - 0.81) * noise
    # as relevant to S as the redundant one (x'Sx equal), but nearer to y2 than to y1
    share = (4 * 0.81 - 1) / 3
    other = np.sqrt(share) * y1 + np.sqrt(1 - share) * y2
    X = np.column_stack([first, redundant, other])
    assert redundant @ S @ redundant == pytest.approx(other @ S @ other)
    found = path(X, S, 2)
    assert found.order is not None
    assert list(found.order[:2]) == [0, 2]
