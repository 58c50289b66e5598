"""``rkda`` and ``naml``: weights under which classes separate, or samples cluster, best.

Both solve one convex problem over weights w of kernels G_i of trace 1, centered and positive
semi-definite: min F(w) = tr(V'M^-1 V), M = I + (1/lambda) sum_i w_i G_i, subject to w >= 0,
sum w = 1. With w_i = theta_i r_i, where r_i is the trace of the original kernel, this is
min over theta >= 0, sum theta_i r_i = 1.

J. Ye, S. Ji and J. Chen, "Multi-class discriminant kernel learning via convex programming",
JMLR 9, 2008 (``rkda``, MSFS-kerCB). J. Chen, Z. Zhao and J. Ye, "Nonlinear adaptive distance
metric learning for clustering", KDD 2007 (``naml``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import linalg

from sfs_cli.errors import InputError
from sfs_cli.graph.spectral import DIRECT_LIMIT, lanczos
from sfs_cli.knowledge.weights.base import (
    FusionContext,
    Informative,
    Weighting,
    centered,
    informative,
    minimize,
    one_hot,
)

CONVERGED_GAP = 1e-8
"""A solution has converged when its relative duality gap is at most this."""
TARGET_GAP = 1e-10
"""The relative duality gap at which Newton steps stop."""
MAX_STEPS = 100
"""Newton steps of one minimization."""
MAX_ROUNDS = 200
"""Rounds of ``naml``: new clusters, then new weights."""
OBJECTIVE_CHANGE = 1e-8
"""``naml`` has converged when a round lowers its objective by at most this, relative."""
_ARMIJO = 1e-4
"""A step must lower F by this fraction of what the slope promises."""
_SHORTEST = 1e-10
"""Shortest step of the line search."""
_FLAT = 1e-15
"""A relative slope below which F is flat to rounding."""
_ROUNDING = 1e-12
"""Eigenvalues above minus this times the norm are not negative but rounding."""


@dataclass
class Solution:
    """A minimum of F over w."""

    w: np.ndarray  # (K,): weights of the kernels of trace 1
    value: float  # F(w)
    # how far F may be above the minimum, at most, relative to it (Frank-Wolfe duality gap)
    gap: float
    # F at the start and after each iteration; it never rises
    values: list[float] = field(default_factory=list)

    @property
    def converged(self) -> bool:
        """Whether the gap is as small as it should be."""
        return self.gap <= CONVERGED_GAP


@dataclass
class _Point:
    """F at w, the factor L of M = L L', and A = M^-1 V."""

    w: np.ndarray
    value: float
    lower: np.ndarray
    A: np.ndarray


