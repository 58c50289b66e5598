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
``X_A' Y``. The latter is kept in an orthonormal basis V of its rows that grows with the active set:
the cost depends on the number of features that have entered, and not on the number of responses.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sfs_cli.compute.limits import EPS

SAME_SPAN = 1e-13
"""If this share or less of a feature's responses is new, they add no direction to V."""
_SMALLEST = 1e-150
_RIDGE = 4 * EPS


class ActiveSet:
    """The features with coefficients, and their inner products.

    Parameters
    ----------
    Y : ndarray, shape (n, r)
        Responses with centered columns.

    Attributes
    ----------
    index : list of int
        The features, in the order in which they were added.
    F : ndarray, shape (a, n)
        Their vectors.
    G : ndarray, shape (a, a)
        ``X_A' X_A``.
    V : ndarray, shape (r, k)
        Orthonormal basis of the rows of ``X_A' Y`` of all features that were ever added.
    L : ndarray, shape (a, k)
        ``X_A' Y V``.
    """

    def __init__(self, Y: np.ndarray) -> None:
        n, r = Y.shape
        self.Y = Y
        self.index: list[int] = []
        self.F = np.empty((0, n))
        self.G = np.empty((0, 0))
        self.V = np.empty((r, 0))
        self.L = np.empty((0, 0))

    def __len__(self) -> int:
        return len(self.index)

    def add(self, feature: int, f: np.ndarray) -> np.ndarray | None:
        """Append a feature with vector f (n,).

        Returns
        -------
        ndarray, shape (r,), or None
            The new direction of V, if there is one.
        """
        row = f @ self.Y
        projections = row @ self.V
        rest = row - self.V @ projections
        # Gram-Schmidt a second time: once is orthogonal to few digits where the rest is short
        correction = rest @ self.V
        rest -= self.V @ correction
        projections += correction
        length = float(np.linalg.norm(rest))
        direction = None
        # once V spans all rows of Y, what is left of a row is rounding, however long
        if self.V.shape[1] < min(self.Y.shape) and length > SAME_SPAN * np.linalg.norm(row):
            direction = rest / length
            self.V = np.column_stack([self.V, direction])
            self.L = np.pad(self.L, ((0, 0), (0, 1)))
            projections = np.append(projections, length)
        cross = self.F @ f
        self.G = np.block([[self.G, cross[:, None]], [cross[None, :], np.array([[f @ f]])]])
        self.F = np.vstack([self.F, f])
        self.L = np.vstack([self.L, projections])
        self.index.append(feature)
        return direction

    def remove(self, positions: np.ndarray) -> None:
        """Remove the features at some positions; V stays, so that no inner product is lost."""
        kept = np.delete(np.arange(len(self)), positions)
        self.index = [self.index[i] for i in kept]
        self.F, self.L = self.F[kept], self.L[kept]
        self.G = self.G[np.ix_(kept, kept)]

    def residual(self, W: np.ndarray) -> np.ndarray:
        """Return ``R = Y - X_A W V'``, shape (n, r).

        Parameters
        ----------
        W : ndarray, shape (a, k)
            Coefficients in the basis V; features and directions added later have none.
        """
        a, k = W.shape
        return self.Y - self.F[:a].T @ (W @ self.V[:, :k].T)

    def at(self, d: np.ndarray) -> Point:
        """Return the eliminated problem at d, shape (a,).

        With ``G = X_A' X_A``, ``X_A' C = (I + G diag(d))^-1 X_A'``: one a x a system.
        """
        # not G + diag(1 / d), which is symmetric, but has no value where a d is 0
        a = len(self)
        K = self.G * d
        K.flat[:: a + 1] += 1
        solved = np.linalg.solve(K, np.hstack([self.L, self.G]))
        k = self.L.shape[1]
        return Point(d, self.L, solved[:, :k], solved[:, k:])


@dataclass(frozen=True)
class Point:
    """The eliminated problem at one d."""

    d: np.ndarray  # (a,): at the optimum for lambda, ``|w^i| / lambda``
    L: np.ndarray  # (a, k): ``X_A' Y`` in the basis V
    E: np.ndarray  # (a, k): ``X_A' R`` in the basis V
    P: np.ndarray  # (a, a): ``X_A' C X_A``

    @cached_property
    def norms(self) -> np.ndarray:
        """``|f_i' R|``, shape (a,); all are lambda at an optimum where every d is positive."""
        return np.sqrt(np.vecdot(self.E, self.E))

    @cached_property
    def W(self) -> np.ndarray:
        """Coefficients in the basis V, shape (a, k)."""
        return self.d[:, None] * self.E

    @cached_property
    def hessian(self) -> np.ndarray:
        """``(X' C X) * (X' C S C X)``, shape (a, a)."""
        H = self.P * (self.E @ self.E.T)
        return (H + H.T) / 2

    def objective(self, lam: float) -> float:
        """Return ``1/2 tr(C S) + lambda^2 / 2 sum d`` without the constant ``1/2 |Y|^2``."""
        return float(lam**2 * self.d.sum() - self.d @ np.vecdot(self.E, self.L)) / 2

    def tangent(self) -> np.ndarray:
        """Return ``dd / dt`` along the path, t = 1 / lambda, shape (a,).

        On the active set ``1 / |f_i' R| = t``. The derivative of the left side by d is the Hessian
        divided by ``|f_i' R|^3``. For orthogonal features it is constant, so d is linear in t.
        """
        return solve_scaled(self.hessian, self.norms**3)

    def slope(self, tangent: np.ndarray, lam: float) -> np.ndarray:
        """Return ``dW / dlambda`` in the basis V, shape (a, k), for a tangent ``dd / dt``."""
        # W = d E, and dE = -P (dd E), because dC = -C X diag(dd) X' C
        change = (-tangent / lam**2)[:, None] * self.E
        return change - self.d[:, None] * (self.P @ change)


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


def optimality(R: np.ndarray, point: Point, lam: float, largest: float) -> Optimality:
    """Certify a solution by its relative duality gap.

    The dual is ``max 1/2 |Y|^2 - 1/2 |Y - Q|^2`` over Q with ``|f_j' Q| <= lambda`` for every
    feature; ``Q = s R`` with ``s = min(1, lambda / max_j |f_j' R|)`` is feasible. The difference
    of both objectives is ``(1 - s)^2 / 2 |R|^2 + sum_i d_i |e_i| (lambda - s |e_i|)`` with
    ``e_i = f_i' R``. In this form nothing of the size of Y cancels.

    Parameters
    ----------
    R : ndarray, shape (n, r)
        The residual.
    point : Point
        The solution on the active set.
    lam : float
        The penalty lambda.
    largest : float
        Largest ``|f_j' R|`` over all features, or an upper bound of it.
    """
    square = float(np.vdot(R, R))
    rows = point.d * point.norms
    objective = square / 2 + lam * float(rows.sum())
    # shrinking R makes it feasible for every feature of the matrix, active or not: so the gap
    # bounds the error over all features, though only a few were ever solved for
    s = min(1.0, lam / largest) if largest > 0 else 1.0
    gap = (1 - s) ** 2 / 2 * square + float(rows @ (lam - s * point.norms))
    return Optimality(objective, max(gap, 0.0) / objective if objective > 0 else 0.0)
