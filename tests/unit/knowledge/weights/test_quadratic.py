"""Quadratic programs over few non-negative numbers: optimality, against a search, singular ones."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from sfs_cli.knowledge.weights.base import minimize


def random_program(seed: int, size: int, rank: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    B = rng.normal(size=(rank, size)) * 10.0 ** rng.uniform(-2, 2, size)
    return B.T @ B, B.T @ rng.normal(size=rank)


def best_face(H: np.ndarray, b: np.ndarray, total: float | None) -> float:
    """The lowest value over all sets of free variables."""
    best = np.inf if total is not None else 0.0
    for chosen in product([False, True], repeat=len(b)):
        F = np.flatnonzero(chosen)
        if not F.size:
            continue
        system, right = H[np.ix_(F, F)], b[F]
        if total is not None:
            one = np.ones((len(F), 1))
            system = np.block([[system, one], [one.T, np.zeros((1, 1))]])
            right = np.append(right, total)
        x = np.linalg.lstsq(system, right, rcond=1e-12)[0][: len(F)]
        if (x >= -1e-9 * np.abs(x).max(initial=0.0)).all():
            value = 0.5 * x @ H[np.ix_(F, F)] @ x - b[F] @ x
            best = min(best, value)
    return best


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("rank", [2, 4, 9])
@pytest.mark.parametrize("total", [None, 1.0])
def test_no_face_has_a_lower_value(seed, rank, total):
    H, b = random_program(seed, 5, rank)
    x, violation = minimize(H, b, total)
    value = 0.5 * x @ H @ x - b @ x
    best = best_face(H, b, total)
    size = abs(best) + 0.5 * x @ H @ x
    assert (x >= 0).all()
    assert value <= best + 1e-9 * size
    assert violation < 1e-10
    if total is not None:
        assert x.sum() == pytest.approx(total, rel=1e-12)


@pytest.mark.parametrize("total", [None, 3.0])
def test_equal_variables_share(total):
    H, b = random_program(0, 3, 3)
    twice = [0, 1, 1, 2, 2, 2]
    x, _ = minimize(H, b, total)
    y, violation = minimize(H[np.ix_(twice, twice)], b[twice], total)
    np.testing.assert_allclose(y, (x / [1, 2, 3])[twice], rtol=1e-9, atol=1e-12)
    assert violation < 1e-10


def test_a_program_that_is_all_zero_has_equal_variables():
    x, violation = minimize(np.zeros((2, 2)), np.zeros(2), 1.0)
    np.testing.assert_allclose(x, 0.5)
    assert violation == 0.0


UNITS = 10.0 ** np.array([0, -4, 3, -6, 2])


def test_units_of_variables_do_not_matter():
    H, b = random_program(4, 5, 5)
    x, _ = minimize(H, b)
    y, violation = minimize(H * np.outer(UNITS, UNITS), b * UNITS)
    assert np.count_nonzero(x) > 2
    np.testing.assert_allclose(y * UNITS, x, rtol=1e-9)
    assert violation < 1e-12


def test_variables_of_very_different_units_have_one_sum():
    x, violation = minimize(np.diag(UNITS), np.zeros(5), 2.0)
    np.testing.assert_allclose(x, 2.0 / UNITS / sum(1.0 / UNITS), rtol=1e-9)
    assert violation < 1e-12


def test_a_variable_and_its_multiple_share():
    H, b = random_program(4, 3, 3)
    x, _ = minimize(H, b)
    assert x[2] > 0.1
    twice, times = [0, 1, 2, 2], np.array([1, 1, 1, 2])
    y, _ = minimize(H[np.ix_(twice, twice)] * np.outer(times, times), b[twice] * times)
    np.testing.assert_allclose(y * times, (x / [1, 1, 2])[twice], rtol=1e-9)


@pytest.mark.parametrize("size", [1e-300, 1e-12, 0.3, 1e280])
def test_one_variable_has_the_whole_sum(size):
    x, violation = minimize(np.full((1, 1), size), np.full(1, 7 * size), 0.7)
    np.testing.assert_allclose(x, 0.7, rtol=1e-14)
    assert violation < 1e-12