class Discriminant:
    """The problem, for any V.

    Parameters
    ----------
    kernels : sequence of ndarray, shape (n, n)
        Of trace 1, centered, positive semi-definite.
    lam : float
        lambda.
    """

    def __init__(self, kernels: Sequence[np.ndarray], lam: float) -> None:
        self.kernels, self.lam = kernels, lam

    def mixed(self, w: np.ndarray) -> np.ndarray:
        """Return sum_i w_i G_i, shape (n, n)."""
        total = w[0] * self.kernels[0]
        for weight, G in zip(w[1:], self.kernels[1:]):
            if weight > 0.0:
                total += weight * G
        return total

    def minimize(self, V: np.ndarray, start: np.ndarray) -> Solution:
        """Find the minimum over w by Newton's method.

        Each step minimizes the quadratic model exactly over the weights, which are few, and is cut
        short until F falls enough. It costs one factorization of an n x n matrix.

        Parameters
        ----------
        V : ndarray, shape (n, c)
            Its columns are the h_j.
        start : ndarray, shape (K,)
            Weights to start from.
        """
        point = self._at(start, V)
        values, best, rounding = [point.value], (np.inf, point), False
        while True:
            gradient, H = self._derivatives(point)
            gap = float(gradient @ point.w - gradient.min()) / point.value
            if rounding and gap >= best[0]:
                break
            best = gap, point
            if gap <= TARGET_GAP or len(values) > MAX_STEPS:
                break
            target, _ = minimize(H, H @ point.w - gradient, 1.0)
            lower = self._search(point, target - point.w, gradient, V)
            # the gap is first order, F is second: near the end only the gap sees a step
            rounding = lower is None
            if lower is None:
                point = self._at(target, V)
            else:
                point = lower
                values.append(point.value)
        gap, point = best
        return Solution(point.w, point.value, max(gap, 0.0), values)

    def _search(
        self, point: _Point, step: np.ndarray, gradient: np.ndarray, V: np.ndarray
    ) -> _Point | None:
        """Halve the step until F falls enough; None where it falls no more."""
        slope = float(gradient @ step)
        if slope > -_FLAT * point.value:
            return None
        length = 1.0
        while length > _SHORTEST:
            w = np.maximum(point.w + length * step, 0.0)
            found = self._at(w / w.sum(), V)
            if found.value <= point.value + _ARMIJO * length * slope:
                return found
            length *= 0.5
        return None

    def _at(self, w: np.ndarray, V: np.ndarray) -> _Point:
        M = self.mixed(w)
        M /= self.lam
        M[np.diag_indices(len(M))] += 1.0
        # the transpose is in the order that LAPACK takes without a copy, and M is symmetric
        lower = linalg.cholesky(M.T, lower=True, overwrite_a=True, check_finite=False)
        A = linalg.cho_solve((lower, True), V, check_finite=False)
        return _Point(w, float(np.vdot(V, A)), lower, A)

    def _derivatives(self, point: _Point) -> tuple[np.ndarray, np.ndarray]:
        """Return the gradient, -(1/lambda) tr(A'G_i A), and the Hessian of F."""
        # H_ij = (2 / lambda^2) tr(A'G_i M^-1 G_j A): with M = LL', products of L^-1 G_i A, which
        # have c columns; no inverse of size n x n is formed
        products = [G @ point.A for G in self.kernels]
        gradient = np.array([-np.vdot(point.A, P) for P in products]) / self.lam
        whitened = linalg.solve_triangular(
            point.lower, np.hstack(products), lower=True, check_finite=False
        )
        rows = np.stack([Q.ravel() for Q in np.split(whitened, len(products), axis=1)])
        return gradient, 2.0 / self.lam**2 * (rows @ rows.T)


@dataclass
class Prepared:
    """Kernels made ready for the problem."""

    problem: Discriminant  # over the kernels that are kept, divided by `traces`
    traces: np.ndarray  # r_i of those, after the negative eigenvalues were cut off
    kept: Informative  # the kernels as they are

    def start(self) -> np.ndarray:
        """Return the w that stands for equal weights of the original kernels."""
        return self.traces / self.traces.sum()

    def weighting(
        self, w: np.ndarray, facts: dict[str, Any], objectives: list[float], **found: Any
    ) -> Weighting:
        """Return what is learned; its weights are those of the original kernels, theta."""
        theta = w / self.traces
        facts = facts | {"iterations": len(objectives) - 1}
        return self.kept.weighting(theta / theta.sum(), facts=facts, objectives=objectives, **found)

    def facts(self) -> dict[str, Any]:
        """Return lambda, and the traces of all sources."""
        return {"lambda": self.problem.lam, "traces": self.kept.widen(self.traces).tolist()}


def prepare(kernels: Sequence[np.ndarray], context: FusionContext, learner: str) -> Prepared:
    """Center the informative kernels, cut off negative eigenvalues, scale to trace 1.

    M could be singular, and F not convex, with an indefinite kernel such as a neighbor graph
    without loops. lambda is 1/n if not given: the mean eigenvalue of a kernel of trace 1.
    """
    kept = informative(kernels, context)
    ready, traces = [], []
    for name, K in zip(kept.names, kept.kernels):
        G, share = without_negative(centered(K))
        if share > 0.0:
            kept.warnings.append(
                f"{name} is not positive semi-definite: {share:.1%} of its "
                "spectrum, the negative eigenvalues, plays no part in learning the weights"
            )
        trace = float(np.trace(G))
        G /= trace
        ready.append(G)
        traces.append(trace)
    lam = context.settings(learner)["lambda"]
    lam = 1.0 / len(ready[0]) if lam is None else float(lam)
    return Prepared(Discriminant(ready, lam), np.array(traces), kept)


def without_negative(G: np.ndarray) -> tuple[np.ndarray, float]:
    """Cut off negative eigenvalues.

    Parameters
    ----------
    G : ndarray, shape (n, n)
        Symmetric.

    Returns
    -------
    clipped : ndarray, shape (n, n)
        G itself where there is none beyond rounding.
    share : float
        The sum of the negative eigenvalues over that of all, signs dropped.
    """
    # most kernels pass this test, which costs a tenth of their eigenvalues
    rounding = _ROUNDING * np.linalg.norm(G)
    shifted = G.copy()
    shifted[np.diag_indices(len(G))] += rounding
    try:
        linalg.cholesky(shifted.T, lower=True, overwrite_a=True, check_finite=False)
    except linalg.LinAlgError:
        pass
    else:
        return G, 0.0
    values, vectors = linalg.eigh(G, driver="evd", check_finite=False)
    low = values < 0.0
    part = (vectors[:, low] * values[low]) @ vectors[:, low].T
    share = float(-values[low].sum() / np.abs(values).sum())
    return G - 0.5 * (part + part.T), share


