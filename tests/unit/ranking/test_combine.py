"""The Cauchy combination: its definition, its tails, and p-values of 0 and 1."""

from __future__ import annotations

import numpy as np
import pytest

from sfs_cli.errors import InputError
from sfs_cli.ranking.combine import cauchy
from tests.oracles import multiple as twin


@pytest.mark.parametrize("k", [1, 10])
def test_it_is_its_twin(k: int) -> None:
    rng = np.random.default_rng(k)
    p = rng.uniform(0.001, 0.999, (k, 200))
    even = [twin.cauchy(list(column), [1.0] * k) for column in p.T]
    np.testing.assert_allclose(cauchy(p), even, rtol=1e-11)


def test_one_p_value_and_equal_ones_stay_as_they_are() -> None:
    p = np.concatenate([10.0 ** -np.arange(0.0, 323), 1 - 10.0 ** -np.arange(1.0, 16), [5e-324, 0]])
    np.testing.assert_allclose(cauchy(p[None]), p, rtol=3e-15)
    np.testing.assert_allclose(cauchy(np.tile(p, (4, 1))), p, rtol=3e-15)


@pytest.mark.parametrize(
    ("p", "expected"),
    [
        ((1e-300, 0.7, 0.99), 6.0000000000000002e-300),
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


def test_what_is_no_p_value_is_refused() -> None:
    with pytest.raises(InputError, match="from 0 to 1"):
        cauchy(np.array([[0.1], [1.1]]))
