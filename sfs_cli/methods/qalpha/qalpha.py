"""Q-alpha: the cycles between feature weights and clusters of the samples.

L. Wolf and A. Shashua, "Feature selection for unsupervised and supervised inference: the emergence
of sparsity in a weight-based approach", JMLR 6, 2005. With rows ``m_i`` of M centered and of unit
norm and ``A_alpha = sum_i alpha_i m_i m_i'``, the weights maximize ``tr(Q' A_alpha^2 Q)`` over unit
vectors alpha and orthonormal Q (Def. 1), in cycles: alpha is the leading eigenvector of
``G_ij = (m_i'm_j)(m_i'QQ'm_j)``, then Q is computed from ``A_alpha``.

G is m x m. It is never formed, and no vector of length m is kept (see `space`). The number of
passes over the matrix grows with the number of digits, and hardly with the number of cycles.
"""

from __future__ import annotations

from collections import deque

import numpy as np

from sfs_cli.errors import InputError
from sfs_cli.methods.base import Problem, Solution
from sfs_cli.methods.centered_matrix import centered_matrix
from sfs_cli.methods.qalpha.kernel import solve_kernel
from sfs_cli.methods.qalpha.space import NOTHING, Weights, WeightSpace
from sfs_cli.methods.qalpha.variants import Basic, Laplacian, PowerEmbedded, Supervised
from sfs_cli.methods.shared import class_counts, require_variation

CLUSTERS = 6
"""The paper's choice for expression data, "to allow for more complex structures"."""
TOLERANCE = 1e-10
MAX_CYCLES = 2000
_ROUNDING = 1e-13
_NEAR = 1e-2
"""Until steps are shorter than this, the paper's iteration is followed closely, because it decides
which optimum is reached. After that, steps are extrapolated, and a larger residual is allowed."""
_FAR_SHARE, _NEAR_SHARE = 0.1, 10.0
"""Allowed residual of the eigenvector of a cycle, in units of the last step: before and after."""
_DEPTH = 6
_RIDGE = 1e-12


def solve(problem: Problem, max_cycles: int = MAX_CYCLES) -> Solution:
    """Weigh the features by Q-alpha.

    Parameters
    ----------
    problem : Problem
        With the options

        - ``variant``: basic, power, ritz, laplacian, supervised (needs classes) or kernel,
        - ``clusters``: k, by default 6; for ``supervised`` the number of eigenvectors within
          each class, by default 2,
        - ``power``: orthogonal iterations per cycle of ``power`` and ``ritz``, by default 1;
          for ``kernel`` the degree of the kernel ``(m_i'm_j)^degree``, by default 2.
    max_cycles : int
        Largest number of cycles.

    Returns
    -------
    Solution
        Scores alpha, a vector of unit norm with a positive sum; larger is better.

    Raises
    ------
    InputError
        If no feature varies, or there are too few samples for the clusters.
    OutOfMemoryError
        If the matrix of the ``kernel`` variant does not fit in memory.
    """
    name: str = problem.options["variant"]
    features = centered_matrix(problem.engine, "unit", problem.memory)
    require_variation(features.status)
    k = _clusters(problem)
    if name == "kernel":
        return solve_kernel(features, k, problem.options["power"] or 2, problem)
    space = WeightSpace(features, problem.memory)
    variant = _variant(name, space.start().A, k, problem)
    weights, objective = space.start(), list[float]()
    change, residual, converged = 1.0, np.inf, False
    extrapolation = Extrapolation()
    while len(objective) < max_cycles and not converged:
        # an exact eigenvector for a Q that is about to change would cost passes and be thrown away
        share = _NEAR_SHARE if change < _NEAR else _FAR_SHARE
        found = variant.weigh(space, max(TOLERANCE, share * change))
        change = found.distance(weights)
        extrapolation.add(weights, found)
        value = variant.update(found.A)
        weights = found
        # only if Q follows from A alone can a point off the iteration be tried and dropped again
        near = TOLERANCE < change < _NEAR and variant.memoryless
        further = extrapolation.point() if near else None
        if further:
            # an extrapolation may overshoot: it counts only where the objective does not fall
            reached = variant.update(further.A)
            if reached >= value - _ROUNDING * abs(value):
                weights, value = further, reached
            else:
                extrapolation.clear()
                variant.update(found.A)
        objective.append(value)
        problem.tell(
            f"cycle {len(objective)}: objective {value:.10g}, change {change:.1e}, "
            f"{features.passes} passes"
        )
        if change <= TOLERANCE:
            # the change of a slow iteration can be small far from its limit, so one pass checks
            # that alpha is the leading eigenvector of the G for its own Q
            R, _ = space.residual(variant, weights)
            space.expand(R, NOTHING * abs(weights.value))
            residual = space.last_norm / abs(weights.value)
            converged = residual <= 10 * TOLERANCE
    B = weights.B
    alpha = features.measure(lambda block, _: np.vecdot(block @ B, block))
    alpha[~features.usable] = np.nan
    return Solution(
        score=alpha,
        status=features.status,
        objective=objective,
        converged=converged,
        stop=f"the weights change by less than {TOLERANCE:g}"
        if converged
        else f"{len(objective)} cycles, the last with a residual of {residual:.1e}",
        facts={
            "variant": name,
            "clusters": k,
            "cycles": len(objective),
            "eigenvalues": variant.eigenvalues(weights.A),
            "relative_residual": residual,
            "share_negative": float(np.mean(alpha[features.usable] < 0)),
            "passes": features.passes,
        },
    )


