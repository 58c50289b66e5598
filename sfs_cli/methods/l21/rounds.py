"""MRSF in rounds: short paths, one after the other, each without the features of those before.

One path leaves out what repeats a selected feature, down to where the rest of the response is
noise. So it ends with noise, while good features that share a module with a better one never come.
Here a path ends where shuffled features would enter, and the next one starts again, with the whole
response, among the features that are left. A list then has every module, the strong ones more than
once, and a module of 60 genes is not lost behind noise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from sfs_cli.errors import counted
from sfs_cli.graph.spectral import DIRECT_LIMIT
from sfs_cli.methods.base import Problem, Solution
from sfs_cli.methods.centered_matrix import CenteredMatrix
from sfs_cli.methods.l21.mrsf import Path
from sfs_cli.methods.l21.regression import GAP, Regression, make_regression

SELECT = 200
"""Features that are selected by default, at most; of few features half of them."""
LEADING = 100
"""Leading columns of the response of more samples than `DIRECT_LIMIT`, by default."""
SHUFFLED = 10_000
"""At most so many features are shuffled to find what chance reaches."""
LARGEST_SHARE = 0.05
"""`chance` features of few are many: a round does not go on below what this share reaches."""
_PART = 1024


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
    if options["response_rank"] is None and problem.n_samples > DIRECT_LIMIT:
        problem = replace(problem, options=options | {"response_rank": LEADING})
    regression = make_regression(problem, options["select"] or SELECT)
    usable, first = regression.features.usable, regression.first
    count = int(usable.sum())
    wanted = min(options["select"] or min(SELECT, -(-count // 2)), count)
    Y = regression.screen.active.Y
    level = chance_level(regression.features, Y, options["chance"], problem.context.seed)
    level = max(level, regression.floor)
    found = Rounds(regression, level, wanted)
    while found.go_on(problem.tell):
        pass
    warnings, stop = _end(
        found.selected, wanted, min(options["chance"], LARGEST_SHARE * count), options["select"]
    )
    return _solution(found, np.where(usable, first / level, np.nan), warnings, stop)


class Rounds:
    """The rounds so far.

    Parameters
    ----------
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

    def __init__(self, regression: Regression, level: float, wanted: int) -> None:
        self.regression, self.level, self.wanted = regression, level, wanted
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
            regression.screen = regression.screen.restarted(self._left)
        path, number = Path(regression.screen, self.level), len(self.entries) + 1
        while len(path.entries) < missing and path.advance():
            tell(f"round {number}: {len(path.entries)} features at lambda {path.lam:.4g}")
        # the last event may lie below the level
        entries = {j: lam for j, lam in path.entries.items() if lam > self.level}
        if not entries:
            return False
        last = regression.certify(path.point, path.lam)
        steps = [event.optimality for event in path.events]
        self.largest_gap = max([self.largest_gap, last.gap, *(step.gap for step in steps)])
        self.objective += [step.objective / regression.half_square for step in steps]
        self.coefficients.append(regression.coefficients(path.point))
        self.entries.append(entries)
        regression.features.leave_out(np.array(list(entries)))
        self._left[list(entries)] = 0.0
        return True


def chance_level(features: CenteredMatrix, Y: np.ndarray, chance: int, seed: int) -> float:
    """Return the ``|f' Y|`` that `chance` features would exceed if their samples were shuffled.

    Each feature is shuffled by itself, so that one with a single large value reaches as much as it
    does as it is. Of more than `SHUFFLED` features, so many are taken at even distances, and the
    quantile is that of `chance` of all.

    Parameters
    ----------
    features : CenteredMatrix
        Features of unit norm.
    Y : ndarray, shape (n, r)
        Responses with centered columns.
    chance : int
        Number of features, 1 or more.
    seed : int
        The same seed gives the same level.
    """
    usable = np.flatnonzero(features.usable)
    taken = usable[np.unique(np.linspace(0, len(usable) - 1, SHUFFLED).astype(int))]
    rng = np.random.default_rng(seed)
    reached = np.empty(len(taken))
    for lo in range(0, len(taken), _PART):
        block = rng.permuted(features.take(taken[lo : lo + _PART]), axis=1)
        reached[lo : lo + len(block)] = np.linalg.norm(block @ Y, axis=1)
    share = min(chance / len(usable), LARGEST_SHARE)
    place = len(taken) - 1 - int(share * len(taken))
    return float(np.partition(reached, place)[place])


def _solution(found: Rounds, score: np.ndarray, warnings: list[str], stop: str) -> Solution:
    features, facts = found.regression.features, found.regression.facts
    entry, number = np.full(features.m, np.nan), np.full(features.m, np.nan)
    for at, entries in enumerate(found.entries, 1):
        entry[list(entries)], number[list(entries)] = list(entries.values()), at
    order = [j for entries in found.entries for j in entries]
    key = np.where(np.isnan(score), np.inf, -score)
    key[order] = -np.inf
    rest = np.argsort(key, kind="stable")[len(order) :]
    above = int((score > 1).sum())
    if found.largest_gap > GAP:
        gap = f"{found.largest_gap:.1e}"
        warnings.append(f"the relative duality gap is {gap} at one of the breakpoints")
    return Solution(
        score=score,
        status=features.status,
        order=np.concatenate([np.array(order, int), rest]),
        extra={"round": number, "lambda": entry},
        objective=found.objective,
        converged=found.largest_gap <= GAP,
        stop=stop,
        coefficients=_joined(found.coefficients, found.regression.screen.active.Y.shape[1]),
        facts=facts
        | {
            "selected": len(order),
            "rounds": [len(entries) for entries in found.entries],
            "chance_level": found.level,
            "above_chance": above,
            "lambda_max": found.regression.lam_max,
            "largest_relative_gap": found.largest_gap,
            "passes": features.passes,
        },
        warnings=warnings,
    )


def _end(selected: int, wanted: int, shuffled: float, asked: int | None) -> tuple[list[str], str]:
    """Return warnings, and why the rounds ended.

    Of features with shuffled samples `shuffled` would be above the level; `asked` is ``--select``.
    """
    if selected == wanted:
        return [], f"{selected} features have entered"
    most = max(1, round(shuffled))
    stop = (
        f"{counted(selected, 'feature') if selected else 'no feature'} "
        f"{'is' if selected < 2 else 'are'} above the chance level, which about {most:,} would "
        "reach if their samples were shuffled"
    )
    if asked is not None:
        stop += f" (--select asks for {asked:,})"
    if not selected:
        return [f"{stop}: the order is mostly chance"], stop
    advice = "the order after it is mostly chance; take no more than that"
    if selected > 1:
        advice = "the order after them is mostly chance; take no more than these"
    return [f"{stop}: {advice}"], stop


def _joined(
    coefficients: list[tuple[np.ndarray, np.ndarray]], r: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the features of all rounds, (s,), and their coefficients, (s, r)."""
    if not coefficients:
        return np.empty(0, int), np.empty((0, r))
    indices, rows = zip(*coefficients, strict=True)
    return np.concatenate(indices), np.vstack(rows)
