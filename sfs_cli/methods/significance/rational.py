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
from dataclasses import dataclass, replace

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


@dataclass(frozen=True)
class Fit:
    """Finds an increasing function in pieces.

    Where rounding, or a place at which the function is not smooth, keeps `error` from being
    reached, pieces are cut in two, and errors up to ten thousand times as large are accepted. What
    is left after the last cut is interpolated by straight lines.

    Attributes
    ----------
    function : callable
        Maps places (r,) to values (r,).
    weigh : callable
        Maps places and values, each (r,), to what their errors count.
    error : float
        The largest error, so weighed, that is as good as 0.
    """

    function: Function
    weigh: Weight
    error: float

    def pieces(self, x: np.ndarray, f: np.ndarray, cuts: int = PIECES) -> list[Piece]:
        """Return the pieces, ascending, of what may be cut so often yet.

        `x` and `f` (r,) are places to begin with, ascending, and their values; the first and the
        last are the ends.
        """
        before, found, settled = self._through(x, f)
        while len(x) <= MOST:
            more = self._doubtful(x, f, before, found)
            if not len(more):
                break
            known = self.function(more)
            foreseen = self._small(found(more) - known, more, known)
            order = np.argsort(np.concatenate([x, more]))
            x, f = np.concatenate([x, more])[order], np.concatenate([f, known])[order]
            last, certain = found, foreseen and settled
            before, found, settled = self._through(x, f)
            if certain and settled and self._agree(x, f, last, found):
                return [(float(x[0]), found)]
        # where rounding hides what is looked for
        for tens in range(1, min(LOOSER + PIECES - cuts, LOOSEST) + 1):
            agreed = replace(self, error=self.error * 10.0**tens)._foreseen(x, f)
            if agreed is not None:
                return [(float(x[0]), agreed)]
        if not cuts:  # straight lines between the values, which have no poles
            ends = [np.array([k, k + 1]) for k in range(len(x) - 1)]
            return [(float(x[k[0]]), Rational(x[k], f[k], np.array([1.0, -1.0]))) for k in ends]
        half = len(x) // 2  # more places are where it is harder
        low = self.pieces(x[: half + 1], f[: half + 1], cuts - 1)
        return low + self.pieces(x[half:], f[half:], cuts - 1)

    def _small(self, errors: np.ndarray, x: np.ndarray, f: np.ndarray) -> bool:
        """Tell whether errors at places x, where the values are f, are as good as 0."""
        return bool((np.abs(errors) * self.weigh(x, f) <= self.error).all())

    def _agree(self, x: np.ndarray, f: np.ndarray, one: Rational, other: Rational) -> bool:
        """Tell whether two functions agree between the places, and are between their values."""
        grid, now = _between(x, other)
        return self._small(np.maximum(np.abs(now - one(grid)), _outside(f, now)), grid, now)

    def _foreseen(self, x: np.ndarray, f: np.ndarray) -> Rational | None:
        """Return the function through values if three quarters foresee all of it, else None."""
        known = np.arange(len(x)) % 4 != 2
        _, part, settled = self._through(x[known], f[known])
        _, found, both = self._through(x, f)
        if not (settled and both and self._small(part(x) - f, x, f)):
            return None
        return found if self._agree(x, f, part, found) else None

    def _through(self, x: np.ndarray, f: np.ndarray) -> tuple[Rational, Rational, bool]:
        """Return the last two rational functions through values, and whether the error is small.

        That is a tenth of `error`. There are no more terms than half the values, so that the others
        are a test.
        """
        counts, small = self.weigh(x, f), self.error / 10
        chosen: list[int] = []
        rest = np.ones(len(x), np.bool_)
        value = np.full(len(x), f.mean())
        found = before = Rational(x[:1], f[:1], np.ones(1))
        worst = np.inf
        while worst > small and 2 * len(chosen) < len(x) - 1:
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
        return before, found, worst <= small

    def _doubtful(
        self, x: np.ndarray, f: np.ndarray, before: Rational, found: Rational
    ) -> np.ndarray:
        """Return new places, each between another two of x that are apart: the likeliest errors.

        That is where the last term has changed most, where a value is not between its neighbors, as
        those of a pole are not, and where neighbors are far apart.
        """
        grid, now = _between(x, found)
        change = np.maximum(np.abs(now - before(grid)), _outside(f, now))
        counts = self.weigh(grid, np.clip(now, f[:-1, None], f[1:, None]))
        doubt = np.nan_to_num(change * counts, nan=np.inf, posinf=np.inf)
        apart = np.diff(x) > NARROW
        gaps = [gap for gap in np.argsort(-doubt.max(axis=1)) if apart[gap]][: ADDED - 2]
        far = np.argsort(-np.diff(f) * self.weigh(x[1:], f[1:]))
        more = [gap for gap in far if apart[gap] and gap not in gaps][: ADDED - len(gaps)]
        places = [grid[gap, doubt[gap].argmax()] for gap in gaps]
        return np.sort(np.array(places + [grid[gap, GRID // 2 - 1] for gap in more]))


def _between(x: np.ndarray, found: Rational) -> tuple[np.ndarray, np.ndarray]:
    """Return places between those of x (r,), and their values; each shape (r - 1, GRID - 1)."""
    inner = np.arange(1, GRID) / GRID
    grid = x[:-1, None] + np.diff(x)[:, None] * inner
    return grid, found(grid)


def _outside(f: np.ndarray, now: np.ndarray) -> np.ndarray:
    """Return by how much values between places (r - 1, k) are not between those there, (r,)."""
    return np.maximum(np.maximum(f[:-1, None] - now, now - f[1:, None]), 0)
