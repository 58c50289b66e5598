"""The l2,1 penalized regression on a few features, without its coefficients.

The problem is ``min_W 1/2 |Y - X W|_F^2 + lambda sum_i |w^i|`` (Z. Zhao, dissertation, Arizona
State University 2010, Eq. 4.3-4.10). Since ``|w| = min_{u > 0} (|w|^2 / u + u) / 2``, W can be
eliminated. With ``d_i = |w^i| / lambda``, ``C = (I + X diag(d) X')^-1`` and ``S = Y Y'``, what
remains is ``min_{d >= 0} 1/2 tr(C S) + lambda^2 / 2 sum_i d_i``: smooth, convex, one number per
feature. Then

- the residual is ``R = C Y`` and the coefficients are ``w^i = d_i f_i' R``,
- the gradient is ``(lambda^2 - |f_i' R|^2) / 2``,
- the Hessian is the elementwise product of ``X' C X`` and ``X' C S C X``.

So two small matrices of the active features A are all that is needed, ``X_A' X_A`` (a x a) and
``X_A' Y`` (a x r).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sfs_cli.compute.limits import EPS

_SMALLEST = 1e-150
_RIDGE = 4 * EPS


@dataclass(frozen=True)
class ActiveSet:
    """The features that may have coefficients, and their inner products."""

    Y: np.ndarray  # (n, r): responses with centered columns
    index: np.ndarray  # (a,): the features, in the order in which they were added
    F: np.ndarray  # (a, n): their vectors
    G: np.ndarray  # (a, a): ``X_A' X_A``
    L: np.ndarray  # (a, r): ``X_A' Y``

    @classmethod
    def empty(cls, Y: np.ndarray) -> ActiveSet:
        """Return the set without a feature, for responses Y, shape (n, r)."""
        n, r = Y.shape
        return cls(Y, np.empty(0, int), np.empty((0, n)), np.empty((0, 0)), np.empty((0, r)))

    def plus(self, feature: int, f: np.ndarray) -> ActiveSet:
        """Return the set with one more feature, whose vector is f, shape (n,)."""
        F, cross = np.vstack([self.F, f]), self.F @ f
        G = np.block([[self.G, cross[:, None]], [cross, f @ f]])
        return ActiveSet(
            self.Y, np.append(self.index, feature), F, G, np.vstack([self.L, f @ self.Y])
        )

    def minus(self, left: np.ndarray) -> ActiveSet:
        """Return the set without some features, a mask of shape (a,)."""
        kept = np.flatnonzero(~left)
        return ActiveSet(
            self.Y, self.index[kept], self.F[kept], self.G[np.ix_(kept, kept)], self.L[kept]
        )

    def distance(self, f: np.ndarray) -> float:
        """Return how far f (n,), scaled to unit norm, is from the nearest of them, up to sign."""
        # not from the cosine, which has half of the digits
        gaps = self.F - np.sign(self.F @ f)[:, None] * f
        return float(np.linalg.norm(gaps, axis=1).min(initial=np.inf) / np.linalg.norm(f))

    def at(self, d: np.ndarray) -> Point:
        """Return the eliminated problem at d, shape (a,).

        With ``G = X_A' X_A``, ``X_A' C = (I + G diag(d))^-1 X_A'``: one a x a system. Raises
        LinAlgError where C does not exist.
        """
        # not G + diag(1 / d), which is symmetric, but has no value where a d is 0
        a = len(d)
        K = self.G * d
        K.flat[:: a + 1] += 1
        solved = np.linalg.solve(K, np.hstack([self.G, self.L]))
        return Point(self, d, solved[:, a:], solved[:, :a])


@dataclass(frozen=True)
class Point:
    """The eliminated problem at one d."""

    active: ActiveSet
    d: np.ndarray  # (a,): at the optimum for lambda, ``|w^i| / lambda``
    E: np.ndarray  # (a, r): ``X_A' R``
    P: np.ndarray  # (a, a): ``X_A' C X_A``

    @cached_property
    def norms(self) -> np.ndarray:
        """``|f_i' R|``, shape (a,); all are lambda at an optimum where every d is positive."""
        return np.sqrt(np.vecdot(self.E, self.E))

    @cached_property
    def W(self) -> np.ndarray:
        """Coefficients, shape (a, r)."""
        return self.d[:, None] * self.E

    @cached_property
    def residual(self) -> np.ndarray:
        """``R = Y - X_A W``, shape (n, r)."""
        return self.active.Y - self.active.F.T @ self.W

    @cached_property
    def hessian(self) -> np.ndarray:
        """``(X' C X) * (X' C S C X)``, shape (a, a)."""
        H = self.P * (self.E @ self.E.T)
        return (H + H.T) / 2

    def objective(self, lam: float) -> float:
        """Return ``1/2 tr(C S) + lambda^2 / 2 sum d`` without the constant ``1/2 |Y|^2``."""
        return float(lam**2 * self.d.sum() - np.vdot(self.W, self.active.L)) / 2

    @cached_property
    def tangent(self) -> np.ndarray:
        """``dd / dt`` along the path, t = 1 / lambda, shape (a,).

        On the active set ``1 / |f_i' R| = t``. The derivative of the left side by d is the Hessian
        divided by ``|f_i' R|^3``. For orthogonal features it is constant, so d is linear in t.
        """
        return solve_scaled(self.hessian, self.norms**3)

    def ahead(self, before: float, lam: float) -> np.ndarray:
        """Return d, shape (a,), for the penalty `lam`, along the tangent from that at `before`."""
        return self.d + (1 / lam - 1 / before) * self.tangent

    def slope(self, lam: float) -> np.ndarray:
        """Return ``dW / dlambda``, shape (a, r), along the tangent."""
        # W = d E, and dE = -P (dd E), because dC = -C X diag(dd) X' C
        change = (-self.tangent / lam**2)[:, None] * self.E
        return change - self.d[:, None] * (self.P @ change)

    def without(self, left: np.ndarray) -> Point:
        """Return the point without features (a mask, (a,)) of d 0: the same, but for rounding."""
        return self.active.minus(left).at(self.d[~left])


