"""The l2,1 penalized regression at one penalty or one budget.

Z. Zhao, dissertation, Arizona State University 2010, Eq. 4.5: what MRSF follows along a path,
solved at one point of it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sfs_cli.errors import InputError, UsageError
from sfs_cli.methods.base import Context, Solution
from sfs_cli.methods.l21_fixed import BUDGET_TOLERANCE, Fit, fit_budget, fit_penalty
from sfs_cli.methods.l21_gap import Optimality
from sfs_cli.methods.l21_start import FLOOR, GAP, Problem, make_problem

_ABOUT = 100


def solve(context: Context) -> Solution:
    """Solve for a fixed ``penalty`` lambda, or a fixed ``budget`` ``t = |W|_{2,1}``.

    Parameters
    ----------
    context : Context
        With an engine, the options ``penalty`` or ``budget``, ``response`` and ``rank``, and the
        similarity or the class codes that the response needs.

    Returns
    -------
    Solution
        The score is the norm of the feature's row of W, and many are exactly 0; those are ordered
        by ``|f_j' R|``, which is in the column ``correlation``.

    Raises
    ------
    UsageError
        Unless exactly one of ``penalty`` and ``budget`` is given.
    InputError
        When it is not positive, the penalty is too small to be told from zero, or nothing can be
        selected.
    """
    penalty, budget = _given(context.options)
    problem = make_problem(context, _ABOUT)
    if penalty is not None:
        if penalty < problem.floor:
            raise InputError(
                f"the penalty {penalty:g} is too small: without one, many solutions are as good",
                hint=f"lambda_max is {problem.lam_max:.6g}; give at least {FLOOR:g} of that",
            )
        fit = fit_penalty(problem.screen, min(penalty, problem.lam_max))
        lam = penalty
    else:
        assert budget is not None
        fit = fit_budget(problem.screen, budget, problem.floor)
        lam = fit.lam
    last = problem.certify(fit.point, fit.lam)
    return _solution(problem, fit, last, lam, budget)


def _given(options: dict[str, Any]) -> tuple[float | None, float | None]:
    penalty, budget = options["lambda_"], options["budget"]
    if (penalty is None) == (budget is None):
        raise UsageError(
            "exactly one of a penalty and a budget is needed", hint="give --lambda or --budget"
        )
    for name, value in (("--lambda", penalty), ("--budget", budget)):
        if value is not None and not (np.isfinite(value) and value > 0):
            raise UsageError(
                f"{name} {value:g} is not a positive number", hint="give one above zero"
            )
    return penalty, budget


def _solution(
    problem: Problem, fit: Fit, last: Optimality, lam: float, budget: float | None
) -> Solution:
    score = problem.row_norms(fit.point)
    correlation = np.where(problem.features.usable, problem.screen.correlation, np.nan)
    warnings = []
    if not (score > 0).any():
        warnings.append(
            f"all coefficients are zero: the penalty {lam:g} is not below lambda_max, "
            f"{problem.lam_max:.6g}"
        )
    met = budget is None or abs(fit.total / budget - 1) <= 10 * BUDGET_TOLERANCE
    slack = budget is not None and fit.total < budget and fit.lam <= problem.floor
    if slack:
        warnings.append(
            f"the budget {budget:g} is more than is needed: the response is reproduced with "
            f"{fit.total:.6g}"
        )
    if last.gap > GAP:
        warnings.append(f"the relative duality gap is {last.gap:.1e}")
    half = float(np.vdot(problem.screen.active.Y, problem.screen.active.Y)) / 2
    return Solution(
        score=score,
        status=problem.features.status.copy(),
        order=np.lexsort((-correlation, -score)),
        extra={"correlation": correlation},
        objective=[last.objective / half],
        converged=last.gap <= GAP and (met or slack),
        stop=f"relative duality gap {last.gap:.1e}",
        coefficients=problem.coefficients(fit.point),
        facts=problem.facts
        | {
            "active": int((score > 0).sum()),
            "lambda": lam,
            "lambda_max": problem.lam_max,
            "l21_norm": fit.total,
            "relative_gap": last.gap,
            "penalties_solved": len(fit.history) - 1,
            "passes": problem.features.passes,
        },
        warnings=warnings,
    )
