"""Kernel Q-alpha (Wolf and Shashua, JMLR 6, 2005, Def. 14): features compared by a kernel.

``V_ij = k(m_i, m_j)`` is m x m and held in memory, which only this variant cannot avoid. G is not
formed: ``(G a)_i`` is the sum over columns of ``[(V (a * F)) * F]_i`` with
``F = V E``, and ``Q = M'E`` in the space of the kernel.

The update of E is ``D V E R^-1``, as the text before Def. 14 derives it. Step 5 of the definition
lacks the factor ``D V``, without which the span of Q would never change.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import linalg
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from sfs_cli.compute.memory import MINIMUM, format_size
from sfs_cli.errors import InputError, NotConvergedError, OutOfMemoryError
from sfs_cli.methods.base import Problem, Solution
from sfs_cli.methods.centered_matrix import CenteredMatrix

TOLERANCE = 1e-10
MAX_CYCLES = 500
_BLOCK = 512


def solve_kernel(features: CenteredMatrix, k: int, degree: int, problem: Problem) -> Solution:
    """Weigh the features by the kernel ``(m_i'm_j)^degree``.

    Parameters
    ----------
    features : CenteredMatrix
        Rows ``m_i``, centered, of unit norm.
    k : int
        Number of clusters.
    degree : int
        Degree of the kernel; 1 gives the power-embedded variant.
    problem : Problem
        For the memory limit and the log.

    Raises
    ------
    InputError
        If the kernel has fewer than k dimensions.
    OutOfMemoryError
        If V does not fit in memory.
    """
    usable = np.flatnonzero(features.usable)
    V = kernel_matrix(features, usable, degree, problem.memory)
    m = len(V)
    if k >= m:
        raise InputError(
            f"--clusters {k} is not less than the number of features that vary, {m:,}",
            hint="give fewer",
            option="clusters",
        )
    # equal weights first, whose Q are the k leading kernel principal components
    values, vectors = _leading(lambda a: V @ a, m, k, np.cos(np.arange(1.0, m + 1)))
    if values.min() <= 1e-12 * values.max():
        raise InputError(
            f"the features span fewer than {k} dimensions",
            hint="give fewer --clusters",
            option="clusters",
        )
    alpha, F = np.full(m, m**-0.5), V @ (vectors / np.sqrt(values))
    objective: list[float] = []
    converged = False
    while not converged and len(objective) < MAX_CYCLES:

        def multiply(a: np.ndarray, F: np.ndarray = F) -> np.ndarray:
            return np.vecdot(V @ (a.reshape(-1, 1) * F), F)

        before, alpha = alpha, _leading(multiply, m, 1, alpha)[1][:, 0]
        alpha *= 1.0 if alpha.sum() >= 0 else -1.0
        weighted = alpha[:, None] * F
        R = linalg.cholesky(weighted.T @ V @ weighted)
        F = V @ linalg.solve_triangular(R, weighted.T, trans="T").T
        weighted = alpha[:, None] * F
        change = float(np.linalg.norm(alpha - before))
        objective.append(float(np.vdot(weighted, V @ weighted)))
        problem.tell(f"cycle {len(objective)}: objective {objective[-1]:.10g}, change {change:.1e}")
        converged = change <= TOLERANCE
    score = np.full(features.m, np.nan)
    score[usable] = alpha
    return Solution(
        score=score,
        status=features.status,
        objective=objective,
        converged=converged,
        stop=f"the weights change by less than {TOLERANCE:g}"
        if converged
        else f"{MAX_CYCLES} cycles, the last with a change of {change:.1e}",
        facts={
            "variant": "kernel",
            "degree": degree,
            "clusters": k,
            "cycles": len(objective),
            "share_negative": float(np.mean(alpha < 0)),
            "passes": features.passes,
        },
    )


def kernel_matrix(
    features: CenteredMatrix, usable: np.ndarray, degree: int, memory: int
) -> np.ndarray:
    """Return V of the usable features, computed in panels of `_BLOCK` features."""
    m = len(usable)
    needed = 8 * m * m
    if needed > max(memory, MINIMUM):
        raise OutOfMemoryError(
            f"the kernel matrix of {m:,} features needs {format_size(needed)}, but "
            f"{format_size(memory)} is allowed",
            hint="allow more with --memory, use fewer features, or another --variant, which needs "
            "no such matrix",
            option=("memory", "variant"),
        )
    V = np.empty((m, m))
    for lo in range(0, m, _BLOCK):
        panel = V[:, lo : lo + _BLOCK]
        rows = features.take(usable[lo : lo + _BLOCK])
        panel[:] = features.project(rows.T)[usable]
        np.power(panel, degree, out=panel)
    return V


def _leading(
    multiply: Callable[[np.ndarray], np.ndarray], m: int, k: int, start: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    operator = LinearOperator((m, m), matvec=multiply, dtype=np.float64)
    try:
        values, vectors = eigsh(operator, k, which="LA", v0=start, tol=1e-12)
    except ArpackNoConvergence:
        raise NotConvergedError(
            "the eigenvectors of kernel Q-alpha did not converge",
            hint="use another number of --clusters",
            option="clusters",
        ) from None
    return values[::-1], vectors[:, ::-1]
