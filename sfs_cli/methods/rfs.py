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
from dataclasses import dataclass, field

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
    t, sizes = _reweighted(state)
    indices = np.sort(_largest(sizes, np.flatnonzero(features.usable), state.batch))
    start = _lifted(np.concatenate([t[indices], t[features.m :]]))
    chosen = _Chosen(indices, features.take(indices) / gamma, start)
    found, sizes, stop = _rounds(state, chosen, problem, max_rounds)
    rows = _cleaned(state, chosen, found)
    return _solution(state, chosen, rows, sizes, stop)


@dataclass
class _State:
    """The problem over all features, and how good the best solution so far is."""

    features: CenteredMatrix  # features ``x_i``, z-scored
    Y: np.ndarray  # (n, c): one-hot classes
    gamma: float  # weight of the penalty
    lower: float = -np.inf  # the largest dual value so far
    # the smallest value of Eq. 10 so far, after each iteration
    objective: list[float] = field(default_factory=list)

    @property
    def gap(self) -> float:
        """Relative duality gap over all features."""
        return max(self.objective[-1] - self.lower, 0.0) / self.objective[-1]

    @property
    def batch(self) -> int:
        """Number of features that join at a time: a few for each row of the equations."""
        n, c = self.Y.shape
        return max(100, n * min(max(c, 2), 4))

    def tail(self) -> np.ndarray:
        """Return the rows of C for the bias and the residuals, shape (1 + n, n)."""
        n = self.features.n
        return np.vstack([np.full((1, n), 1 / self.gamma), np.eye(n)])

    def record(self, values: list[float]) -> None:
        """Append values of the objective, of which only the smallest so far counts."""
        for value in values:
            self.objective.append(min([value, *self.objective[-1:]]))

    def bound(self, Z: np.ndarray, sizes: np.ndarray) -> None:
        """Raise the lower bound by a dual point Z, given ``|x_i'Z| / gamma`` of all features."""
        rest = np.linalg.norm(self.tail() @ Z, axis=1)
        largest = max(1.0, float(sizes.max()), float(rest.max()))
        self.lower = max(self.lower, float(np.vdot(Z, self.Y)) / largest)


@dataclass
class _Chosen:
    """The features that take part in Newton's method."""

    indices: np.ndarray  # (p,): ascending
    rows: np.ndarray  # (p, n): ``x_i / gamma``
    # point and multipliers of `row_norms`, (p + 1 + n,); those of the bias and the residuals last
    t: np.ndarray
    s: np.ndarray | None = None


def _reweighted(state: _State) -> tuple[np.ndarray, np.ndarray]:
    """Run some iterations of the paper's Algorithm 1, from D = I.

    Returns
    -------
    t : ndarray, shape (m + 1 + n,)
        Norms of the rows of U.
    sizes : ndarray, shape (m,)
        ``|x_i'Z| / gamma`` of the last Z.
    """
    features, gamma, tail = state.features, state.gamma, state.tail()
    m = features.m
    t, sizes = np.ones(m + len(tail)), np.zeros(m)
    moment = features.gram() / gamma**2
    for _ in range(REWEIGHTINGS):
        K = moment + (tail.T * t[m:]) @ tail
        with warnings.catch_warnings():
            # only a start: the bound holds for any Z, and the duality gap judges what comes of it
            warnings.simplefilter("ignore", linalg.LinAlgWarning)
            Z = linalg.solve(K, state.Y, assume_a="pos")
        before = t[:m].copy()

        def product(
            block: np.ndarray, span: Span, Z: np.ndarray = Z, before: np.ndarray = before
        ) -> tuple[np.ndarray, np.ndarray]:
            size = np.linalg.norm(block @ Z, axis=1) / gamma
            scaled = block * (np.sqrt(before[span.lo : span.hi] * size) / gamma)[:, None]
            return size, scaled.T @ scaled

        # one pass gives both the new norms and the next moment
        moment = np.zeros_like(K)
        for span, (size, piece) in features.map(product):
            sizes[span.lo : span.hi] = size
            moment += piece
        t[:m] = before * sizes  # |U_i| of U = diag(t) C Z
        state.bound(Z, sizes)
        t[m:] *= np.linalg.norm(tail @ Z, axis=1)
        state.record([float(t.sum())])
        # samples that are fitted exactly would make K singular
        np.maximum(t[m:], 1e-9 * state.objective[-1], out=t[m:])
    return t, sizes


def _largest(sizes: np.ndarray, among: np.ndarray, count: int) -> np.ndarray:
    """Return the indices with the largest sizes, ties by index."""
    return among[np.argsort(-sizes[among], kind="stable")[:count]]


def _lifted(t: np.ndarray) -> np.ndarray:
    """Keep t away from zero, where the barrier of Newton's method would be slow."""
    return np.maximum(t, 1e-3 * t.mean())


