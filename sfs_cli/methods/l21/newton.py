"""Newton's method on the active set: at a given penalty, and at an event of the path.

Both solve ``1 / |f_i' R| = t`` with ``t = 1 / lambda`` in place of ``|f_i' R|^2 = lambda^2``. For
orthogonal features the left side is linear in d (as in the secular equation of trust-region
methods), so a few steps are enough even from far away.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfs_cli.methods.l21.active_set import ActiveSet, Point, solve_scaled

TOLERANCE = 1e-12
"""Aim for the largest ``| |f_i' R| / lambda - 1 |`` on the active set."""
LOOSE = 1e-9
"""Accepted where rounding allows no better."""
_MEETING_STEPS = 12
_STEPS = 100
_HALVINGS = 40


@dataclass(frozen=True)
class Meeting:
    """An event of the path: at this penalty, one active feature has coefficient zero."""

    lam: float
    point: Point


def meet(active: ActiveSet, d: np.ndarray, lam: float, position: int) -> Meeting | None:
    """Find the event at which the feature at `position` enters or leaves.

    The unknowns are lambda and the d of all other features. ``|f_i' R| = lambda`` holds for every
    active feature, and for the one at `position`, whose d is zero.

    It starts at d (a,) and lambda, and returns None if Newton's method does not converge. Elements
    of the d that it finds may be negative: then another feature has left before.
    """
    d, t = d.copy(), 1 / lam
    d[position] = 0
    free = np.delete(np.arange(len(d)), position)
    before = np.inf
    for _ in range(_MEETING_STEPS):
        point = _at(active, d)
        if point is None:
            return None
        error = float(np.abs(point.norms * t - 1).max())
        # converged, or as close as rounding allows: a step no longer gains a factor of 4
        if error <= TOLERANCE or (error <= LOOSE and error > before / 4):
            return Meeting(1 / t, point)
        if not error < 2 * before + 0.5:  # it diverges; nan ends here too
            return None
        before = error
        try:
            step, dt = _meeting_step(point, t, position, free)
        except np.linalg.LinAlgError:
            return None
        if not (np.isfinite(dt) and t + dt > 0):
            return None
        d = d.copy()
        d[free] += step
        t += dt
    return None


def _meeting_step(
    point: Point, t: float, position: int, free: np.ndarray
) -> tuple[np.ndarray, float]:
    """Return the Newton step of the free d, and of t: eliminate d, then solve for t."""
    norms, H = point.norms, point.hessian
    e = norms[free]
    both = solve_scaled(H[np.ix_(free, free)], np.column_stack([e**2 * (e * t - 1), e**3]))
    own = norms[position]
    pull = H[position, free] @ both / own**3
    slack = 1 - pull[1]
    dt = (1 / own - t + pull[0]) / slack if slack != 0 else np.nan
    return both[:, 0] + dt * both[:, 1], float(dt)


def solve_at(active: ActiveSet, d: np.ndarray, lam: float) -> Point:
    """Minimize the eliminated problem over ``d >= 0`` at one penalty.

    Projected Newton steps with a line search along the projection (D. Bertsekas, "Projected Newton
    methods for optimization problems with simple constraints", SIAM J. Control Optim. 20, 1982).
    The direction is that of the secular form if it descends, else the plain Newton direction.

    Parameters
    ----------
    active : ActiveSet
        The features.
    d : ndarray, shape (a,)
        Where to start; negative elements are taken as 0.
    lam : float
        The penalty.

    Returns
    -------
    Point
        Features without coefficients have exactly ``d = 0``.
    """
    # a prediction may be so far off that C does not exist there: then from W = 0
    point = _at(active, np.maximum(d, 0)) or active.at(np.zeros(len(d)))
    for _ in range(_STEPS):
        e = point.norms
        free = np.flatnonzero((point.d > 0) | (e / lam - 1 > 0))
        error = float(np.abs(e[free] / lam - 1).max(initial=0))
        if error <= TOLERANCE:
            break
        gradient = (lam**2 - e[free] ** 2) / 2
        sides = np.column_stack([e[free] ** 2 * (e[free] / lam - 1), -gradient])
        following = None
        # the secular direction is the better one far away, but only the second always descends
        for direction in solve_scaled(point.hessian[np.ix_(free, free)], sides).T:
            if following is None and gradient @ direction < 0:
                following = _search(active, point, lam, free, direction, error)
        if following is None:
            break  # only rounding is left: no step makes the objective smaller
        point = following
    return point


def _at(active: ActiveSet, d: np.ndarray) -> Point | None:
    """Return the point at d; None if d is so large, or so negative, that C does not exist."""
    try:
        return active.at(d)
    except np.linalg.LinAlgError:
        return None


def _search(
    active: ActiveSet,
    point: Point,
    lam: float,
    free: np.ndarray,
    direction: np.ndarray,
    error: float,
) -> Point | None:
    """Return the first point along the projected direction that is good enough, if any."""
    start = point.objective(lam)
    gradient = (lam**2 - point.norms[free] ** 2) / 2
    size = 1.0
    for _ in range(_HALVINGS):
        d = point.d.copy()
        d[free] = np.maximum(d[free] + size * direction, 0)
        promised = gradient @ (d[free] - point.d[free])
        trial = _at(active, d)
        size /= 2
        if trial is None:
            continue
        if promised < 0 and trial.objective(lam) <= start + 1e-4 * promised:
            if trial.objective(lam) < start or _error(trial, lam) < error:
                return trial
        elif error < 1e-4 and _error(trial, lam) < error / 2:
            return trial  # so near the optimum the objective has no digits left to compare
        if size < 1e-3 and error < LOOSE:  # shorter steps would only compare rounding
            return None
    return None


def _error(point: Point, lam: float) -> float:
    excess = point.norms / lam - 1
    return float(np.abs(excess[(point.d > 0) | (excess > 0)]).max(initial=0))
