"""Slow, obvious twins of p-values: ratios as dense matrices, quadrature, all permutations."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations

import numpy as np

from tests.oracles import spec

Gamma = Callable[[np.ndarray], np.ndarray]


def denominator(d: np.ndarray) -> np.ndarray:
    """The weighted sum of squares around the weighted mean."""
    return np.diag(d) - np.outer(d, d) / d.sum()


def numerator(S: np.ndarray, weights: Gamma) -> np.ndarray:
    """``D^1/2 sum_{j>=2} weights(lambda_j) xi_j xi_j' D^1/2``."""
    values, xi = spec.eigenpairs(S)
    root = np.sqrt(S.sum(axis=1))
    return root[:, None] * (xi[:, 1:] * weights(values[1:])) @ xi[:, 1:].T * root


def forms_of_all_permutations(M: np.ndarray, x: np.ndarray) -> np.ndarray:
    """``x'Mx`` for every order of the samples."""
    orders = [list(order) for order in permutations(range(len(x)))]
    return np.array([x[order] @ M @ x[order] for order in orders])


def pearson(z: float, skewness: float, kurtosis: float) -> float:
    """``P(Z <= z)`` of Pearson's system, of mean 0 and variance 1, by quadrature of its density.

    ``f'/f = -(z + b) / (a + b z + c z^2)`` is a sum of ``p_k / (z - r_k)`` over the roots r_k of
    the denominator, so that ``f = |prod (z - r_k)^p_k|`` between the real roots around 0.
    """
    scale = 10 * kurtosis - 12 * skewness**2 - 18
    a, b = 4 * kurtosis - 3 * skewness**2, skewness * (kurtosis + 3)
    c = 2 * kurtosis - 3 * skewness**2 - 6
    roots = np.roots([c, b, a]).astype(complex)
    powers = -(scale * roots + b) / (c * (roots - roots[::-1]))
    real = roots.real[np.abs(roots.imag) < 1e-12 * np.abs(roots)]
    low, high = max(real[real < 0], default=-np.inf), min(real[real > 0], default=np.inf)
    if not low < z < high:
        return float(z >= high)

    def log_density(points: np.ndarray, end: float, log_distances: np.ndarray) -> np.ndarray:
        """Return logarithms at points, of which the distances from one end are exact."""
        total = np.zeros(len(points))
        for root, power in zip(roots, powers):
            beside = log_distances if root == end else np.log(points - root)
            total += (power * beside).real
        return total

    below, above = (_log_integral(z, end, log_density) for end in (low, high))
    return float(np.exp(below - np.logaddexp(below, above)))


def _log_integral(z: float, end: float, log_density: Callable[..., np.ndarray]) -> float:
    """Return the logarithm of an integral from z to an end, by double-exponential quadrature.

    H. Takahasi and M. Mori, Publications of the RIMS 9, 1974: a trapezoidal sum over t with points
    that come as near to both ends as numbers can, whatever the density does there.
    """
    t = np.linspace(-6, 6, 7201) if np.isinf(end) else np.linspace(-15, 15, 18_001)
    s, sign = np.pi / 2 * np.sinh(t), np.sign(end - z)
    if np.isinf(end):
        from_z, slope = np.exp(s), 1.0
        values = log_density(z + sign * from_z, end, np.log(from_z)) + s
    else:
        length = abs(end - z)
        from_z, from_end = (np.log(length) - np.logaddexp(0, each) for each in (-2 * s, 2 * s))
        points = np.where(s < 0, z + sign * np.exp(from_z), end - sign * np.exp(from_end))
        values = log_density(points, end, from_end) + from_z + from_end
        slope = 2 / length
    values += np.log(np.cosh(t))
    most = values.max()
    return float(most + np.log(np.exp(values - most).sum()) + np.log(slope))
