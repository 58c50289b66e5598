"""MRSF in rounds: short paths, one after the other, each without the features of those before.

One path leaves out what repeats a selected feature, down to where the rest of the response is
noise. So it ends with noise, while good features that share a module with a better one never come.
Here a path ends where shuffled features would enter, and the next one starts again, with the whole
response, among the features that are left. A list then has every module, the strong ones more than
once, and a module of 60 genes is not lost behind noise.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sfs_cli.graph.spectral import DIRECT_LIMIT
from sfs_cli.methods.base import Problem, Solution
from sfs_cli.methods.centered_matrix import CenteredMatrix
from sfs_cli.methods.l21.mrsf import Path
from sfs_cli.methods.l21.regression import GAP, make_regression

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
    if problem.options["response_rank"] is None and problem.n_samples > DIRECT_LIMIT:
        problem = replace(problem, options=problem.options | {"response_rank": LEADING})
    regression = make_regression(problem, problem.options["select"] or SELECT)
    features, screen, first = regression.features, regression.screen, regression.first
    usable = features.usable
    wanted = min(problem.options["select"] or SELECT, -(-int(usable.sum()) // 2))
    Y = screen.active.Y
    level = chance_level(features, Y, problem.options["chance"], problem.context.seed)
    floor = max(level, regression.floor)
    left = np.where(usable, first, 0.0)
    entry, number = np.full(features.m, np.nan), np.full(features.m, np.nan)
    order: list[int] = []
    sizes: list[int] = []
    objective: list[float] = []
    coefficients: list[tuple[np.ndarray, np.ndarray]] = []
    largest_gap = 0.0
    while len(order) < wanted and left.max() > floor:
        if sizes:
            screen = screen.restarted(left)
        path = Path(screen, floor)
        while len(path.entries) < wanted - len(order) and path.advance():
            problem.tell(
                f"round {len(sizes) + 1}: {len(path.entries)} features at lambda {path.lam:.4g}"
            )
        regression.screen = screen
        last = regression.certify(path.point, path.lam)
        largest_gap = max([largest_gap, last.gap, *(e.optimality.gap for e in path.events)])
        # the last event may lie below the floor
        entries = {j: lam for j, lam in path.entries.items() if lam > floor}
        chosen = np.array(list(entries), int)
        sizes.append(len(chosen))
        order += entries
        entry[chosen], number[chosen] = list(entries.values()), len(sizes)
        objective += [e.optimality.objective / regression.half_square for e in path.events]
        coefficients.append(regression.coefficients(path.point))
        features.leave_out(chosen)
        left[chosen] = 0.0
    key = np.where(usable, -first, np.inf)
    key[order] = -np.inf
    rest = np.argsort(key, kind="stable")[len(order) :]
    above = int((first[usable] > level).sum())
    warnings, stop = _end(len(order), wanted, above)
    if largest_gap > GAP:
        warnings.append(f"the relative duality gap is {largest_gap:.1e} at one of the breakpoints")
    return Solution(
        score=np.where(usable, first / level, np.nan),
        status=features.status,
        order=np.concatenate([np.array(order, int), rest]),
        extra={
            "round": number,
            "lambda": entry,
        },
        objective=objective,
        converged=largest_gap <= GAP,
        stop=stop,
        coefficients=_joined(coefficients, Y.shape[1]),
        facts=regression.facts
        | {
            "selected": len(order),
            "rounds": sizes,
            "chance_level": level,
            "above_chance": above,
            "lambda_max": regression.lam_max,
            "largest_relative_gap": largest_gap,
            "passes": features.passes,
        },
        warnings=warnings,
    )


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


def _end(selected: int, wanted: int, above: int) -> tuple[list[str], str]:
    """Return warnings, and why the rounds ended."""
    if selected == wanted:
        return [], f"{selected} features have entered"
    stop = f"only {selected} of {wanted} features follow the response more than shuffled ones"
    if not above:
        stop = "no feature follows the response more than shuffled ones do"
    return [f"{stop}: the order of the others is mostly chance"], stop


def _joined(
    coefficients: list[tuple[np.ndarray, np.ndarray]], r: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the features of all rounds, (s,), and their coefficients, (s, r)."""
    if not coefficients:
        return np.empty(0, int), np.empty((0, r))
    indices, rows = zip(*coefficients, strict=True)
    return np.concatenate(indices), np.vstack(rows)
