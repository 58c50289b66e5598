"""MRSF: spectral feature selection with minimal redundancy.

Z. Zhao, dissertation, Arizona State University 2010, Chapter 4: features are selected by the path
of an l2,1 penalized regression of the sample similarity on all features together.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sfs_cli.errors import InputError
from sfs_cli.methods.base import Context, Solution, Status
from sfs_cli.methods.l21_gap import Optimality
from sfs_cli.methods.l21_path import Path
from sfs_cli.methods.l21_start import GAP, Problem, make_problem


def solve(context: Context) -> Solution:
    """Follow the path from lambda_max down until ``select`` features have entered.

    Parameters
    ----------
    context : Context
        With an engine, the options ``select``, ``response`` and ``rank``, and the similarity or
        the class codes that the response needs.

    Returns
    -------
    Solution
        The score is lambda at the (first) entry, and the order that of entry; the others follow by
        ``|f_j' R|`` at the last breakpoint. A copy of a selected feature never enters.

    Raises
    ------
    InputError
        When nothing can be selected.
    """
    select = context.options["select"]
    if select < 1:
        raise InputError(f"--select {select} selects nothing", hint="give 1 or more")
    problem = make_problem(context, select)
    path = Path(problem.screen, problem.floor)
    entries = path.entries()
    wanted = min(select, int(problem.features.usable.sum()))
    while len(entries) < wanted and path.advance():
        entries = path.entries()
        context.tell(f"{len(entries)} features at lambda {path.lam:.4g}")
    last = problem.certify(path.point, path.lam)
    return _solution(problem, path, entries, select, last)


def _solution(
    problem: Problem, path: Path, entries: dict[int, float], select: int, last: Optimality
) -> Solution:
    gap = max([last.gap, *(event.optimality.gap for event in path.events)])
    score = np.full(problem.features.m, np.nan)
    score[list(entries)] = list(entries.values())
    status = problem.features.status.copy()
    status[np.isnan(score) & problem.features.usable] = Status.NOT_SELECTED
    warnings = []
    stop = f"{len(entries)} features have entered"
    if len(entries) < select:
        stop = f"only {len(entries)} features can enter where {select} were asked for"
        if path.lost:
            stop += ": beyond them, rounding hides what enters next"
        warnings.append(stop)
    if gap > GAP:
        warnings.append(f"the relative duality gap is {gap:.1e} at one of the breakpoints")
    half = float(np.vdot(path.active.Y, path.active.Y)) / 2
    return Solution(
        score=score,
        status=status,
        order=_order(problem, entries),
        extra={"row_norm": problem.row_norms(path.point), "lambda": score.copy()},
        objective=[event.optimality.objective / half for event in path.events],
        converged=gap <= GAP,
        stop=stop,
        coefficients=problem.coefficients(path.point),
        facts=problem.facts | _facts(problem, path, entries, gap),
        warnings=warnings,
    )


def _order(problem: Problem, entries: dict[int, float]) -> np.ndarray:
    """Return selected features by entry, others by the correlation left, the unscored last."""
    key = np.where(problem.features.usable, -problem.screen.correlation, np.inf)
    key[list(entries)] = -np.inf
    rest = np.argsort(key, kind="stable")[len(entries) :]
    return np.concatenate([np.array(list(entries), int), rest])


def _facts(problem: Problem, path: Path, entries: dict[int, float], gap: float) -> dict[str, Any]:
    active = int((path.point.d > 0).sum())
    return {
        "selected": len(entries),
        "breakpoints": len(path.events),
        "left": sum(not event.enters for event in path.events),
        "active_at_end": active,
        "lambda_max": problem.lam_max,
        "lambda_end": path.lam,
        "l21_norm_end": path.lam * float(path.point.d.sum()),
        "largest_relative_gap": gap,
        "passes": problem.features.passes,
    }
