"""MRSF in rounds: short paths, one after the other, each without the features of those before.

One path leaves out what repeats a selected feature, down to where the rest of the response is
noise. So it ends with noise, while good features that share a module with a better one never come.
Here a path ends where shuffled features would enter, and the next one starts again, with the whole
response, among the features that are left. A list then has every module, the strong ones more than
once, and a module of 60 genes is not lost behind noise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtr

from sfs_cli.compute.matrix import Span
from sfs_cli.errors import counted
from sfs_cli.graph.spectral import DIRECT_LIMIT
from sfs_cli.methods.base import Problem, Solution
from sfs_cli.methods.centered_matrix import CenteredMatrix
from sfs_cli.methods.l21.active_set import Optimality
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
TAKEN = 1_000
"""From at most so many features what chance reaches is found."""
LARGEST_SHARE = 0.05
"""`chance` features of few are many: a round does not go on below what this share reaches."""
SINGLE = 0.8
"""A feature has a single large value if the sum of fourth powers at unit norm is above this."""
CLOSE = 1e-10
"""Precision of the level."""
LEAST = 1e-6
"""A part of what is looked for that is as good as none."""
SAME = 1e-6
"""Values of a form that differ by this part are the same but for rounding."""


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
        The score orders the list: it is the number of rounds from the one that selects the feature
        to the last one, plus lambda at its entry, as a share of lambda_max. Of a feature of no
        round it is that share of ``|f_j' Y|``. The column ``reach`` is ``|f_j' Y|``
        over what chance reaches: with a similarity as the response the square of ``|f_j' Y|`` is
        ``f_j' S f_j``, how smooth the feature is over the graph.

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
    features, screen = regression.features, regression.screen
    count, Y = int(features.usable.sum()), screen.start.active.Y
    wanted = min(options["select"] or min(SELECT, -(-count // 2)), count)
    level = max(chance_level(features, Y, options["chance"]), regression.floor)
    rounds: list[Round] = []
    selected, left = 0, regression.first.copy()  # |f_j' Y| of the features that are left
    while selected < wanted and left.max() > level * (1 + ROUNDING):
        if rounds:
            screen = Screen(features, Y, screen.width, problem.tell, left)
        path = Path(screen, level)
        while len(path.entries) < wanted - selected and path.advance():
            told = f"round {len(rounds) + 1}: {len(path.entries)} features"
            problem.tell(f"{told} at lambda {path.lam:.4g}")
        rounds.append(_round(problem, features, path, left, level))
        taken = list(rounds[-1].entries)
        features.leave_out(np.array(taken))
        left[taken] = 0
        selected += len(taken)
    by_chance = min(options["chance"], LARGEST_SHARE * count)
    return _solution(regression, rounds, level, by_chance, options["select"], selected == wanted)


@dataclass(frozen=True)
class Round:
    """One path, down to what chance reaches."""

    entries: dict[int, float]  # its features in the order of their entry, with lambda there
    coefficients: tuple[np.ndarray, np.ndarray]  # those of its end
    steps: list[Optimality]  # at every event
    gap: float  # the largest relative duality gap, at the end over all features


def _round(
    problem: Problem, features: CenteredMatrix, path: Path, left: np.ndarray, level: float
) -> Round:
    """Return what a path has found, with the first of all copies in place of each feature."""
    steps = [event.optimality for event in path.events]
    # the last event may lie below the level
    entered = [j for j, lam in path.entries.items() if lam > level]
    copies = {j: _first_copy(problem, features, left, j) for j in entered}
    indices, rows = coefficients(path.point)
    taken = np.array([copies.get(j, (j, 1)) for j in indices.tolist()], int).reshape(-1, 2)
    return Round(
        {copies[j][0]: path.entries[j] for j in entered},
        (taken[:, 0], rows * taken[:, 1:]),
        steps,
        max(path.screen.certify(path.point, path.lam).gap, *(step.gap for step in steps)),
    )


def _first_copy(
    problem: Problem, features: CenteredMatrix, left: np.ndarray, j: int
) -> tuple[int, int]:
    """Return the copy of a feature, among those that are left, whose id is first.

    Only one of them enters: by their ids, so that it is not the order of the features. With it is
    its sign, -1 where it is the feature turned round.
    """
    same = np.flatnonzero(np.abs(left - left[j]) <= ROUNDING * left[j])
    rows = features.take(same)
    own = rows[np.searchsorted(same, j)]
    sign = np.where(rows @ own < 0, -1, 1)
    copy = np.linalg.norm(rows - sign[:, None] * own, axis=1) <= COPY_DISTANCE
    first = first_by_id(problem, same[copy])
    return first, int(sign[np.searchsorted(same, first)])


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
    square, *powers = features.measure(_powers, 1 + len(Powers._fields))
    third, fourth, *others = powers
    # by what decides, and not by place: the level is that of any order of the features
    order = np.lexsort((third, *others, fourth))
    order = order[features.usable[order]]
    taken = order[np.unique(np.linspace(0, len(order) - 1, TAKEN).round().astype(int))]
    share = min(chance / len(order), LARGEST_SHARE)
    square, of_taken = square[taken], Powers(*(power[taken] for power in powers))
    single = of_taken.fourth > SINGLE
    moments, spikes = RatioMoments.of_columns(Y), _Spikes(Y, Y.T @ Y)
    mean = -moments.a

    def excess(logarithm: float) -> float:
        with np.errstate(divide="ignore"):  # nothing of a feature is left
            t = np.exp(logarithm) / square
        p = below(*moments.standardized(-t, of_taken))
        # where no order changes the form all of them reach the mean
        p = np.where(np.isnan(p), t <= mean * (1 + SAME), p)
        p[single] = spikes.above(t[single], (of_taken.eighth / of_taken.sixth)[single])
        # the logarithm is nearly a straight line, but where hardly any is above
        return float(np.log(max(p.mean() / share, LEAST)))

    # none is below 0, and none above the sum of all squares of Y
    low, high = mean * square[square > 0].min() * SAME, float(np.vdot(Y, Y)) * square.max() * 2
    level = zero_of(excess, float(np.log(low)), float(np.log(high)))
    return float(f"{np.exp(level / 2):.9g}")


def zero_of(function: Callable[[float], float], low: float, high: float) -> float:
    """Return where a decreasing function passes 0 between two ends, by the Illinois method.

    `scipy.optimize.brentq` does as well; to import it takes longer than all of the rounds.
    """
    above, beyond, last = function(low), function(high), 0
    while high - low > CLOSE:
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


def _powers(block: np.ndarray, _: Span) -> np.ndarray:
    """Return the sums of squares of features (b, n), and `Powers` at unit norm, shape (6, b)."""
    square = np.vecdot(block, block)
    unit = block / np.sqrt(np.where(square > 0, square, 1))[:, None]
    return np.vstack([square, *Powers.of(unit)])


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
        a = np.minimum(largest * self.n / (self.n - 1), 1)[:, None]
        rest = max(self.n - 2, 1)
        middle = a * self.own + (1 - a) * (self.trace - self.own) / rest
        spread = np.sqrt(4 * a * (1 - a) * self.outside / rest)
        return ndtr((middle - t[:, None]) / np.maximum(spread, SAME * self.trace)).mean(axis=1)


def _solution(
    regression: Regression,
    rounds: list[Round],
    level: float,
    by_chance: float,
    asked: int | None,
    full: bool,
) -> Solution:
    """Put the rounds together; about `by_chance` shuffled features would be above the level.

    `asked` is ``--select``, and `full` whether so many are selected.
    """
    features, first, lam_max = regression.features, regression.first, regression.lam_max
    entry, number = np.full(features.m, np.nan), np.full(features.m, np.nan)
    for at, each in enumerate(rounds, 1):
        entry[list(each.entries)], number[list(each.entries)] = list(each.entries.values()), at
    order = [j for each in rounds for j in each.entries]
    reach = np.where(features.usable, first / level, np.nan)
    share = np.where(np.isnan(entry), first, entry) / lam_max
    score = np.where(features.usable, share + np.nan_to_num(len(rounds) + 1 - number), np.nan)
    gap = max((each.gap for each in rounds), default=0.0)
    stop = f"{len(order)} features have entered"
    warnings: list[str] = []
    notes: list[str] = []
    if not full:
        are = "is" if len(order) == 1 else "are"
        stop = (
            f"{counted(len(order), 'feature')} {are} above the chance level, which about "
            f"{max(1, round(by_chance)):,} would reach if their samples were shuffled"
        )
        if asked is not None:
            stop += f" (--select asks for {asked:,})"
        # a warning where half of those above the level are there by chance
        doubtful = len(order) <= 2 * by_chance or asked is not None
        told = f"{stop}: the order after these is mostly chance; take no more"
        (warnings if doubtful else notes).append(told)
    if gap > GAP:
        warnings.append(f"the relative duality gap is {gap:.1e} at one of the breakpoints")
    responses = regression.screen.start.active.Y.shape[1]
    return Solution(
        score=score,
        status=features.status,
        order=first_these(order, reach),
        extra={"reach": reach, "round": number, "lambda": entry},
        objective=[
            step.objective / regression.half_square for each in rounds for step in each.steps
        ],
        converged=gap <= GAP,
        stop=stop,
        coefficients=(
            np.concatenate([np.empty(0, int), *(each.coefficients[0] for each in rounds)]),
            np.vstack([np.empty((0, responses)), *(each.coefficients[1] for each in rounds)]),
        ),
        facts=regression.facts
        | {
            "selected": len(order),
            "rounds": [len(each.entries) for each in rounds],
            "chance_level": level,
            "above_chance": int((reach > 1).sum()),
            "lambda_max": lam_max,
            "largest_relative_gap": gap,
            "passes": features.passes,
        },
        warnings=warnings,
        notes=notes,
    )
