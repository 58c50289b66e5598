"""Weights under which classes separate best (Ye, Ji and Chen 2008; MSFS-kerCB)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sfs_cli.fusion.base import FusionContext, Weighting, checked, one_hot, spread, telling
from sfs_cli.fusion.discriminant import MOST, Solution, prepare


def learn(kernels: Sequence[np.ndarray], context: FusionContext) -> Weighting:
    """Minimise what regularized kernel discriminant analysis leaves of the classes.

    min over theta >= 0, sum theta_i r_i = 1 of sum_j h_j' (I + (1/lambda) sum_i theta_i G_i)^-1 h_j
    (Ye, Ji and Chen 2008; Eq. 5.4), G_i centred kernels, r_i = tr G_i, h_j = H e_j / sqrt(n_j) with
    e_j the indicator of class j, n_j its size and H = I - 11'/n. That is the paper's h_j over
    sqrt(n): h_1 h_1' + ... + h_c h_c' is then the projector on the centred indicators, so that all
    classes count alike and the objective is in (0, c - 1], c - 1 where the kernels say nothing.

    Negative eigenvalues of a centred kernel are cut off first, which makes the problem convex.

    Parameters
    ----------
    kernels : sequence of ndarray, shape (n, n)
        K symmetric matrices.
    context : FusionContext
        With codes. Option ``lambda``, 1/n by default: the mean eigenvalue of a kernel of trace 1.

    Returns
    -------
    Weighting
        theta divided by its sum; facts hold lambda, r, and the relative duality gap.

    Raises
    ------
    InputError
        When all samples are of one class, or all kernels are constant.
    """
    kernels = checked(kernels)
    V = scaled_indicators(one_hot(context.codes))
    kept, warnings = telling(kernels, context)
    prepared = prepare(kernels, kept, context, "rkda")
    found = prepared.problem.minimise(V, prepared.start())
    facts = {
        "lambda": prepared.problem.lam,
        "traces": spread(prepared.traces, kept, len(kernels)).tolist(),
        "gap": found.gap,
        "iterations": len(found.values) - 1,
    }
    return Weighting(
        spread(prepared.theta(found.w), kept, len(kernels)),
        objective=found.value,
        facts=facts,
        objectives=found.values,
        converged=found.converged,
        stop=_stop(found),
        warnings=warnings + prepared.warnings,
    )


def scaled_indicators(Y: np.ndarray) -> np.ndarray:
    """Return h_j = H e_j / sqrt(n_j) of the classes in the columns of Y, shape (n, c)."""
    V = Y / np.sqrt(Y.sum(axis=0))
    return V - V.mean(axis=0)


def _stop(found: Solution) -> str:
    if found.converged or len(found.values) <= MOST:
        return f"relative duality gap {found.gap:.1e}"
    return f"{MOST} iterations, relative duality gap {found.gap:.1e}"
