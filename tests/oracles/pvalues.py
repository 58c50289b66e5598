"""Slow, obvious twins of p-values: ratios as dense matrices, quadrature, all permutations."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise, permutations

import numpy as np
from scipy.integrate import quad, solve_ivp

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


def imhof(values: np.ndarray) -> float:
    """``P(sum values chi^2 <= 0)``, Imhof (1961), Eq. 3.2: of integrals between zeros of a sine."""
    values = values / np.abs(values).max()

    def integrand(u: float) -> float:
        theta = 0.5 * np.arctan(values * u).sum()
        rho = np.exp(0.25 * np.log1p((values * u) ** 2).sum())
        return float(np.sin(theta) / (u * rho))

    end = 1.0
    while 0.25 * np.log1p((values * end) ** 2).sum() + np.log(end) < 35:
        end *= 2
    ends = np.concatenate([[1e-300], np.geomspace(min(1e-3, end / 2), end, 40)])
    pieces = [
        quad(integrand, a, b, epsabs=1e-14, epsrel=1e-12, limit=400) for a, b in pairwise(ends)
    ]
    return 0.5 - sum(value for value, _ in pieces) / np.pi


def forms_of_all_permutations(M: np.ndarray, x: np.ndarray) -> np.ndarray:
    """``x'Mx`` for every order of the samples."""
    orders = [list(order) for order in permutations(range(len(x)))]
    return np.array([x[order] @ M @ x[order] for order in orders])


def pearson(z: float, skewness: float, kurtosis: float) -> float:
    """``P(Z <= z)`` of Pearson's system, of mean 0 and variance 1, from its differential equation.

    ``f'/f = -(z + b) / (a + b z + c z^2)`` is integrated from 0, and then f.
    """
    scale = 10 * kurtosis - 12 * skewness**2 - 18
    a, b = (4 * kurtosis - 3 * skewness**2) / scale, skewness * (kurtosis + 3) / scale
    c = (2 * kurtosis - 3 * skewness**2 - 6) / scale
    roots = [r.real for r in np.roots([c, b, a]) if abs(r.imag) < 1e-12]
    low = max([r for r in roots if r < 0], default=-200.0)
    high = min([r for r in roots if r > 0], default=200.0)

    def change(point: float, state: np.ndarray) -> list[float]:
        return [-(point + b) / (a + b * point + c * point**2), float(np.exp(state[0]))]

    def integral(end: float) -> float:
        """Return that of the density, which is 1 at 0, from 0 to an end."""
        if end == 0:
            return 0.0
        return float(solve_ivp(change, (0, end), [0, 0], rtol=1e-9, atol=1e-12).y[1, -1])

    least, most = integral(low * (1 - 1e-9)), integral(high * (1 - 1e-9))
    return (integral(max(min(z, high), low)) - least) / (most - least)
