"""All features of the matrix, seen in few passes.

A pass at the residual ``R_0``, with the direction T in which the path leaves it, gives three inner
products of ``f_j' R_0`` and ``f_j' T`` for every feature. Since ``|f_j| <= 1``, for any other
residual R and any s and u

    |f_j' R| <= |f_j' (s R_0 + u T)| + |R - s R_0 - u T|    (spectral norm).

The first term follows from the three numbers, and the second is small while the path is nearly
straight. The features with the largest bounds are the *candidates*, whose inner products with the
active set are kept up to date. A pass is needed when the bound no longer excludes all others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from copy import copy

import numpy as np

from sfs_cli.methods.centered_matrix import CenteredMatrix
from sfs_cli.methods.l21.active_set import ActiveSet, Point
from sfs_cli.methods.l21.newton import solve_at

AHEAD = 0.9
"""Candidates are chosen for the path down to this share of lambda."""
COPY_DISTANCE = 1e-7
"""Unit vectors this close (up to sign) are one feature: the second never enters."""
TWIN_DISTANCE = 1e-4
"""Unit vectors this close are twins: rounding leaves few digits to tell them apart."""
VIOLATION = 1e-9
"""An inactive feature may exceed the penalty by this share, which is rounding."""
TWIN_VIOLATION = 1e-7
"""The same for a twin of an active feature."""
_SURE = 1 - 1e-10
_TURNS = 5
"""A feature enters at most so often while one penalty is solved; more often is rounding."""


class Candidates:
    """The features that may enter soon, with their inner products with the active set.

    Parameters
    ----------
    index : ndarray of int, shape (q,)
        The features, ascending, with every active one among them.
    F : ndarray, shape (q, n)
        Their vectors.
    active : ActiveSet
        The active features.
    """

    def __init__(self, index: np.ndarray, F: np.ndarray, active: ActiveSet) -> None:
        self.index, self.F, self.active = index, F, active
        self.size = np.sqrt(np.vecdot(F, F))  # below 1 beside given features
        self.position = {int(j): i for i, j in enumerate(index)}
        Z = F @ active.Y
        projections = Z @ active.V
        Z -= projections @ active.V.T
        # f_j' Y = projections in the basis V, and a rest outside it that no active feature changes
        self._rest = Z
        self._rest_square = np.vecdot(Z, Z)
        self._projections = _GrowingRows(projections.T)
        self._cross = _GrowingRows(active.F @ F.T)
        self._twins: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        for j, cross in zip(active.index, self._cross.rows):
            self._note_twins(j, cross)

    def add(self, feature: int) -> None:
        """Add a candidate to the active set."""
        f = self.F[self.position[feature]]
        direction = self.active.add(feature, f)
        if direction is not None:
            column = self._rest @ direction
            self._rest_square = np.maximum(self._rest_square - column**2, 0)
            self._projections.append(column)
        cross = self.F @ f
        self._cross.append(cross)
        self._note_twins(feature, cross)

    def remove(self, positions: np.ndarray) -> None:
        """Remove the features at some positions of the active set."""
        for position in positions:
            self._twins.pop(self.active.index[position], None)
        self.active.remove(positions)
        self._cross.remove(positions)

    def correlations(self, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return ``f_j' R`` in the basis V (k, q), and its norm over all responses (q,).

        Parameters
        ----------
        W : ndarray, shape (a, k)
            Coefficients in the basis V; features and directions added later have none.
        """
        a, k = W.shape
        p = self._projections.rows.copy()
        p[:k] -= W.T @ self._cross.rows[:a]
        return p, np.sqrt(np.einsum("ij,ij->j", p, p) + self._rest_square)

    def derivative(self, slope: np.ndarray) -> np.ndarray:
        """Return the derivative of ``f_j' R``, shape (k, q), for that of W, shape (a, k)."""
        return -(slope.T @ self._cross.rows)

    def predictable(self) -> np.ndarray:
        """Return which candidates enter at a point that can be computed, shape (q,)."""
        free = self._twin_distance() > TWIN_DISTANCE
        free[[self.position[j] for j in self.active.index]] = False
        return free

    def violating(self, norms: np.ndarray, lam: float) -> np.ndarray:
        """Return which candidates must enter at the penalty, given ``|f_j' R|``; both (q,).

        A copy of an active feature never must: it could only share the coefficients.
        """
        distance = self._twin_distance()
        allowed = np.where(distance > TWIN_DISTANCE, VIOLATION, TWIN_VIOLATION)
        # rounding alone makes a twin exceed lambda: it would enter and leave again, for ever
        wrong = (norms > lam * (1 + allowed)) & (distance > COPY_DISTANCE)
        wrong[[self.position[j] for j in self.active.index]] = False
        return wrong

    def _note_twins(self, feature: int, cross: np.ndarray) -> None:
        own = self.position[feature]
        # the cosine has half of the digits of the distance: it selects, the distance decides
        near = np.flatnonzero(np.abs(cross) > (1 - TWIN_DISTANCE) ** 2 * self.size[own] ** 2)
        near = near[near != own]
        if len(near):
            gaps = self.F[near] - np.sign(cross[near])[:, None] * self.F[own]
            self._twins[feature] = near, np.linalg.norm(gaps, axis=1) / self.size[own]

    def _twin_distance(self) -> np.ndarray:
        """Return the distance to the nearest active twin, shape (q,); infinity without one."""
        nearest = np.full(len(self.index), np.inf)  # most features have no twin
        for positions, distances in self._twins.values():
            nearest[positions] = np.minimum(nearest[positions], distances)
        return nearest