def _rounds(
    state: _State, chosen: _Chosen, problem: Problem, max_rounds: int
) -> tuple[Found, np.ndarray, str]:
    """Solve over the chosen features and add the missing ones, until none is missing."""
    # while features are still missing, an exact solution over the chosen ones would be thrown away
    tolerance = _LOOSE[0]
    for number in range(1, max_rounds + 1):
        size = len(chosen.t)
        what = f"the Newton systems of RFS over {size:,} features and samples need"
        hint = "allow more with --memory, or use fewer samples"
        check_memory(what, 3 * 8 * size * size, max(problem.memory, MINIMUM), hint)
        C = np.vstack([chosen.rows, state.tail()])
        what = f"round {number}: {len(chosen.indices)} features"

        def tell(step: int, gap: float, what: str = what) -> None:
            problem.tell(f"{what}, step {step}, gap over these {gap:.1e}")

        found = minimize(C, state.Y, chosen.t, tolerance, chosen.s, tell)
        state.record(found.objective)
        chosen.t, chosen.s = found.t, found.s
        sizes = np.linalg.norm(state.features.project(found.Z), axis=1) / state.gamma
        state.bound(found.Z, sizes)
        problem.tell(
            f"round {number}: {len(chosen.indices)} features, objective "
            f"{state.objective[-1]:.10g}, relative gap {state.gap:.1e}"
        )
        if state.gap <= TOLERANCE:
            return found, sizes, f"the relative duality gap is at most {TOLERANCE:g}"
        new = np.setdiff1d(np.flatnonzero(sizes > 1 + 1e-9), chosen.indices)
        if not len(new) and tolerance <= TOLERANCE / 2:
            return found, sizes, f"rounding stopped the relative duality gap at {state.gap:.1e}"
        tolerance = _LOOSE[number] if number < len(_LOOSE) and len(new) else TOLERANCE / 2
        if len(new):
            _exchange(state, chosen, sizes, np.sort(_largest(sizes, new, state.batch)))
    return found, sizes, f"{max_rounds} rounds left a relative duality gap of {state.gap:.1e}"


def _exchange(state: _State, chosen: _Chosen, sizes: np.ndarray, new: np.ndarray) -> None:
    """Add features, and remove those that are far from having weight."""
    p = len(chosen.indices)
    keep = sizes[chosen.indices] > 0.5  # a row has weight only where this is 1
    merged = np.concatenate([chosen.indices[keep], new])
    order = np.argsort(merged)
    rows = np.vstack([chosen.rows[keep], state.features.take(new) / state.gamma])
    t = np.concatenate([chosen.t[:p][keep], np.zeros(len(new))])[order]
    chosen.indices, chosen.rows = merged[order], rows[order]
    chosen.t = _lifted(np.concatenate([t, chosen.t[p:]]))
    chosen.s = None  # new features have no multipliers, and guesses off the path are slower


def _cleaned(state: _State, chosen: _Chosen, found: Found) -> np.ndarray:
    """Return W and the bias, shape (p + 1, c), with vanishing rows set to zero if that is as good.

    A row has weight if its t outweighs its multiplier. W over these rows alone, weighted as in
    Algorithm 1, is taken unless the objective grows by more than rounding.
    """
    p = len(chosen.indices)
    C = np.vstack([chosen.rows, state.tail()])
    kept = found.t > found.s * found.t.sum() * 1e-3
    # U = diag(t) C Z never has a row that is exactly 0; least squares over the other rows does
    root = np.sqrt(found.t[kept])[:, None]
    solution = linalg.lstsq((C[kept] * root).T, state.Y, check_finite=False)[0]
    U = np.zeros_like(found.U)
    U[kept] = root * solution
    residual = state.Y - C[: p + 1].T @ U[: p + 1]
    rows = np.linalg.norm(U[: p + 1], axis=1).sum()
    value = float(rows + np.linalg.norm(residual, axis=1).sum())
    if value <= state.objective[-1] * (1 + _ROUNDING):
        state.record([value])
        return U[: p + 1] / state.gamma
    return found.U[: p + 1] / state.gamma


def _solution(
    state: _State, chosen: _Chosen, rows: np.ndarray, sizes: np.ndarray, stop: str
) -> Solution:
    features, W = state.features, rows[:-1]
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
            f"gamma={state.gamma:g} is so large that no feature has weight; features are in the "
            "order in which they would enter"
        )
    return Solution(
        score=score,
        status=features.status,
        order=order[features.usable[order]],
        extra={"pull": pull},
        objective=state.objective,
        converged=state.gap <= TOLERANCE,
        stop=stop,
        coefficients=(chosen.indices[weighty], W[weighty]),
        facts={
            "gamma": state.gamma,
            "bias": rows[-1],
            "relative_gap": state.gap,
            "features_with_weight": len(weighty),
            "features_looked_at_closely": len(chosen.indices),
            "passes": features.passes,
        },
        warnings=warnings,
    )
