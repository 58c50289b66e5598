"""The path of an l2,1 penalized regression, event by event.

Z. Zhao, dissertation, Arizona State University 2010, Algorithm 2, with its two steps made exact.
The predictor is the tangent of the path instead of the direction of least squares; the corrector
is Newton's method on the active set with lambda among the unknowns, which lands on the event
itself. An event counts once no other feature has overtaken it, over the whole matrix.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfs_cli.methods.l21_active import Point
from sfs_cli.methods.l21_gap import Optimality, optimality
from sfs_cli.methods.l21_newton import Meeting, meet, solve_at
from sfs_cli.methods.l21_screen import VIOLATION, Screen

FLOOR = 1e-6
"""The path ends at this share of its first lambda: there, the response is reproduced."""
_TIED = 1e-9
"""Relative difference of lambda within which events are one."""
_LONGEST = 0.5
"""A step goes at most to this share of lambda, so that the prediction can be trusted."""
_ATTEMPTS = 12
_STRIDES = 64


@dataclass(frozen=True)
class Event:
    """A breakpoint of the path.

    Attributes
    ----------
    lam : float
        Where it is.
    feature : int
        What enters or leaves.
    enters : bool
        Which of the two.
    optimality : Optimality
        Of the solution there, for the whole data.
    """

    lam: float
    feature: int
    enters: bool
    optimality: Optimality


@dataclass(frozen=True)
class _Guess:
    lam: float
    feature: int


class Path:
    """Follows the path from its start, one event after the other.

    Parameters
    ----------
    screen : Screen
        With nothing active yet.

    Attributes
    ----------
    lam : float
        Where the path has got to.
    point : Point
        The solution there.
    residual : ndarray, shape (n, r)
        Its residual.
    events : list of Event
        All so far; the first is the entry at lambda_max.
    """

    def __init__(self, screen: Screen) -> None:
        self.screen = screen
        self.active = screen.active
        largest = float(screen.c.max())
        first = int(np.flatnonzero(screen.c >= largest * (1 - 1e-12))[0])
        self.floor = FLOOR * largest
        screen.candidates.add(first)
        self.events: list[Event] = []
        self.point = self.active.at(np.zeros(1))
        self.residual = self.active.Y
        self.lam = float(self.point.norms[0])
        self._note(first, enters=True)

    def advance(self) -> bool:
        """Go on to the next event; tell whether there is one above the floor."""
        before = len(self.events)
        while len(self.events) == before:
            if self.lam <= self.floor:
                return False
            self._step()
        return True

    def _step(self) -> None:
        """Get to the next event, or towards it."""
        tangent = self.point.tangent()
        guess = self._predict(tangent)
        limit = self.lam * _LONGEST
        for _ in range(_ATTEMPTS):
            if guess is None or guess.lam < limit:
                break
            meeting = self._try(guess, tangent)
            if meeting is None:
                limit = guess.lam
                break
            earlier = self._overtaken(meeting)
            if earlier is None:
                self._accept(guess.feature, meeting)
                return
            self._undo(guess.feature)
            guess, limit = earlier, meeting.lam
        self._approach(max(min(limit, self.lam * (1 - 1e-8)), self.floor), tangent)

    def _predict(self, tangent: np.ndarray) -> _Guess | None:
        """Predict the first event: entries by W linear in lambda, exits by d linear in 1/lambda."""
        candidates, lam = self.screen.candidates, self.lam
        p, norms = candidates.correlations(self.point.W)
        moving = candidates.moving(self.point.slope(tangent, lam))
        steps = first_crossing(
            norms**2 - lam**2,
            -2 * (np.einsum("ij,ij->j", p[: len(moving)], moving) - lam),
            np.einsum("ij,ij->j", moving, moving) - 1,
            lam,
        )
        steps[~candidates.outside()] = np.inf
        guesses = [_first(lam - steps, candidates.index)]
        with np.errstate(divide="ignore", invalid="ignore"):
            t = 1 / lam - self.point.d / tangent
        t[~(tangent < 0)] = np.inf
        guesses.append(_first(1 / t, np.array(self.active.index)))
        return max((g for g in guesses if g), key=lambda g: g.lam, default=None)

    def _try(self, guess: _Guess, tangent: np.ndarray) -> Meeting | None:
        """Solve for an event; a feature that enters is active afterwards."""
        ahead = 1 / guess.lam - 1 / self.lam
        d = self.point.d + ahead * tangent
        if guess.feature not in self.active.index:
            self.screen.candidates.add(guess.feature)
            d = np.append(d, 0.0)
        meeting = meet(self.active, d, guess.lam, self.active.index.index(guess.feature))
        if meeting is not None and meeting.lam <= self.lam * (1 + _TIED):
            if not self._repeats(guess.feature, meeting.lam):
                return meeting
        self._undo(guess.feature)
        return None

    def _repeats(self, feature: int, lam: float) -> bool:
        """Tell whether a feature would enter and leave at one point, which rounding can cause."""
        return any(
            event.feature == feature and event.lam <= lam * (1 + _TIED)
            for event in self.events[-len(self.active) :]
        )

    def _undo(self, feature: int) -> None:
        if len(self.active) > len(self.point.d):
            self.screen.candidates.remove(np.array([self.active.index.index(feature)]))

    def _overtaken(self, meeting: Meeting) -> _Guess | None:
        """Return an event that comes before a meeting, if any; looks at all features."""
        point, lam = meeting.point, meeting.lam
        self.screen.certify(self.active.residual(point.W), lam)
        candidates = self.screen.candidates
        left = candidates.correlations(self.point.W)[1] / self.lam - 1
        right = candidates.correlations(point.W)[1] / lam - 1
        wrong = candidates.outside() & (right > VIOLATION)
        guesses = [self._secant(left, right, wrong, lam, candidates.index)]
        d = point.d[: len(self.point.d)]  # without the feature that enters
        wrong = d < -_TIED * np.abs(d).max()
        guesses.append(self._secant(-self.point.d, -d, wrong, lam, np.array(self.active.index)))
        return max((g for g in guesses if g), key=lambda g: g.lam, default=None)

    def _secant(
        self,
        left: np.ndarray,
        right: np.ndarray,
        wrong: np.ndarray,
        lam: float,
        index: np.ndarray,
    ) -> _Guess | None:
        """Return the first zero between the last point and lam, of those that are wrong there."""
        share = np.full(len(left), np.inf)
        before = np.minimum(left[wrong], 0)
        share[wrong] = before / (before - right[wrong])
        return _first(self.lam + (lam - self.lam) * share, index)

    def _accept(self, feature: int, meeting: Meeting) -> None:
        enters = len(self.active) > len(self.point.d)
        point = meeting.point
        if not enters:
            place = self.active.index.index(feature)
            self.screen.candidates.remove(np.array([place]))
            point = self.active.at(np.delete(point.d, place))
        self._move(point, meeting.lam)
        self._note(feature, enters)

    def _move(self, point: Point, lam: float) -> None:
        self.point, self.lam = point, min(lam, self.lam)
        self.residual = self.active.residual(point.W)

    def _note(self, feature: int, enters: bool) -> None:
        norms = self.screen.candidates.correlations(self.point.W)[1]
        found = optimality(self.residual, self.point, self.lam, float(norms.max()))
        self.events.append(Event(self.lam, feature, enters, found))

    def _approach(self, lam: float, tangent: np.ndarray) -> None:
        """Go as far towards lam as nothing changes; where that is no way, change it there."""
        for _ in range(_STRIDES):
            if self._stride(lam, tangent):
                return
            if self.lam - lam <= _TIED * self.lam:
                break
            lam = (lam + self.lam) / 2
        self._settle(lam)

    def _stride(self, lam: float, tangent: np.ndarray) -> bool:
        """Move to lam if the active set is the same there."""
        point = solve_at(self.active, self.point.d + (1 / lam - 1 / self.lam) * tangent, lam)
        self.screen.certify(self.active.residual(point.W), lam)
        norms = self.screen.candidates.correlations(point.W)[1]
        over = norms > lam * (1 + VIOLATION)
        if (point.d <= 0).any() or (self.screen.candidates.outside() & over).any():
            return False
        self._move(point, lam)
        return True

    def _settle(self, lam: float) -> None:
        """Solve at lam whatever enters or leaves; the order of entry is that of the need for it."""
        from sfs_cli.methods.l21_fixed import settle

        before = list(self.active.index)
        self.lam = lam
        self._move(settle(self.screen, self.point.d, lam, at_once=1), lam)
        for feature in before:
            if feature not in self.active.index:
                self._note(feature, enters=False)
        for feature in self.active.index:
            if feature not in before:
                self._note(feature, enters=True)


def _first(lam: np.ndarray, index: np.ndarray) -> _Guess | None:
    """Return the largest lambda; of those that are one, that of the first feature."""
    if not len(lam):
        return None
    best = float(lam.max())
    if not best > 0:
        return None
    tied = np.flatnonzero(lam >= best * (1 - _TIED))
    place = tied[np.argmin(index[tied])]
    return _Guess(float(lam[place]), int(index[place]))


def first_crossing(c: np.ndarray, b: np.ndarray, a: np.ndarray, lam: float) -> np.ndarray:
    """Return the first ``s`` in [0, lam] at which ``c + b s + a s^2`` rises to zero.

    Parameters
    ----------
    c, b, a : ndarray, shape (q,)
        Coefficients; c is at most zero but for rounding.
    lam : float
        The scale of s; c within `_TIED` of zero is zero.

    Returns
    -------
    ndarray, shape (q,)
        Infinity where there is none. Where c is zero, the start counts as a crossing if the
        function rises there.
    """
    tied = c >= -_TIED * lam**2
    c = np.minimum(c, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        root = np.sqrt(b * b - 4 * a * c)
        # the smaller root in a form that does not cancel; c <= 0 and a rising crossing
        s = np.where(b >= 0, -2 * c / (b + root), (-b + root) / (2 * a))
        again = -b / a
    rising = b > 1e-7 * lam
    s = np.where(tied, np.where(rising, 0.0, np.where((a > 0) & (b < 0), again, np.inf)), s)
    s[~(np.isfinite(s) & (s >= 0) & (s <= lam))] = np.inf
    return s
