"""The l2,1 penalized regression at one penalty or one budget.

Z. Zhao, dissertation, Arizona State University 2010, Eq. 4.5: MRSF follows its path, and this is
one point of it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfs_cli.errors import InputError
from sfs_cli.methods.base import Problem, Solution
from sfs_cli.methods.l21.active_set import Point
from sfs_cli.methods.l21.regression import FLOOR, GAP, make_regression
from sfs_cli.methods.l21.screen import Screen

SHRINK = 0.5
"""A penalty is approached from above: each step goes to this share, from the last solution."""
BUDGET_TOLERANCE = 1e-10
"""Relative difference between ``|W|_{2,1}`` and the budget."""
_EXPECTED = 100
_SOLUTIONS = 200


def solve(problem: Problem) -> Solution:
    """Solve for a fixed penalty ``lambda_``, or a fixed ``budget`` ``t = |W|_{2,1}``.

    Parameters
    ----------
    problem : Problem
        With the options ``lambda_`` and ``budget`` (positive, exactly one of them), ``response``
        and ``response_rank``, and the similarity or the classes that the response needs.

    Returns
    -------
    Solution
        The score is the norm of the feature's row of W. Many are exactly 0; these are ordered by
        ``|f_j' R|``, the column ``correlation``.

    Raises
    ------
    InputError
        If the penalty is too small for a unique solution, or nothing can be selected.
    """
    penalty, budget = problem.options["lambda_"], problem.options["budget"]
    regression = make_regression(problem, _EXPECTED)
    if penalty is not None:
        if penalty < regression.floor:
            raise InputError(
                f"the penalty {penalty:g} is too small: many solutions would be equally good",
                hint=f"lambda_max is {regression.lam_max:.6g}; give at least {FLOOR:g} of that",
                option="lambda_",
            )
        fit = fit_penalty(regression.screen, min(penalty, regression.lam_max))
        lam = penalty
    else:
        fit = fit_budget(regression.screen, budget, regression.floor)
        lam = fit.lam
    last = regression.certify(fit.point, fit.lam)
    features = regression.features
    score = regression.row_norms(fit.point)
    correlation = np.where(features.usable, regression.screen.correlation, np.nan)
    warnings = []
    if not (score > 0).any():
        warnings.append(
            f"all coefficients are zero: the penalty {lam:g} is not below lambda_max, "
            f"{regression.lam_max:.6g}"
        )
    met = budget is None or abs(fit.total / budget - 1) <= 10 * BUDGET_TOLERANCE
    slack = budget is not None and fit.total < budget and fit.lam <= regression.floor
    if slack:
        warnings.append(
            f"the budget {budget:g} is more than is needed: {fit.total:.6g} reproduces the response"
        )
    if last.gap > GAP:
        warnings.append(f"the relative duality gap is {last.gap:.1e}")
    return Solution(
        score=score,
        status=features.status.copy(),
        order=np.lexsort((-correlation, -score)),
        extra={"correlation": correlation},
        objective=[last.objective / regression.half_square],
        converged=last.gap <= GAP and (met or slack),
        stop=f"relative duality gap {last.gap:.1e}",
        coefficients=regression.coefficients(fit.point),
        facts=regression.facts
        | {
            "active": int((score > 0).sum()),
            "lambda": lam,
            "lambda_max": regression.lam_max,
            "l21_norm": fit.total,
            "relative_gap": last.gap,
            "penalties_solved": fit.solved,
            "passes": features.passes,
        },
        warnings=warnings,
    )


@dataclass(frozen=True)
class Fit:
    """A solution at one penalty."""

    lam: float  # the penalty
    point: Point  # the solution on the active set of the screen
    solved: int = 0  # number of penalties solved on the way

    @property
    def total(self) -> float:
        """``|W|_{2,1}``."""
        return self.lam * float(self.point.d.sum())


def _start(screen: Screen) -> Fit:
    """Return the solution W = 0 at lambda_max."""
    return Fit(float(screen.correlation.max()), screen.active.at(np.zeros(0)))


def fit_penalty(screen: Screen, lam: float, start: Fit | None = None) -> Fit:
    """Solve at a penalty, going through a few larger ones, from `start` or from W = 0."""
    fit = start or _start(screen)
    while fit.lam != lam:
        # Newton's method needs a good start, and few features enter on the way: from lambda_max
        # down in halves is faster than straight to a small penalty
        following = max(lam, fit.lam * SHRINK)
        d = fit.point.d
        if len(d):  # d is nearly linear in 1 / lambda
            d = np.maximum(d + (1 / following - 1 / fit.lam) * fit.point.tangent(), 0)
        # several enter at a time: in what order does not matter at the end of the way
        point = screen.settle(d, following, at_once=max(10, len(d) // 4))
        fit = Fit(following, point, fit.solved + 1)
    return fit


def fit_budget(screen: Screen, budget: float, floor: float) -> Fit:
    """Solve for ``|W|_{2,1} = budget``, by Newton's method in lambda within a bracket.

    If the solution at `floor`, the smallest penalty, needs less than the budget, it is returned.
    """
    fit = _start(screen)
    low, high = 0.0, fit.lam
    for _ in range(_SOLUTIONS):
        fit = fit_penalty(screen, _next_penalty(fit, budget, (low, high), floor), fit)
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
    # |W| = lam sum(d) and dd / dlam = -tangent / lam^2
    per_lam = (fit.total - float(fit.point.tangent().sum())) / fit.lam
    guess = fit.lam + (budget - fit.total) / per_lam if per_lam < 0 else np.nan
    # |W| is linear only nearby; a step to half the penalty also gives Newton's method a good start
    if guess <= lowest and lowest > low:
        return lowest
    return float(guess) if low < guess < high else (low + high) / 2
