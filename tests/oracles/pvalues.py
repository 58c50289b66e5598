"""Slow, obvious twins of p-values: ratios as dense matrices, quadrature, all permutations."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise, permutations

import numpy as np
from scipy.integrate import quad

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
