"""The l2,1 penalized regression at one penalty or one budget.

Z. Zhao, dissertation, Arizona State University 2010, Eq. 4.5: MRSF follows its path, and this is
one point of it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from sfs_cli.errors import InputError
from sfs_cli.methods.base import Problem, Solution
from sfs_cli.methods.l21.active_set import Point
from sfs_cli.methods.l21.regression import FLOOR, GAP, coefficients, make_regression
from sfs_cli.methods.l21.screen import Screen

SHRINK = 0.5
"""A penalty is approached from above: each step goes to this share, from the last solution."""
PRECISION = 1e-14
"""Relative precision of the penalty that meets a budget."""
_EXPECTED = 100


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
    fit = Fit(regression.lam_max, regression.screen.start)
    if penalty is not None:
        if penalty < regression.floor:
            raise InputError(
                f"the penalty {penalty:g} is too small: many solutions would be equally good",
                hint=f"lambda_max is {regression.lam_max:.6g}; give at least {FLOOR:g} of that",
                option="lambda_",
            )
        fit = fit_penalty(regression.screen, min(penalty, regression.lam_max), fit)
        lam = penalty
    else:
        fit = fit_budget(regression.screen, budget, regression.floor, fit)
        lam = fit.lam
    last = regression.screen.certify(fit.point, fit.lam)
    features = regression.features
    score = regression.row_norms(fit.point)
    correlation = np.where(features.usable, regression.screen.correlation, np.nan)
    warnings = []
    if not (score > 0).any():
        warnings.append(
            f"all coefficients are zero: the penalty {lam:g} is not below lambda_max, "
            f"{regression.lam_max:.6g}"
        )
    if budget is not None and fit.lam <= regression.floor:
        warnings.append(
            f"the budget {budget:g} is more than is needed: {fit.total:.6g} reproduces the response"
        )
    met = budget is None or fit.lam <= regression.floor or abs(fit.total / budget - 1) <= GAP
    if not met:
        warnings.append(f"the budget {budget:g} is not met: the solution has {fit.total:.6g}")
    if last.gap > GAP:
        warnings.append(f"the relative duality gap is {last.gap:.1e}")
    return Solution(
        score=score,
        status=features.status.copy(),
        order=np.lexsort((-correlation, -score)),
        extra={"correlation": correlation},
        objective=[last.objective / regression.half_square],
        converged=last.gap <= GAP and met,
        stop=f"relative duality gap {last.gap:.1e}",
        coefficients=coefficients(fit.point),
        facts=regression.facts
        | {
            "active": int((score > 0).sum()),
            "lambda": lam,
            "lambda_max": regression.lam_max,
            "l21_norm": fit.total,
            "relative_gap": last.gap,
            "passes": features.passes,
        },
        warnings=warnings,
    )


@dataclass(frozen=True)
class Fit:
    """A solution at one penalty."""

    lam: float  # the penalty
    point: Point  # the solution on the active set

    @property
    def total(self) -> float:
        """``|W|_{2,1}``."""
        return self.lam * float(self.point.d.sum())


def fit_penalty(screen: Screen, lam: float, fit: Fit) -> Fit:
    """Solve at a penalty, going through a few larger ones from another solution."""
    while fit.lam != lam:
        # Newton's method needs a good start, and few features enter on the way: from lambda_max
        # down in halves is faster than straight to a small penalty
        following = max(lam, fit.lam * SHRINK)
        d = fit.point.ahead(fit.lam, following)
        # several enter at a time: in what order does not matter at the end of the way
        at_once = max(10, len(d) // 4)
        fit = Fit(following, screen.settle(fit.point.active, d, following, at_once))
    return fit


def fit_budget(screen: Screen, budget: float, floor: float, fit: Fit) -> Fit:
    """Solve for ``|W|_{2,1} = budget``, which grows as the penalty falls.

    If the solution at `floor`, the smallest penalty, needs less than the budget, it is returned.
    """
    above = fit
    while fit.total < budget and fit.lam > floor:
        above, fit = fit, fit_penalty(screen, max(fit.lam * SHRINK, floor), fit)
    if fit.total < budget:
        return fit
    totals = {above.lam: above.total, fit.lam: fit.total}

    def excess(lam: float) -> float:
        nonlocal above
        if lam not in totals:
            # from the nearest larger penalty: upwards Newton's method has no good start
            found = fit_penalty(screen, lam, above)
            totals[lam] = found.total
            above = found if found.total < budget else above
        return totals[lam] - budget

    lam = brentq(excess, fit.lam, above.lam, xtol=PRECISION * fit.lam, rtol=PRECISION)
    return fit_penalty(screen, lam, above)
