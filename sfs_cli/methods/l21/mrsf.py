"""MRSF: the path of the l2,1 penalized regression, event by event.

Z. Zhao, dissertation, Arizona State University 2010, Algorithm 2, with both of its steps exact. The
predictor is the tangent of the path instead of the direction of least squares. The corrector is
Newton's method on the active set with lambda among the unknowns, which finds the event itself (a
feature enters or leaves). An event counts when no feature of the whole matrix comes before it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfs_cli.methods.base import Problem, Solution, Status
from sfs_cli.methods.l21.active_set import Optimality, Point, optimality
from sfs_cli.methods.l21.newton import Meeting, meet, solve_at
from sfs_cli.methods.l21.regression import GAP, Regression, first_these, make_regression
from sfs_cli.methods.l21.screen import Candidates, Screen

TIED = 1e-9
"""Events within this relative difference of lambda are one."""
_LONGEST = 0.5
"""A step ends at this share of lambda at the latest, so that its prediction is good."""
_ATTEMPTS = 12
_STRIDES = 64
_SETTLINGS = 16
_SLOWEST, _QUICKER = 1e-9, 8.0
"""Where no event is found, lambda falls by the first share, and each time faster by the second."""


def solve(problem: Problem) -> Solution:
    """Follow the path from lambda_max down until ``select`` features have entered.

    Parameters
    ----------
    problem : Problem
        With the options ``select``, ``response`` and ``rank``, and the similarity or the classes
        that the response needs.

    Returns
    -------
    Solution
        The score is lambda at the first entry, and the order is that of entry. The other features
        follow by ``|f_j' R|`` at the last breakpoint. A copy of a selected feature never enters.

    Raises
    ------
    InputError
        If nothing can be selected.
    """
    select = problem.options["select"]
    regression = make_regression(problem, select)
    path = Path(regression.screen, regression.floor)
    wanted = min(select, int(regression.features.usable.sum()))
    while len(path.entries) < wanted and path.advance():
        problem.tell(f"{len(path.entries)} features at lambda {path.lam:.4g}")
    last = regression.certify(path.point, path.lam)
    return _solution(regression, path, select, last)


@dataclass(frozen=True)
class Event:
    """A breakpoint of the path: at lambda, a feature enters or leaves.

    `optimality` certifies the solution there over the whole matrix.
    """

    lam: float
    feature: int
    enters: bool
    optimality: Optimality


@dataclass(frozen=True)
class Guess:
    """An expected event: at lambda, an inactive feature enters or an active one leaves."""

    lam: float
    feature: int


@dataclass(frozen=True)
class _View:
    """The candidates at a point: residual R, ``f_j' R`` in the basis V (k, q), its norms (q,)."""

    candidates: Candidates
    residual: np.ndarray
    p: np.ndarray
    norms: np.ndarray


