"""All features at once: rare passes over the matrix, and a bound that holds between them.

A pass at the residual ``R_0``, with the direction ``T`` in which the path leaves it, gives the
three inner products of ``f_j' R_0`` and ``f_j' T`` for every feature. Since ``f_j`` has unit norm,
``|f_j' R| <= |f_j' (s R_0 + u T)| + |R - s R_0 - u T|`` for any other residual R and any s and u,
in the spectral norm; the first term follows from those three numbers, and the second stays small
while the path is nearly straight. The features for which the bound is largest are the candidates,
which are looked at one by one; where it does not clear all others, a pass is due.
"""

from __future__ import annotations

import numpy as np

from sfs_cli.methods.features import Features
from sfs_cli.methods.l21_active import ActiveSet, Point
from sfs_cli.methods.l21_candidates import Candidates

AHEAD = 0.9
"""Candidates are chosen for the path down to this share of lambda."""
_SURE = 1 - 1e-10


class Screen:
    """All features, seen through rare passes.

    Parameters
    ----------
    features : Features
        The matrix, of unit-norm features.
    Y : ndarray, shape (n, r)
        Responses with centred columns.
    width : int
        How many candidates there are, besides the active ones.

    Attributes
    ----------
    correlation : ndarray, shape (m,)
        ``|f_j' R_0|`` at the residual of the last pass.
    active : ActiveSet
        The features with coefficients.
    candidates : Candidates
        The features that are looked at one by one.
    """

    def __init__(self, features: Features, Y: np.ndarray, width: int) -> None:
        self.features, self.width = features, width
        self.active = ActiveSet(Y)
        self._look(Y, np.zeros((len(Y), 0)), np.zeros((Y.shape[1], 0)), 1.0)

    def certify(self, R: np.ndarray, point: Point, lam: float) -> bool:
        """Make sure of the features outside the candidates; tell whether that took a pass.

        Afterwards, none of them exceeds lam at the residual R.

        Parameters
        ----------
        R : ndarray, shape (n, r)
            The residual.
        point : Point
            Whose residual that is.
        lam : float
            The penalty.
        """
        if self._sure(R, lam):
            return False
        self.look(R, point, lam)
        return True

    def look(self, R: np.ndarray, point: Point, lam: float) -> None:
        """Make a pass at the residual R of a point, and choose the candidates anew."""
        slope = point.slope(point.tangent(), lam)
        a, k = slope.shape
        self._look(R, -(self.active.F[:a].T @ slope), self.active.V[:, :k], lam)

    def _look(self, R: np.ndarray, T: np.ndarray, V: np.ndarray, lam: float) -> None:
        """Make a pass at R and the direction ``T V'``."""
        self._references = [R, T @ V.T]
        self._products = inner_products(self.features, R, T, V)
        self.correlation = np.sqrt(self._products[0])
        ahead = np.maximum(self.correlation, self._norms(1.0, (AHEAD - 1) * lam) / AHEAD)
        q = min(self.features.m, self.width + len(self.active))
        last = np.partition(ahead, len(ahead) - q)[len(ahead) - q]
        wanted = np.flatnonzero(ahead > last)
        tied = np.flatnonzero(ahead == last)[: q - len(wanted)]
        chosen = np.union1d(np.concatenate([wanted, tied]), np.array(self.active.index, int))
        self._products[:, chosen] = 0  # the bound is for the others
        self.candidates = Candidates(chosen, self.features.take(chosen), self.active)

    def _norms(self, s: float, u: float) -> np.ndarray:
        """Return ``|f_j' (s R_0 + u T)|``, shape (m,)."""
        square, cross, moving = self._products
        return np.sqrt(np.maximum(s * s * square + 2 * s * u * cross + u * u * moving, 0))

    def _sure(self, R: np.ndarray, lam: float) -> bool:
        if len(self.candidates.index) == self.features.m:
            return True
        R0, T = self._references
        normal = [[np.vdot(R0, R0), np.vdot(R0, T)], [np.vdot(T, R0), np.vdot(T, T)]]
        s, u = np.linalg.lstsq(normal, [np.vdot(R0, R), np.vdot(T, R)])[0]
        room = lam * _SURE - float(self._norms(s, u).max())
        return room > 0 and spectral_bound(R - s * R0 - u * T, room) <= room


def inner_products(features: Features, R: np.ndarray, T: np.ndarray, V: np.ndarray) -> np.ndarray:
    """Return ``|f_j' R|^2``, ``<f_j' R, f_j' T V'>`` and ``|f_j' T|^2``; one pass.

    Parameters
    ----------
    features : Features
        The matrix.
    R : ndarray, shape (n, r)
    T : ndarray, shape (n, k)
    V : ndarray, shape (r, k)
        Orthonormal columns.

    Returns
    -------
    ndarray, shape (3, m)
    """
    r, k = V.shape
    rotation, sign = np.linalg.qr(V, mode="complete") if k else (np.eye(r), np.eye(0))
    both = np.hstack([R @ rotation, T @ sign[:k].T])

    def part(block: np.ndarray, _: object) -> tuple[np.ndarray, ...]:
        A = block @ both
        ours, moving = A[:, :r], A[:, r:]
        return np.vecdot(ours, ours), np.vecdot(ours[:, :k], moving), np.vecdot(moving, moving)

    out = np.empty((3, features.m))
    for span, products in features.map(part):
        out[:, span.lo : span.hi] = products
    return out


def spectral_bound(A: np.ndarray, enough: float) -> float:
    """Return an upper bound on the largest singular value of A.

    Parameters
    ----------
    A : ndarray, shape (n, r)
    enough : float
        The Frobenius norm is returned where it is below this; the Schatten norm of order 16, a
        few products more and mostly within a tenth of the truth, otherwise.
    """
    size = float(np.linalg.norm(A))
    if size <= enough:
        return size
    A = A / size
    B = A.T @ A if A.shape[1] < A.shape[0] else A @ A.T
    for _ in range(2):
        B = B @ B
    return size * float(np.linalg.norm(B)) ** (1 / 8)
