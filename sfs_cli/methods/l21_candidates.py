"""The features that may enter the active set soon, and their inner products with it."""

from __future__ import annotations

import numpy as np

from sfs_cli.methods.l21_active import ActiveSet

COPY_DISTANCE = 1e-7
"""Unit vectors nearer than this (up to sign) are the same feature: it never enters twice."""
TWIN_DISTANCE = 1e-4
"""Nearer than this, rounding tells features apart with a few digits only."""
VIOLATION = 1e-9
"""A feature off the active set may exceed the penalty by this relative amount: rounding."""
TWIN_VIOLATION = 1e-7
"""The same for a twin of an active feature."""


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
        self._near: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        for j, cross in zip(active.index, self._cross.rows):
            self._note_twins(j, cross)

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
        self._note_twins(feature, cross)

    def remove(self, places: np.ndarray) -> None:
        """Remove the features at some places of the active set."""
        for place in places:
            self._near.pop(self.active.index[place], None)
        self.active.remove(places)
        self._cross.remove(places)

    def _note_twins(self, feature: int, cross: np.ndarray) -> None:
        own = self.place[feature]
        near = np.flatnonzero(np.abs(cross) > 1 - TWIN_DISTANCE**2)
        near = near[near != own]
        if len(near):
            gaps = self.F[near] - np.sign(cross[near])[:, None] * self.F[own]
            self._near[feature] = near, np.linalg.norm(gaps, axis=1)

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

    def _distance(self) -> np.ndarray:
        """Return how near the nearest active feature is, shape (q,); infinity if none is a twin."""
        nearest = np.full(len(self.index), np.inf)
        for places, distances in self._near.values():
            nearest[places] = np.minimum(nearest[places], distances)
        return nearest

    def foreseeable(self) -> np.ndarray:
        """Return which candidates may enter at a point that can be predicted, shape (q,)."""
        free = self._distance() > TWIN_DISTANCE
        free[[self.place[j] for j in self.active.index]] = False
        return free

    def violating(self, norms: np.ndarray, lam: float) -> np.ndarray:
        """Return which candidates have to enter, shape (q,).

        Copies of active features add nothing and never have to.

        Parameters
        ----------
        norms : ndarray, shape (q,)
            ``|f_j' R|``.
        lam : float
            The penalty.
        """
        distance = self._distance()
        allowed = np.where(distance > TWIN_DISTANCE, VIOLATION, TWIN_VIOLATION)
        wrong = (norms > lam * (1 + allowed)) & (distance > COPY_DISTANCE)
        wrong[[self.place[j] for j in self.active.index]] = False
        return wrong


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
