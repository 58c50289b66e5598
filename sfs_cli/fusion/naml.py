"""Weights under which samples fall into clusters best (Chen, Zhao and Ye 2007)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import linalg

from sfs_cli.errors import InputError, NotConvergedError
from sfs_cli.fusion.base import FusionContext, Weighting, checked, spread, telling
from sfs_cli.fusion.discriminant import Prepared, prepare

CHANGE = 1e-8
MOST = 200
DIRECT_LIMIT = 1000
"""Up to this many samples eigenvectors come from a direct solver, above it from Lanczos."""


def learn(kernels: Sequence[np.ndarray], context: FusionContext) -> Weighting:
    """Find weights and clusters by turns.

    J(L, theta) = tr(L'(I + (1/lambda) G_theta)^-1 L), G_theta = sum_i theta_i G_i over centred
    kernels, is minimised over L'L = I, shape (n, k) (the k leading eigenvectors of G_theta, the
    relaxed indicators of k clusters), and over theta >= 0, sum theta_i tr G_i = 1 (the problem of
    ``rkda`` with the columns of L for classes), from equal weights on. J never rises. It need not
    end at the lowest value there is: the problem in both is not convex.

    Parameters
    ----------
    kernels : sequence of ndarray, shape (n, n)
        K symmetric matrices.
    context : FusionContext
        Options ``clusters``, which has no default, and ``lambda``, 1/n by default.

    Returns
    -------
    Weighting
        theta divided by its sum. `converged` is False where J still changed by more than 1e-8 of
        itself after `MOST` turns.

    Raises
    ------
    InputError
        When there are not more samples than clusters, or all kernels are constant.
    """
    kernels = checked(kernels)
    clusters = _clusters(context, len(kernels[0]))
    kept, warnings = telling(kernels, context)
    prepared = prepare(kernels, kept, context, "naml")
    w, values, converged = alternate(prepared, clusters)
    facts = {
        "lambda": prepared.problem.lam,
        "clusters": clusters,
        "traces": spread(prepared.traces, kept, len(kernels)).tolist(),
        "iterations": len(values) - 1,
    }
    return Weighting(
        spread(prepared.theta(w), kept, len(kernels)),
        objective=values[-1],
        facts=facts,
        objectives=values,
        converged=converged,
        stop="the objective changes no more" if converged else f"{MOST} iterations",
        warnings=warnings + prepared.warnings,
    )


def alternate(prepared: Prepared, clusters: int) -> tuple[np.ndarray, list[float], bool]:
    """Return w (weights of the kernels of trace 1), J at each turn, and whether it has settled."""
    problem, w = prepared.problem, prepared.start()
    values: list[float] = []
    for _ in range(MOST):
        found = problem.minimise(leading(problem.mixed(w), clusters), w)
        values = values or found.values[:1]
        fallen = values[-1] - found.value
        if fallen > 0.0:
            w = found.w
            values.append(found.value)
        if fallen <= CHANGE * found.value:
            return w, values, found.converged
    return w, values, False


def _clusters(context: FusionContext, n: int) -> int:
    clusters = context.settings("naml")["clusters"]
    assert clusters is not None, "the caller chooses the number of clusters"
    if not 1 <= clusters < n:
        raise InputError(
            f"{clusters:,} clusters are asked for among {n:,} samples",
            where="--weights naml",
            hint="give fewer --fusion-clusters than there are samples",
        )
    return int(clusters)


def leading(G: np.ndarray, k: int) -> np.ndarray:
    """Return the eigenvectors of the k largest eigenvalues, shape (n, k)."""
    n = len(G)
    if n <= DIRECT_LIMIT or k > n // 3:
        return linalg.eigh(G, subset_by_index=(n - k, n - 1), check_finite=False)[1]
    from scipy.sparse.linalg import ArpackNoConvergence, eigsh

    start = np.cos(np.arange(1, n + 1, dtype=np.float64))  # the same at every run
    try:
        return eigsh(G, k, which="LA", v0=start, ncv=min(n, max(2 * k + 1, 40)))[1]
    except ArpackNoConvergence as error:
        raise NotConvergedError(
            f"{len(error.eigenvalues)} of {k} eigenvectors of the fused kernel were found",
            where="--weights naml",
            hint="give fewer --fusion-clusters",
        ) from None
