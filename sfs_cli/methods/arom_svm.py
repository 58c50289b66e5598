"""AROM-SVM: a linear SVM whose features are rescaled by its own weights until few remain.

J. Weston, A. Elisseeff, B. Schoelkopf and M. Tipping, "Use of the zero-norm with linear models and
kernel methods", Journal of Machine Learning Research 3, 2003 (the l2 form of AROM).
"""

from __future__ import annotations

import warnings

import numpy as np

from sfs_cli.methods.base import Problem, Solution, Status
from sfs_cli.methods.centered_matrix import CenteredMatrix, centered_matrix
from sfs_cli.methods.shared import class_counts, warn_of_fewer

NEGLIGIBLE = 1e-6
"""A feature is eliminated when its factor is at most this share of the largest."""
SETTLED = 1e-6
"""The factors have converged when they change by less than this."""
MAX_ITERATIONS = 100
MARGIN_COST = 1.0
"""The SVM's C, for a kernel whose mean diagonal is 1."""
MAX_STEPS = 10_000_000
"""Of one SVM, as LIBSVM itself has it; scikit-learn has no limit."""


def solve(problem: Problem) -> Solution:
    """Rescale the features by the weights of a linear SVM until at most ``select`` are left.

    Features are centered and of unit norm. Every iteration trains an SVM on the features times
    their factors (one against the rest for more than two classes), and multiplies each factor by
    its absolute weights, summed over the machines. The SVM needs only the n x n kernel, so an
    iteration takes two passes.

    Parameters
    ----------
    problem : Problem
        With labels of all samples, and the option ``select``.

    Returns
    -------
    Solution
        ``order`` has the remaining features by their factor, then the others, the last eliminated
        first. Scores are the factors of the selected features, at most 1; those that were
        eliminated keep their factor from then.

    Raises
    ------
    InputError
        If a label is missing, or there are fewer than two classes.
    """
    class_counts(problem.codes, "AROM-SVM")
    features = centered_matrix(problem.engine, "unit", problem.memory)
    wanted, able = int(problem.options["select"]), int(features.usable.sum())
    factors = features.usable.astype(np.float64)  # 0 for eliminated features
    last, eliminated = factors.copy(), np.full(features.m, MAX_ITERATIONS + 1)
    left, remaining = able, []
    converged, stop = False, f"{MAX_ITERATIONS} iterations were made"
    for iteration in range(1, MAX_ITERATIONS + 1):
        if left <= wanted:
            converged, stop = True, f"{left} features are left"
            break
        weights = _weights(features, factors, problem.codes)
        if weights is None:
            stop = f"an SVM was not solved in {MAX_STEPS:,} steps"
            break
        new = factors * weights
        peak = new.max(initial=0)
        if peak > 0:
            new /= peak
        alive = factors > 0
        last[alive] = new[alive]
        gone = alive & (new <= NEGLIGIBLE)
        eliminated[gone], new[gone] = iteration, 0
        change = float(np.abs(new - factors).max(initial=0))
        factors, left = new, int(np.count_nonzero(new))
        remaining.append(left)
        problem.tell(f"iteration {iteration}: {left:,} features are left")
        if change < SETTLED:
            converged, stop = True, f"the factors no longer change, with {left:,} features left"
            break
    # the later a feature was eliminated, the better; remaining ones are the best
    order = np.lexsort((np.arange(features.m), -last, -eliminated))
    order = order[features.usable[order]]
    score, status = np.full(features.m, np.nan), features.status.copy()
    status[order] = Status.NOT_SELECTED
    status[order[:wanted]] = Status.OK
    score[order[:wanted]] = last[order[:wanted]]
    return Solution(
        score,
        status,
        order=order,
        converged=converged,
        stop=stop,
        facts={"selected": len(order[:wanted]), "remaining": remaining, "passes": features.passes},
        warnings=warn_of_fewer(wanted, able),
    )


def _weights(features: CenteredMatrix, factors: np.ndarray, codes: np.ndarray) -> np.ndarray | None:
    """Train on the rescaled features; return sums of absolute weights, shape (m,), if they are."""
    # the machines need only the inner products of the samples
    kernel = features.gram(factors * factors)
    kernel /= np.trace(kernel) / len(codes)
    duals = machines(kernel, codes)
    return None if duals is None else factors * np.abs(features.project(duals)).sum(axis=1)


def machines(kernel: np.ndarray, codes: np.ndarray) -> np.ndarray | None:
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
        Columns a such that the weights of a machine are ``X' a``; q is 1 for two classes, else c.
        None where one of them is not solved.
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.svm import SVC

    classes = np.unique(codes)
    duals = np.zeros((len(codes), 1 if len(classes) == 2 else len(classes)))
    for column in range(duals.shape[1]):
        # its own tolerance: weights far from converged would eliminate features by chance. With
        # shrinking, LIBSVM can go on for ever on a kernel of low rank, which it rounds to float32
        machine = SVC(
            C=MARGIN_COST, kernel="precomputed", tol=1e-6, shrinking=False, max_iter=MAX_STEPS
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            machine.fit(kernel, codes == classes[-1 - column])
        if machine.fit_status_:
            return None
        duals[machine.support_, column] = machine.dual_coef_[0]
    return duals