class Path:
    """The path, followed from its start, one event after the other.

    Parameters
    ----------
    screen : Screen
        All features, none of them active yet.
    floor : float
        The smallest lambda to go to.

    Attributes
    ----------
    lam : float
        The present lambda.
    point : Point
        The solution there.
    events : list of Event
        All events so far; the first is the entry at lambda_max.
    entries : dict of int to float
        Features in the order of their first entry, with lambda at that entry.
    """

    def __init__(self, screen: Screen, floor: float) -> None:
        self.screen, self.floor = screen, floor
        self.active = screen.active
        largest = float(screen.correlation.max())
        # of features tied but for rounding the first enters, on every machine
        first = int(np.flatnonzero(screen.correlation >= largest * (1 - 1e-12))[0])
        screen.candidates.add(first)
        self.events: list[Event] = []
        self.entries: dict[int, float] = {}
        self.point = self.active.at(np.zeros(1))
        self.lam = float(self.point.norms[0])  # lambda_max from the same products as the rest
        self._view = self._see(self.point, self.active.Y)
        self._record(first, enters=True)

    @property
    def lost(self) -> bool:
        """Whether rounding hides which feature enters next."""
        return self._settled > _SETTLINGS

    def advance(self) -> bool:
        """Go to the next event; return whether there is one above the floor."""
        before = len(self.events)
        while len(self.events) == before:
            if self.lam <= self.floor or self.lost:
                return False
            self._step()
        return True

    def _step(self) -> None:
        """Go to the next event, or some way towards it.

        Predict the first event, solve for it, and look at all features there. If another event
        comes before, solve for that one. If no event can be found, make a small step instead.
        """
        tangent = self.point.tangent()
        guess = self._predict(tangent)
        # a guess is sure only once it is solved: the true first event may be another one, so each
        # attempt either proves that none comes before it, or names one with a larger lambda
        limit = self.lam * _LONGEST
        for _ in range(_ATTEMPTS):
            if guess is None or guess.lam < limit:
                break
            meeting = self._try(guess, tangent)
            if meeting is None:
                limit = guess.lam
                break
            view = self._look(meeting.point, meeting.lam)
            earlier = self._earlier(meeting, view)
            if earlier is None:
                enters = len(self.active) > len(self.point.d)
                point = meeting.point
                if not enters:
                    position = self.active.index.index(guess.feature)
                    self.screen.candidates.remove(np.array([position]))
                    # without the feature the point is the same, but for rounding
                    point = self.active.at(np.delete(point.d, position))
                self._move(point, meeting.lam, view)
                self._record(guess.feature, enters)
                return
            self._undo(guess.feature)
            guess, limit = earlier, meeting.lam
        # no event was found here: creep on, ever faster, until the next one is in sight
        self._pace *= _QUICKER
        self._approach(max(min(limit, self.lam * (1 - self._pace)), self.floor), tangent)

    def _predict(self, tangent: np.ndarray) -> Guess | None:
        """Predict the first event: entries by W linear in lambda, exits by d linear in 1/lambda."""
        candidates, lam = self.screen.candidates, self.lam
        p, norms = self._view.p, self._view.norms
        slope = candidates.derivative(self.point.slope(tangent, lam))
        # with W linear in lambda, |f_j' R|^2 = lambda^2 is a quadratic equation in the step
        steps = first_crossing(
            norms**2 - lam**2,
            -2 * (np.einsum("ij,ij->j", p[: len(slope)], slope) - lam),
            np.einsum("ij,ij->j", slope, slope) - 1,
            lam,
        )
        # twins of active features follow them closely; they enter by `_settle` if they must
        steps[~candidates.predictable()] = np.inf
        with np.errstate(divide="ignore", invalid="ignore"):
            t = 1 / lam - self.point.d / tangent
        t[~(tangent < 0)] = np.inf  # d grows: the feature does not leave
        return _latest(
            first_of(lam - steps, candidates.index), first_of(1 / t, np.array(self.active.index))
        )

    def _try(self, guess: Guess, tangent: np.ndarray) -> Meeting | None:
        """Solve for an event; a feature that enters is active afterwards."""
        d = self.point.d + (1 / guess.lam - 1 / self.lam) * tangent
        if guess.feature not in self.active.index:
            self.screen.candidates.add(guess.feature)
            d = np.append(d, 0.0)
        meeting = meet(self.active, d, guess.lam, self.active.index.index(guess.feature))
        # an event that lies behind, or undoes one at the same lambda, is rounding
        if (
            meeting is None
            or meeting.lam > self.lam * (1 + TIED)
            or any(
                event.feature == guess.feature and event.lam <= meeting.lam * (1 + TIED)
                for event in self.events[-len(self.active) :]
            )
        ):
            self._undo(guess.feature)
            return None
        return meeting

    def _undo(self, feature: int) -> None:
        if len(self.active) > len(self.point.d):
            self.screen.candidates.remove(np.array([self.active.index.index(feature)]))

    def _look(self, point: Point, lam: float) -> _View:
        """Look at all features from a point; this may change the candidates."""
        residual = self.active.residual(point.W)
        self.screen.check(residual, point, lam)
        if self._view.candidates is not self.screen.candidates:  # a pass has chosen new ones
            self._view = self._see(self.point, self._view.residual)
        return self._see(point, residual)

    def _see(self, point: Point, residual: np.ndarray) -> _View:
        candidates = self.screen.candidates
        return _View(candidates, residual, *candidates.correlations(point.W))

    def _earlier(self, meeting: Meeting, view: _View) -> Guess | None:
        """Return an event that comes before a meeting, if any.

        There is one if, at the meeting, an inactive feature exceeds lambda or an active one has a
        negative d. Where it became so follows from a straight line between both ends.
        """
        point, lam, candidates = meeting.point, meeting.lam, view.candidates
        left, right = self._view.norms / self.lam - 1, view.norms / lam - 1
        over = candidates.violating(view.norms, lam)
        d = point.d[: len(self.point.d)]  # without the feature that enters
        negative = d < -TIED * np.abs(d).max()
        index = np.array(self.active.index[: len(d)])
        return _latest(
            self._secant(left[over], right[over], lam, candidates.index[over]),
            self._secant(-self.point.d[negative], -d[negative], lam, index[negative]),
        )

    def _secant(
        self, left: np.ndarray, right: np.ndarray, lam: float, index: np.ndarray
    ) -> Guess | None:
        """Return the first zero of functions that go from left (at most 0) to right (above 0)."""
        left = np.minimum(left, 0)
        return first_of(self.lam + (lam - self.lam) * (left / (left - right)), index)

    def _move(self, point: Point, lam: float, view: _View) -> None:
        self.point, self.lam, self._view = point, min(lam, self.lam), view

    def _record(self, feature: int, enters: bool) -> None:
        self._pace, self._settled = _SLOWEST, 0
        view = self._view
        found = optimality(view.residual, self.point, self.lam, float(view.norms.max()))
        self.events.append(Event(self.lam, feature, enters, found))
        if enters:
            self.entries.setdefault(feature, self.lam)

    def _approach(self, lam: float, tangent: np.ndarray) -> None:
        """Go towards lam as far as the active set stays; if it cannot, change the set at lam."""
        for _ in range(_STRIDES):
            d = self.point.d + (1 / lam - 1 / self.lam) * tangent
            point = solve_at(self.active, d, lam)
            view = self._look(point, lam)
            if not ((point.d <= 0).any() or view.candidates.violating(view.norms, lam).any()):
                self._move(point, lam, view)
                return
            if self.lam - lam <= TIED * self.lam:
                break
            lam = (lam + self.lam) / 2  # the active set changes on the way: go half of it
        self._settle(lam)

    def _settle(self, lam: float) -> None:
        """Solve at lam whatever enters or leaves; features enter one by one, the largest first."""
        before = list(self.active.index)
        self._settled += 1
        # one at a time, because the order of entry is the ranking
        point = self.screen.settle(self.point.d, lam, at_once=1)
        self._move(point, lam, self._see(point, self.active.residual(point.W)))
        for feature in before:
            if feature not in self.active.index:
                self._record(feature, enters=False)
        for feature in self.active.index:
            if feature not in before:
                self._record(feature, enters=True)


