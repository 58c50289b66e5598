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
from sfs_cli.methods.l21.newton import meet, solve_at
from sfs_cli.methods.l21.regression import (
    GAP,
    Regression,
    coefficients,
    first_these,
    make_regression,
)
from sfs_cli.methods.l21.screen import TWIN_DISTANCE, Screen, inner_products

TIED = 1e-9
"""Events within this relative difference of lambda are one."""
_LONGEST = 0.5
"""A step ends at this share of lambda at the latest, so that its prediction is good."""
_ATTEMPTS = 12
_SETTLINGS = 16
"""So many times the active set is changed at the precision of `TIED`, though nothing new enters."""
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
    last = regression.screen.certify(path.point, path.lam)
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


class Path:
    """The path, followed from its start, one event after the other.

    Parameters
    ----------
    screen : Screen
        All features.
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
        self.events: list[Event] = []
        self.entries: dict[int, float] = {}
        self._last: dict[int, float] = {}  # lambda at the last event of a feature
        self._settled = 0  # how often the set was changed since an event was met or a feature new
        largest = float(screen.correlation.max())
        # of candidates tied but for rounding the first enters, on every machine
        tied = screen.correlation[screen.index] >= largest * (1 - 1e-12)
        first = int(screen.index[tied][0])
        self.point = screen.start.active.plus(first, screen.vector(first)).at(np.zeros(1))
        self.lam = float(self.point.norms[0])  # lambda_max from the same products as the rest
        self._record(first, enters=True, largest=largest)

    def advance(self) -> bool:
        """Go to the next event; return whether there is one above the floor."""
        before, pace = len(self.events), max(_SLOWEST, self._shortest)
        while len(self.events) == before:
            if self.lam <= self.floor:
                return False
            if not self._step():
                # no event was found here: creep on, ever faster, until the next one is in sight
                pace = min(pace * _QUICKER, 1 - _LONGEST)
                self._creep(max(self.lam * (1 - pace), self.floor))
        return True

    def _step(self) -> bool:
        """Predict the next event, solve for it, check it over all features, and accept it.

        If another event comes before, solve for that one. Return whether an event was accepted.
        """
        feature, lam = self._predict()
        for _ in range(_ATTEMPTS):
            met = None if feature is None else self._solve(feature, lam)
            if feature is None or met is None:
                break
            point, lam = met
            norms = self.screen.look(point, lam)
            earlier = self._earlier(point, lam, norms)
            if earlier is None:
                leaves = feature in self.point.active.index
                self.point = point.without(point.active.index == feature) if leaves else point
                self.lam, self._settled = min(lam, self.lam), 0
                self._record(feature, not leaves, float(norms.max()))
                return True
            feature = earlier
        return False

    def _predict(self) -> tuple[int | None, float]:
        """Predict the next event: a feature and its lambda, down to a share of the present one.

        Entries by R linear in lambda, exits by d linear in 1 / lambda.
        """
        point, lam, screen = self.point, self.lam, self.screen
        ours, cross = screen.correlations(point)
        square, both, moving = inner_products(ours, -cross @ point.slope(lam))
        # with R linear in lambda, |f_j' R|^2 = lambda^2 is a quadratic equation in the step
        steps = first_crossing(square - lam**2, 2 * (lam - both), moving - 1)
        steps[np.isin(screen.index, point.active.index)] = np.inf
        with np.errstate(divide="ignore", invalid="ignore"):
            leaving = 1 / (1 / lam - point.d / point.tangent)
        leaving[~(point.tangent < 0)] = 0  # d grows: the feature does not leave
        expected = np.concatenate([lam - steps, leaving])
        index = np.concatenate([screen.index, point.active.index])
        # of tied ones the first feature
        for i in np.lexsort((index, -(expected / lam).round(9))):
            if expected[i] < lam * _LONGEST:
                break
            # twins of active features follow them closely; `_creep` lets them enter if they must
            if i >= len(steps) or point.active.distance(screen.F[i]) > TWIN_DISTANCE:
                return int(index[i]), float(expected[i])
        return None, lam

    def _solve(self, feature: int, lam: float) -> tuple[Point, float] | None:
        """Solve for the event of a feature, expected at lam; return the point and its lambda."""
        active, d = self.point.active, self.point.ahead(self.lam, lam)
        if feature not in active.index:
            active, d = active.plus(feature, self.screen.vector(feature)), np.append(d, 0.0)
        met = meet(active, d, lam, active.index.tolist().index(feature))
        # an event that lies behind, or undoes one at the same lambda, is rounding
        if met is None or met[1] * (1 + TIED) >= self._last.get(feature, np.inf):
            return None
        return met if met[1] <= self.lam * (1 + TIED) else None

    def _earlier(self, point: Point, lam: float, norms: np.ndarray) -> int | None:
        """Return the feature of an event that comes before a point, if any.

        There is one if, at the point, an inactive feature exceeds lambda or an active one has a
        negative d.
        """
        if point.d.min() < -TIED * np.abs(point.d).max():
            return int(point.active.index[point.d.argmin()])
        return next(self.screen.violating(norms, point, lam), None)

    @property
    def _shortest(self) -> float:
        """The share of lambda to which the place is found where the active set must change.

        It grows where rounding hides which feature enters next: else there is no end of it.
        """
        return TIED * _QUICKER ** max(self._settled - _SETTLINGS, 0)

    def _creep(self, lam: float) -> None:
        """Go towards lam as far as the active set stays; if it cannot, change the set at lam.

        Features enter one by one, the largest first, because the order of entry is the ranking.
        """
        while True:
            d, active = self.point.ahead(self.lam, lam), self.point.active
            point = solve_at(active, d, lam)
            norms = self.screen.look(point, lam)
            wrong = next(self.screen.violating(norms, point, lam), None)
            if (point.d > 0).all() and wrong is None:
                self.point, self.lam = point, lam
                return
            if self.lam - lam <= self._shortest * self.lam:
                break
            lam = (lam + self.lam) / 2  # the active set changes on the way: go half of it
        self.point, self.lam = self.screen.settle(active, d, lam, at_once=1), lam
        largest = float(self.screen.look(self.point, lam).max())
        after = self.point.active.index
        self._settled = 0 if set(after.tolist()) - set(self.entries) else self._settled + 1
        for feature in np.setdiff1d(active.index, after):
            self._record(int(feature), enters=False, largest=largest)
        for feature in after[~np.isin(after, active.index)]:
            self._record(int(feature), enters=True, largest=largest)

    def _record(self, feature: int, enters: bool, largest: float) -> None:
        found = optimality(self.point, self.lam, largest)
        self.events.append(Event(self.lam, feature, enters, found))
        self._last[feature] = self.lam
        if enters:
            self.entries.setdefault(feature, self.lam)


def first_crossing(c: np.ndarray, b: np.ndarray, a: np.ndarray) -> np.ndarray:
    """Return the smallest s >= 0 at which ``c + b s + a s^2`` rises to zero; infinity without one.

    The coefficients have the shape (q,); c is at most zero but for rounding.
    """
    c = np.minimum(c, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        root = np.sqrt(b * b - 4 * a * c)
        # the smaller root in the form that does not cancel: c <= 0, and the crossing rises
        s = np.where(b >= 0, -2 * c / (b + root), (-b + root) / (2 * a))
    return np.where(s >= 0, s, np.inf)


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
        coefficients=coefficients(path.point),
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