def solve_scaled(H: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Solve ``H x = right`` for a positive semidefinite H, after scaling its diagonal to 1.

    Parameters
    ----------
    H : ndarray, shape (a, a)
    right : ndarray, shape (a,) or (a, c)

    Returns
    -------
    ndarray, of the shape of `right`
        The shortest solution where features are so similar that H is singular to rounding.
    """
    scale = 1 / np.sqrt(np.maximum(H.diagonal(), _SMALLEST))
    scaled = H * scale[:, None] * scale
    # of two equal features H sees only the sum; this little ridge divides it evenly between them
    scaled.flat[:: len(H) + 1] += _RIDGE
    columns = scale if right.ndim == 1 else scale[:, None]
    try:
        return columns * np.linalg.solve(scaled, columns * right)
    except np.linalg.LinAlgError:
        return columns * np.linalg.lstsq(scaled, columns * right)[0]


@dataclass(frozen=True)
class Optimality:
    """The objective ``1/2 |R|_F^2 + lambda |W|_{2,1}`` and the relative duality gap."""

    objective: float
    gap: float


def optimality(point: Point, lam: float, largest: float) -> Optimality:
    """Certify a solution by its relative duality gap.

    The dual is ``max 1/2 |Y|^2 - 1/2 |Y - Q|^2`` over Q with ``|f_j' Q| <= lambda`` for every
    feature; ``Q = s R`` with ``s = min(1, lambda / max_j |f_j' R|)`` is feasible. The difference
    of both objectives is ``(1 - s)^2 / 2 |R|^2 + sum_i d_i |e_i| (lambda - s |e_i|)`` with
    ``e_i = f_i' R``. In this form nothing of the size of Y cancels.

    Parameters
    ----------
    point : Point
        The solution on the active set.
    lam : float
        The penalty lambda.
    largest : float
        Largest ``|f_j' R|`` over all features, or an upper bound of it.
    """
    square = float(np.vdot(point.residual, point.residual))
    rows = point.d * point.norms
    objective = square / 2 + lam * float(rows.sum())
    # shrinking R makes it feasible for every feature of the matrix, active or not: so the gap
    # bounds the error over all features, though only a few were ever solved for
    s = min(1.0, lam / largest) if largest > 0 else 1.0
    gap = (1 - s) ** 2 / 2 * square + float(rows @ (lam - s * point.norms))
    return Optimality(objective, max(gap, 0.0) / objective if objective > 0 else 0.0)
