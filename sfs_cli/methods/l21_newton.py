"""Newton's method for the small problem: at a given penalty, and at an event of the path.

Both solve ``1 / |f_i' R| = t`` on the active set, with ``t = 1 / lambda``, instead of
``|f_i' R|^2 = lambda^2``: the left side is linear in d for orthogonal features (as in the secular
equation of trust-region methods), so that few steps are needed from far away too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfs_cli.methods.l21_active import ActiveSet, Point, solve_scaled

TOLERANCE = 1e-12
"""Largest ``| |f_i' R| / lambda - 1 |`` on the active set that is aimed at."""
LOOSE = 1e-9
"""What is accepted where rounding allows no better."""
_MEETING_STEPS = 12
_STEPS = 100
_HALVINGS = 40


@dataclass(frozen=True)
class Meeting:
    """A point of the path at which one feature of the active set has coefficient zero.

    Attributes
    ----------
    lam : float
        The penalty there.
    point : Point
        The eliminated problem there.
    """

    lam: float
    point: Point


def meet(active: ActiveSet, d: np.ndarray, lam: float, place: int) -> Meeting | None:
    """Find the event at which the feature at `place` enters or leaves.

    The unknowns are lambda and the d of all others; ``|f_i' R| = lambda`` holds for every active
    feature, the one at `place` included, whose d is zero.

    Parameters
    ----------
    active : ActiveSet
        With the feature that enters or leaves.
    d : ndarray, shape (a,)
        A guess.
    lam : float
        A guess.
    place : int
        Position of the feature in the active set.

    Returns
    -------
    Meeting or None
        None when Newton's method does not get there. Elements of d can be negative.
    """
    try:
        return _meet(active, d, 1 / lam, place)
    except np.linalg.LinAlgError:
        return None  # a d so negative that C does not exist


def _meet(active: ActiveSet, d: np.ndarray, t: float, place: int) -> Meeting | None:
    d = d.copy()
    d[place] = 0
    free = np.delete(np.arange(len(d)), place)
    before = np.inf
    for _ in range(_MEETING_STEPS):
        point = active.at(d)
        error = float(np.abs(point.norms * t - 1).max())
        if error <= TOLERANCE or (error <= LOOSE and error > before / 4):
            return Meeting(1 / t, point)
        if not error < 2 * before + 0.5:
            return None
        before = error
        step, dt = _meeting_step(point, t, place, free)
        if not (np.isfinite(dt) and t + dt > 0):
            return None
        d = d.copy()
        d[free] += step
        t += dt
    return None


def _meeting_step(point: Point, t: float, place: int, free: np.ndarray) -> tuple[np.ndarray, float]:
    norms, H = point.norms, point.hessian
    e = norms[free]
    both = solve_scaled(H[np.ix_(free, free)], np.column_stack([e**2 * (e * t - 1), e**3]))
    own = norms[place]
    pull = H[place, free] @ both / own**3
    slack = 1 - pull[1]
    dt = (1 / own - t + pull[0]) / slack if slack != 0 else np.nan
    return both[:, 0] + dt * both[:, 1], float(dt)


def solve_at(active: ActiveSet, d: np.ndarray, lam: float) -> Point:
    """Minimize the eliminated problem over ``d >= 0`` for the features of the active set.

    Projected Newton steps with a line search along the projection (Bertsekas 1982); the direction
    is that of the secular form while it descends, and the plain Newton direction otherwise.

    Parameters
    ----------
    active : ActiveSet
        The features.
    d : ndarray, shape (a,)
        Where to start, not negative.
    lam : float
        The penalty.

    Returns
    -------
    Point
        Features that are at zero have exactly ``d = 0``.
    """
    point = _at(active, np.maximum(d, 0)) or active.at(np.zeros(len(d)))
    for _ in range(_STEPS):
        excess = point.norms / lam - 1
        free = np.flatnonzero((point.d > 0) | (excess > 0))
        error = float(np.abs(excess[free]).max(initial=0))
        if error <= TOLERANCE:
            break
        following = _descend(active, point, lam, free)
        if following is None:
            break  # rounding: no step makes the objective smaller
        point = following
    return point


def _at(active: ActiveSet, d: np.ndarray) -> Point | None:
    """Return the point at d, or None where d is so large that it has no digits left."""
    try:
        return active.at(d)
    except np.linalg.LinAlgError:
        return None


def _descend(active: ActiveSet, point: Point, lam: float, free: np.ndarray) -> Point | None:
    e = point.norms[free]
    gradient = (lam**2 - e**2) / 2
    sides = np.column_stack([e**2 * (e / lam - 1), -gradient])
    directions = solve_scaled(point.hessian[np.ix_(free, free)], sides).T
    error = float(np.abs(e / lam - 1).max())
    for direction in directions:
        if gradient @ direction < 0:
            found = _search(active, point, lam, free, direction, error)
            if found is not None:
                return found
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
        if trial is None:
            size /= 2
            continue
        if promised < 0 and trial.objective(lam) <= start + 1e-4 * promised:
            if trial.objective(lam) < start or _error(trial, lam) < error:
                return trial
        elif error < 1e-4 and _error(trial, lam) < error / 2:
            return trial  # too near for the objective to tell
        size /= 2
        if size < 1e-3 and error < LOOSE:
            return None
    return None


def _error(point: Point, lam: float) -> float:
    excess = point.norms / lam - 1
    return float(np.abs(excess[(point.d > 0) | (excess > 0)]).max(initial=0))
