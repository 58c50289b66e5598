"""The Cauchy combination: its definition, its tails, and p-values of 0 and 1."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from sfs_cli.errors import InputError
from sfs_cli.ranking.combine import cauchy
from tests.oracles import multiple as twin


@pytest.mark.parametrize("k", [1, 2, 3, 10])
def test_it_is_its_twin(k: int) -> None:
    rng = np.random.default_rng(k)
    p = rng.uniform(0.001, 0.999, (k, 200))
    even = [twin.cauchy(list(column), [1.0] * k) for column in p.T]
    np.testing.assert_allclose(cauchy(p), even, rtol=1e-11)


def test_one_p_value_and_equal_ones_stay_as_they_are() -> None:
    p = np.concatenate([10.0 ** -np.arange(0.0, 323), 1 - 10.0 ** -np.arange(1.0, 16), [5e-324, 0]])
    np.testing.assert_allclose(cauchy(p[None]), p, rtol=3e-15)
    np.testing.assert_allclose(cauchy(np.tile(p, (4, 1))), p, rtol=3e-15)


@pytest.mark.parametrize("p", [1e-5, 1e-100, 1e-307, 1e-320])
def test_the_tail_is_the_harmonic_mean(p: float) -> None:
    """``1 / p`` adds up; what 1 - p takes from it is far less than the digits that are left."""
    some = np.array([[p], [2 * p], [2 * p], [0.3]])
    harmonic = p / (1 / 4 + 2 / 4 / 2)
    rtol = 1e-14 + p * 10
    if p < 1e-307:
        rtol = 1e-3  # numbers there have few digits
    np.testing.assert_allclose(cauchy(some), harmonic, rtol=max(rtol, 1e-14))


@pytest.mark.parametrize(
    ("p", "expected"),
    [
        ((1e-300, 0.7, 0.99), 6.0000000000000002e-300),
        ((1e-17, 2e-17, 0.9999), 3.0000000000004502e-17),
        ((0.01, 0.5, 0.999), 0.99793108004907483),
        ((0.9, 0.95, 0.3), 0.86709836939087218),
    ],
)
def test_values_of_700_digits(p: tuple[float, ...], expected: float) -> None:
    """The definition by mpmath, rounded at the end."""
    found = cauchy(np.repeat(p, (1, 2, 3))[:, None])
    np.testing.assert_allclose(found, expected, rtol=1e-14)


def test_zero_one_and_missing_p_values() -> None:
    nan = np.nan
    p = np.array([[0, 0, nan, nan, 1, 1, 1], [0.5, 1, 0.2, nan, 1, 1e-9, 0.9]])
    found = cauchy(p)
    np.testing.assert_allclose(found, [0, 0, 0.2, nan, 1, 2e-9, 1], rtol=1e-14)


def test_a_smaller_p_value_makes_a_smaller_one() -> None:
    p = np.random.default_rng(0).uniform(size=(3, 500))
    less = p * np.array([[1], [0.9], [1]])
    assert (cauchy(less) <= cauchy(p)).all()


def test_the_order_of_the_p_values_does_not_matter() -> None:
    p = np.random.default_rng(1).uniform(size=(4, 100)) ** 5
    np.testing.assert_allclose(cauchy(p[::-1]), cauchy(p), rtol=1e-12)


@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.99])
def test_small_p_values_are_as_frequent_as_they_say(correlation: float) -> None:
    rng = np.random.default_rng(2)
    shared = np.sqrt(correlation) * rng.normal(size=(1, 100_000))
    z = shared + np.sqrt(1 - correlation) * rng.normal(size=(5, 100_000))
    found = cauchy(2 * stats.norm.sf(np.abs(z)))
    assert np.mean(found <= 0.001) == pytest.approx(0.001, rel=0.35)


def test_what_is_no_p_value_is_refused() -> None:
    with pytest.raises(InputError, match="from 0 to 1"):
        cauchy(np.array([[0.1], [1.1]]))
