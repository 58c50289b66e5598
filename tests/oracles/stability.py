"""Stability of lists and bounds on false selections, from their definitions, slowly.

Nogueira, Sechidis and Brown, JMLR 18, 2018: Definition 4, Theorem 7. Shah and Samworth, JRSS B 75,
2013: Theorems 1 and 2, and what r-concave means.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np


def selections(lists: Sequence[Sequence[int]], d: int) -> np.ndarray:
    """Return Z, M x d: 1 where list i has feature f."""
    Z = np.zeros((len(lists), d))
    for i, chosen in enumerate(lists):
        for f in chosen:
            Z[i, f] = 1
    return Z


def phi(Z: np.ndarray) -> float:
    """1 less the mean sample variance of the columns over that of random lists."""
    M, d = Z.shape
    variances = [sum((z - column.mean()) ** 2 for z in column) / (M - 1) for column in Z.T]
    k = sum(Z.sum(axis=1)) / M
    return 1 - (sum(variances) / d) / ((k / d) * (1 - k / d))


def phi_variance(Z: np.ndarray) -> float:
    """4 / M^2 times the sum of squares of Phi_i around their mean."""
    M, d = Z.shape
    p, k, whole = Z.mean(axis=0), Z.sum(axis=1).mean(), phi(Z)
    scale = (k / d) * (1 - k / d)
    terms = []
    for z in Z:
        own = z.sum()
        first = sum(z[f] * p[f] for f in range(d)) / d - own * k / d**2
        second = whole / 2 * (2 * own * k / d**2 - own / d - k / d + 1)
        terms.append((first + second) / scale)
    mean = sum(terms) / M
    return 4 / M**2 * sum((t - mean) ** 2 for t in terms)


def worst_case(q: float, p: int, tau: float) -> float:
    """Theorem 1 with theta = q / p: theta q / (2 tau - 1)."""
    return q / p * q / (2 * tau - 1)


def unimodal(q: float, p: int, tau: float, pairs: int) -> float | None:
    """Theorem 2 with theta = q / p, for tau among 1/2 + 1/B, 1/2 + 3/(2B), ..., 1."""
    theta, B = q / p, pairs
    allowed = [0.5 + j / (2 * B) for j in range(2, B + 1)]
    if theta > 1 / math.sqrt(3) or not any(math.isclose(tau, each) for each in allowed):
        return None
    if tau < 0.5 + min(theta**2, 1 / (2 * B) + 0.75 * theta**2):
        return None
    if tau <= 0.75:
        C = 1 / (2 * (2 * tau - 1 - 1 / (2 * B)))
    else:
        C = 4 * (1 - tau + 1 / (2 * B)) / (1 + 1 / B)
    return C * theta * q


def largest_tail(mean: float, t: int, B: int, r: float, starts: int = 6) -> float:
    """Maximize P(X >= t) over all r-concave X on 0..B with ``E X <= mean B``, by a general solver.

    The variables are f^r itself, which is convex; the mass of a point may be 0 at the end (f^r
    infinite), which large values stand for.
    """
    from scipy.optimize import minimize

    points = np.arange(B + 1)

    def chances(log_h: np.ndarray) -> np.ndarray:
        f = np.exp(log_h / r)
        return f / f.sum()

    def convex(log_h: np.ndarray) -> np.ndarray:
        h = np.exp(log_h - log_h.max())
        return (h[2:] - 2 * h[1:-1] + h[:-2]) / h[1:-1]

    best = 0.0
    for start in range(starts):
        rng = np.random.default_rng(start)
        first = np.log(np.exp(rng.uniform(-2, 3)) + points) + 0.01 * rng.random(B + 1).cumsum()
        found = minimize(
            lambda x: -chances(x)[t:].sum(),
            first,
            constraints=[
                {"type": "ineq", "fun": convex},
                {"type": "ineq", "fun": lambda x: mean * B - chances(x) @ points},
            ],
            bounds=[(-5, 25)] * (B + 1),
            method="SLSQP",
            options={"maxiter": 800, "ftol": 1e-13},
        )
        feasible = convex(found.x).min() > -1e-7 and chances(found.x) @ points < mean * B + 1e-9
        if feasible:
            best = max(best, float(chances(found.x)[t:].sum()))
    return best
