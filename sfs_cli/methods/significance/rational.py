"""A function of one variable that takes long to compute, as a rational function of few values.

A rational function is needed where a polynomial would take several times as many values: near a
place where a function bends within a short distance. It is the one of Y. Nakatsukasa, O. Sète and
L. N. Trefethen, "The AAA algorithm for rational approximation", SIAM J. Sci. Comput. 40, 2018: it
has the value of the function at some of the places, in barycentric form, and the least error at
the others. Places are added where it has not settled, as in T. A. Driscoll, Y. Nakatsukasa and
L. N. Trefethen, "AAA rational approximation on a continuum", SIAM J. Sci. Comput. 46, 2024.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

ADDED = 8
"""Places at which a function is computed at a time, and must have been foreseen at last."""
MOST = 96
"""Places of one piece; beyond them it is cut in two."""
PIECES = 7
"""How often a piece is cut in two at most."""
LOOSER, LOOSEST = 1, 4
"""Powers of ten by which an error may be larger where `MOST` places are not enough, and as many
more as the piece was cut; the latter at most."""
NARROW = 1e-7
"""No place is added between two that are nearer."""
GRID = 64
"""Places between two at which the function is known, where an error is looked for."""

Function = Callable[[np.ndarray], np.ndarray]
Weight = Callable[[np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Rational:
    """``sum_j w_j f_j / (x - s_j)`` over ``sum_j w_j / (x - s_j)``.

    Attributes
    ----------
    places, values, weights : ndarray, shape (k,)
        s, f and w.
    """

    places: np.ndarray
    values: np.ndarray
    weights: np.ndarray

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """Return the values at places x, of any shape.

        Term by term: a matrix product would round by where a place stands among the others.
        """
        above, below = np.zeros_like(x), np.zeros_like(x)
        with np.errstate(divide="ignore", invalid="ignore"):
            for place, value, weight in zip(self.places, self.values, self.weights):
                term = weight / (x - place)
                below += term
                term *= value
                above += term
            above /= below
        for at in zip(*np.nonzero(np.isnan(above))):  # at a place itself
            above[at] = self.values[np.argmin(np.abs(self.places - x[at]))]
        return above


Piece = tuple[float, Rational]
"""Where it begins, and what the function is from there."""


def fitted(
    function: Function, x: np.ndarray, f: np.ndarray, weigh: Weight, error: float
) -> list[Piece]:
    """Return an increasing function in pieces, ascending.

    Where rounding, or a place at which the function is not smooth, keeps `error` from being
    reached, pieces are cut in two, and errors up to ten thousand times as large are accepted. What
    is left after the last cut is interpolated by straight lines.

    Parameters
    ----------
    function : callable
        Maps places (r,) to values (r,).
    x, f : ndarray, shape (r,)
        Places to begin with, ascending, and their values; the first and the last are the ends.
    weigh : callable
        Maps places and values, each (r,), to what their errors count.
    error : float
        The largest error, so weighed, that is as good as 0.
    """
    return _pieces(function, x, f, weigh, error, PIECES)


def _pieces(
    function: Function, x: np.ndarray, f: np.ndarray, weigh: Weight, error: float, cuts: int
) -> list[Piece]:
    """Return the pieces of what may be cut so often yet."""
    before, found, settled = _of_values(x, f, weigh(x, f), error)
    while len(x) <= MOST:
        more = _doubtful(x, f, before, found, weigh)
        if not len(more):
            break
        known = function(more)
        foreseen = bool((np.abs(found(more) - known) * weigh(more, known) <= error).all())
        order = np.argsort(np.concatenate([x, more]))
        x, f = np.concatenate([x, more])[order], np.concatenate([f, known])[order]
        last, certain = found, foreseen and settled
        before, found, settled = _of_values(x, f, weigh(x, f), error)
        if certain and settled:
            grid, now = _between(x, found)
            changed = np.maximum(np.abs(now - last(grid)), _outside(f, now))
            if (changed * weigh(grid, now) <= error).all():
                return [(float(x[0]), found)]
    # where rounding hides what is looked for
    for tens in range(1, min(LOOSER + PIECES - cuts, LOOSEST) + 1):
        agreed = _agreed(x, f, weigh, error * 10.0**tens)
        if agreed is not None:
            return [(float(x[0]), agreed)]
    if not cuts:  # straight lines between the values, which have no poles
        ends = [np.array([k, k + 1]) for k in range(len(x) - 1)]
        return [(float(x[k[0]]), Rational(x[k], f[k], np.array([1.0, -1.0]))) for k in ends]
    half = len(x) // 2  # more places are where it is harder
    low = _pieces(function, x[: half + 1], f[: half + 1], weigh, error, cuts - 1)
    return low + _pieces(function, x[half:], f[half:], weigh, error, cuts - 1)


def _agreed(x: np.ndarray, f: np.ndarray, weigh: Weight, error: float) -> Rational | None:
    """Return the function through values if three quarters of them foresee all of it, else None."""
    known = np.arange(len(x)) % 4 != 2
    counts = weigh(x, f)
    _, part, settled = _of_values(x[known], f[known], counts[known], error)
    _, found, both = _of_values(x, f, counts, error)
    if not (settled and both):
        return None
    grid, now = _between(x, found)
    changed = np.maximum(np.abs(part(grid) - now), _outside(f, now))
    foreseen = (np.abs(part(x) - f) * counts <= error).all()
    return found if foreseen and (changed * weigh(grid, now) <= error).all() else None


def _of_values(
    x: np.ndarray, f: np.ndarray, counts: np.ndarray, error: float
) -> tuple[Rational, Rational, bool]:
    """Return the last two rational functions, and whether the last is within a tenth of `error`.

    There are no more terms than half the values, so that the others are a test.
    """
    chosen: list[int] = []
    rest = np.ones(len(x), np.bool_)
    value = np.full(len(x), f.mean())
    found = before = Rational(x[:1], f[:1], np.ones(1))
    worst = np.inf
    while worst > error / 10 and 2 * len(chosen) < len(x) - 1:
        j = int(np.argmax(np.where(rest, np.abs(f - value) * counts, -1.0)))
        chosen.append(j)
        rest[j] = False
        cauchy = 1 / (x[rest, None] - x[chosen])
        loewner = counts[rest, None] * (f[rest, None] - f[chosen]) * cauchy
        weights = np.linalg.svd(loewner, full_matrices=False)[2][-1]
        value[j] = f[j]
        value[rest] = (cauchy @ (weights * f[chosen])) / (cauchy @ weights)
        before, found = found, Rational(x[chosen], f[chosen], weights)
        worst = float(np.max(np.abs(f - value) * counts))
    return before, found, worst <= error / 10


def _between(x: np.ndarray, found: Rational) -> tuple[np.ndarray, np.ndarray]:
    """Return places between those of x (r,), and their values; each shape (r - 1, GRID - 1)."""
    inner = np.arange(1, GRID) / GRID
    grid = x[:-1, None] + np.diff(x)[:, None] * inner
    return grid, found(grid)


def _outside(f: np.ndarray, now: np.ndarray) -> np.ndarray:
    """Return by how much values between places (r - 1, k) are not between those there, (r,)."""
    return np.maximum(np.maximum(f[:-1, None] - now, now - f[1:, None]), 0)


def _doubtful(
    x: np.ndarray, f: np.ndarray, before: Rational, found: Rational, weigh: Weight
) -> np.ndarray:
    """Return new places, each between another two of x that are apart: the likeliest errors.

    That is where the last term has changed most, where a value is not between its neighbors, as
    those of a pole are not, and where neighbors are far apart.
    """
    grid, now = _between(x, found)
    change = np.maximum(np.abs(now - before(grid)), _outside(f, now))
    counts = weigh(grid, np.clip(now, f[:-1, None], f[1:, None]))
    doubt = np.nan_to_num(change * counts, nan=np.inf, posinf=np.inf)
    apart = np.diff(x) > NARROW
    gaps = [gap for gap in np.argsort(-doubt.max(axis=1)) if apart[gap]][: ADDED - 2]
    far = np.argsort(-np.diff(f) * weigh(x[1:], f[1:]))
    more = [gap for gap in far if apart[gap] and gap not in gaps][: ADDED - len(gaps)]
    places = [grid[gap, doubt[gap].argmax()] for gap in gaps]
    return np.sort(np.array(places + [grid[gap, GRID // 2 - 1] for gap in more]))
