"""The l2,1 penalized regression at one penalty, or at one budget."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfs_cli.methods.l21_active import Point
from sfs_cli.methods.l21_newton import solve_at
from sfs_cli.methods.l21_screen import VIOLATION, Screen

_ROUNDS = 1000


def settle(screen: Screen, d: np.ndarray, lam: float, at_once: int = 10) -> Point:
    """Solve at a penalty for the whole data: features enter and leave until nothing is wrong.

    Parameters
    ----------
    screen : Screen
        Its active set is where to start, and in the end that of the solution.
    d : ndarray, shape (a,)
        A guess for the active set.
    lam : float
        The penalty.
    at_once : int
        How many features may enter between two solutions of the small problem.

    Returns
    -------
    Point
        With every d positive.
    """
    active = screen.active
    for _ in range(_ROUNDS):
        point = solve_at(active, d, lam)
        zero = np.flatnonzero(point.d <= 0)
        if len(zero):
            screen.candidates.remove(zero)
            point = active.at(np.delete(point.d, zero))
        screen.certify(active.residual(point.W), lam)
        wrong = _wrong(screen, point, lam, at_once)
        if not len(wrong):
            return point
        for feature in wrong:
            screen.candidates.add(feature)
        d = np.append(point.d, np.zeros(len(wrong)))
    return point


def _wrong(screen: Screen, point: Point, lam: float, limit: int) -> list[int]:
    """Return the features that exceed the penalty most, the first of copies alone."""
    candidates = screen.candidates
    norms = candidates.correlations(point.W)[1]
    over = np.flatnonzero(candidates.outside() & (norms > lam * (1 + VIOLATION)))
    chosen: list[int] = []
    for i in over[np.argsort(-norms[over].round(12), kind="stable")]:
        if len(chosen) == limit:
            break
        cosines = candidates.F[[candidates.place[j] for j in chosen]] @ candidates.F[i]
        if not (np.abs(cosines) > 0.999).any():  # a neighbour has its turn after the next solution
            chosen.append(int(candidates.index[i]))
    return chosen
