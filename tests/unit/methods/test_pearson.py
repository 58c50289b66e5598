"""Pearson's system against quadrature of its densities, known distributions, and what any is."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy import stats

from sfs_cli.methods.significance.pearson import below
from tests.oracles import pvalues as twin

SKEWNESS = (0.0, 0.05, 1.0, 4.2, 10.0, -0.5, -4.2)
EXCESS = (-0.999, -0.5, -0.01, 1e-4, 0.1, 0.5, 3.0, 200.0)
"""Over type III, as a part of the way to two values below it, and of 1 + skewness^2 / 4 above."""


def kurtosis_of(skewness: float, excess: float) -> float:
    square = skewness**2
    return 3 + 1.5 * square + excess * (2 + square / 2 if excess < 0 else 1 + square / 4)


def probabilities(z: np.ndarray, skewness: float, kurtosis: float) -> np.ndarray:
    return below(z, np.full(len(z), skewness), np.full(len(z), kurtosis))


def beside_type_v(skewness: float) -> list[float]:
    """Return kurtoses on both sides of type V, whose D is 0."""
    square = skewness**2
    powers = np.roots([square, 4 * square + 16, 4 * square + 16])
    r = powers[powers < -3][0].real if (powers < -3).any() else None
    if r is None:
        return []
    # r = 6 (kurtosis - square - 1) / (6 + 3 square - 2 kurtosis)
    fifth = (r * (6 + 3 * square) + 6 * square + 6) / (6 + 2 * r)
    return [fifth * (1 - 1e-3), fifth * (1 + 1e-12), fifth * (1 + 1e-3)]


CASES = [(s, kurtosis_of(s, e)) for s, e in product(SKEWNESS, EXCESS)]
CASES += [(s, k) for s in (0.5, 1.0, 2.0, 4.2, -2.0) for k in beside_type_v(s)]


@pytest.mark.parametrize("skewness", sorted({skewness for skewness, _ in CASES}))
def test_probabilities_are_integrals_of_the_density(skewness: float) -> None:
    z = np.array([-20.0, -3.0, -0.3, 0.52, 0.7, 8.0])
    for kurtosis in (k for s, k in CASES if s == skewness):
        expected = [twin.pearson(point, skewness, kurtosis) for point in z]
        found = probabilities(z, skewness, kurtosis)
        np.testing.assert_allclose(found, expected, 1e-5, 1e-300, err_msg=str(kurtosis))


@pytest.mark.parametrize("skewness", [-4.2, -2.0, -1.0, 0.0, 0.3, 1.0, 4.2])
def test_it_is_a_distribution_of_these_moments(skewness: float) -> None:
    z = np.concatenate([-np.geomspace(1e6, 1e-3, 1500), np.geomspace(1e-3, 1e6, 1500)])
    for excess in (*EXCESS, 34.0, 3000.0):
        p = probabilities(z, skewness, kurtosis_of(skewness, excess))
        assert (np.diff(p) >= -1e-12).all()
        assert p.min() >= 0
        assert p.max() <= 1
        # E(Z) = 0: what is above 0 weighs as much as what is below
        parts = np.trapezoid(np.where(z < 0, p, 1 - p), z), np.trapezoid(np.where(z < 0, p, 0), z)
        if excess < 3:
            assert parts[0] == pytest.approx(2 * parts[1], rel=0.01)


def test_known_distributions() -> None:
    z = np.linspace(-6, 5, 45)
    for skewness in (-2.0, -0.5, -1e-3, 0.0, 1.0):
        expected = stats.pearson3.cdf(z, skewness) if skewness else stats.norm.cdf(z)
        for kurtosis in (np.nan, 3 + 1.5 * skewness**2):
            found = probabilities(z, skewness, kurtosis)
            np.testing.assert_allclose(found, expected, rtol=1e-6)
    freedom = 20
    student = stats.t.cdf(z * np.sqrt(freedom / (freedom - 2)), freedom)
    np.testing.assert_allclose(probabilities(z, 0.0, 3 + 6 / 16), student, rtol=1e-8)
    uniform = np.clip(0.5 + z / np.sqrt(12), 0, 1)
    np.testing.assert_allclose(probabilities(z, 0.0, 1.8), uniform, rtol=1e-12)
    share = stats.beta(0.5, 24)  # of the variation between two classes of 50 normal samples
    place = share.mean() - z * share.std()
    m = [float(each) for each in share.stats("sk")]
    np.testing.assert_allclose(probabilities(z, -m[0], 3 + m[1]), share.sf(place), rtol=1e-9)


def test_a_kurtosis_that_no_distribution_has_is_that_of_two_values() -> None:
    z = np.array([-2.0, -1.01, -0.5, 0.5, 1.01, 2.0])
    for kurtosis in (1.0, 0.9, -5.0):
        np.testing.assert_allclose(
            probabilities(z, 0.0, kurtosis), [0, 0, 0.5, 0.5, 1, 1], atol=1e-6
        )


def test_numbers_that_are_none() -> None:
    nothing = np.array([np.nan, 0.0, np.inf])
    assert np.isnan(below(nothing, np.array([0.0, np.nan, 0.0]), np.full(3, 3.0))).all()


def test_a_probability_does_not_depend_on_others() -> None:
    rng = np.random.default_rng(0)
    z, skewness = rng.normal(size=9000) * 3, rng.normal(size=9000)
    kurtosis = 1 + skewness**2 + rng.gamma(1.0, size=9000) * 2
    found = below(z, skewness, kurtosis)
    for part in (slice(7, 8), slice(100, 4999), slice(8990, 9000)):
        assert (below(z[part], skewness[part], kurtosis[part]) == found[part]).all()
