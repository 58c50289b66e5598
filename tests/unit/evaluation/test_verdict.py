"""Corrected resampled t intervals: by hand, against a slow twin, and their coverage on noise."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import t

from sfs_cli.evaluation.verdict import (
    Interval,
    corrected_interval,
    holm,
    verdict,
)
from tests.oracles import verdict as twin


def test_it_is_the_interval_computed_by_hand():
    # mean 0.75, squares 0.01 + 0.01 + 0.04 + 0.04 = 0.1 over 3; (1/4 + 1/4) 0.1/3 = 0.1291^2
    found = corrected_interval(np.array([0.85, 0.65, 0.95, 0.55]), 0.25)
    error = (0.5 * 0.1 / 3) ** 0.5
    half, x = 3.182446305 * error, 0.75 / error / 3**0.5
    # the t distribution of 3 degrees of freedom has a closed form
    p = 1 - 2 / np.pi * (np.arctan(x) + x / (1 + x * x))
    assert found == pytest.approx((0.75, 0.75 - half, 0.75 + half, p), rel=1e-8)


@pytest.mark.parametrize(("splits", "test", "train"), [(2, 10, 10), (5, 7, 28), (25, 20, 80)])
def test_it_is_that_of_the_slow_twin(splits, test, train):
    values = np.random.default_rng(splits).normal(0.3, 1, splits)
    quantile = t.ppf(0.975, splits - 1)
    expected = twin.interval(values.tolist(), test, train, quantile)
    assert corrected_interval(values, test / train) == pytest.approx(expected, rel=1e-8)


def test_equal_values():
    a = np.array([0.9, 0.8, 0.7, 0.3])
    assert verdict("a", "b", a, a, 0.25).difference == Interval(0, 0, 0, 1)
    # differences that are equal but for rounding: each is 0.1
    apart = verdict("a", "b", a, a - 0.1, 0.25).difference
    assert np.ptp(a - (a - 0.1)) > 0
    assert apart[:3] == pytest.approx((0.1, 0.1, 0.1))
    assert np.isnan(apart.p_value)
    assert corrected_interval(np.zeros(5), 0.25).p_value == 1


def values(difference: float) -> tuple[np.ndarray, np.ndarray]:
    a = np.array([0.7, 0.75, 0.8, 0.85, 0.9])
    return a, a - difference + np.array([0.01, -0.01, 0.005, -0.005, 0])


def test_nothing_is_shown_where_nothing_varies():
    a = np.full(4, 0.9)
    same = verdict("a", "b", a, a, 0.25)
    assert same.better == ""
    assert same.sentence("accuracy") == (
        "no difference between a and b is shown: accuracy 0.900 and 0.900, difference 0.000 "
        "(95% interval 0.000 to 0.000, p = 1.000, 4 splits)"
    )
    apart = verdict("a", "b", a, a - 0.4, 0.25)
    assert apart.better == ""
    said = apart.sentence("accuracy")
    assert said.endswith("the same in all 4 splits, which tell nothing of chance")


def test_holm_adjusts_for_the_number_of_pairs():
    pairs = [verdict("a", str(d), *values(d), 0.25) for d in (0.1, 0.02, 0.005)]
    nothing = verdict("a", "b", np.full(5, 0.9), np.full(5, 0.8), 0.25)
    assert np.isnan(nothing.difference.p_value)
    found = holm([*pairs[::-1], nothing])
    small, middle, large = (each.difference.p_value for each in pairs)
    expected = [large, 2 * middle, 3 * small]
    assert [each.p_value for each in found[:3]] == pytest.approx(expected)
    assert [each.pairs for each in found] == [3] * 4
    assert np.isnan(found[3].p_value)
    # 0.02: p = 0.020 alone is shown, 0.039 of three pairs, and not what three such pairs show
    assert found[1].better == "a"
    assert "p = 0.039 adjusted for 3 pairs (Holm), 5 splits" in found[1].sentence("accuracy")
    assert [each.better for each in holm([pairs[1]] * 3)] == [""] * 3
    assert holm([]) == []
