"""RFS: certified optimum, exact zeros, order of entry, degenerate input."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sfs_cli.methods import rfs
from sfs_cli.methods.base import Solution
from tests.making import make_problem
from tests.oracles import rfs as oracle
from tests.unit.methods.helpers import check_solution

Array = np.ndarray


def case(seed: int = 0, n: int = 24, m: int = 40, c: int = 3) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    y = np.arange(n) % c
    X = rng.normal(size=(n, m)) * rng.uniform(0.1, 10, m) + rng.normal(size=m)
    X[:, :5] += (1.5 * rng.normal(size=(c, 5)))[y] * X[:, :5].std(axis=0)
    return X, y


def solve(X: Array, y: Array, gamma: float = 1.0, **given: Any) -> Solution:
    solution = rfs.solve(make_problem(X, codes=y, **({"gamma": gamma} | given)))
    check_solution(solution)
    return solution


def all_rows(solution: Solution, m: int) -> Array:
    """W with the bias below."""
    assert solution.coefficients is not None
    indices, rows = solution.coefficients
    W = np.zeros((m + 1, rows.shape[1]))
    W[indices] = rows
    W[-1] = solution.facts["bias"]
    return W


@pytest.mark.parametrize(
    ("n", "m", "c", "gamma"),
    [(24, 40, 3, 0.1), (30, 8, 2, 1.0), (30, 8, 2, 4.0), (12, 40, 4, 1.0), (10, 50, 2, 0.1)],
)
def test_the_objective_lies_between_the_bounds_of_an_independent_solver(
    n: int, m: int, c: int, gamma: float
) -> None:
    X, y = case(m, n, m, c)
    found = solve(X, y, gamma)
    upper, lower = oracle.optimum(X, y, gamma)
    assert upper - lower <= 5e-7 * upper
    assert lower * (1 - 1e-9) <= found.objective[-1] <= upper * (1 + 1e-9)
    assert found.converged


@pytest.mark.parametrize("gamma", [0.1, 1.0, 4.0])
def test_the_coefficients_have_the_objective_that_is_reported(gamma: float) -> None:
    X, y = case()
    found = solve(X, y, gamma)
    W = all_rows(found, X.shape[1])
    assert oracle.objective(X, y, W, gamma) == pytest.approx(found.objective[-1], rel=1e-10)
    np.testing.assert_allclose(found.score, np.linalg.norm(W[:-1], axis=1), rtol=1e-12)


def test_the_published_iteration_comes_to_the_same_weights_slowly() -> None:
    X, y = case()
    W = oracle.published(X, y, 1.0, 2000)
    found = solve(X, y)
    assert found.objective[-1] <= oracle.objective(X, y, W, 1.0) * (1 + 1e-12)
    np.testing.assert_allclose(all_rows(found, X.shape[1]), W, atol=2e-4 * np.abs(W).max())


def test_features_without_weight_are_exactly_zero_and_ordered_by_their_pull() -> None:
    X, y = case(m=200)
    found = solve(X, y, 3.0)
    weighty = found.score > 0
    assert 0 < weighty.sum() < 100
    pull = found.extra["pull"]
    np.testing.assert_allclose(pull[weighty], 1, atol=1e-5)
    assert pull.max() <= 1
    assert found.order is not None
    rest = found.order[weighty.sum() :]
    assert (np.diff(found.score[found.order]) <= 0).all()
    assert (np.diff(pull[rest]) <= 0).all()
    assert not found.score[rest].any()


def test_a_gamma_too_large_for_any_weight_says_so_and_ranks_by_pull() -> None:
    X, y = case()
    found = solve(X, y, 1e3)
    assert not found.score.any()
    assert "no feature has weight" in found.warnings[0]
    assert found.converged
    assert found.order is not None
    assert (np.diff(found.extra["pull"][found.order]) <= 0).all()


def test_the_objective_never_rises() -> None:
    for seed in range(2):
        assert (np.diff(solve(*case(seed, m=300), 0.5).objective) <= 0).all()


def test_equal_features_share_their_weight_equally() -> None:
    X, y = case()
    twice = np.column_stack([X, X[:, 0]])
    plain, found = solve(X, y), solve(twice, y)
    assert found.converged
    assert found.objective[-1] == pytest.approx(plain.objective[-1], rel=1e-8)
    np.testing.assert_allclose(found.score[[0, -1]], plain.score[0] / 2, rtol=1e-4)


def test_collinear_features_are_solved_as_well() -> None:
    X, y = case(m=10)
    X = np.column_stack([X, X @ np.random.default_rng(3).normal(size=(10, 20))])
    found = solve(X, y)
    upper, lower = oracle.optimum(X, y, 1.0)
    assert lower * (1 - 1e-9) <= found.objective[-1] <= upper * (1 + 1e-9)
    assert found.converged


@pytest.mark.parametrize("m", [1, 50])
def test_two_samples_are_enough(m: int) -> None:
    X = np.random.default_rng(0).normal(size=(2, m))
    found = solve(X, np.array([0, 1]), 0.1)
    assert found.converged
    np.testing.assert_allclose(found.score, found.score[0], rtol=1e-3, atol=1e-9)


def test_a_run_that_is_cut_short_says_so() -> None:
    X, y = case(m=300)
    found = rfs.solve(make_problem(X, codes=y, gamma=0.5), max_rounds=1)
    assert not found.converged
    assert "1 rounds left a relative duality gap" in found.stop
    assert found.facts["relative_gap"] > rfs.TOLERANCE
