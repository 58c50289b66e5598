"""Minimize a sum of row norms under linear equations, to machine precision (the core of RFS).

The problem is ``min sum_i |U_i|`` subject to ``C' U = Y``, with C (N x n) and U (N x c). Since
``|U_i| = min_{t > 0} (|U_i|^2 / t + t) / 2``, eliminating U leaves a smooth convex function of
one number per row, ``f(t) = 1't + tr Y'K^-1 Y`` with ``K = C' diag(t) C`` (twice the objective at
the optimum). With ``Z = K^-1 Y``:

- ``U = diag(t) C Z`` satisfies the equations for every t,
- the gradient of f is ``1 - |c_i'Z|^2``,
- its Hessian is ``2 (C K^-1 C') * (C Z Z'C')`` elementwise,
- Z divided by the largest ``|c_i'Z|`` is a point of the dual problem, ``max <Z, Y>`` subject to
  ``|c_i'Z| <= 1``, so every iterate bounds its distance to the optimum.

Setting ``t`` to ``|U_i|`` and repeating is the published iteration (F. Nie, H. Huang, X. Cai and
C. Ding, "Efficient and robust feature selection via joint l2,1-norms minimization", NIPS 2010,
Algorithm 1); it converges linearly at best. Here Newton's method follows the central path of the
logarithmic barrier of ``t >= 0`` instead. The barrier is self-concordant together with f, because
``|f'''[h, h, h]| <= 3 f''[h, h] max_i |h_i / t_i|``, so a line search always makes progress.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from scipy import linalg

MAX_STEPS = 100
_TO_THE_BOUNDARY = 0.995
"""A step goes at most this far towards the boundary t = 0."""
_SHORTEST = 1e-4
_CENTRALITY = 10.0
"""Multipliers stay within this factor of ``mu / t``."""


@dataclass
class Iterate:
    """A point t of the reduced problem, with its Z, U and value."""

    t: np.ndarray  # (N,): positive
    factor: np.ndarray  # (n, n): lower Cholesky factor of K
    Z: np.ndarray  # (n, c): ``K^-1 Y``
    P: np.ndarray  # (N, c): ``C Z``
    value: float  # ``f(t)``


@dataclass
class Found:
    """The best point of a run, with the last multipliers."""

    U: np.ndarray  # (N, c): satisfies the equations to rounding
    # the last point and its multipliers, both (N,): ``s_i > t_i / sum(t)`` marks rows that vanish
    t: np.ndarray
    s: np.ndarray
    Z: np.ndarray  # (n, c): the last dual point, before the division by the largest ``|c_i'Z|``
    # the smallest sum of norms so far, after each step
    objective: list[float] = field(default_factory=list)
    gap: float = np.inf  # relative duality gap of the best point


def evaluate(C: np.ndarray, Y: np.ndarray, t: np.ndarray) -> Iterate:
    """Solve for Z at t.

    Raises
    ------
    numpy.linalg.LinAlgError
        If K is singular to rounding.
    """
    root = C * np.sqrt(t)[:, None]
    factor = linalg.cholesky(root.T @ root, lower=True, check_finite=False)
    Z = linalg.cho_solve((factor, True), Y, check_finite=False)
    return Iterate(t, factor, Z, C @ Z, float(t.sum() + np.vdot(Y, Z)))


def minimize(
    C: np.ndarray,
    Y: np.ndarray,
    t: np.ndarray,
    tolerance: float,
    s: np.ndarray | None = None,
    tell: Callable[[int, float], None] | None = None,
) -> Found:
    """Follow the central path from t until the relative duality gap is small.

    Parameters
    ----------
    C : ndarray, shape (N, n)
        The last n rows are the identity: those rows of U are the residuals of the others.
    Y : ndarray, shape (n, c)
        Right-hand sides.
    t : ndarray, shape (N,)
        Where to start; positive.
    tolerance : float
        Relative duality gap to reach.
    s : ndarray, shape (N,), optional
        Multipliers to start from.
    tell : callable, optional
        Receives the number of steps and the gap, before each step.

    Returns
    -------
    Found
        Its `gap` is larger than the tolerance if rounding, or `MAX_STEPS`, ended the run.
    """
    at = evaluate(C, Y, t)
    size = np.linalg.norm(at.P, axis=1)
    if s is None:  # s_i = 1 - |c_i'Z|^2 at the optimum; scaled to be feasible, kept off zero
        s = np.maximum(1 - (size / max(1.0, size.max())) ** 2, 1e-2)
    found = Found(np.zeros_like(at.P), t, s, at.Z)
    lower, best = -np.inf, np.inf
    for number in range(MAX_STEPS):
        # every iterate is made feasible for the dual by scaling: a lower bound at no cost
        lower = max(lower, float(np.vdot(at.Z, Y)) / max(1.0, float(size.max())))
        U = at.t[:, None] * at.P
        U[-len(Y) :] = Y - C[: -len(Y)].T @ U[: -len(Y)]  # satisfies the equations to rounding
        total = float(np.linalg.norm(U, axis=1).sum())
        if total < best:
            found.U, best = U, total
        found.objective.append(best)
        found.gap = max(best - lower, 0.0) / best
        if tell is not None:
            tell(number, found.gap)
        if found.gap <= tolerance:
            break
        step = _step(C, Y, at, found.s, size)
        if step is None:
            break
        at, found.s = step
        found.t, found.Z = at.t, at.Z
        size = np.linalg.norm(at.P, axis=1)
    return found


def _step(
    C: np.ndarray, Y: np.ndarray, at: Iterate, s: np.ndarray, size: np.ndarray
) -> tuple[Iterate, np.ndarray] | None:
    """Make one predictor-corrector step along the central path; None if rounding leaves none."""
    factor = _newton_factor(C, at, s)
    if factor is None:
        return None
    t, rate = at.t, s / at.t
    slack = 1 - size * size
    # how far an affine step would get decides how much the barrier is lowered (S. Mehrotra, SIAM J.
    # Optim. 2, 1992)
    affine = linalg.cho_solve((factor, True), -slack, check_finite=False)
    affine_s = -s - rate * affine
    reached = (t + _longest(t, affine) * affine) @ (s + _longest(s, affine_s) * affine_s)
    now = t @ s
    # never below a thousandth of what it was: a larger jump leaves the region where Newton's method
    # converges fast
    mu = now / len(t) * max((reached / now) ** 3, 1e-3)
    gradient = slack - mu / t
    direction = linalg.cho_solve((factor, True), -gradient, check_finite=False)
    after = _search(C, Y, at, direction, mu, float(gradient @ direction))
    if after is None:
        return None
    # the multipliers move with the linearized s t = mu, then stay near the central path
    change = mu / t - s - rate * direction
    s = s + _longest(s, change) * change
    center = mu / after.t
    return after, np.clip(s, center / _CENTRALITY, center * _CENTRALITY)


def _newton_factor(C: np.ndarray, at: Iterate, s: np.ndarray) -> np.ndarray | None:
    """Return the lower Cholesky factor of the Hessian of the barrier problem, (N, N)."""
    half = linalg.solve_triangular(at.factor, C.T, lower=True, check_finite=False)
    H = half.T @ half
    H *= at.P @ at.P.T
    H *= 2
    diagonal = H.diagonal() + s / at.t
    for ridge in (0.0, 1e-14, 1e-12, 1e-10):  # equal features make H singular
        np.fill_diagonal(H, diagonal * (1 + ridge))
        try:
            return linalg.cholesky(H, lower=True, check_finite=False)
        except linalg.LinAlgError:
            continue
    return None


def _longest(x: np.ndarray, direction: np.ndarray) -> float:
    """Return the longest step, at most 1, that keeps x positive."""
    fastest = float(np.max(-direction / x))
    return 1.0 if fastest <= _TO_THE_BOUNDARY else _TO_THE_BOUNDARY / fastest


def _search(
    C: np.ndarray, Y: np.ndarray, at: Iterate, direction: np.ndarray, mu: float, slope: float
) -> Iterate | None:
    """Halve the step until the barrier function falls enough (Armijo)."""
    length = _longest(at.t, direction)
    start = at.value - mu * np.log(at.t).sum()
    noise = 1e-12 * abs(start)
    while length > _SHORTEST:
        t = at.t + length * direction
        try:
            after = evaluate(C, Y, t)
        except linalg.LinAlgError:
            length /= 2
            continue
        if after.value - mu * np.log(t).sum() <= start + 1e-4 * length * slope + noise:
            return after
        length /= 2
    return None
