"""Kernel Q-alpha (Wolf and Shashua, JMLR 6, 2005, Def. 14): features compared by a kernel.

``V_ij = k(m_i, m_j)`` is m x m and held in memory, which only this variant cannot avoid. G is not
formed: ``(G a)_i`` is the sum over columns of ``[(V (a * F)) * F]_i`` with
``F = V E``, and ``Q = M'E`` in the space of the kernel.

The update of E is ``D V E R^-1``, as the text before Def. 14 derives it. Step 5 of the definition
lacks the factor ``D V``, without which the span of Q would never change.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg

from sfs_cli.compute.memory import MINIMUM, check_memory
from sfs_cli.errors import InputError
from sfs_cli.graph.spectral import lanczos
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
            f"clusters={k} is not less than the number of features that vary, {m:,}",
            hint="give fewer",
            option="clusters",
        )
    settings: dict[str, Any] = {
        "of": "kernel Q-alpha",
        "hint": "use another number of clusters=",
        "option": "clusters",
        "tol": 1e-12,
    }
    # equal weights first, whose Q are the k leading kernel principal components
    values, vectors = lanczos(lambda a: (V @ a[0])[None], m, k, **settings)
    values, vectors = values[::-1], vectors[:, ::-1]
    if values.min() <= 1e-12 * values.max():
        raise InputError(
            f"the features span fewer than {k} dimensions",
            hint="give fewer clusters=",
            option="clusters",
        )
    alpha, F = np.full(m, m**-0.5), V @ (vectors / np.sqrt(values))
    objective: list[float] = []
    converged = False
    while not converged and len(objective) < MAX_CYCLES:

        def multiply(a: np.ndarray, F: np.ndarray = F) -> np.ndarray:
            return np.vecdot(V @ (a.T * F), F)[None]

        before, alpha = alpha, lanczos(multiply, m, 1, v0=alpha, **settings)[1][:, 0]
        alpha *= 1.0 if alpha.sum() >= 0 else -1.0
        weighted = alpha[:, None] * F
        # Q = M'E has as many rows as the kernel has dimensions: it is orthonormalized by Q'Q alone
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
    what = f"the kernel matrix of {m:,} features needs"
    hint = "allow more with --memory, use fewer features, or another variant=, which needs none"
    check_memory(what, 8 * m * m, max(memory, MINIMUM), hint, "variant")
    V = np.empty((m, m))
    for lo in range(0, m, _BLOCK):
        panel = V[:, lo : lo + _BLOCK]
        rows = features.take(usable[lo : lo + _BLOCK])
        panel[:] = features.project(rows.T)[usable]
        np.power(panel, degree, out=panel)
    return V