def learn_rkda(kernels: Sequence[np.ndarray], context: FusionContext) -> Weighting:
    """Minimize what regularized kernel discriminant analysis leaves of the classes.

    min over theta >= 0, sum theta_i r_i = 1 of sum_j h_j' (I + (1/lambda) sum_i theta_i G_i)^-1 h_j
    (Ye, Ji and Chen 2008; Eq. 5.4), G_i centered kernels, r_i = tr G_i, h_j = H e_j / sqrt(n_j),
    e_j the indicator of class j, n_j its size and H = I - 11'/n. That is the paper's h_j over
    sqrt(n): h_1 h_1' + ... + h_c h_c' is then the projector on the centered indicators, so that all
    classes count alike and the objective is in (0, c - 1], c - 1 where the kernels say nothing.

    Negative eigenvalues of a centered kernel are cut off first, which makes the problem convex.

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
    V = scaled_indicators(one_hot(context.codes))
    prepared = prepare(kernels, context, "rkda")
    found = prepared.problem.minimize(V, prepared.start())
    stop = f"relative duality gap {found.gap:.1e}"
    if not found.converged and len(found.values) > MAX_STEPS:
        stop = f"{MAX_STEPS} iterations, {stop}"
    return prepared.weighting(
        found.w,
        prepared.facts() | {"gap": found.gap},
        found.values,
        objective=found.value,
        converged=found.converged,
        stop=stop,
    )


def scaled_indicators(Y: np.ndarray) -> np.ndarray:
    """Return h_j = H e_j / sqrt(n_j) of the classes in the columns of Y, shape (n, c)."""
    V = Y / np.sqrt(Y.sum(axis=0))
    return V - V.mean(axis=0)


def learn_naml(kernels: Sequence[np.ndarray], context: FusionContext) -> Weighting:
    """Find weights and clusters by turns.

    J(L, theta) = tr(L'(I + (1/lambda) G_theta)^-1 L), G_theta = sum_i theta_i G_i over centered
    kernels, is minimized over L'L = I, shape (n, k) (the k leading eigenvectors of G_theta, the
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
        itself after `MAX_ROUNDS` rounds.

    Raises
    ------
    InputError
        When there are not more samples than clusters, or all kernels are constant.
    """
    n, clusters = kernels[0].shape[0], context.settings("naml")["clusters"]
    assert clusters is not None, "the caller chooses the number of clusters"
    if not 1 <= clusters < n:
        raise InputError(
            f"{clusters:,} clusters are asked for among {n:,} samples",
            where="--weights naml",
            hint="give fewer clusters= of --weights than there are samples",
        )
    prepared = prepare(kernels, context, "naml")
    problem, w, converged = prepared.problem, prepared.start(), False
    values: list[float] = []
    for _ in range(MAX_ROUNDS):
        found = problem.minimize(leading(problem.mixed(w), int(clusters)), w)
        values = values or found.values[:1]
        fallen = values[-1] - found.value  # below 0 only by rounding: then the last weights stay
        if fallen > 0.0:
            w = found.w
            values.append(found.value)
        if fallen <= OBJECTIVE_CHANGE * found.value:
            converged = found.converged
            break
    return prepared.weighting(
        w,
        {"lambda": problem.lam, "clusters": int(clusters)} | prepared.facts(),
        values,
        objective=values[-1],
        converged=converged,
        stop="the objective changes no more" if converged else f"{MAX_ROUNDS} iterations",
    )


def leading(G: np.ndarray, k: int) -> np.ndarray:
    """Return the eigenvectors of the k largest eigenvalues, shape (n, k)."""
    n = len(G)
    if n <= DIRECT_LIMIT or k > n // 3:
        return linalg.eigh(G, subset_by_index=(n - k, n - 1), check_finite=False)[1]
    hint, ncv = "give fewer clusters= of --weights", min(n, max(2 * k + 1, 40))
    return lanczos(G, n, k, of="the fused kernel", hint=hint, ncv=ncv)[1]
