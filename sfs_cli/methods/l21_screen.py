"""Which features can matter: a bound that holds for all of them, and the few that are looked at.

A pass over the matrix at the residual ``R_0`` gives ``c_j = |f_j' R_0|`` for every feature. Since
``f_j`` has unit norm, ``|f_j' R| <= s c_j + |R - s R_0|`` for any other residual R and any
``s >= 0``, in the spectral norm. The features with the largest c are the candidates, whose inner
products are kept; the bound on the largest c outside them tells when all others are certain to
stay off the active set, and when the next pass is due.
"""

from __future__ import annotations

import numpy as np

from sfs_cli.methods.features import Features
from sfs_cli.methods.l21_active import ActiveSet

COPY_DISTANCE = 3e-8
"""Unit vectors nearer than this (up to sign) are the same feature."""
VIOLATION = 1e-9
"""A feature off the active set may exceed the penalty by this relative amount: rounding."""
_SURE = 1 - 1e-12


def response_norms(features: Features, R: np.ndarray) -> np.ndarray:
    """Return ``|f_j' R|`` for every feature, shape (m,); one pass.

    Parameters
    ----------
    features : Features
        The matrix.
    R : ndarray, shape (n, r)
    """
    out = np.empty(features.m)
    for span, part in features.map(lambda block, _: _row_norms(block @ R)):
        out[span.lo : span.hi] = part
    return out


def _row_norms(A: np.ndarray) -> np.ndarray:
    return np.sqrt(np.vecdot(A, A))


def spectral_bound(A: np.ndarray, limit: float) -> float:
    """Return an upper bound on the largest singular value of A.

    Parameters
    ----------
    A : ndarray, shape (n, r)
    limit : float
        A bound below this is good enough: the Frobenius norm is returned where it is, the
        Schatten norm of order 16 otherwise, which costs a few products.
    """
    size = float(np.linalg.norm(A))
    if size <= limit or size == 0:
        return size
    A = A / size
    B = A.T @ A if A.shape[1] < A.shape[0] else A @ A.T
    for _ in range(2):
        B = B @ B
    return size * float(np.linalg.norm(B)) ** (1 / 8)


class Candidates:
    """Features that may enter, with their inner products with the active set.

    Parameters
    ----------
    index : ndarray of int, shape (q,)
        The features, ascending; every active one among them.
    F : ndarray, shape (q, n)
        Their vectors.
    active : ActiveSet
        What is active now.
    """

    def __init__(self, index: np.ndarray, F: np.ndarray, active: ActiveSet) -> None:
        self.index, self.F, self.active = index, F, active
        self.place = {int(j): i for i, j in enumerate(index)}
        Z = F @ active.Y
        along = Z @ active.V
        Z -= along @ active.V.T
        self._rest = Z
        self._square = np.vecdot(Z, Z)
        self._along = _Rows(along.T)
        self._cross = _Rows(active.F @ F.T)
        self.copies: dict[int, set[int]] = {}
        for j, cross in zip(active.index, self._cross.rows):
            self._note_copies(j, cross)

    def add(self, feature: int) -> None:
        """Add a candidate to the active set."""
        f = self.F[self.place[feature]]
        direction = self.active.add(feature, f)
        if direction is not None:
            column = self._rest @ direction
            self._square = np.maximum(self._square - column**2, 0)
            self._along.append(column)
        cross = self.F @ f
        self._cross.append(cross)
        self._note_copies(feature, cross)

    def remove(self, places: np.ndarray) -> None:
        """Remove the features at some places of the active set."""
        for place in places:
            self.copies.pop(self.active.index[place], None)
        self.active.remove(places)
        self._cross.remove(places)

    def _note_copies(self, feature: int, cross: np.ndarray) -> None:
        f = self.F[self.place[feature]]
        near = np.flatnonzero(np.abs(cross) > 1 - 1e-9)
        distances = _row_norms(self.F[near] - np.sign(cross[near])[:, None] * f)
        same = {int(i) for i in near[distances <= COPY_DISTANCE]}
        self.copies[feature] = same - {self.place[feature]}

    def correlations(self, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return ``f_j' R`` in the basis V (k, q), and its norm in all columns (q,).

        Parameters
        ----------
        W : ndarray, shape (a, k)
            Coefficients in the basis V; those of features and directions added since are zero.
        """
        a, k = W.shape
        p = self._along.rows.copy()
        p[:k] -= W.T @ self._cross.rows[:a]
        return p, np.sqrt(np.einsum("ij,ij->j", p, p) + self._square)

    def moving(self, slope: np.ndarray) -> np.ndarray:
        """Return the derivative of ``f_j' R``, (k, q), for one of W, (a, k)."""
        return -(slope.T @ self._cross.rows)

    def outside(self) -> np.ndarray:
        """Return which candidates are neither active nor copies of active ones, shape (q,)."""
        free = np.ones(len(self.index), bool)
        free[[self.place[j] for j in self.active.index]] = False
        for same in self.copies.values():
            free[list(same)] = False
        return free


class _Rows:
    """A matrix that grows by rows without being copied each time."""

    def __init__(self, rows: np.ndarray) -> None:
        self._size = len(rows)
        self._held = np.empty((max(16, 2 * len(rows)), rows.shape[1]))
        self._held[: len(rows)] = rows

    @property
    def rows(self) -> np.ndarray:
        return self._held[: self._size]

    def append(self, row: np.ndarray) -> None:
        if self._size == len(self._held):
            self._held = np.concatenate([self._held, np.empty_like(self._held)])
        self._held[self._size] = row
        self._size += 1

    def remove(self, places: np.ndarray) -> None:
        kept = np.delete(self.rows, places, axis=0)
        self._size = len(kept)
        self._held[: self._size] = kept


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
    c : ndarray, shape (m,)
        ``|f_j' R_0|`` at the residual of the last pass.
    active : ActiveSet
        The features with coefficients.
    candidates : Candidates
        The features that are looked at.
    """

    def __init__(self, features: Features, Y: np.ndarray, width: int) -> None:
        self.features, self.width = features, width
        self.active = ActiveSet(Y)
        self.look(Y)

    def look(self, R: np.ndarray) -> None:
        """Make a pass at the residual R and choose the candidates anew."""
        self.c = response_norms(self.features, R)
        self._R0, self._size = R, float(np.vdot(R, R))
        q = min(self.features.m, self.width + len(self.active))
        by_size = np.argsort(-self.c, kind="stable")
        chosen = np.union1d(by_size[:q], np.array(self.active.index, int))
        rest = np.delete(self.c, chosen)
        self._outside = float(rest.max(initial=0))
        self.candidates = Candidates(chosen, self.features.take(chosen), self.active)

    def sure(self, R: np.ndarray, lam: float) -> bool:
        """Tell whether no feature outside the candidates can exceed lam at the residual R."""
        if len(self.candidates.index) == self.features.m:
            return True
        projected = float(np.vdot(R, self._R0)) / self._size
        for s in (projected, 1.0):
            room = lam * _SURE - s * self._outside
            if s >= 0 and room > 0 and spectral_bound(R - s * self._R0, room) <= room:
                return True
        return False

    def certify(self, R: np.ndarray, lam: float) -> bool:
        """Make sure of the features outside the candidates at R; tell whether a pass was made."""
        if self.sure(R, lam):
            return False
        self.look(R)
        return True
