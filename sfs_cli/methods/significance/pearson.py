"""Distributions of Pearson's system, by their first four moments.

The logarithm of a density of mean 0 and variance 1 has the derivative ``-(z + b) / (a + b z +
c z^2)``, of which skewness and kurtosis determine a, b and c. With ``beta1 = skewness^2``, the
kurtosis ``beta2``, ``excess = 2 beta2 - 3 beta1 - 6``, ``r = 6 (beta2 - beta1 - 1) / -excess`` and
``D = (r + 2)^2 beta1 + 16 (r + 1)`` the types are

======== ===================== ==================================================================
type     where                 Z is, but for its place and its unit
======== ===================== ==================================================================
I, II    excess < 0            a beta variable
III, 0   excess = 0            a gamma variable; a normal one without skewness
VI       excess > 0, D > 0     the ratio of two gamma variables
V        excess > 0, D = 0     one over a gamma variable
IV, VII  excess > 0, D < 0     the tangent of an angle of density ``cos(v)^-r exp(slope v)``; with
                               slope 0 a variable of Student's t
======== ===================== ==================================================================

K. Pearson, "Mathematical contributions to the theory of evolution XIX", Philosophical Transactions
A 216, 1916; N. L. Johnson, S. Kotz and N. Balakrishnan, "Continuous univariate distributions",
volume 1, 1994, section 12.4.1, for the types; Y. Nagahara, "The PDF and CF of Pearson type IV
distributions", Statistics and Probability Letters 43, 1999, for the integral of type IV.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

FEASIBLE = 1e-9
"""The kurtosis is at least this above the smallest one of the skewness, ``skewness^2 + 1``."""
THIRD = 1e-6
"""A kurtosis within this of that of type III, in units of the one it has, is that of type III."""
FIFTH = 1e-8
"""A D within this of 0, in units of its second term, is 0."""
EVEN = 1e-4
"""Type III with less skewness is the normal distribution."""
PART = 4096
"""Probabilities that are found together, so that their arrays stay in a cache."""
NODES = 40
"""Nodes of the integrals of type IV."""
NOTHING = 45.0
"""Where the logarithm of a density is this below its largest, the rest is nothing."""


def below(z: np.ndarray, skewness: np.ndarray, kurtosis: np.ndarray) -> np.ndarray:
    """Return ``P(Z <= z)`` for Z of mean 0, variance 1 and these moments.

    The relative error is about 1e-8 at any z, up to the smallest number there is.

    Parameters
    ----------
    z, skewness, kurtosis : ndarray, shape (m,)
        A kurtosis of NaN is that of type III. One that no distribution of the skewness has, by
        rounding, is the least possible one: that of two values.

    Returns
    -------
    ndarray, shape (m,)
        In [0, 1], not decreasing in z. NaN where z or the skewness is.
    """
    result = np.full(len(z), np.nan)
    for low in range(0, len(z), PART):
        part = slice(low, low + PART)
        # NaN is where there is nothing to find; sizes are bounded by what no double reaches
        with np.errstate(all="ignore"):
            result[part] = _below(z[part], skewness[part], kurtosis[part])
    return result


def _parameters(
    skewness: np.ndarray, kurtosis: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the excess, 0 of type III, r, and D, 0 of type V; each shape (m,)."""
    square = skewness * skewness
    third = 3 + 1.5 * square
    kurtosis = np.where(np.isnan(kurtosis), third, kurtosis)
    kurtosis = np.maximum(kurtosis, (square + 1) * (1 + FEASIBLE))
    excess = 2 * (kurtosis - third)
    excess = np.where(np.abs(excess) <= THIRD * kurtosis, 0, excess)
    r = 6 * (kurtosis - square - 1) / -excess
    second = 16 * (r + 1)
    D = (r + 2) ** 2 * square + second
    return excess, r, np.where(np.abs(D) <= FIFTH * np.abs(second), 0, D)


def _below(z: np.ndarray, skewness: np.ndarray, kurtosis: np.ndarray) -> np.ndarray:
    excess, r, D = _parameters(skewness, kurtosis)
    result, heavy = np.full(len(z), np.nan), excess > 0
    for which, distribution in (
        (excess == 0, _gamma),
        (excess < 0, _beta),
        (heavy & (D > 0), _ratio_of_gammas),
        (heavy & (D == 0), _inverse_gamma),
        (heavy & (D < 0), _tangent),
    ):
        rows = np.flatnonzero(which & np.isfinite(z))
        if len(rows):
            result[rows] = distribution(z[rows], skewness[rows], r[rows], D[rows])
    return result


def _chosen(
    which: np.ndarray, first: Callable[..., Any], second: Callable[..., Any], *of: np.ndarray
) -> np.ndarray:
    """Return the values of the first function where `which` holds, else of the second; (m,)."""
    result = np.empty(len(which))
    for rows, function in ((which, first), (~which, second)):
        result[rows] = function(*(each[rows] for each in of))
    return result


