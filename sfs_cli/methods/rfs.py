"""RFS: robust feature selection, ``min |X W - Y|_{2,1} + gamma |W|_{2,1}``.

F. Nie, H. Huang, X. Cai and C. Ding, "Efficient and robust feature selection via joint l2,1-norms
minimization", NIPS 2010, Eq. 10. X holds z-scored features, Y the classes one-hot, and
``|A|_{2,1}`` is the sum of the norms of the rows of A. As in the paper, the bias is the row of W of
a feature that is 1 in every sample, and is penalized like every other row. With an outcome, Y is
its one column, z-scored.

With ``E = Y - X W``, Eq. 10 is ``min sum |U_i|`` over ``U = [gamma W; gamma bias; E]`` under linear
equations (Eq. 14). Its dual is ``max <Z, Y>`` over Z (n x c) with ``|x_i'Z| <= gamma``,
``|1'Z| <= gamma`` and ``|z_s| <= 1``, so that any Z, scaled down to obey these, bounds the optimum
from below. Only n x n systems of the whole data are solved:

1. The paper's Algorithm 1 finds which features matter, one pass over the matrix per iteration.
2. Newton's method (`row_norms`) solves the problem over these.
3. One more pass gives ``|x_i'Z|`` for every feature. Features above gamma join, and 2 and 3 repeat
   until there are none and the duality gap over the whole data is closed.

Rows of W may vanish. Only ``D^-1 = 2 diag(|w^i|)`` is needed, never D, which is the first remedy in
the paper's footnote 1; and a row that Algorithm 1 shrinks is checked again in step 3.
"""

from __future__ import annotations

import warnings

import numpy as np
from scipy import linalg

from sfs_cli.compute.matrix import Span
from sfs_cli.compute.memory import MINIMUM, check_memory
from sfs_cli.methods.base import Problem, Solution
from sfs_cli.methods.centered_matrix import CenteredMatrix, centered_matrix
from sfs_cli.methods.row_norms import Found, minimize
from sfs_cli.methods.shared import class_counts, require_variation, unit_outcome

TOLERANCE = 1e-8
"""Relative duality gap over all features."""
REWEIGHTINGS = 12
"""Iterations of Algorithm 1."""
MAX_ROUNDS = 30
_ROUNDING = 1e-11
_LOOSE = (3e-2, 1e-3)
"""Gaps that end the first rounds, in which features are still found missing."""


def solve(problem: Problem, max_rounds: int = MAX_ROUNDS) -> Solution:
    """Weigh the features by RFS.

    Parameters
    ----------
    problem : Problem
        With classes or an outcome; option ``gamma`` (positive).
    max_rounds : int
        Largest number of rounds of steps 2 and 3.

    Returns
    -------
    Solution
        Scores ``|w^i|_2`` of z-scored features, larger is better. Features without weight follow by
        ``|x_i'Z| / gamma``, the column ``pull``: 1 for features with weight, less for others, and
        the larger, the sooner a feature would enter.

    Raises
    ------
    InputError
        If there are fewer than two classes, or no feature varies.
    OutOfMemoryError
        If the Newton systems do not fit in memory.
    """
    gamma = float(problem.options["gamma"])
    if problem.outcome is not None:  # z-scored, as the features are
        Y = np.sqrt(problem.n_samples) * unit_outcome(problem.outcome, "RFS")[:, None]
    else:
        counts = class_counts(problem.codes, "RFS")
        Y = np.eye(len(counts))[problem.codes][:, counts > 0]
    features = centered_matrix(problem.engine, "zscore", problem.memory)
    require_variation(features.status)
    state = _State(features, Y, gamma)
    _reweight(state)
    found, stop = _newton(state, problem, max_rounds)
    return _solution(state, _cleaned(state, found), stop)