def _latest(*guesses: Guess | None) -> Guess | None:
    """Return the guess with the largest lambda: the path goes down."""
    return max((g for g in guesses if g), key=lambda g: g.lam, default=None)


def first_of(lam: np.ndarray, index: np.ndarray) -> Guess | None:
    """Return the event with the largest positive lambda; of tied ones that of the first feature.

    `lam` and `index`, both (q,), are the expected lambda of each feature.
    """
    best = float(lam.max(initial=0))
    if not best > 0:
        return None
    tied = np.flatnonzero(lam >= best * (1 - TIED))
    position = tied[np.argmin(index[tied])]
    return Guess(float(lam[position]), int(index[position]))


def first_crossing(c: np.ndarray, b: np.ndarray, a: np.ndarray, lam: float) -> np.ndarray:
    """Return the smallest s in [0, lam] at which ``c + b s + a s^2`` rises to zero.

    Parameters
    ----------
    c, b, a : ndarray, shape (q,)
        Coefficients; c is at most zero but for rounding.
    lam : float
        The scale of s; c within `TIED` of zero counts as zero.

    Returns
    -------
    ndarray, shape (q,)
        Infinity where there is none. If c is zero and the function rises, this is 0.
    """
    tied = c >= -TIED * lam**2
    c = np.minimum(c, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        root = np.sqrt(b * b - 4 * a * c)
        # the smaller root in the form that does not cancel: c <= 0, and the crossing rises
        s = np.where(b >= 0, -2 * c / (b + root), (-b + root) / (2 * a))
        again = -b / a
    rising = b > 1e-7 * lam
    s = np.where(tied, np.where(rising, 0.0, np.where((a > 0) & (b < 0), again, np.inf)), s)
    s[~(np.isfinite(s) & (s >= 0) & (s <= lam))] = np.inf
    return s


def _solution(regression: Regression, path: Path, select: int, last: Optimality) -> Solution:
    features, entries = regression.features, path.entries
    gap = max([last.gap, *(event.optimality.gap for event in path.events)])
    score = np.full(features.m, np.nan)
    score[list(entries)] = list(entries.values())
    status = features.status.copy()
    status[np.isnan(score) & features.usable] = Status.NOT_SELECTED
    # the others by the correlation that is left, not by the row norms, which are 0 for all of them
    left = np.where(features.usable, regression.screen.correlation, np.nan)
    warnings = []
    stop = f"{len(entries)} features have entered"
    if len(entries) < select:
        stop = f"only {len(entries)} features can enter, fewer than the {select} of --select"
        if path.lost:
            stop += ": rounding hides which feature enters next"
        warnings.append(stop)
    if gap > GAP:
        warnings.append(f"the relative duality gap is {gap:.1e} at one of the breakpoints")
    return Solution(
        score=score,
        status=status,
        order=first_these(list(entries), left),
        extra={"row_norm": regression.row_norms(path.point), "lambda": score.copy()},
        objective=[event.optimality.objective / regression.half_square for event in path.events],
        converged=gap <= GAP,
        stop=stop,
        coefficients=regression.coefficients(path.point),
        facts=regression.facts
        | {
            "selected": len(entries),
            "breakpoints": len(path.events),
            "left": sum(not event.enters for event in path.events),
            "active_at_end": int((path.point.d > 0).sum()),
            "lambda_max": regression.lam_max,
            "lambda_end": path.lam,
            "l21_norm_end": path.lam * float(path.point.d.sum()),
            "largest_relative_gap": gap,
            "passes": features.passes,
        },
        warnings=warnings,
    )
