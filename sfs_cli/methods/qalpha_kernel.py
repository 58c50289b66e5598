"""Kernel Q-alpha (Wolf and Shashua, JMLR 6, 2005, Def. 14): features compared by a kernel.

``V_ij = k(m_i, m_j)`` is m x m and is held; it is the only variant for which this cannot be
avoided. G is not formed: ``(G a)_i`` is the sum over columns of ``[(V (a * F)) * F]_i`` with
``F = V E``, and ``Q = M'E`` in the space of the kernel.

The update of E is ``D V E R^-1``, as the text before Def. 14 derives it; step 5 of the definition
lost the factor ``D V``, without which the span of Q would never change.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from scipy import linalg
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from sfs_cli.compute.memory import MINIMUM, format_size
from sfs_cli.errors import InputError, NotConvergedError, OutOfMemoryError
from sfs_cli.methods.base import Context, Solution
from sfs_cli.methods.features import Features

TOLERANCE = 1e-10
MAX_CYCLES = 500
_BLOCK = 512


@dataclass
class _State:
    """Where the cycles are: alpha (m,), E (m, k), F = V E (m, k), and the objective so far."""

    alpha: np.ndarray
    E: np.ndarray
    F: np.ndarray
    objective: list[float] = field(default_factory=list)


def solve_kernel(features: Features, k: int, degree: int, context: Context) -> Solution:
    """Weigh the features by the kernel ``(m_i'm_j)^degree``.

    Parameters
    ----------
    features : Features
        Rows ``m_i``, centred, of unit norm.
    k : int
        Number of clusters.
    degree : int
        Of the kernel; 1 gives the power-embedded variant.
    context : Context
        For the memory and for progress.

    Raises
    ------
    InputError
        When the kernel has fewer than k dimensions.
    OutOfMemoryError
        When V does not fit the memory.
    """
    usable = np.flatnonzero(features.usable)
    V = kernel_matrix(features, usable, degree, context.memory)
    state = _start(V, k)
    converged = False
    while not converged and len(state.objective) < MAX_CYCLES:
        change = _cycle(V, state)
        context.tell(
            f"cycle {len(state.objective)}: objective {state.objective[-1]:.10g}, "
            f"change {change:.1e}"
        )
        converged = change <= TOLERANCE
    score = np.full(features.m, np.nan)
    score[usable] = state.alpha
    return Solution(
        score=score,
        status=features.status,
        objective=state.objective,
        converged=converged,
        stop=f"the weights change by less than {TOLERANCE:g}"
        if converged
        else f"{MAX_CYCLES} cycles, the last with a change of {change:.1e}",
        facts={
            "variant": "kernel",
            "degree": degree,
            "clusters": k,
            "cycles": len(state.objective),
            "share_negative": float(np.mean(state.alpha < 0)),
            "passes": features.passes,
        },
    )


def kernel_matrix(features: Features, usable: np.ndarray, degree: int, memory: int) -> np.ndarray:
    """Return V among the usable features, in panels.

    Raises
    ------
    OutOfMemoryError
        When it does not fit.
    """
    m = len(usable)
    needed = 8 * m * m
    if needed > max(memory, MINIMUM):
        raise OutOfMemoryError(
            f"the kernel matrix of {m:,} features needs {format_size(needed)}, and "
            f"{format_size(memory)} may be used",
            hint="allow more with --memory, use fewer features, or take another --variant; the "
            "others need no such matrix",
        )
    V = np.empty((m, m))
    for lo in range(0, m, _BLOCK):
        panel = V[:, lo : lo + _BLOCK]
        rows = features.take(usable[lo : lo + _BLOCK])
        panel[:] = features.project(rows.T)[usable]
        np.power(panel, degree, out=panel)
    return V


def _start(V: np.ndarray, k: int) -> _State:
    """Start from the k leading kernel principal components, those of equal weights."""
    m = len(V)
    if k >= m:
        raise InputError(
            f"--clusters {k} is not less than the {m:,} features that vary", hint="give fewer"
        )
    values, vectors = _leading(lambda a: V @ a, m, k, np.cos(np.arange(1.0, m + 1)))
    if values.min() <= 1e-12 * values.max():
        raise InputError(
            f"the features span fewer than {k} dimensions", hint="give fewer --clusters"
        )
    E = vectors / np.sqrt(values)
    return _State(np.full(m, m**-0.5), E, V @ E)


def _leading(
    multiply: Callable[[np.ndarray], np.ndarray], m: int, k: int, start: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    operator = LinearOperator((m, m), matvec=multiply, dtype=np.float64)
    try:
        values, vectors = eigsh(operator, k, which="LA", v0=start, tol=1e-12)
    except ArpackNoConvergence:
        raise NotConvergedError(
            "the eigenvectors of kernel Q-alpha did not converge", hint="take another --clusters"
        ) from None
    return values[::-1], vectors[:, ::-1]


def _cycle(V: np.ndarray, state: _State) -> float:
    """Go through steps 1 to 5 once, and return by how much alpha changed."""
    F = state.F

    def multiply(a: np.ndarray) -> np.ndarray:
        return np.vecdot(V @ (a.reshape(-1, 1) * F), F)

    alpha = _leading(multiply, len(V), 1, state.alpha)[1][:, 0]
    alpha *= 1.0 if alpha.sum() >= 0 else -1.0
    weighted = alpha[:, None] * F
    R = linalg.cholesky(weighted.T @ V @ weighted)
    state.E = linalg.solve_triangular(R, weighted.T, trans="T").T
    state.F = V @ state.E
    weighted = alpha[:, None] * state.F
    change = float(np.linalg.norm(alpha - state.alpha))
    state.alpha = alpha
    state.objective.append(float(np.vdot(weighted, V @ weighted)))
    return change
