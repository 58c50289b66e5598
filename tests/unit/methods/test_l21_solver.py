"""The solver of the l2,1 penalized regression against its slow twin, and where it is hard."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import lars_path

from sfs_cli.errors import InputError
from sfs_cli.graph.similarity import FactoredSimilarity
from sfs_cli.methods.base import Solution, Status
from sfs_cli.methods.centered_matrix import centered_matrix
from sfs_cli.methods.l21 import fixed, mrsf
from sfs_cli.methods.l21.mrsf import Path
from sfs_cli.methods.l21.screen import Screen, spectral_bound
from tests.making import HELD, make_engine, make_problem
from tests.oracles import l21 as oracle
from tests.unit.methods.helpers import check_solution

Array = np.ndarray


def follow(X: Array, Y: Array, select: int, **given: Any) -> Solution:
    options = {"select": select, "response": "similarity", "response_rank": None}
    found = mrsf.solve(make_problem(X, S=FactoredSimilarity(Y), **(options | given)))
    check_solution(found)
    return found


def fit(X: Array, Y: Array, **given: Any) -> Solution:
    options = {"lambda_": None, "budget": None, "response": "similarity", "response_rank": None}
    return fixed.solve(make_problem(X, S=FactoredSimilarity(Y), **(options | given)))


def dense(found: Solution, m: int) -> Array:
    assert found.coefficients is not None
    indices, rows = found.coefficients
    W = np.zeros((m, rows.shape[1]))
    W[indices] = rows
    return W


def rotated(Y: Array) -> Array:
    """The columns in which the solver answers."""
    U, sigma, _ = np.linalg.svd(Y, full_matrices=False)
    peak = np.argmax(np.abs(U), axis=0)
    return oracle.centred(U * np.sign(U[peak, np.arange(U.shape[1])]) * sigma)


def true_gap(X: Array, Y: Array, found: Solution) -> float:
    F, lam = oracle.unit_features(X), found.facts["lambda_end"]
    return oracle.duality_gap(F, rotated(Y), dense(found, X.shape[1]), lam)


@pytest.mark.parametrize(("n", "m", "r"), [(25, 60, 1), (25, 60, 25), (40, 12, 3)])
@pytest.mark.parametrize("share", [0.9, 0.2])
def test_one_penalty_is_what_coordinate_descent_finds(
    rng: np.random.Generator, n: int, m: int, r: int, share: float
) -> None:
    X, Y = rng.normal(size=(n, m)), rng.normal(size=(n, r))
    F, R = oracle.unit_features(X), rotated(Y)
    lam = share * np.linalg.norm(F.T @ R, axis=1).max()
    W = oracle.coordinate_descent(F, R, lam)
    found = fit(X, Y, lambda_=lam)
    np.testing.assert_allclose(dense(found, m), W, atol=1e-8 * np.abs(W).max())
    np.testing.assert_allclose(found.score, np.linalg.norm(W, axis=1), atol=1e-8)
    np.testing.assert_allclose(
        found.extra["correlation"], np.linalg.norm(F.T @ (R - F @ W), axis=1), rtol=1e-7
    )


def test_every_breakpoint_is_optimal_and_the_active_set_changes_there(
    rng: np.random.Generator,
) -> None:
    X, Y = rng.normal(size=(20, 50)), rng.normal(size=(20, 3))
    features = centered_matrix(make_engine(X), "unit", HELD)
    F, R = oracle.unit_features(X), oracle.centred(Y)
    path = Path(Screen(features, R, 20), 0.0)
    for _ in range(10):
        assert path.advance()
    for event in path.events[1:]:
        assert event.optimality.gap <= 1e-10
        above = oracle.coordinate_descent(F, R, event.lam * 1.0005)
        below = oracle.coordinate_descent(F, R, event.lam * 0.9995)
        before, after = (W[event.feature].any() for W in (above, below))
        assert (before, after) == (not event.enters, event.enters)


def test_single_response_enters_in_the_order_of_the_lars_lasso_path(
    rng: np.random.Generator,
) -> None:
    X, y = rng.normal(size=(30, 100)), rng.normal(size=(30, 1))
    F = oracle.unit_features(X)
    alphas, _, coefs = lars_path(F, oracle.centred(y)[:, 0], method="lasso")
    first = {}
    for step in range(1, coefs.shape[1]):
        for j in np.flatnonzero(coefs[:, step]):
            first.setdefault(int(j), alphas[step - 1] * len(X))
    found = follow(X, y, 20)
    assert found.order is not None
    assert list(found.order[:20]) == list(first)[:20]
    np.testing.assert_allclose(found.score[found.order[:20]], list(first.values())[:20], rtol=1e-8)


@pytest.mark.parametrize("distance", [1e-3, 1e-6, 1e-8, 0.0])
def test_near_copies_neither_stall_the_path_nor_spoil_the_optimum(
    rng: np.random.Generator, distance: float
) -> None:
    X, Y = rng.normal(size=(25, 30)), rng.normal(size=(25, 3))
    X = np.hstack([X, -2 * (X + distance * rng.normal(size=X.shape)) + 1])
    found = follow(X, Y, 20)
    assert found.converged
    assert found.facts["selected"] == 20
    assert true_gap(X, Y, found) <= 1e-6


def test_of_copies_the_first_by_position_enters(rng: np.random.Generator) -> None:
    X = rng.normal(size=(20, 30))
    X = np.hstack([X, X, X])[:, rng.permutation(90)]
    found = follow(X, rng.normal(size=(20, 4)), 15)
    chosen = np.flatnonzero(found.status == Status.OK)
    F = oracle.unit_features(X)
    copies = np.abs(F.T @ F) > 1 - 1e-12
    assert len(chosen) == 15
    for j in chosen:
        assert np.flatnonzero(copies[j])[0] == j


def test_more_active_features_than_samples(rng: np.random.Generator) -> None:
    X, Y = rng.normal(size=(15, 200)), rng.normal(size=(15, 15))
    found = follow(X, Y, 60)
    assert found.facts["active_at_end"] > 15
    assert true_gap(X, Y, found) <= 1e-9


@pytest.mark.parametrize(("n", "m"), [(2, 20), (5, 40), (30, 8)])
def test_asking_for_more_than_can_enter_ends_with_a_warning(
    rng: np.random.Generator, n: int, m: int
) -> None:
    X, Y = rng.normal(size=(n, m)), rng.normal(size=(n, 2))
    found = follow(X, Y, 500)
    entered = found.facts["selected"]
    assert 0 < entered <= m
    assert found.converged
    assert f"only {entered} features can enter" in found.stop
    assert any(found.stop in line for line in found.warnings)
    assert (found.status == Status.OK).sum() == entered


def test_order_after_the_selected_is_by_what_correlation_is_left(rng: np.random.Generator) -> None:
    X, Y = rng.normal(size=(20, 40)), rng.normal(size=(20, 2))
    X[:, 11] = 4.0
    found = follow(X, Y, 5)
    F = oracle.unit_features(X)
    left = np.linalg.norm(F.T @ (rotated(Y) - F @ dense(found, 40)), axis=1)
    assert found.order is not None
    assert (np.diff(left[found.order[5:39]]) <= 1e-12).all()
    assert found.order[39] == 11
    assert np.isnan(found.extra["row_norm"][11])


def test_a_penalty_that_selects_nothing_scores_zero_and_says_so(rng: np.random.Generator) -> None:
    X, Y = rng.normal(size=(20, 40)), rng.normal(size=(20, 2))
    found = fit(X, Y, lambda_=1e6)
    assert (found.score == 0).all()
    assert "all coefficients are zero" in found.warnings[0]
    strongest = np.linalg.norm(oracle.unit_features(X).T @ rotated(Y), axis=1).argmax()
    assert found.order is not None
    assert found.order[0] == strongest


def test_a_budget_is_used_up_and_one_that_is_too_large_is_told(rng: np.random.Generator) -> None:
    X, Y = rng.normal(size=(20, 10)), rng.normal(size=(20, 2))
    enough = np.linalg.norm(np.linalg.lstsq(oracle.unit_features(X), rotated(Y))[0], axis=1).sum()
    found = fit(X, Y, budget=enough / 2)
    assert found.score.sum() == pytest.approx(enough / 2, rel=1e-9)
    assert found.converged
    assert not found.warnings
    slack = fit(X, Y, budget=2 * enough)
    assert slack.score.sum() == pytest.approx(enough, rel=1e-4)
    assert "more than is needed" in slack.warnings[0]


def test_a_penalty_without_a_unique_solution_is_refused(rng: np.random.Generator) -> None:
    with pytest.raises(InputError, match="too small"):
        fit(rng.normal(size=(9, 5)), rng.normal(size=(9, 1)), lambda_=1e-12)


def test_nothing_to_select_from_is_refused(rng: np.random.Generator) -> None:
    with pytest.raises(InputError, match="no feature varies"):
        follow(np.ones((9, 5)), rng.normal(size=(9, 1)), 3)


@pytest.mark.parametrize("shape", [(8, 8), (20, 3), (3, 20)])
def test_spectral_bound_is_above_the_largest_singular_value(
    rng: np.random.Generator, shape: tuple[int, int]
) -> None:
    A = rng.normal(size=shape)
    largest = np.linalg.norm(A, 2)
    assert largest <= spectral_bound(A, 0.0) <= 1.15 * largest
    assert spectral_bound(A, np.inf) == pytest.approx(np.linalg.norm(A))
    assert spectral_bound(np.zeros(shape), 0.0) == 0


def test_features_tied_beyond_the_candidates_do_not_hide_the_first(
    rng: np.random.Generator,
) -> None:
    X = rng.normal(size=(5, 1)) * rng.uniform(0.1, 10, 300)
    features = centered_matrix(make_engine(X), "unit", HELD)
    for Y in rng.normal(size=(20, 5, 2)):
        screen = Screen(features, Y - Y.mean(axis=0), 64)
        assert Path(screen, 0.0).events[0].feature in screen.index


@pytest.mark.parametrize("share", [0.02, 3.0])
def test_a_budget_of_few_samples_is_met_or_told(share: float) -> None:
    rng = np.random.default_rng(2)  # at the larger one Newton's method has no solution
    X, Y = rng.normal(size=(10, 200)), rng.normal(size=(10, 2))
    budget = share * np.linalg.norm(rotated(Y))
    found = fit(X, Y, budget=budget)
    met = abs(found.score.sum() / budget - 1) <= 1e-6
    assert found.converged == met
    assert met == (not found.warnings)
