"""Moderated variances: those of limma, and what holds for any data."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from scipy import stats

from sfs_cli.errors import InputError
from sfs_cli.methods import lowess
from sfs_cli.methods.moderated import fit_prior, moderate, trigamma_inverse
from tests.places import REFERENCES

REFERENCE = json.loads((REFERENCES / "moderated.json").read_text(encoding="utf-8"))
CASES = REFERENCE["cases"]


def numbers(values: Any) -> np.ndarray:
    """Turn numbers of a reference into an array; infinite and missing ones are strings."""
    return np.array(values, np.float64)


def arguments(case: dict[str, Any]) -> dict[str, Any]:
    return {"trend": numbers(case["trend"])} if "trend" in case else {}


def drawn(rng: np.random.Generator, m: int, d: int, d0: float) -> np.ndarray:
    """Residual variances with a prior of d0 degrees of freedom and the variance 0.3."""
    return 0.3 * stats.f.rvs(d, d0, size=m, random_state=rng)


@pytest.mark.parametrize("name", CASES)
def test_the_prior_and_the_posterior_are_those_of_limma(name: str) -> None:
    case = CASES[name]
    found = moderate(np.atleast_1d(numbers(case["s2"])), case["d"], **arguments(case))
    for ours, key in [
        (np.full(len(found.variance), found.prior.df), "prior_df"),
        (found.prior.variance, "prior_variance"),
        (found.variance, "variance"),
    ]:
        expected = numbers(case[key])
        np.testing.assert_allclose(
            ours, np.broadcast_to(expected, ours.shape), rtol=1e-9, err_msg=key
        )


def test_t_statistics_and_p_values_are_those_of_limma() -> None:
    analysis = REFERENCE["analysis"]
    y, groups = numbers(analysis["y"]), numbers(analysis["groups"])
    first, second = y[:, groups == 0], y[:, groups == 1]
    n1, n2 = first.shape[1], second.shape[1]
    d = n1 + n2 - 2
    s2 = (first.var(axis=1) * n1 + second.var(axis=1) * n2) / d
    found = moderate(s2, d)
    t = (second.mean(axis=1) - first.mean(axis=1)) / np.sqrt(found.variance * (1 / n1 + 1 / n2))
    expected = analysis["plain"]
    np.testing.assert_allclose(found.df, numbers(expected["df"]), rtol=1e-8)
    np.testing.assert_allclose(t, numbers(expected["t"]), rtol=1e-8)
    np.testing.assert_allclose(2 * stats.t.sf(np.abs(t), found.df), numbers(expected["p"]), 1e-7)


def test_without_more_variation_than_chance_all_features_are_pooled() -> None:
    s2 = 0.3 * stats.chi2.ppf((np.arange(50) + 0.5) / 50, 4) / 4
    found = moderate(s2, 4)
    assert np.isinf(found.prior.df)
    np.testing.assert_allclose(found.variance, s2.mean(), rtol=1e-14)
    assert (found.df == 200).all()  # no more than all features have


@pytest.mark.parametrize("with_trend", [False, True])
def test_the_unit_of_the_values_changes_variances_alone(
    with_trend: bool, rng: np.random.Generator
) -> None:
    s2 = drawn(rng, 200, 4, 8)
    s2[:3] *= 200
    trend = rng.normal(size=200) if with_trend else None
    plain, scaled = (moderate(k * s2, 4, trend=trend) for k in (1.0, 1e4))
    np.testing.assert_allclose(scaled.prior.df, plain.prior.df, rtol=1e-7)
    np.testing.assert_allclose(scaled.prior.variance, 1e4 * plain.prior.variance, rtol=1e-9)
    np.testing.assert_allclose(scaled.variance, 1e4 * plain.variance, rtol=1e-9)


def test_the_prior_of_many_features_is_the_one_they_are_drawn_from() -> None:
    # the bounds are five standard errors away, which are about 0.9 and 0.2 percent
    prior = fit_prior(drawn(np.random.default_rng(5), 200_000, 6, 10), 6)
    assert prior.df == pytest.approx(10, rel=0.05)
    assert prior.variance[0] == pytest.approx(0.3, rel=0.01)


def test_a_posterior_variance_lies_between_its_own_and_that_of_the_prior(
    rng: np.random.Generator,
) -> None:
    s2 = drawn(rng, 100, 4, 8)
    found = moderate(s2, 4)
    low, high = np.minimum(s2, found.prior.variance), np.maximum(s2, found.prior.variance)
    assert ((low <= found.variance) & (found.variance <= high)).all()


@pytest.mark.parametrize("with_trend", [False, True])
def test_features_without_a_variance_have_no_part(
    with_trend: bool, rng: np.random.Generator
) -> None:
    s2, trend = drawn(rng, 60, 4, 8), rng.normal(size=60)
    missing = np.zeros(60, bool)
    missing[[4, 33]] = True
    hole = np.where(missing, np.nan, s2)
    found = moderate(hole, 4, trend=trend if with_trend else None)
    alone = moderate(s2[~missing], 4, trend=trend[~missing] if with_trend else None)
    np.testing.assert_array_equal(found.variance[~missing], alone.variance)
    np.testing.assert_array_equal(found.df[~missing], alone.df)
    assert np.isnan(found.variance[missing]).all()
    assert np.isnan(found.df[missing]).all()


def test_a_feature_without_a_covariate_has_no_part(rng: np.random.Generator) -> None:
    s2, trend = drawn(rng, 60, 4, 8), rng.normal(size=60)
    trend[7] = np.nan
    found = moderate(s2, 4, trend=trend)
    known = np.arange(60) != 7
    alone = moderate(s2[known], 4, trend=trend[known])
    np.testing.assert_array_equal(found.variance[known], alone.variance)
    assert np.isnan(found.variance[7])


def test_variances_near_zero_are_counted(rng: np.random.Generator) -> None:
    s2 = drawn(rng, 40, 4, 8)
    s2[[3, 5]] = 0
    assert moderate(s2, 4).prior.raised == 2


def test_errors_say_what_is_missing() -> None:
    with pytest.raises(InputError, match="no feature has a residual variance"):
        moderate(np.full(3, np.nan), 4)


@pytest.mark.parametrize("x", [1e-7, 1.0, 1e8])
def test_trigamma_of_its_inverse(x: float) -> None:
    from scipy.special import polygamma

    assert float(polygamma(1, trigamma_inverse(x))) == pytest.approx(x, rel=1e-6)


@pytest.mark.parametrize("name", REFERENCE["lowess"])
def test_lowess_is_that_of_r(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    case = REFERENCE["lowess"][name]
    x, y = numbers(case["x"]), numbers(case["y"])
    monkeypatch.setattr(lowess, "STEPS", case["steps"])
    monkeypatch.setattr(lowess, "CLOSE", case["delta"] / (np.ptp(x) or 1))
    found = lowess.lowess(x, y, case["span"])
    order = np.argsort(x, kind="stable")
    np.testing.assert_allclose(found[order], numbers(case["smooth"]), rtol=1e-9)
