"""RFS: robust feature selection, ``min |X W - Y|_{2,1} + gamma |W|_{2,1}``.

F. Nie, H. Huang, X. Cai and C. Ding, "Efficient and robust feature selection via joint l2,1-norms
minimization", NIPS 2010, Eq. 10. X holds the z-scored features, Y the classes one-hot, and
``|A|_{2,1}`` adds up the norms of the rows of A. As in the paper, the bias is the row of W of a
feature that is 1 in every sample; it is penalised like every other row.

With ``E = Y - X W`` and rows scaled by gamma this is a sum of row norms under linear equations
(Eq. 14), of which only n x n systems are ever solved. The paper's Algorithm 1 finds which features
matter, at one pass over the matrix each iteration. Then Newton's method (`row_norms`) solves the
problem over those, and one more pass gives ``|x_i'Z|`` of the dual point Z for every feature:
features above gamma join, until there are none and the duality gap over the whole data is closed.
The result is optimal for all features, and says how close it is to the optimum.

Rows of W may vanish: only ``D^-1 = 2 diag(|w^i|)`` is needed, never D, the first of the ways that
the paper's footnote 1 gives; and a row that Algorithm 1 shrinks does not stay away for good, since
every feature is looked at again by its ``|x_i'Z|``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from sfs_cli.compute.memory import MINIMUM, format_size
from sfs_cli.errors import InputError, OutOfMemoryError
from sfs_cli.methods.base import Context, Solution
from sfs_cli.methods.classes import class_counts
from sfs_cli.methods.features import centred_features
from sfs_cli.methods.rfs_problem import Problem, reweighted
from sfs_cli.methods.row_norms import Found, minimise

TOLERANCE = 1e-8
"""Of the relative duality gap over all features."""
MAX_ROUNDS = 30
_ROUNDING = 1e-11
_LOOSE = (3e-2, 1e-3)
"""Gaps that end the first rounds over a few features, as long as others are found missing."""


@dataclass
class _Chosen:
    """The features that take part, and what is known of their rows.

    Attributes
    ----------
    indices : ndarray of int, shape (p,)
        Ascending.
    rows : ndarray, shape (p, n)
        ``x_i / gamma``.
    t, s : ndarray, shape (p + 1 + n,)
        Point and multipliers of `row_norms`, those of the bias and the residuals at the end.
    """

    indices: np.ndarray
    rows: np.ndarray
    t: np.ndarray
    s: np.ndarray | None = None


def solve(context: Context) -> Solution:
    """Weigh the features by RFS.

    Parameters
    ----------
    context : Context
        With classes; option ``gamma`` (positive).

    Returns
    -------
    Solution
        Scores ``|w^i|_2``, of z-scored features, larger better. Features without weight follow by
        ``|x_i'Z| / gamma``, the column ``pull``: it is 1 where there is weight, below 1 elsewhere,
        and tells what would enter next.

    Raises
    ------
    InputError
        When there are fewer than two classes, gamma is not positive, or no feature varies.
    OutOfMemoryError
        When the Newton systems do not fit the memory.
    """
    assert context.engine is not None
    gamma = float(context.options["gamma"])
    Y = _one_hot(context, gamma)
    features = centred_features(context.engine, "zscore", context.memory)
    if not features.usable.any():
        raise InputError(
            "no feature varies, so none can be weighed", hint="is the matrix the right one?"
        )
    problem = Problem(features, Y, gamma)
    t, sizes = reweighted(problem)
    chosen = _first(problem, t, sizes)
    found, sizes, stop = _rounds(problem, chosen, sizes, context)
    rows = _cleaned(problem, chosen, found)
    return _solution(problem, chosen, rows, sizes, stop)


def _one_hot(context: Context, gamma: float) -> np.ndarray:
    codes = context.codes
    assert codes is not None
    if not (np.isfinite(gamma) and gamma > 0):
        raise InputError(f"--gamma {gamma:g} is not positive", hint="give a positive number")
    counts = class_counts(codes, "RFS")
    return np.eye(len(counts))[codes][:, counts > 0]


def _first(problem: Problem, t: np.ndarray, sizes: np.ndarray) -> _Chosen:
    features = problem.features
    indices = np.sort(_largest(sizes, np.flatnonzero(features.usable), _batch(problem)))
    rows = features.take(indices) / problem.gamma
    known = np.concatenate([t[indices], t[features.m :]])
    return _Chosen(indices, rows, _lifted(known))


def _batch(problem: Problem) -> int:
    """Return how many features to look at together: a few for each row of the equations."""
    n, c = problem.Y.shape
    return max(100, n * min(max(c, 2), 4))


def _largest(sizes: np.ndarray, among: np.ndarray, count: int) -> np.ndarray:
    """Return the indices with the largest sizes, ties by index."""
    return among[np.argsort(-sizes[among], kind="stable")[:count]]


def _lifted(t: np.ndarray) -> np.ndarray:
    return np.maximum(t, 1e-3 * t.mean())


def _rounds(
    problem: Problem, chosen: _Chosen, sizes: np.ndarray, context: Context
) -> tuple[Found, np.ndarray, str]:
    """Solve over the chosen features and add those that are missing, until none is."""
    tolerance = _LOOSE[0]
    for number in range(1, MAX_ROUNDS + 1):
        _check_memory(len(chosen.t), context.memory)
        C = np.vstack([chosen.rows, problem.tail()])
        found = minimise(C, problem.Y, chosen.t, tolerance, chosen.s)
        problem.record(found.objective)
        chosen.t, chosen.s = found.t, found.s
        sizes = np.linalg.norm(problem.features.project(found.Z), axis=1) / problem.gamma
        problem.bound(found.Z, sizes)
        context.tell(
            f"round {number}: {len(chosen.indices)} features, objective "
            f"{problem.objective[-1]:.10g}, relative gap {problem.gap:.1e}"
        )
        if problem.gap <= TOLERANCE:
            return found, sizes, f"the relative duality gap is at most {TOLERANCE:g}"
        new = np.setdiff1d(np.flatnonzero(sizes > 1 + 1e-9), chosen.indices)
        if not len(new) and tolerance <= TOLERANCE / 2:
            return found, sizes, f"rounding stopped the relative duality gap at {problem.gap:.1e}"
        tolerance = _LOOSE[number] if number < len(_LOOSE) and len(new) else TOLERANCE / 2
        _change(problem, chosen, sizes, np.sort(_largest(sizes, new, _batch(problem))))
    return found, sizes, f"{MAX_ROUNDS} rounds left a relative duality gap of {problem.gap:.1e}"


def _check_memory(size: int, memory: int) -> None:
    needed = 3 * 8 * size * size
    if needed > max(memory, MINIMUM):
        raise OutOfMemoryError(
            f"the Newton systems of RFS over {size:,} features and samples need "
            f"{format_size(needed)}, and {format_size(memory)} may be used",
            hint="allow more with --memory, or use fewer samples",
        )


def _change(problem: Problem, chosen: _Chosen, sizes: np.ndarray, new: np.ndarray) -> None:
    """Add features, and leave out those that are far from having weight."""
    if not len(new):
        return
    p = len(chosen.indices)
    keep = sizes[chosen.indices] > 0.5
    merged = np.concatenate([chosen.indices[keep], new])
    order = np.argsort(merged)
    rows = np.vstack([chosen.rows[keep], problem.features.take(new) / problem.gamma])
    t = np.concatenate([chosen.t[:p][keep], np.zeros(len(new))])[order]
    chosen.indices, chosen.rows = merged[order], rows[order]
    chosen.t = _lifted(np.concatenate([t, chosen.t[p:]]))
    chosen.s = None  # the new features have none, and a start off the path is slower


def _cleaned(problem: Problem, chosen: _Chosen, found: Found) -> np.ndarray:
    """Return W and the bias, shape (p + 1, c), rows that vanish set to zero if that is as good.

    Rows with weight are those whose t outweighs its multiplier; W over them alone, weighted as in
    Algorithm 1, is taken if the objective does not grow by more than rounding.
    """
    p = len(chosen.indices)
    C = np.vstack([chosen.rows, problem.tail()])
    kept = found.t > found.s * found.t.sum() * 1e-3
    root = np.sqrt(found.t[kept])[:, None]
    solution = linalg.lstsq((C[kept] * root).T, problem.Y, check_finite=False)[0]
    U = np.zeros_like(found.U)
    U[kept] = root * solution
    residual = problem.Y - C[: p + 1].T @ U[: p + 1]
    rows = np.linalg.norm(U[: p + 1], axis=1).sum()
    value = float(rows + np.linalg.norm(residual, axis=1).sum())
    if value <= problem.objective[-1] * (1 + _ROUNDING):
        problem.record([value])
        return U[: p + 1] / problem.gamma
    return found.U[: p + 1] / problem.gamma


def _solution(
    problem: Problem, chosen: _Chosen, rows: np.ndarray, sizes: np.ndarray, stop: str
) -> Solution:
    features, W = problem.features, rows[:-1]
    score = np.zeros(features.m)
    score[chosen.indices] = np.linalg.norm(W, axis=1)
    pull = np.minimum(sizes, 1.0)
    order = np.lexsort((-sizes, -score))
    for column in (score, pull):
        column[~features.usable] = np.nan
    weighty = np.flatnonzero(np.linalg.norm(W, axis=1) > 0)
    warnings = []
    if not len(weighty):
        warnings.append(
            f"--gamma {problem.gamma:g} is so large that no feature has weight; the order is that "
            "in which features would enter"
        )
    return Solution(
        score=score,
        status=features.status,
        order=order[features.usable[order]],
        extra={"pull": pull},
        objective=problem.objective,
        converged=problem.gap <= TOLERANCE,
        stop=stop,
        coefficients=(chosen.indices[weighty], W[weighty]),
        facts={
            "gamma": problem.gamma,
            "bias": rows[-1],
            "relative_gap": problem.gap,
            "features_with_weight": len(weighty),
            "features_looked_at_closely": len(chosen.indices),
            "passes": features.passes,
        },
        warnings=warnings,
    )
