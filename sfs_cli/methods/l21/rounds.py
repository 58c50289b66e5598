"""MRSF in rounds: short paths, one after the other, each without the features of those before.

One path leaves out what repeats a selected feature, down to where the rest of the response is
noise. So it ends with noise, while good features that share a module with a better one never come.
Here a path ends where shuffled features would enter, and the next one starts again, with the whole
response, among the features that are left. A list then has every module, the strong ones more than
once, and a module of 60 genes is not lost behind noise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np

from sfs_cli.compute.matrix import Span
from sfs_cli.errors import counted
from sfs_cli.graph.spectral import DIRECT_LIMIT
from sfs_cli.methods.base import Problem, Solution
from sfs_cli.methods.centered_matrix import CenteredMatrix
from sfs_cli.methods.l21.mrsf import Path
from sfs_cli.methods.l21.regression import (
    GAP,
    Regression,
    coefficients,
    first_these,
    make_regression,
)
from sfs_cli.methods.l21.screen import COPY_DISTANCE, Screen
from sfs_cli.methods.shared import ROUNDING, first_by_id
from sfs_cli.methods.significance.moments import Powers, RatioMoments
from sfs_cli.methods.significance.pearson import below

SELECT = 200
"""Features that are selected by default, at most; of few features half of them."""
LEADING = 100
"""Leading columns of the response of more samples than `DIRECT_LIMIT`, by default."""
TAKEN, ROUGH = 1_000, 50
"""From at most so many features what chance reaches is found, and before from so many roughly."""
LARGEST_SHARE = 0.05
"""`chance` features of few are many: a round does not go on below what this share reaches."""
SINGLE = 0.8
"""A feature has a single large value if the sum of fourth powers at unit norm is above this."""
SAME = 1e-6
"""Values of a form that differ by this part are the same but for rounding."""
TEMPORARY = 32_768
"""Values whose powers are made at a time, so that they stay in a cache."""
CLOSE = 1e-8
"""The level is found to this part, at least."""


def solve(problem: Problem) -> Solution:
    """Select features in rounds, each a path of MRSF that ends at what chance reaches.

    Parameters
    ----------
    problem : Problem
        With the options of `sfs_cli.methods.l21.mrsf`, and ``chance``, the number of features that
        would enter a round though their samples are shuffled.

    Returns
    -------
    Solution
        The score is ``|f_j' Y|`` over what chance reaches: with a similarity as the response the
        square of ``|f_j' Y|`` is ``f_j' S f_j``, how smooth the feature is over the graph. The
        order is by round, and within it by entry (column ``lambda``); the features of no round
        follow by their score.

    Raises
    ------
    InputError
        If nothing can be selected.
    """
    options = problem.options
    cut = options["response_rank"] is None and problem.n_samples > DIRECT_LIMIT
    if cut:
        problem = replace(problem, options=options | {"response_rank": LEADING})
    regression = make_regression(problem, options["select"] or SELECT)
    if cut and regression.facts["response_columns"] == LEADING:
        regression.facts["response_rank"] = LEADING  # what was not asked for is told
    usable, first = regression.features.usable, regression.first
    count = int(usable.sum())
    wanted = min(options["select"] or min(SELECT, -(-count // 2)), count)
    Y = regression.screen.start.active.Y
    level = chance_level(regression.features, Y, options["chance"])
    level = max(level, regression.floor)
    found = Rounds(problem, regression, level, wanted)
    while found.go_on(problem.tell):
        pass
    stop, told, doubtful = _end(
        found.selected, wanted, min(options["chance"], LARGEST_SHARE * count), options["select"]
    )
    solution = _solution(found, np.where(usable, first / level, np.nan), stop)
    (solution.warnings if doubtful else solution.notes).extend(told)
    return solution


class Rounds:
    """The rounds so far.

    Parameters
    ----------
    problem : Problem
        What is solved.
    regression : Regression
        The response and all features; those of a round are left out of it afterwards.
    level : float
        The lambda at which a round ends.
    wanted : int
        Number of features at which the last round ends.

    Attributes
    ----------
    entries : list of dict of int to float
        For each round its features in the order of their entry, with lambda there.
    coefficients : list of tuple
        For each round, what `Regression.coefficients` returns at its end.
    objective : list of float
        At every event, as a part of that without any feature.
    largest_gap : float
        The largest relative duality gap.
    """

    def __init__(self, problem: Problem, regression: Regression, level: float, wanted: int) -> None:
        self.problem, self.regression, self.level, self.wanted = problem, regression, level, wanted
        self.entries: list[dict[int, float]] = []
        self.coefficients: list[tuple[np.ndarray, np.ndarray]] = []
        self.objective: list[float] = []
        self.largest_gap = 0.0
        # (m,): ``|f_j' Y|`` of the features that are left
        self._left = np.where(regression.features.usable, regression.first, 0.0)

    @property
    def selected(self) -> int:
        """Number of features that are selected."""
        return sum(map(len, self.entries))

    def go_on(self, tell: Callable[[str], None]) -> bool:
        """Make one more round; return whether there was one."""
        regression, missing = self.regression, self.wanted - self.selected
        if missing == 0 or self._left.max() <= self.level:
            return False
        if self.entries:
            screen = regression.screen
            Y, width = screen.start.active.Y, screen.width
            regression.screen = Screen(regression.features, Y, width, self.problem.tell, self._left)
        path, number = Path(regression.screen, self.level), len(self.entries) + 1
        while len(path.entries) < missing and path.advance():
            tell(f"round {number}: {len(path.entries)} features at lambda {path.lam:.4g}")
        # the last event may lie below the level
        entries = {j: lam for j, lam in path.entries.items() if lam > self.level}
        if not entries:
            return False
        last = regression.certify(path.point, path.lam)
        copies = self._first_copies(entries)
        entries = {copies[j][0]: lam for j, lam in entries.items()}
        steps = [event.optimality for event in path.events]
        self.largest_gap = max([self.largest_gap, last.gap, *(step.gap for step in steps)])
        self.objective += [step.objective / regression.half_square for step in steps]
        indices, rows = coefficients(path.point)
        taken = np.array([copies.get(j, (j, 1)) for j in indices.tolist()], int).reshape(-1, 2)
        self.coefficients.append((taken[:, 0], rows * taken[:, 1:]))
        self.entries.append(entries)
        regression.features.leave_out(np.array(list(entries)))
        self._left[list(entries)] = 0.0
        return True

    def _first_copies(self, entries: Iterable[int]) -> dict[int, tuple[int, int]]:
        """Return for each feature of a round the copy of it that is left whose id is first.

        Only one of them enters: by their ids, so that it is not the order of the features. With it
        is its sign, -1 where it is the feature turned round.
        """
        found, features = {}, self.regression.features
        for j in entries:
            same = np.flatnonzero(np.abs(self._left - self._left[j]) <= ROUNDING * self._left[j])
            if len(same) > 1:
                rows, own = features.take(same), features.take(np.array([j]))
                apart = [np.linalg.norm(rows - sign * own, axis=1) for sign in (1, -1)]
                same = same[np.minimum(*apart) <= COPY_DISTANCE]
            first = first_by_id(self.problem, same)
            one, other = features.take(np.array([j, first]))
            found[j] = first, 1 if np.vdot(one, other) >= 0 else -1
        return found


def chance_level(features: CenteredMatrix, Y: np.ndarray, chance: int) -> float:
    """Return the ``|f' Y|`` that `chance` features would exceed if their samples were shuffled.

    Each feature is shuffled by itself, so that one with a single large value reaches as much as it
    does as it is. Nothing is drawn: ``|f' Y|^2 = f' Y Y' f`` is a quadratic form, and the part of
    all n! orders of a feature in which it exceeds a level is that of Pearson's distribution with
    the moments that it has over them (`sfs_cli.methods.significance.moments`). The level is where
    the sum of these parts is `chance`. Of more than `TAKEN` features so many are taken, at even
    distances in the order of the fourth powers of their values, on which the parts depend most.

    Parameters
    ----------
    features : CenteredMatrix
        Features of unit norm, or shorter. They are read once.
    Y : ndarray, shape (n, r)
        Responses with centered columns.
    chance : int
        Number of features, 1 or more.
    """
    square, powers = _powers(features)
    usable = np.flatnonzero(features.usable)
    share = min(chance / len(usable), LARGEST_SHARE)
    # by what decides, and not by place: the level is that of any order of the features
    order = usable[np.lexsort((*np.delete(powers[:, usable], 1, axis=0), powers[1, usable]))]
    moments = RatioMoments.of_columns(Y)
    mean, spikes = -moments.a, _Spikes(Y, Y.T @ Y)

    def excess(taken: np.ndarray) -> Callable[[float], float]:
        of_taken = Powers(*powers[:, taken])
        single = of_taken.fourth > SINGLE

        def logarithm(u: float) -> float:
            with np.errstate(divide="ignore"):  # nothing of a feature is left
                t = np.exp(u) / square[taken]
            p = below(*moments.standardized(-t, of_taken))
            # where no order changes the form all of them reach the mean
            p = np.where(np.isnan(p), t <= mean * (1 + SAME), p)
            p[single] = spikes.above(t[single], (of_taken.eighth / of_taken.sixth)[single])
            return float(np.log(max(p.mean() / share, np.finfo(np.float64).tiny)))

        return logarithm

    # from few features to all, for which a bracket is known then
    rough = zero_of(excess(_spread(order, ROUGH)), float(np.log(mean * square[usable].max())), 0.25)
    return float(f"{np.exp(zero_of(excess(_spread(order, TAKEN)), rough, 0.01) / 2):.9g}")


class _Spikes:
    """Features with a single large value, of whose n places no smooth distribution tells.

    Such a feature is ``a u + b v``, u a unit vector of one sample and v orthogonal to it. With u at
    sample i the form is about normal over the places of v, with the mean ``a^2 u'Su + b^2 (tr S -
    u'Su) / (n - 2)`` and, but for b^4, the variance ``4 a^2 b^2 (|Su|^2 - (u'Su)^2) / (n - 2)``.
    """

    def __init__(self, Y: np.ndarray, squares: np.ndarray) -> None:
        self.n, self.trace = len(Y), float(np.trace(squares))
        part = self.n / (self.n - 1)
        self.own = np.vecdot(Y, Y) * part  # (n,): u'Su, S = Y Y'
        self.outside = np.maximum(np.vecdot(Y @ squares, Y) * part - self.own**2, 0)

    def above(self, t: np.ndarray, largest: np.ndarray) -> np.ndarray:
        """Return in which part of all orders features (k,) exceed t, shape (k,).

        `largest` are the squares of their largest values, of unit norm.
        """
        from scipy.special import ndtr

        rest, p = max(self.n - 2, 1), np.empty(len(t))
        for j, (level, value) in enumerate(zip(t.tolist(), largest.tolist())):
            a = min(value * self.n / (self.n - 1), 1.0)
            middle = a * self.own + (1 - a) * (self.trace - self.own) / rest
            variance = 4 * a * (1 - a) * self.outside / rest
            p[j] = ndtr((middle - level) / np.maximum(np.sqrt(variance), SAME * self.trace)).mean()
        return p


def zero_of(function: Callable[[float], float], start: float, step: float) -> float:
    """Return where a decreasing function is 0, by the Illinois method from a bracket at `start`."""
    low = high = start
    above = beyond = function(start)
    while above < 0:
        high, beyond = low, above
        low, step = low - step, 2 * step
        above = function(low)
    while beyond > 0:
        low, above = high, beyond
        high, step = high + step, 2 * step
        beyond = function(high)
    last = 0
    for _ in range(100):
        if high - low <= CLOSE or above == beyond:
            break
        at = (low * beyond - high * above) / (beyond - above)
        value = function(at)
        if abs(value) <= CLOSE:
            return at
        # an end that stays twice is weighed less, so that it moves, too
        if value > 0:
            low, above, beyond = at, value, beyond / 2 if last > 0 else beyond
        else:
            high, beyond, above = at, value, above / 2 if last < 0 else above
        last = 1 if value > 0 else -1
    return high


def _spread(order: np.ndarray, count: int) -> np.ndarray:
    """Return at most `count` of the features, at even distances."""
    return order[np.unique(np.linspace(0, len(order) - 1, count).round().astype(int))]


def _powers(features: CenteredMatrix) -> tuple[np.ndarray, np.ndarray]:
    """Return the sums of squares (m,), and of `Powers` at unit norm (5, m), by one pass."""
    count = len(Powers._fields)

    def measure(block: np.ndarray, _: Span) -> np.ndarray:
        squares, found = np.vecdot(block, block), np.empty((count, len(block)))
        step = max(1, TEMPORARY // features.n)
        for low in range(0, len(block), step):
            found[:, low : low + step] = Powers.of(block[low : low + step])
        unit = np.sqrt(np.where(squares > 0, squares, 1))
        return np.vstack([squares, found / unit ** np.array([[3], [4], [5], [6], [8]])])

    square, *_ = measured = features.measure(measure, 1 + count)
    return square, measured[1:]


def _solution(found: Rounds, score: np.ndarray, stop: str) -> Solution:
    warnings: list[str] = []
    features, facts = found.regression.features, found.regression.facts
    entry, number = np.full(features.m, np.nan), np.full(features.m, np.nan)
    for at, entries in enumerate(found.entries, 1):
        entry[list(entries)], number[list(entries)] = list(entries.values()), at
    order = [j for entries in found.entries for j in entries]
    responses = found.regression.screen.start.active.Y.shape[1]
    if found.largest_gap > GAP:
        gap = f"{found.largest_gap:.1e}"
        warnings.append(f"the relative duality gap is {gap} at one of the breakpoints")
    return Solution(
        score=score,
        status=features.status,
        order=first_these(order, score),
        extra={"round": number, "lambda": entry},
        objective=found.objective,
        converged=found.largest_gap <= GAP,
        stop=stop,
        coefficients=(
            np.concatenate([np.empty(0, int), *(indices for indices, _ in found.coefficients)]),
            np.vstack([np.empty((0, responses)), *(rows for _, rows in found.coefficients)]),
        ),
        facts=facts
        | {
            "selected": len(order),
            "rounds": [len(entries) for entries in found.entries],
            "chance_level": found.level,
            "above_chance": int((score > 1).sum()),
            "lambda_max": found.regression.lam_max,
            "largest_relative_gap": found.largest_gap,
            "passes": features.passes,
        },
        warnings=warnings,
    )


def _end(
    selected: int, wanted: int, shuffled: float, asked: int | None
) -> tuple[str, list[str], bool]:
    """Return why the rounds ended, what to say of it, and whether that is a warning.

    Of features with shuffled samples `shuffled` would be above the level; `asked` is ``--select``.
    It is a warning where that is half of those that are above it.
    """
    if selected == wanted:
        return f"{selected} features have entered", [], False
    are = "is" if selected == 1 else "are"
    stop = (
        f"{counted(selected, 'feature')} {are} above the chance level, which about "
        f"{max(1, round(shuffled)):,} would reach if their samples were shuffled"
    )
    if asked is not None:
        stop += f" (--select asks for {asked:,})"
    told = f"{stop}: the order after these is mostly chance; take no more"
    return stop, [told], selected <= 2 * shuffled or asked is not None
