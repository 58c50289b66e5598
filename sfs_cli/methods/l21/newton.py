"""Newton's method on the active set: at a given penalty, and at an event of the path.

Both solve ``1 / |f_i' R| = t`` with ``t = 1 / lambda`` in place of ``|f_i' R|^2 = lambda^2``. For
orthogonal features the left side is linear in d (as in the secular equation of trust-region
methods), so a few steps are enough even from far away.
"""

from __future__ import annotations

import numpy as np

from sfs_cli.methods.l21.active_set import ActiveSet, Point, solve_scaled

TOLERANCE = 1e-12
"""Aim for the largest ``| |f_i' R| / lambda - 1 |`` on the active set."""
LOOSE = 1e-9
"""Accepted where rounding allows no better."""
_MEETING_STEPS = 12
_STEPS = 100
_HALVINGS = 40


def meet(active: ActiveSet, d: np.ndarray, lam: float, position: int) -> tuple[Point, float] | None:
    """Find the event at which the feature at `position` enters or leaves, with its lambda.

    The unknowns are lambda and the d of all other features. ``|f_i' R| = lambda`` holds for every
    active feature, and for the one at `position`, whose d is zero.

    It starts at d (a,) and lambda, and returns None if Newton's method does not converge. Elements
    of the d that it finds may be negative: then another feature has left before.
    """
    step, t = d.copy(), 1 / lam
    step[position], d, before = 0, np.zeros(len(d)), np.inf
    for _ in range(_MEETING_STEPS):
        d = d + step
        try:
            point = active.at(d)
            error = float(np.abs(point.norms * t - 1).max())
            # converged, or as close as rounding allows: a step no longer gains a factor of 4
            if error <= TOLERANCE or before / 4 < error <= LOOSE:
                return point, 1 / t
            if not (error < 2 * before + 0.5 and t > 0):  # it diverges; nan ends here too
                return None
            before = error
            jacobian = point.hessian / point.norms[:, None] ** 3
            jacobian[:, position] = -1  # by t, in place of the d that stays 0
            step = np.linalg.solve(jacobian, t - 1 / point.norms)
        except np.linalg.LinAlgError:
            return None
        t, step[position] = t + float(step[position]), 0
    return None


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
    try:
        point = active.at(np.maximum(d, 0))
    except np.linalg.LinAlgError:  # a prediction so far off that C does not exist: from W = 0
        point = active.at(np.zeros(len(d)))
    for _ in range(_STEPS):
        error, free = _error(point, lam)
        if error <= TOLERANCE:
            break
        e = point.norms[free]
        gradient = (lam**2 - e**2) / 2
        sides = np.column_stack([e**2 * (e / lam - 1), -gradient])
        # the secular direction is the better one far away, but only the second always descends
        directions = solve_scaled(point.hessian[np.ix_(free, free)], sides).T
        trials = (
            _search(point, lam, direction) for direction in directions if gradient @ direction < 0
        )
        following = next((trial for trial in trials if trial is not None), None)
        if following is None:
            break  # only rounding is left: no step makes the objective smaller
        point = following
    return point


def _error(point: Point, lam: float) -> tuple[float, np.ndarray]:
    """Return how far a point is from the optimum, and which of its features are not held at 0."""
    excess = point.norms / lam - 1
    free = np.flatnonzero((point.d > 0) | (excess > 0))
    return float(np.abs(excess[free]).max(initial=0)), free


def _search(point: Point, lam: float, direction: np.ndarray) -> Point | None:
    """Return the first point along the projected direction that is good enough, if any."""
    start, (error, free) = point.objective(lam), _error(point, lam)
    gradient = (lam**2 - point.norms[free] ** 2) / 2
    for size in 0.5 ** np.arange(_HALVINGS):
        d = point.d.copy()
        d[free] = np.maximum(d[free] + size * direction, 0)
        try:
            trial = point.active.at(d)
        except np.linalg.LinAlgError:
            continue
        promised = float(gradient @ (d[free] - point.d[free]))
        if trial.objective(lam) < start + 1e-4 * promised < start:
            return trial
        # so near the optimum the objective has no digits left to compare
        if error < 1e-4 and _error(trial, lam)[0] < error / 2:
            return trial
        if size < 1e-3 and error < LOOSE:  # shorter steps would only compare rounding
            return None
    return None