def _gamma(z: np.ndarray, skewness: np.ndarray, _r: np.ndarray, _D: np.ndarray) -> np.ndarray:
    """Return the probabilities of types III and 0."""
    from scipy.special import gammainc, gammaincc, ndtr

    size = np.abs(skewness)
    shape = 4 / size**2
    place = np.maximum(shape + np.where(skewness > 0, z, -z) * np.sqrt(shape), 0)
    sided = _chosen(skewness > 0, gammainc, gammaincc, shape, place)
    return np.where(size < EVEN, ndtr(z), sided)


def _shapes(skewness: np.ndarray, r: np.ndarray, D: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return ``|r| / 2 |1 -+ (r + 2) |skewness| / sqrt(D)|``, each (m,), without cancellation."""
    root, side = np.sqrt(D), np.abs((r + 2) * skewness)
    large = (root + side) / root * np.abs(r) / 2
    return 8 * np.abs(r * (r + 1)) / (root * (root + side)), large


def _beta(z: np.ndarray, skewness: np.ndarray, r: np.ndarray, D: np.ndarray) -> np.ndarray:
    """Return the probabilities of types I and II: the smaller exponent is at the nearer end."""
    from scipy.special import betainc, betaincc

    near, far = _shapes(skewness, r, D)
    distance = np.where(skewness > 0, z, -z) * 2 / np.sqrt(D)
    from_near, from_far = near / r + distance, far / r - distance
    # from the nearer end of 0..1: a small number is not taken from 1
    lower = from_near <= from_far
    place = np.clip(np.where(lower, from_near, from_far), 0, 1)
    one, two = np.where(lower, near, far), np.where(lower, far, near)
    return _chosen(lower == (skewness > 0), betainc, betaincc, one, two, place)


def _ratio_of_gammas(
    z: np.ndarray, skewness: np.ndarray, r: np.ndarray, D: np.ndarray
) -> np.ndarray:
    """Return the probabilities of type VI, which ends on the side that it is not skewed to."""
    from scipy.special import betainc, betaincc

    one, _ = _shapes(skewness, r, D)
    two = 1 - r
    t = np.maximum(one / -r + np.where(skewness > 0, z, -z) * 2 / np.sqrt(D), 0)
    # the part t / (1 + t) of 1, from the side where it is small
    small = t <= 1
    place = np.where(small, t, 1) / (1 + t)
    first, second = np.where(small, one, two), np.where(small, two, one)
    return _chosen(small == (skewness > 0), betainc, betaincc, first, second, place)


def _inverse_gamma(
    z: np.ndarray, skewness: np.ndarray, r: np.ndarray, _D: np.ndarray
) -> np.ndarray:
    """Return the probabilities of type V: of 1 / G, G of shape ``1 - r``, mean ``1 / -r``."""
    from scipy.special import gammainc, gammaincc

    shape = 1 - r
    deviation = 1 / (-r * np.sqrt(-r - 1))
    t = np.maximum(1 / -r + np.where(skewness > 0, z, -z) * deviation, np.finfo(np.float64).tiny)
    return _chosen(skewness > 0, gammaincc, gammainc, shape, 1 / t)


def _tangent(z: np.ndarray, skewness: np.ndarray, r: np.ndarray, D: np.ndarray) -> np.ndarray:
    """Return the probabilities of types IV and VII: of ``(Z - place) / unit = tan(v)``.

    The density of v is ``cos(v)^power exp(-slope v)`` over ``pi 2^-power Gamma(power + 1) /
    |Gamma(1 + (power + i slope) / 2)|^2``, which is concave in its logarithm.
    """
    from scipy.special import gammaln, loggamma

    power = -r
    unit = np.sqrt(-D) / 4
    slope = -power * (power - 2) * skewness / (4 * unit)
    # the mean of tan(v) is -slope / power
    tangent = z / unit - slope / power
    log_whole = np.log(np.pi) - power * np.log(2) + gammaln(power + 1)
    log_whole -= 2 * loggamma(1 + power / 2 + 0.5j * slope).real
    # from the end that the mode is not beyond, of the angle w of the cotangent: v = pi/2 - w
    mode = -slope / power
    lower = tangent <= mode
    side = np.where(lower, slope, -slope)  # the mirrored density, of which the lower end is asked
    end = np.arctan2(1, -np.where(lower, tangent, -tangent))  # v = end - pi / 2
    # from `end` down to 0 the logarithm is concave: its slope there, and a bound by its curvature
    fall = power / np.tan(end) - side
    curvature = power / np.sin(end) ** 2
    width = 2 * NOTHING / (fall + np.sqrt(fall**2 + 2 * NOTHING * curvature))
    width = np.minimum(width, end)
    x, weights = _legendre()
    of_whole, total = side * np.pi / 2 - log_whole, np.zeros(len(z))
    for node, weight in zip(x.tolist(), weights.tolist()):
        w = end - node * width
        total += weight * np.exp(power * np.log(np.sin(w)) - side * w + of_whole)
    tail = np.minimum(total * width, 1)
    return np.where(lower, tail, 1 - tail)


@cache
def _legendre() -> tuple[np.ndarray, np.ndarray]:
    """Return the nodes and weights of Gauss and Legendre on 0..1."""
    x, weights = np.polynomial.legendre.leggauss(NODES)
    return (x + 1) / 2, weights / 2
