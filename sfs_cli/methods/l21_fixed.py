"""The l2,1 penalized regression at one penalty, or at one budget."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from sfs_cli.methods.l21_active import Point
from sfs_cli.methods.l21_newton import solve_at
from sfs_cli.methods.l21_screen import Screen

SHRINK = 0.5
"""A penalty is approached from above in steps to this share, each from the last solution."""
BUDGET_TOLERANCE = 1e-10
"""Relative difference between ``|W|_{2,1}`` and the budget."""
_TURNS = 5
"""How often a feature may enter before one penalty is solved; more is rounding."""
_SOLUTIONS = 200


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
    turns: Counter[int] = Counter()
    while True:
        point = solve_at(active, d, lam)
        zero = np.flatnonzero(point.d <= 0)
        if len(zero):
            screen.candidates.remove(zero)
            point = active.at(np.delete(point.d, zero))
        screen.certify(active.residual(point.W), point, lam)
        wrong = [j for j in _wrong(screen, point, lam, at_once) if turns[j] < _TURNS]
        if not wrong:
            return point
        turns.update(wrong)
        for feature in wrong:
            screen.candidates.add(feature)
        d = np.append(point.d, np.zeros(len(wrong)))


def _wrong(screen: Screen, point: Point, lam: float, limit: int) -> list[int]:
    """Return the features that exceed the penalty most, the first of copies alone."""
    candidates = screen.candidates
    norms = candidates.correlations(point.W)[1]
    over = np.flatnonzero(candidates.violating(norms, lam))
    chosen: list[int] = []
    for i in over[np.argsort(-norms[over].round(12), kind="stable")]:
        if len(chosen) == limit:
            break
        cosines = candidates.F[[candidates.place[j] for j in chosen]] @ candidates.F[i]
        if not (np.abs(cosines) > 0.999).any():  # a neighbour has its turn after the next solution
            chosen.append(int(candidates.index[i]))
    return chosen


@dataclass(frozen=True)
class Fit:
    """A solution at one penalty.

    Attributes
    ----------
    lam : float
        The penalty.
    point : Point
        The solution on the active set of the screen.
    history : list of (float, float)
        Penalties that were solved for on the way, and ``|W|_{2,1}`` at each.
    """

    lam: float
    point: Point
    history: list[tuple[float, float]]

    @property
    def total(self) -> float:
        """``|W|_{2,1}``."""
        return self.lam * float(self.point.d.sum())


def fit_penalty(screen: Screen, lam: float, start: Fit | None = None) -> Fit:
    """Solve at a penalty, through a few larger ones.

    Parameters
    ----------
    screen : Screen
        With nothing active, or with the active set of `start`.
    lam : float
        The penalty.
    start : Fit, optional
        A solution to start from.
    """
    fit = start or _nothing(screen)
    while fit.lam != lam:
        following = max(lam, fit.lam * SHRINK)
        ahead = 1 / following - 1 / fit.lam
        d = fit.point.d
        if len(d):
            d = np.maximum(d + ahead * fit.point.tangent(), 0)
        point = settle(screen, d, following, at_once=max(10, len(d) // 4))
        total = following * float(point.d.sum())
        fit = Fit(following, point, [*fit.history, (following, total)])
    return fit


def fit_budget(screen: Screen, budget: float, floor: float) -> Fit:
    """Solve for ``|W|_{2,1} = budget``, by Newton's method in lambda within a bracket.

    Parameters
    ----------
    screen : Screen
        With nothing active.
    budget : float
        Positive.
    floor : float
        The smallest penalty to go to; where its solution does not use the budget up, it is the
        one that is returned.
    """
    fit = _nothing(screen)
    low, high = 0.0, fit.lam
    for _ in range(_SOLUTIONS):
        following = _next_penalty(fit, budget, (low, high), floor)
        fit = fit_penalty(screen, following, fit)
        if abs(fit.total - budget) <= BUDGET_TOLERANCE * budget:
            return fit
        if fit.total < budget:
            high = fit.lam
            if fit.lam <= floor:
                return fit
        else:
            low = fit.lam
        if high - low <= 1e-15 * high:
            return fit
    return fit


def _next_penalty(fit: Fit, budget: float, bracket: tuple[float, float], floor: float) -> float:
    """Return where the budget would be met if ``|W|_{2,1}`` were linear in lambda."""
    low, high = bracket
    lowest = max(low, floor, fit.lam * SHRINK)
    if not len(fit.point.d):
        return lowest
    per_lam = (fit.total - float(fit.point.tangent().sum())) / fit.lam
    guess = fit.lam + (budget - fit.total) / per_lam if per_lam < 0 else np.nan
    if guess <= lowest and lowest > low:
        return lowest
    return float(guess) if low < guess < high else (low + high) / 2


def _nothing(screen: Screen) -> Fit:
    lam = float(screen.correlation.max())
    return Fit(lam, screen.active.at(np.zeros(0)), [(lam, 0.0)])