class _State:
    """The best solution so far, and how good it is over all features.

    Attributes
    ----------
    tail : ndarray, shape (1 + n, n)
        Rows of C for the bias and the residuals.
    t : ndarray, shape (m + 1 + n,)
        Norms of the rows of U.
    sizes : ndarray, shape (m,)
        ``|x_i'Z| / gamma`` at the last dual point Z.
    indices : ndarray, shape (p,)
        The features that take part in Newton's method, ascending.
    C : ndarray, shape (p + 1 + n, n)
        The equations over these, ``C' U = Y``.
    lower : float
        The largest dual value so far.
    objective : list of float
        The smallest value of Eq. 10 so far, after each iteration.
    """

    def __init__(self, features: CenteredMatrix, Y: np.ndarray, gamma: float) -> None:
        self.features, self.Y, self.gamma = features, Y, gamma
        self.tail = np.vstack([np.full((1, features.n), 1 / gamma), np.eye(features.n)])
        self.t, self.sizes = np.ones(features.m + 1 + features.n), np.zeros(features.m)
        self.indices, self.C = np.empty(0, int), self.tail
        self.lower, self.objective = -np.inf, [np.inf]

    @property
    def gap(self) -> float:
        """Relative duality gap over all features."""
        return max(self.objective[-1] - self.lower, 0.0) / self.objective[-1]

    def record(self, value: float) -> None:
        """Append a value of the objective, of which only the smallest so far counts."""
        self.objective.append(min(value, self.objective[-1]))

    def bound(self, Z: np.ndarray) -> None:
        """Raise the lower bound by a dual point Z, given its sizes."""
        rest = np.linalg.norm(self.tail @ Z, axis=1)
        largest = max(1.0, float(self.sizes.max()), float(rest.max()))
        self.lower = max(self.lower, float(np.vdot(Z, self.Y)) / largest)

    def join(self, among: np.ndarray) -> None:
        """Add those of some features that are pulled most; remove those far from having weight."""
        n, c = self.Y.shape
        most = max(100, n * min(max(c, 2), 4))  # a few for each row of the equations
        new = among[np.argsort(-self.sizes[among], kind="stable")[:most]]
        # a row has weight only where its size is 1
        self.indices = np.union1d(self.indices[self.sizes[self.indices] > 0.5], new)
        self.C = np.vstack([self.features.take(self.indices) / self.gamma, self.tail])


def _reweight(state: _State) -> None:
    """Run some iterations of the paper's Algorithm 1, from D = I."""
    features, gamma, tail, t = state.features, state.gamma, state.tail, state.t
    m = features.m
    moment = features.gram() / gamma**2
    for _ in range(REWEIGHTINGS):
        K = moment + (tail.T * t[m:]) @ tail
        with warnings.catch_warnings():
            # only a start: the bound holds for any Z, and the duality gap judges what comes of it
            warnings.simplefilter("ignore", linalg.LinAlgWarning)
            Z = linalg.solve(K, state.Y, assume_a="pos")

        def product(
            block: np.ndarray, span: Span, Z: np.ndarray = Z
        ) -> tuple[np.ndarray, np.ndarray]:
            size = np.linalg.norm(block @ Z, axis=1) / gamma
            scaled = block * (np.sqrt(t[span.lo : span.hi] * size) / gamma)[:, None]
            return size, scaled.T @ scaled

        # one pass gives both the new norms and the next moment
        moment = np.zeros_like(K)
        for span, (size, piece) in features.map(product):
            state.sizes[span.lo : span.hi] = size
            moment += piece
        t[:m] *= state.sizes  # |U_i| of U = diag(t) C Z
        state.bound(Z)
        t[m:] *= np.linalg.norm(tail @ Z, axis=1)
        state.record(float(t.sum()))
        # samples that are fitted exactly would make K singular
        np.maximum(t[m:], 1e-9 * state.objective[-1], out=t[m:])
    state.join(np.flatnonzero(features.usable))


