"""The small problem on the active set of an l2,1 penalized regression.

The problem is ``min_W 1/2 |Y - X W|_F^2 + lambda sum_i |w^i|`` (Z. Zhao, dissertation, Arizona
State University 2010, Eq. 4.3-4.10). Since ``|w| = min_{u > 0} (|w|^2 / u + u) / 2``, W can be
eliminated: with ``d_i = |w^i| / lambda``, ``C = (I + X diag(d) X')^-1`` and ``S = Y Y'``, what is
left is ``min_{d >= 0} 1/2 tr(C S) + lambda^2 / 2 sum_i d_i``: smooth, convex, one number for each
feature. Its residual is ``R = C Y``, its gradient ``(lambda^2 - |f_i' R|^2) / 2``, its Hessian the
elementwise product of ``X' C X`` and ``X' C S C X``, and ``w^i = d_i f_i' R``.

Only inner products of active features enter. Those with the responses are kept in an orthonormal
basis that grows with the active set, so that no more than as many columns as features have entered
are ever worked with.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

NOTHING_NEW = 1e-13
"""A feature whose responses are this near the span of those before adds no direction."""
_SMALLEST = 1e-150
_RIDGE = 4 * float(np.finfo(np.float64).eps)


class ActiveSet:
    """Features with non-zero coefficients and their inner products.

    Parameters
    ----------
    Y : ndarray, shape (n, r)
        Responses with centred columns.

    Attributes
    ----------
    index : list of int
        The features, in the order in which they were added.
    F : ndarray, shape (a, n)
        Their vectors.
    G : ndarray, shape (a, a)
        ``X_A' X_A``.
    V : ndarray, shape (r, k)
        Orthonormal; spans the rows of ``X_A' Y`` of every feature that was ever added.
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
        """Add a feature at the end.

        Parameters
        ----------
        feature : int
            Its index.
        f : ndarray, shape (n,)
            Its vector.

        Returns
        -------
        ndarray, shape (r,), or None
            The direction by which V has grown, if it has.
        """
        row = f @ self.Y
        along = row @ self.V
        rest = row - self.V @ along
        again = rest @ self.V  # a second time, for orthogonality to rounding
        rest -= self.V @ again
        along += again
        length = float(np.linalg.norm(rest))
        direction = None
        if self.V.shape[1] < min(self.Y.shape) and length > NOTHING_NEW * np.linalg.norm(row):
            direction = rest / length
            self.V = np.column_stack([self.V, direction])
            self.L = np.pad(self.L, ((0, 0), (0, 1)))
            along = np.append(along, length)
        cross = self.F @ f
        self.G = np.block([[self.G, cross[:, None]], [cross[None, :], np.array([[f @ f]])]])
        self.F = np.vstack([self.F, f])
        self.L = np.vstack([self.L, along])
        self.index.append(feature)
        return direction

    def remove(self, places: np.ndarray) -> None:
        """Remove the features at some places; V stays as it is."""
        kept = np.delete(np.arange(len(self)), places)
        self.index = [self.index[i] for i in kept]
        self.F, self.L = self.F[kept], self.L[kept]
        self.G = self.G[np.ix_(kept, kept)]

    def residual(self, W: np.ndarray) -> np.ndarray:
        """Return ``R = Y - X_A W V'``, shape (n, r).

        Parameters
        ----------
        W : ndarray, shape (a, k)
            Coefficients in the basis V; those of features and directions added since are zero.
        """
        a, k = W.shape
        return self.Y - self.F[:a].T @ (W @ self.V[:, :k].T)

    def at(self, d: np.ndarray) -> Point:
        """Return the eliminated problem at d, shape (a,); see `Point`."""
        a = len(self)
        K = self.G * d
        K.flat[:: a + 1] += 1
        solved = np.linalg.solve(K, np.hstack([self.L, self.G]))
        k = self.L.shape[1]
        return Point(d, self.L, solved[:, :k], solved[:, k:])


@dataclass(frozen=True)
class Point:
    """The eliminated problem at one ``d``.

    Attributes
    ----------
    d : ndarray, shape (a,)
        ``|w^i| / lambda`` at the optimum for lambda.
    L : ndarray, shape (a, k)
        ``X_A' Y`` in the basis V.
    E : ndarray, shape (a, k)
        ``X_A' R`` in the basis V.
    P : ndarray, shape (a, a)
        ``X_A' C X_A``.
    """

    d: np.ndarray
    L: np.ndarray
    E: np.ndarray
    P: np.ndarray

    @cached_property
    def norms(self) -> np.ndarray:
        """``|f_i' R|``, shape (a,); every one is lambda at an optimum with all d positive."""
        return np.sqrt(np.vecdot(self.E, self.E))

    @cached_property
    def W(self) -> np.ndarray:
        """The coefficients in the basis V, shape (a, k)."""
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

        ``1 / |f_i' R|`` equals t on the active set, and its derivative by d is the Hessian divided
        by ``|f_i' R|^3``. It is constant for orthogonal features, which makes d linear in t.
        """
        return solve_scaled(self.hessian, self.norms**3)

    def slope(self, tangent: np.ndarray, lam: float) -> np.ndarray:
        """Return ``dW / dlambda`` in the basis V, shape (a, k), for a tangent ``dd / dt``."""
        moved = (-tangent / lam**2)[:, None] * self.E
        return moved - self.d[:, None] * (self.P @ moved)


def solve_scaled(H: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Solve ``H x = right`` for a positive semidefinite H brought to a unit diagonal.

    Parameters
    ----------
    H : ndarray, shape (a, a)
    right : ndarray, shape (a,) or (a, c)

    Returns
    -------
    ndarray, of the shape of `right`
        Of least size where features are so near each other that H is singular to rounding.
    """
    scale = 1 / np.sqrt(np.maximum(H.diagonal(), _SMALLEST))
    scaled = H * scale[:, None] * scale
    scaled.flat[:: len(H) + 1] += _RIDGE
    columns = scale if right.ndim == 1 else scale[:, None]
    try:
        return columns * np.linalg.solve(scaled, columns * right)
    except np.linalg.LinAlgError:
        return columns * np.linalg.lstsq(scaled, columns * right)[0]
