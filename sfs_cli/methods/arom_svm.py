"""AROM-SVM: a linear SVM, its features rescaled by its own weights until few remain.

J. Weston, A. Elisseeff, B. Schoelkopf and M. Tipping, "Use of the zero-norm with linear models and
kernel methods", Journal of Machine Learning Research 3, 2003 (the l2 form of AROM).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from sfs_cli.methods.base import Context, Solution, Status
from sfs_cli.methods.classes import class_counts
from sfs_cli.methods.extras import require_sklearn
from sfs_cli.methods.features import Features, centred_features

NEGLIGIBLE = 1e-6
"""A feature is eliminated when its factor falls below this part of the largest."""
SETTLED = 1e-6
"""Factors that change by less than this have converged."""
MAX_ITERATIONS = 100
MARGIN_COST = 1.0
"""The SVM's C, for a kernel whose mean diagonal is 1."""


def solve(context: Context) -> Solution:
    """Rescale the features by the weights of a linear SVM until at most ``select`` are left.

    Features are centred and of unit norm. In every iteration an SVM is trained on features times
    their factors, one against the rest where there are more than two classes, and each factor is
    multiplied by the sum over the machines of the absolute weights. The machine sees the matrix
    through its kernel, so an iteration costs two passes.

    Parameters
    ----------
    context : Context
        With the engine, labels of all samples, and the option ``select``.

    Returns
    -------
    Solution
        ``order`` has the survivors by their factor, then the others, last eliminated first. Scores
        are the factors of the selected features (of the final machine on the unscaled features, at
        most 1, or as they were at their elimination).

    Raises
    ------
    InputError
        When a label is missing, or there are fewer than two classes.
    MissingExtraError
        When scikit-learn is not installed.
    """
    assert context.engine is not None
    assert context.codes is not None
    require_sklearn("AROM-SVM")
    class_counts(context.codes, "AROM-SVM")
    features = centred_features(context.engine, "unit", context.memory)
    wanted, able = int(context.options["select"]), int(features.usable.sum())
    state = _Factors(features.usable.astype(np.float64), np.zeros(features.m, np.int64))
    stop = f"{MAX_ITERATIONS} iterations were made"
    converged = True
    for iteration in range(1, MAX_ITERATIONS + 1):
        if np.count_nonzero(state.active) <= wanted:
            stop = f"{np.count_nonzero(state.active)} features are left"
            break
        change = state.update(_weights(features, state.active, context.codes), iteration)
        context.tell(f"iteration {iteration}: {state.remaining[-1]:,} features are left")
        if change < SETTLED:
            stop = f"the factors no longer change, with {state.remaining[-1]:,} features left"
            break
    else:
        converged = False
    return _solution(features, state, wanted, converged, stop, able)


@dataclass
class _Factors:
    """The factors of all features.

    Attributes
    ----------
    active : ndarray, shape (m,)
        0 for eliminated features, the largest is 1.
    eliminated : ndarray of int, shape (m,)
        In which iteration, 0 for survivors.
    last : ndarray, shape (m,)
        The factors, for eliminated features at the time.
    remaining : list of int
        Features left after each iteration.
    """

    active: np.ndarray
    eliminated: np.ndarray
    last: np.ndarray = field(init=False)
    remaining: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.last = self.active.copy()

    def update(self, weights: np.ndarray, iteration: int) -> float:
        """Multiply the factors by weights (m,); return the largest change."""
        new = self.active * weights
        peak = new.max(initial=0)
        if peak > 0:
            new /= peak
        alive = self.active > 0
        gone = alive & (new <= NEGLIGIBLE)
        self.last[alive] = new[alive]
        self.eliminated[gone] = iteration
        new[gone] = 0
        change = float(np.abs(new - self.active).max(initial=0))
        self.active = new
        self.remaining.append(int(np.count_nonzero(new)))
        return change


def _weights(features: Features, factors: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Train on the rescaled features; return sums of absolute weights, shape (m,)."""
    kernel = features.gram(factors * factors)
    kernel /= np.trace(kernel) / len(codes)
    duals = machines(kernel, codes)
    return factors * np.abs(features.project(duals)).sum(axis=1)


def machines(kernel: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Train one linear SVM for two classes, one against the rest for more.

    Parameters
    ----------
    kernel : ndarray, shape (n, n)
        Inner products of the samples.
    codes : ndarray of int, shape (n,)
        Class of each sample.

    Returns
    -------
    ndarray, shape (n, q)
        Columns a, so that the weights of a machine are ``X' a``; q is 1 for two classes, else c.
    """
    from sklearn.svm import SVC

    classes = np.unique(codes)
    duals = np.zeros((len(codes), 1 if len(classes) == 2 else len(classes)))
    for column in range(duals.shape[1]):
        machine = SVC(C=MARGIN_COST, kernel="precomputed", tol=1e-6)
        machine.fit(kernel, codes == classes[-1 - column])
        duals[machine.support_, column] = machine.dual_coef_[0]
    return duals


def _solution(
    features: Features, state: _Factors, wanted: int, converged: bool, stop: str, able: int
) -> Solution:
    late = np.where(state.eliminated == 0, MAX_ITERATIONS + 1, state.eliminated)
    order = np.lexsort((np.arange(features.m), -state.last, -late))
    order = order[features.usable[order]]
    score, status = np.full(features.m, np.nan), features.status.copy()
    status[order] = Status.NOT_SELECTED
    status[order[:wanted]] = Status.OK
    score[order[:wanted]] = state.last[order[:wanted]]
    warnings = [f"only {able:,} features can be selected"] if able < wanted else []
    return Solution(
        score,
        status,
        order=order,
        converged=converged,
        stop=stop,
        facts={
            "selected": min(wanted, able),
            "remaining": state.remaining,
            "passes": features.passes,
        },
        warnings=warnings,
    )
