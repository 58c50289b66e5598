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
from sfs_cli.methods.l21_candidates import Candidates
from sfs_cli.methods.l21_events import TIED, Guess, first_crossing, first_of
from sfs_cli.methods.l21_fixed import settle
from sfs_cli.methods.l21_gap import Optimality, optimality
from sfs_cli.methods.l21_newton import Meeting, meet, solve_at
from sfs_cli.methods.l21_screen import Screen

_LONGEST = 0.5
"""A step goes at most to this share of lambda, so that the prediction can be trusted."""
_ATTEMPTS = 12
_STRIDES = 64
_SETTLINGS = 16
_SLOWEST, _QUICKER = 1e-9, 8.0
"""Where events cannot be told apart, lambda falls by this share, then by ever more."""


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
class _View:
    """What the candidates look like from a point: ``f_j' R`` in the basis V and its norm."""

    candidates: Candidates
    residual: np.ndarray
    p: np.ndarray
    norms: np.ndarray


class Path:
    """Follows the path from its start, one event after the other.

    Parameters
    ----------
    screen : Screen
        With nothing active yet.
    floor : float
        The lambda at which the path ends at the latest.

    Attributes
    ----------
    lam : float
        Where the path has got to.
    point : Point
        The solution there.
    events : list of Event
        All so far; the first is the entry at lambda_max.
    """

    def __init__(self, screen: Screen, floor: float) -> None:
        self.screen, self.floor = screen, floor
        self.active = screen.active
        largest = float(screen.correlation.max())
        first = int(np.flatnonzero(screen.correlation >= largest * (1 - 1e-12))[0])
        screen.candidates.add(first)
        self.events: list[Event] = []
        self.point = self.active.at(np.zeros(1))
        self.lam = float(self.point.norms[0])
        self._view = self._see(self.point, self.active.Y)
        self._note(first, enters=True)

    def entries(self) -> dict[int, float]:
        """Return the features that have entered, in the order of their first entry, and lambda."""
        found: dict[int, float] = {}
        for event in self.events:
            if event.enters:
                found.setdefault(event.feature, event.lam)
        return found

    def advance(self) -> bool:
        """Go on to the next event; tell whether there is one above the floor."""
        before = len(self.events)
        while len(self.events) == before:
            if self.lam <= self.floor or self.lost:
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
            view = self._inspect(meeting.point, meeting.lam)
            earlier = self._overtaken(meeting, view)
            if earlier is None:
                self._accept(guess.feature, meeting, view)
                return
            self._undo(guess.feature)
            guess, limit = earlier, meeting.lam
        self._pace *= _QUICKER
        self._approach(max(min(limit, self.lam * (1 - self._pace)), self.floor), tangent)

    def _predict(self, tangent: np.ndarray) -> Guess | None:
        """Predict the first event: entries by W linear in lambda, exits by d linear in 1/lambda."""
        candidates, lam = self.screen.candidates, self.lam
        p, norms = self._view.p, self._view.norms
        moving = candidates.moving(self.point.slope(tangent, lam))
        steps = first_crossing(
            norms**2 - lam**2,
            -2 * (np.einsum("ij,ij->j", p[: len(moving)], moving) - lam),
            np.einsum("ij,ij->j", moving, moving) - 1,
            lam,
        )
        steps[~candidates.foreseeable()] = np.inf
        guesses = [first_of(lam - steps, candidates.index)]
        with np.errstate(divide="ignore", invalid="ignore"):
            t = 1 / lam - self.point.d / tangent
        t[~(tangent < 0)] = np.inf
        guesses.append(first_of(1 / t, np.array(self.active.index)))
        return max((g for g in guesses if g), key=lambda g: g.lam, default=None)

    def _try(self, guess: Guess, tangent: np.ndarray) -> Meeting | None:
        """Solve for an event; a feature that enters is active afterwards."""
        ahead = 1 / guess.lam - 1 / self.lam
        d = self.point.d + ahead * tangent
        if guess.feature not in self.active.index:
            self.screen.candidates.add(guess.feature)
            d = np.append(d, 0.0)
        meeting = meet(self.active, d, guess.lam, self.active.index.index(guess.feature))
        if meeting is None or self._impossible(guess.feature, meeting.lam):
            self._undo(guess.feature)
            return None
        return meeting

    def _impossible(self, feature: int, lam: float) -> bool:
        """Tell whether an event lies behind, or undoes one here, which rounding can cause."""
        return lam > self.lam * (1 + TIED) or any(
            event.feature == feature and event.lam <= lam * (1 + TIED)
            for event in self.events[-len(self.active) :]
        )

    def _undo(self, feature: int) -> None:
        if len(self.active) > len(self.point.d):
            self.screen.candidates.remove(np.array([self.active.index.index(feature)]))

    def _inspect(self, point: Point, lam: float) -> _View:
        """Look at all features from a point; the candidates may be others afterwards."""
        residual = self.active.residual(point.W)
        self.screen.certify(residual, point, lam)
        if self._view.candidates is not self.screen.candidates:
            self._view = self._see(self.point, self._view.residual)
        return self._see(point, residual)

    def _see(self, point: Point, residual: np.ndarray) -> _View:
        candidates = self.screen.candidates
        return _View(candidates, residual, *candidates.correlations(point.W))

    def _overtaken(self, meeting: Meeting, view: _View) -> Guess | None:
        """Return an event that comes before a meeting, if any."""
        point, lam, candidates = meeting.point, meeting.lam, view.candidates
        left, right = self._view.norms / self.lam - 1, view.norms / lam - 1
        wrong = candidates.violating(view.norms, lam)
        guesses = [self._secant(left, right, wrong, lam, candidates.index)]
        d = point.d[: len(self.point.d)]  # without the feature that enters
        wrong = d < -TIED * np.abs(d).max()
        index = np.array(self.active.index[: len(d)])
        guesses.append(self._secant(-self.point.d, -d, wrong, lam, index))
        return max((g for g in guesses if g), key=lambda g: g.lam, default=None)

    def _secant(
        self,
        left: np.ndarray,
        right: np.ndarray,
        wrong: np.ndarray,
        lam: float,
        index: np.ndarray,
    ) -> Guess | None:
        """Return the first zero between the last point and lam, of those that are wrong there."""
        before = np.minimum(left[wrong], 0)
        share = before / (before - right[wrong])
        return first_of(self.lam + (lam - self.lam) * share, index[wrong])

    def _accept(self, feature: int, meeting: Meeting, view: _View) -> None:
        enters = len(self.active) > len(self.point.d)
        point = meeting.point
        if not enters:
            place = self.active.index.index(feature)
            self.screen.candidates.remove(np.array([place]))
            point = self.active.at(np.delete(point.d, place))
        self._move(point, meeting.lam, view)
        self._note(feature, enters)

    def _move(self, point: Point, lam: float, view: _View) -> None:
        self.point, self.lam, self._view = point, min(lam, self.lam), view

    @property
    def lost(self) -> bool:
        """Whether rounding hides what enters next."""
        return self._settled > _SETTLINGS

    def _note(self, feature: int, enters: bool) -> None:
        self._pace, self._settled = _SLOWEST, 0
        view = self._view
        found = optimality(view.residual, self.point, self.lam, float(view.norms.max()))
        self.events.append(Event(self.lam, feature, enters, found))

    def _approach(self, lam: float, tangent: np.ndarray) -> None:
        """Go as far towards lam as nothing changes; where that is no way, change it there."""
        for _ in range(_STRIDES):
            if self._stride(lam, tangent):
                return
            if self.lam - lam <= TIED * self.lam:
                break
            lam = (lam + self.lam) / 2
        self._settle(lam)

    def _stride(self, lam: float, tangent: np.ndarray) -> bool:
        """Move to lam if the active set is the same there."""
        point = solve_at(self.active, self.point.d + (1 / lam - 1 / self.lam) * tangent, lam)
        view = self._inspect(point, lam)
        if (point.d <= 0).any() or view.candidates.violating(view.norms, lam).any():
            return False
        self._move(point, lam, view)
        return True

    def _settle(self, lam: float) -> None:
        """Solve at lam whatever enters or leaves; the order of entry is that of the need for it."""
        before = list(self.active.index)
        self._settled += 1
        point = settle(self.screen, self.point.d, lam, at_once=1)
        self._move(point, lam, self._see(point, self.active.residual(point.W)))
        for feature in before:
            if feature not in self.active.index:
                self._note(feature, enters=False)
        for feature in self.active.index:
            if feature not in before:
                self._note(feature, enters=True)