def _clusters(problem: Problem) -> int:
    given: int | None = problem.options["clusters"]
    n = problem.n_samples
    if given is not None and not 1 <= given < n:
        raise InputError(
            f"clusters={given} is not possible with {n} samples",
            hint=f"give a number from 1 to {n - 1}",
            option="clusters",
        )
    if given is not None:
        return given
    if problem.options["variant"] == "supervised":
        return 2
    return max(1, min(CLUSTERS, n - 1))


def _variant(name: str, A: np.ndarray, k: int, problem: Problem) -> Basic | Supervised:
    if name == "supervised":
        class_counts(problem.codes, "supervised Q-alpha")
        return Supervised(A, problem.codes, k)
    if name == "laplacian":
        return Laplacian(A, k)
    if name == "basic":
        return Basic(A, k)
    return PowerEmbedded(A, k, problem.options["power"] or 1)


class Extrapolation:
    """Anderson acceleration: where the last steps ``x -> g(x)`` of the cycles are going."""

    def __init__(self) -> None:
        self._steps: deque[tuple[Weights, np.ndarray, np.ndarray]] = deque(maxlen=_DEPTH)

    def add(self, before: Weights, after: Weights) -> None:
        """Add a step."""
        self._steps.append((after, after.B - before.B, after.A - before.A))

    def clear(self) -> None:
        """Forget the steps, because their extrapolation was worse."""
        self._steps.clear()

    def point(self) -> Weights | None:
        """Return the mixture of the results whose mixed step is shortest; None with one step."""
        q = len(self._steps)
        if q < 2:
            return None
        gram = np.array(
            [[float(np.vdot(B, A)) for _, _, A in self._steps] for _, B, _ in self._steps]
        )
        gram = (gram + gram.T) / 2
        # the last steps are nearly parallel: without a ridge the shares are huge and of both signs
        gram[np.diag_indices(q)] += _RIDGE * np.trace(gram)
        shares = np.linalg.solve(gram, np.ones(q))
        shares /= shares.sum()
        B = sum(c * step[0].B for c, step in zip(shares, self._steps))
        A = sum(c * step[0].A for c, step in zip(shares, self._steps))
        square = float(np.vdot(B, A))
        if square <= 0:  # the shares cancel, and what is left of it is rounding
            return None
        norm = np.sqrt(square)
        return Weights(B / norm, A / norm, self._steps[-1][0].value)
