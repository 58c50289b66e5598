"""Q-alpha: weights of features that make the samples fall into clear clusters, without labels.

L. Wolf and A. Shashua, "Feature selection for unsupervised and supervised inference: the emergence
of sparsity in a weight-based approach", JMLR 6, 2005. With rows ``m_i`` of M centred and of unit
norm and ``A_alpha = sum_i alpha_i m_i m_i'``, the weights maximise ``tr(Q' A_alpha^2 Q)`` over unit
vectors alpha and orthonormal Q (Def. 1), by turns: alpha is the leading eigenvector of
``G_ij = (m_i'm_j)(m_i'QQ'm_j)``, and Q follows from ``A_alpha``.

G is m x m and is never formed, nor are vectors of length m kept: see `qalpha_space`. The number of
passes over the matrix is about that of the digits asked for, and depends little on the number of
cycles.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from sfs_cli.errors import InputError
from sfs_cli.methods.base import Context, Solution
from sfs_cli.methods.classes import class_counts
from sfs_cli.methods.features import Features, centred_features
from sfs_cli.methods.qalpha_kernel import solve_kernel
from sfs_cli.methods.qalpha_mixing import Extrapolation
from sfs_cli.methods.qalpha_space import NOTHING, Weights, WeightSpace, weights_of
from sfs_cli.methods.qalpha_supervised import Supervised
from sfs_cli.methods.qalpha_variants import Basic, Laplacian, PowerEmbedded, Variant

VARIANTS = ("basic", "power", "ritz", "laplacian", "supervised", "kernel")
CLUSTERS = 6
"""The paper's choice for expression data, "to allow for more complex structures"."""
TOLERANCE = 1e-10
MAX_CYCLES = 2000
_ROUNDING = 1e-13
_NEAR = 1e-2
"""Until steps are shorter than this, the paper's iteration is followed closely, as it chooses the
optimum; after that they are extrapolated, and the span grows when they have come to its limits."""
_FAR_SHARE, _NEAR_SHARE = 0.1, 10.0
"""The residual allowed to a cycle's eigenvector, in steps."""


@dataclass
class _Run:
    """How the cycles went.

    Attributes
    ----------
    weights : Weights
        The last ones.
    objective : list of float
        An entry for each cycle.
    residual : float
        Of the weights as an eigenvector of the G that they lead to, relative.
    """

    weights: Weights
    objective: list[float] = field(default_factory=list)
    residual: float = np.inf
    converged: bool = False


def solve(context: Context) -> Solution:
    """Weigh the features by Q-alpha.

    Parameters
    ----------
    context : Context
        With options

        - ``variant``: `VARIANTS`; ``supervised`` needs classes,
        - ``clusters``: k, by default the number of classes where there are any, else 6; for
          ``supervised`` the eigenvectors within each class, by default 2,
        - ``power``: orthogonal iterations in a cycle of ``power`` and ``ritz``, by default 1;
          for ``kernel`` the degree of the kernel ``(m_i'm_j)^degree``, by default 2.

    Returns
    -------
    Solution
        Scores alpha_i of unit norm, larger better; its sign makes their sum positive.

    Raises
    ------
    InputError
        When no feature varies, or there are more clusters than samples allow.
    OutOfMemoryError
        When the matrix of the ``kernel`` variant does not fit the memory.
    """
    assert context.engine is not None
    name: str = context.options["variant"]
    features = centred_features(context.engine, "unit", context.memory)
    if not features.usable.any():
        raise InputError(
            "no feature varies, so none can be weighed", hint="is the matrix the right one?"
        )
    k = _clusters(context)
    if name == "kernel":
        return solve_kernel(features, k, _power(context, 2), context)
    space = WeightSpace(features, context.memory)
    variant = _variant(name, space.start().A, k, context)
    run = _cycles(space, variant, context)
    return _solution(name, k, features, variant, run)


def _clusters(context: Context) -> int:
    given: int | None = context.options["clusters"]
    n = context.n_samples
    if given is not None and not 1 <= given < n:
        raise InputError(
            f"--clusters {given} cannot be told apart by {n} samples",
            hint=f"give a number from 1 to {n - 1}",
        )
    if given is not None:
        return given
    if context.options["variant"] == "supervised":
        return 2
    codes = context.codes
    k = CLUSTERS if codes is None else len(np.unique(codes[codes >= 0]))
    return max(1, min(k, n - 1))


def _power(context: Context, default: int) -> int:
    given: int | None = context.options["power"]
    if given is not None and given < 1:
        raise InputError(f"--power {given} is less than 1", hint="give a whole number from 1")
    return default if given is None else given


def _variant(name: str, A: np.ndarray, k: int, context: Context) -> Variant:
    if name == "supervised":
        assert context.codes is not None
        class_counts(context.codes, "supervised Q-alpha")
        return Supervised(A, context.codes, k)
    if name == "laplacian":
        return Laplacian(A, k)
    if name == "basic":
        return Basic(A, k)
    return PowerEmbedded(A, k, _power(context, 1), ritz=name == "ritz")


def _cycles(space: WeightSpace, variant: Variant, context: Context) -> _Run:
    """Alternate between alpha and Q until neither changes."""
    run = _Run(space.start())
    change = 1.0
    extrapolation = Extrapolation()
    for _ in range(MAX_CYCLES):
        last = run.weights
        share = _NEAR_SHARE if change < _NEAR else _FAR_SHARE
        found = variant.weigh(space, max(TOLERANCE, share * change))
        change = found.distance(last)
        extrapolation.add(last, found)
        _advance(run, variant, found, extrapolation if TOLERANCE < change < _NEAR else None)
        context.tell(
            f"cycle {len(run.objective)}: objective {run.objective[-1]:.10g}, change {change:.1e}, "
            f"{space.features.passes} passes"
        )
        if change <= TOLERANCE and _settled(run, space, variant):
            run.converged = True
            break
    return run


def _advance(
    run: _Run, variant: Variant, found: Weights, extrapolation: Extrapolation | None
) -> None:
    """Take the new weights and their Q, or those they lead to where that is at least as good."""
    value = variant.update(found.A)
    run.weights = found
    further = extrapolation.point() if extrapolation and variant.memoryless else None
    if extrapolation and further:
        reached = variant.update(further.A)
        if reached >= value - _ROUNDING * abs(value):
            run.weights, value = further, reached
        else:
            extrapolation.clear()
            variant.update(found.A)
    run.objective.append(value)


def _settled(run: _Run, space: WeightSpace, variant: Variant) -> bool:
    """Tell by one pass whether alpha is the eigenvector of the G that it leads to."""
    R, _ = space.residual(variant, run.weights)
    space.expand(R, NOTHING * abs(run.weights.value))
    run.residual = space.last_norm / abs(run.weights.value)
    return run.residual <= 10 * TOLERANCE


def _solution(name: str, k: int, features: Features, variant: Variant, run: _Run) -> Solution:
    alpha = weights_of(features, run.weights.B)
    alpha[~features.usable] = np.nan
    own = alpha[features.usable]
    stop = (
        f"the weights change by less than {TOLERANCE:g}"
        if run.converged
        else f"{MAX_CYCLES} cycles, the last with a residual of {run.residual:.1e}"
    )
    facts = {
        "variant": name,
        "clusters": k,
        "cycles": len(run.objective),
        "eigenvalues": variant.eigenvalues(run.weights.A),
        "relative_residual": run.residual,
        "share_negative": float(np.mean(own < 0)),
        "passes": features.passes,
    }
    return Solution(
        score=alpha,
        status=features.status,
        objective=run.objective,
        converged=run.converged,
        stop=stop,
        facts=facts,
    )
