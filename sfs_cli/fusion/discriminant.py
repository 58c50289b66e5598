"""The convex problem that ``rkda`` and ``naml`` share.

Over weights w of kernels G_i of trace 1, centred and positive semi-definite:
min F(w) = tr(V'M^-1 V), M = I + (1/lambda) sum_i w_i G_i, subject to w >= 0, sum w = 1.
With w_i = theta_i r_i and r_i = tr of the kernel as it came, this is min over theta >= 0,
sum theta_i r_i = 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy import linalg

from sfs_cli.fusion.base import FusionContext
from sfs_cli.fusion.centering import centred
from sfs_cli.fusion.quadratic import minimise

GAP = 1e-8
"""The relative duality gap up to which a minimum is one."""
REACHED = 1e-10
"""The gap at which iterations stop."""
MOST = 100
"""The number of iterations after which they stop."""
_ARMIJO = 1e-4
_SHORTEST = 1e-10
_ROUNDING = 1e-12
_STILL = 1e-15


@dataclass
class Solution:
    """A minimum of F over w.

    Attributes
    ----------
    w : ndarray, shape (K,)
        Weights of the kernels of trace 1.
    value : float
        F(w).
    gap : float
        How far F may be above the minimum, at most, relative to it (Frank-Wolfe duality gap).
    values : list of float
        F at the start and after each iteration; it never rises.
    """

    w: np.ndarray
    value: float
    gap: float
    values: list[float] = field(default_factory=list)

    @property
    def converged(self) -> bool:
        """Whether the gap is as small as it should be."""
        return self.gap <= GAP


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
        Of trace 1, centred, positive semi-definite.
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

    def minimise(self, V: np.ndarray, start: np.ndarray) -> Solution:
        """Find the minimum over w by Newton's method.

        Each step minimises the quadratic model exactly over the weights, which are few, and is cut
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
            if gap <= REACHED or len(values) > MOST:
                break
            target, _ = minimise(H, H @ point.w - gradient, point.w, keep_sum=True)
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
        if slope > -_STILL * point.value:
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
        products = [G @ point.A for G in self.kernels]
        gradient = np.array([-np.vdot(point.A, P) for P in products]) / self.lam
        whitened = linalg.solve_triangular(
            point.lower, np.hstack(products), lower=True, check_finite=False
        )
        rows = np.stack([Q.ravel() for Q in np.split(whitened, len(products), axis=1)])
        return gradient, 2.0 / self.lam**2 * (rows @ rows.T)


@dataclass
class Prepared:
    """Kernels made ready for the problem.

    Attributes
    ----------
    problem : Discriminant
        Over the kernels divided by `traces`.
    traces : ndarray, shape (K,)
        r_i, after the negative eigenvalues were cut off.
    warnings : list of str
        What was cut off.
    """

    problem: Discriminant
    traces: np.ndarray
    warnings: list[str]

    def theta(self, w: np.ndarray) -> np.ndarray:
        """Return weights of the kernels as they came that sum to one."""
        theta = w / self.traces
        return theta / theta.sum()

    def start(self) -> np.ndarray:
        """Return the w of equal weights of the kernels as they came."""
        return self.traces / self.traces.sum()


def prepare(
    kernels: Sequence[np.ndarray], kept: np.ndarray, context: FusionContext, learner: str
) -> Prepared:
    """Centre the kernels of the sources that are kept, cut off negative eigenvalues, scale.

    M could be singular, and F not convex, with an indefinite kernel such as a neighbour graph
    without loops. lambda is 1/n if not given: the mean eigenvalue of a kernel of trace 1.
    """
    ready, traces, warnings = [], [], []
    for k in kept:
        G, share = without_negative(centred(kernels[k]))
        if share > 0.0:
            warnings.append(
                f"{context.name(int(k))} is not positive semi-definite: {share:.1%} of its "
                "spectrum, the negative eigenvalues, plays no part in learning the weights"
            )
        trace = float(np.trace(G))
        G /= trace
        ready.append(G)
        traces.append(trace)
    lam = context.settings(learner)["lambda"]
    lam = 1.0 / len(ready[0]) if lam is None else float(lam)
    return Prepared(Discriminant(ready, lam), np.array(traces), warnings)


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