class _GrowingRows:
    """A matrix that grows by rows; its memory doubles, so that a row is rarely copied."""

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

    def remove(self, positions: np.ndarray) -> None:
        kept = np.delete(self.rows, positions, axis=0)
        self._size = len(kept)
        self._held[: self._size] = kept


class Screen:
    """All features, seen through a few passes over the matrix.

    Parameters
    ----------
    features : CenteredMatrix
        Features of unit norm, or shorter.
    Y : ndarray, shape (n, r)
        Responses with centered columns.
    width : int
        Number of candidates besides the active features.
    tell : callable
        Receives lines about the progress.

    Attributes
    ----------
    correlation : ndarray, shape (m,)
        ``|f_j' R_0|`` at the residual of the last pass.
    active : ActiveSet
        The features with coefficients.
    candidates : Candidates
        The features that are checked one by one.
    """

    def __init__(
        self,
        features: CenteredMatrix,
        Y: np.ndarray,
        width: int,
        tell: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.features, self.width, self._tell = features, width, tell
        self.active = ActiveSet(Y)
        self._pass(Y, np.zeros((len(Y), 0)), np.zeros((Y.shape[1], 0)), 1.0)

    def restarted(self, correlation: np.ndarray) -> Screen:
        """Return the screen as it was at first, among the features that are left.

        Their ``|f_j' Y|`` (m,) are known, and 0 for features left out, so there is no pass.
        """
        screen = copy(self)
        Y = self.active.Y
        screen.active = ActiveSet(Y)
        products = np.vstack([correlation**2, np.zeros((2, len(correlation)))])
        screen._choose(products, Y, np.zeros_like(Y), 1.0)
        return screen

    def check(self, R: np.ndarray, point: Point, lam: float) -> None:
        """Make sure, by a pass if needed, that no feature outside the candidates exceeds lam.

        R (n, r) is the residual of the point, which is the solution on the active set.
        """
        if not self._is_sure(R, lam):
            self.refresh(R, point, lam)

    def refresh(self, R: np.ndarray, point: Point, lam: float) -> None:
        """Make a pass at the residual R of a point, and choose the candidates again."""
        slope = point.slope(point.tangent(), lam)
        a, k = slope.shape
        self._pass(R, -(self.active.F[:a].T @ slope), self.active.V[:, :k], lam)

    def settle(self, d: np.ndarray, lam: float, at_once: int = 10) -> Point:
        """Solve at a penalty for all features: let them enter and leave until nothing is wrong.

        Parameters
        ----------
        d : ndarray, shape (a,)
            Where to start on the active set, which becomes that of the solution.
        lam : float
            The penalty.
        at_once : int
            Number of features that may enter between two solutions on the active set.

        Returns
        -------
        Point
            With every d positive.
        """
        turns: Counter[int] = Counter()
        while True:
            point = solve_at(self.active, d, lam)
            zero = np.flatnonzero(point.d <= 0)
            if len(zero):  # all leave at once: d is optimal, so they have no coefficients
                self.candidates.remove(zero)
                point = self.active.at(np.delete(point.d, zero))
            self.check(self.active.residual(point.W), point, lam)
            wrong = [j for j in self._violating(point, lam, at_once) if turns[j] < _TURNS]
            self._tell(f"{len(self.active):,} features at penalty {lam:.4g}, {len(wrong)} enter")
            if not wrong:
                return point
            turns.update(wrong)  # twins can take turns for ever
            for feature in wrong:
                self.candidates.add(feature)
            d = np.append(point.d, np.zeros(len(wrong)))

    def _violating(self, point: Point, lam: float, limit: int) -> list[int]:
        """Return the features that exceed the penalty most, and only the first of similar ones."""
        candidates = self.candidates
        norms = candidates.correlations(point.W)[1]
        over = np.flatnonzero(candidates.violating(norms, lam))
        chosen: list[int] = []
        # rounded, so that features tied but for rounding enter in the order of the matrix
        for i in over[np.argsort(-norms[over].round(12), kind="stable")]:
            if len(chosen) == limit:
                break
            cosines = candidates.F[[candidates.position[j] for j in chosen]] @ candidates.F[i]
            lengths = candidates.size[[candidates.position[j] for j in chosen]] * candidates.size[i]
            if not (np.abs(cosines) > 0.999 * lengths).any():  # similar ones wait for the next one
                chosen.append(int(candidates.index[i]))
        return chosen

    def _pass(self, R: np.ndarray, T: np.ndarray, V: np.ndarray, lam: float) -> None:
        """Make a pass at R and the direction ``T V'``, and choose the candidates."""
        self._choose(inner_products(self.features, R, T, V), R, T @ V.T, lam)

    def _choose(
        self, products: np.ndarray, R: np.ndarray, direction: np.ndarray, lam: float
    ) -> None:
        """Choose the candidates by the products of a pass at R and a direction, both (n, r)."""
        self._references = [R, direction]
        self._products = products
        self.correlation = np.sqrt(self._products[0])
        # a feature is a candidate by its size here, or by that expected further down the path
        ahead = np.maximum(self.correlation, self._norms(1.0, (AHEAD - 1) * lam) / AHEAD)
        q = min(self.features.m, self.width + len(self.active))
        # ties at the limit go by index, not by the order in which partition left them
        last = np.partition(ahead, len(ahead) - q)[len(ahead) - q]
        wanted = np.flatnonzero(ahead > last)
        tied = np.flatnonzero(ahead == last)[: q - len(wanted)]
        chosen = np.union1d(np.concatenate([wanted, tied]), np.array(self.active.index, int))
        # the bound is for all others; the products of the candidates are known exactly
        self._products[:, chosen] = 0
        self.candidates = Candidates(chosen, self.features.take(chosen), self.active)

    def _norms(self, s: float, u: float) -> np.ndarray:
        """Return ``|f_j' (s R_0 + u T)|``, shape (m,)."""
        square, cross, moving = self._products
        return np.sqrt(np.maximum(s * s * square + 2 * s * u * cross + u * u * moving, 0))

    def _is_sure(self, R: np.ndarray, lam: float) -> bool:
        """Apply the bound with the s and u that make ``|R - s R_0 - u T|_F`` smallest."""
        if len(self.candidates.index) == self.features.m:
            return True
        R0, T = self._references
        # a least-squares problem with two unknowns, by its normal equations
        normal = [[np.vdot(R0, R0), np.vdot(R0, T)], [np.vdot(T, R0), np.vdot(T, T)]]
        s, u = np.linalg.lstsq(normal, [np.vdot(R0, R), np.vdot(T, R)])[0]
        # what R leaves outside the span of both references is short while the path is nearly
        # straight, so the bound often holds for many events after one pass
        room = lam * _SURE - float(self._norms(s, u).max())
        return room > 0 and spectral_bound(R - s * R0 - u * T, room) <= room


def inner_products(
    features: CenteredMatrix, R: np.ndarray, T: np.ndarray, V: np.ndarray
) -> np.ndarray:
    """Return ``|f_j' R|^2``, ``<f_j' R, f_j' T V'>`` and ``|f_j' T|^2``; one pass.

    R (n, r), T (n, k) and orthonormal columns V (r, k) give an array (3, m).
    """
    r, k = V.shape
    # rotate the responses so that the first k are those of V: then one product (n x (r + k))
    # serves all three numbers
    rotation, sign = np.linalg.qr(V, mode="complete") if k else (np.eye(r), np.eye(0))
    both = np.hstack([R @ rotation, T @ sign[:k].T])

    def products(block: np.ndarray, _: object) -> tuple[np.ndarray, ...]:
        A = block @ both
        ours, moving = A[:, :r], A[:, r:]
        return np.vecdot(ours, ours), np.vecdot(ours[:, :k], moving), np.vecdot(moving, moving)

    return features.measure(products, 3)


def spectral_bound(A: np.ndarray, enough: float) -> float:
    """Return an upper bound of the largest singular value of A, shape (n, r).

    The Frobenius norm is returned if it is at most `enough`. Otherwise it is the Schatten norm of
    order 16, which takes a few products and is mostly within a tenth of the true value.
    """
    size = float(np.linalg.norm(A))
    if size <= enough:
        return size
    A = A / size
    B = A.T @ A if A.shape[1] < A.shape[0] else A @ A.T
    for _ in range(2):
        B = B @ B
    return size * float(np.linalg.norm(B)) ** (1 / 8)
