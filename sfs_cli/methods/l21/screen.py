"""All features of the matrix, seen in few passes.

A pass at the residual ``R_0``, with the direction T in which the path leaves it, gives three inner
products of ``f_j' R_0`` and ``f_j' T`` for every feature. Since ``|f_j| <= 1``, for any other
residual R and any s and u

    |f_j' R| <= |f_j' (s R_0 + u T)| + |R - s R_0 - u T|    (spectral norm).

The first term follows from the three numbers, and the second is small while the path is nearly
straight. The features with the largest bounds are the *candidates*, which are seen one by one. A
pass is needed when the bound no longer excludes all others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

import numpy as np

from sfs_cli.methods.centered_matrix import CenteredMatrix
from sfs_cli.methods.l21.active_set import ActiveSet, Optimality, Point, optimality
from sfs_cli.methods.l21.newton import solve_at

AHEAD = 0.9
"""Candidates are chosen for the path down to this share of lambda."""
COPY_DISTANCE = 1e-7
"""Unit vectors this close (up to sign) are one feature: the second never enters."""
TWIN_DISTANCE = 1e-4
"""Unit vectors this close are twins: rounding leaves few digits to tell them apart."""
SIMILAR = 0.05
"""Unit vectors this close do not enter together."""
VIOLATION = 1e-9
"""An inactive feature may exceed the penalty by this share, which is rounding."""
TWIN_VIOLATION = 1e-7
"""The same for a twin of an active feature."""
_SURE = 1 - 1e-10
_TURNS = 5
"""A feature enters at most so often while one penalty is solved; more often is rounding."""


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
    correlation : ndarray, shape (m,), optional
        ``|f_j' Y|`` where it is known, and 0 for features left out: then there is no first pass.

    Attributes
    ----------
    start : Point
        The solution without a feature.
    correlation : ndarray, shape (m,)
        ``|f_j' R_0|`` at the residual of the last pass.
    index : ndarray of int, shape (q,)
        The candidates, ascending, with every active feature among them.
    F : ndarray, shape (q, n)
        Their vectors.
    """

    def __init__(
        self,
        features: CenteredMatrix,
        Y: np.ndarray,
        width: int,
        tell: Callable[[str], None] = lambda _: None,
        correlation: np.ndarray | None = None,
    ) -> None:
        self.features, self.width, self._tell = features, width, tell
        self.start = ActiveSet.empty(Y).at(np.zeros(0))
        if correlation is None:
            self.refresh(self.start, 1.0)
        else:
            products = np.vstack([correlation**2, np.zeros((2, len(correlation)))])
            self._choose(products, self.start, np.zeros_like(Y), 1.0)

    def refresh(self, point: Point, lam: float) -> None:
        """Make a pass at a solution on the active set, and choose the candidates again."""
        X, R, slope = point.active.F.T, point.residual, point.slope(lam)
        products = self.features.measure(
            # in whichever order takes less: there may be more active features than responses
            lambda block, _: inner_products(block @ R, -np.linalg.multi_dot([block, X, slope])),
            3,
        )
        self._choose(products, point, -X @ slope, lam)

    def look(self, point: Point, lam: float) -> np.ndarray:
        """Return ``|f_j' R|`` of the candidates, shape (q,), at a solution on the active set.

        There is a pass before, if needed, so that no feature outside the candidates exceeds lam.
        """
        if not self._is_sure(point.residual, lam):
            self.refresh(point, lam)
        ours, _ = self.correlations(point)
        return np.sqrt(np.vecdot(ours, ours))

    def correlations(self, point: Point) -> tuple[np.ndarray, np.ndarray]:
        """Return ``f_j' R`` (q, r) and ``f_j' X_A`` (q, a) of the candidates."""
        cross = self.F @ point.active.F.T
        # not F R, which takes longer: there are fewer active features than responses, mostly
        return self._Z - cross @ point.W, cross

    def certify(self, point: Point, lam: float) -> Optimality:
        """Return the optimality of a solution, checked over all features in one pass."""
        self.refresh(point, lam)
        return optimality(point, lam, float(self.correlation.max()))

    def vector(self, feature: int) -> np.ndarray:
        """Return the vector of a candidate, shape (n,)."""
        return self.F[np.searchsorted(self.index, feature)]

    def violating(self, norms: np.ndarray, point: Point, lam: float) -> Iterator[int]:
        """Yield the features that must enter at a penalty, given ``|f_j' R|`` (q,), largest first.

        A copy of an active feature never must: it could only share the coefficients.
        """
        active = point.active
        over = np.flatnonzero((norms > lam * (1 + VIOLATION)) & ~np.isin(self.index, active.index))
        # rounded, so that features tied but for rounding enter in the order of the matrix
        for i in over[np.argsort(-norms[over].round(12), kind="stable")]:
            distance = active.distance(self.F[i])
            # rounding alone makes a twin exceed lambda: it would enter and leave again, for ever
            if distance > TWIN_DISTANCE or (
                distance > COPY_DISTANCE and norms[i] > lam * (1 + TWIN_VIOLATION)
            ):
                yield int(self.index[i])

    def settle(self, active: ActiveSet, d: np.ndarray, lam: float, at_once: int) -> Point:
        """Solve at a penalty for all features: let them enter and leave until nothing is wrong.

        Parameters
        ----------
        active : ActiveSet
            Features to start with.
        d : ndarray, shape (a,)
            Where to start.
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
            point = solve_at(active, d, lam)
            # all leave at once: d is optimal, so they have no coefficients
            point = point.without(point.d <= 0)
            active = point.active
            for feature in self.violating(self.look(point, lam), point, lam):
                f = self.vector(feature)
                # of similar ones the first enters, and the others wait for the next solution
                alone = active is point.active or active.distance(f) > SIMILAR
                if alone and turns[feature] < _TURNS:
                    active = active.plus(feature, f)
                    turns[feature] += 1
                if len(active.index) == len(point.d) + at_once:
                    break
            self._tell(f"{len(active.index):,} features at penalty {lam:.4g}")
            if active is point.active:
                return point
            d = np.append(point.d, np.zeros(len(active.index) - len(point.d)))

    def _choose(self, products: np.ndarray, point: Point, T: np.ndarray, lam: float) -> None:
        """Choose the candidates by the products of a pass at a point, with the direction T."""
        self._references, self._products = (point.residual, T), products
        self.correlation = np.sqrt(products[0])
        # a feature is a candidate by its size here, or by that expected further down the path
        ahead = np.maximum(self.correlation, self._norms(1.0, (AHEAD - 1) * lam) / AHEAD)
        likely = np.argsort(-ahead, kind="stable")[: self.width + len(point.d)]
        self.index = np.union1d(likely, point.active.index)
        self.F = self.features.take(self.index)
        self._Z = self.F @ point.active.Y
        # the bound is for all others
        products[:, self.index] = 0

    def _norms(self, s: float, u: float) -> np.ndarray:
        """Return ``|f_j' (s R_0 + u T)|``, shape (m,)."""
        square, cross, moving = self._products
        return np.sqrt(np.maximum(s * s * square + 2 * s * u * cross + u * u * moving, 0))

    def _is_sure(self, R: np.ndarray, lam: float) -> bool:
        """Apply the bound with the s and u that make ``|R - s R_0 - u T|_F`` smallest."""
        if len(self.index) == self.features.m:
            return True
        R0, T = self._references
        # a least-squares problem with two unknowns, by its normal equations
        normal = [[np.vdot(R0, R0), np.vdot(R0, T)], [np.vdot(T, R0), np.vdot(T, T)]]
        s, u = np.linalg.lstsq(normal, [np.vdot(R0, R), np.vdot(T, R)])[0]
        # what R leaves outside the span of both references is short while the path is nearly
        # straight, so the bound often holds for many events after one pass
        room = lam * _SURE - float(self._norms(s, u).max())
        return room > 0 and spectral_bound(R - s * R0 - u * T, room) <= room


def inner_products(ours: np.ndarray, moving: np.ndarray) -> np.ndarray:
    """Return ``|f_j' R|^2``, ``<f_j' R, f_j' T>`` and ``|f_j' T|^2``, shape (3, b).

    From ``f_j' R`` and ``f_j' T``, both (b, r).
    """
    return np.stack([np.vecdot(ours, ours), np.vecdot(ours, moving), np.vecdot(moving, moving)])


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