def _newton(state: _State, problem: Problem, max_rounds: int) -> tuple[Found, str]:
    """Solve over a few features and add the missing ones, until none is missing."""
    features = state.features
    s, new = None, state.indices
    # while features are still missing, an exact solution over the chosen ones would be thrown away
    tolerance = _LOOSE[0]
    for number in range(1, max_rounds + 1):
        rows = np.append(state.indices, np.arange(features.m, len(state.t)))
        size = len(rows)
        what = f"the Newton systems of RFS over {size:,} features and samples need"
        hint = "allow more with --memory, or use fewer samples"
        check_memory(what, 3 * 8 * size * size, max(problem.memory, MINIMUM), hint)
        if len(new):  # new ones have no multipliers, and guesses off the path are slower
            # away from zero, where the barrier of Newton's method would be slow
            t, s = np.maximum(state.t[rows], 1e-3 * state.t[rows].mean()), None
        what = f"round {number}: {len(state.indices)} features"

        def tell(step: int, gap: float, what: str = what) -> None:
            problem.tell(f"{what}, step {step}, gap over these {gap:.1e}")

        found = minimize(state.C, state.Y, t, tolerance, s, tell)
        t, s = found.t, found.s
        state.t[:] = 0
        state.t[rows] = t
        for value in found.objective:
            state.record(value)
        state.sizes = np.linalg.norm(features.project(found.Z), axis=1) / state.gamma
        state.bound(found.Z)
        problem.tell(f"{what}, objective {state.objective[-1]:.10g}, relative gap {state.gap:.1e}")
        if state.gap <= TOLERANCE:
            return found, f"the relative duality gap is at most {TOLERANCE:g}"
        new = np.setdiff1d(np.flatnonzero(state.sizes > 1 + 1e-9), state.indices)
        if not len(new) and tolerance <= TOLERANCE / 2:
            return found, f"rounding stopped the relative duality gap at {state.gap:.1e}"
        tolerance = _LOOSE[number] if number < len(_LOOSE) and len(new) else TOLERANCE / 2
        if len(new) and number < max_rounds:
            state.join(new)
    return found, f"{max_rounds} rounds left a relative duality gap of {state.gap:.1e}"


def _cleaned(state: _State, found: Found) -> np.ndarray:
    """Return W and the bias, shape (p + 1, c), with vanishing rows set to zero if that is as good.

    A row has weight if its t outweighs its multiplier. W over these rows alone, weighted as in
    Algorithm 1, is taken unless the objective grows by more than rounding.
    """
    p = len(state.indices)
    C = state.C
    kept = found.t > found.s * found.t.sum() * 1e-3
    # U = diag(t) C Z never has a row that is exactly 0; least squares over the other rows does
    root = np.sqrt(found.t[kept])[:, None]
    U = np.zeros_like(found.U)
    U[kept] = root * linalg.lstsq((C[kept] * root).T, state.Y, check_finite=False)[0]
    U = U[: p + 1]
    residual = state.Y - C[: p + 1].T @ U
    value = float(np.linalg.norm(U, axis=1).sum() + np.linalg.norm(residual, axis=1).sum())
    if value <= state.objective[-1] * (1 + _ROUNDING):
        state.record(value)
        return U / state.gamma
    return found.U[: p + 1] / state.gamma


def _solution(state: _State, rows: np.ndarray, stop: str) -> Solution:
    features, W = state.features, rows[:-1]
    norms = np.linalg.norm(W, axis=1)
    score = np.zeros(features.m)
    score[state.indices] = norms
    pull = np.minimum(state.sizes, 1.0)
    order = np.lexsort((-state.sizes, -score))
    for column in (score, pull):
        column[~features.usable] = np.nan
    weighty = np.flatnonzero(norms)
    told = []
    if not len(weighty):
        told.append(
            f"gamma={state.gamma:g} is so large that no feature has weight; features are in the "
            "order in which they would enter"
        )
    return Solution(
        score=score,
        status=features.status,
        order=order[features.usable[order]],
        extra={"pull": pull},
        objective=state.objective[1:],
        converged=state.gap <= TOLERANCE,
        stop=stop,
        coefficients=(state.indices[weighty], W[weighty]),
        facts={
            "gamma": state.gamma,
            "bias": rows[-1],
            "relative_gap": state.gap,
            "features_with_weight": len(weighty),
            "features_looked_at_closely": len(state.indices),
            "passes": features.passes,
        },
        warnings=told,
    )
