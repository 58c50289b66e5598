"""One judge of all tests whose statistics are ratios of quadratic forms: permutations.

The moments of all permutations give a p-value in no time, but four numbers cannot describe a
distribution of two humps or one with a far end. So they only screen: a feature whose p-value by
moments is above `SCREEN` keeps it, which says no more than that; every other one is permuted, in
rounds that grow, until `ENOUGH` permuted ratios are as good as its own. That keeps its p-value
valid: for a level above that at which it may stop after the first round, the p-value is at most the
level only if that of the first round is, and for a level below it only if that of the other rounds
is. J. Besag and P. Clifford, "Sequential Monte Carlo p-values", Biometrika 78, 1991, for the idea.

Where no permutation is as good the p-value is ``1 / (B + 1)``, or a smaller one that is
extrapolated from the moments and the tail of the permuted ratios, where both agree, and neither the
feature nor the graph is held by so few samples that a second hump may be too rare to be drawn.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sfs_cli.methods.blocks import centered_copy
from sfs_cli.methods.pieces import pieces
from sfs_cli.methods.significance.moments import Powers, RatioMoments
from sfs_cli.methods.significance.permutation import Permutations, compared
from sfs_cli.methods.significance.ratios import Ratio

MOMENTS, PERMUTATION, EXTRAPOLATION = range(3)
HOW = ("moments", "permutation", "extrapolation")
"""How a p-value was found, as `Judged.how` numbers it."""
SCREEN = 0.1
"""Features with smaller p-values by moments are permuted."""
ENOUGH = 20
"""A feature that so many permutations are as good as needs no further round."""
SPREAD = 1 / 4
"""Of ``n sum x^4`` times `RatioMoments.concentration`: how far the permuted ratio of a feature
depends on where its few largest values are put. With less, a second hump needs several of them in
some places, and the distribution is smooth."""
SETTLED = 1000
"""So many permutations are enough where it is."""
TAIL = 20
"""One of so many permuted ratios is in the tail that is extrapolated."""
RANKS, FIT = (10, 20, 50), 2.0
"""The tail agrees with the moments where they give the best permuted ratios of these ranks no
p-values that are smaller by more than this factor than those ranks say."""
PROBES = 500
"""Features of noise that are drawn to tell whether moments find what they should."""
TOGETHER = 256
"""Features that are permuted together."""


class Judged(NamedTuple):
    """What was found of features; NaN where one does not vary.

    Attributes
    ----------
    p : ndarray, shape (b,)
        p-values.
    effect : ndarray, shape (b,)
        By how many standard deviations of the permuted ratios the ratio is below their mean.
    how : ndarray of int8, shape (b,)
        How the p-value was found: places in `HOW`.
    """

    p: np.ndarray
    effect: np.ndarray
    how: np.ndarray


class Judge:
    """p-values of features by the orders of the samples.

    Parameters
    ----------
    ratio : Ratio
        What is tested; smaller is better.
    null : {"moments", "permutation"}
        Whether moments screen, or every feature is permuted and no p-value extrapolated.
    draws : int
        Permutations of a feature at most.
    seed : int
        Random seed.
    blocks : ndarray of int, shape (n,), optional
        Block of each sample; values are permuted within blocks, of which there are no moments.
    least : float
        What no p-value is below.

    Raises
    ------
    InputError
        When the graph has too many samples for what is asked for.
    """

    def __init__(
        self,
        ratio: Ratio,
        null: str,
        draws: int,
        seed: int,
        blocks: np.ndarray | None = None,
        least: float = 0.0,
    ) -> None:
        self.least = least
        self.permutations = Permutations(ratio, draws, seed, blocks)
        self.moments: RatioMoments | None = None
        if null == "moments" and blocks is None:
            self.moments = RatioMoments.of(ratio)
            self.screens = self._finds(seed)

    def _finds(self, seed: int) -> bool:
        """Tell whether moments find noise of small ratios, as they do not on some odd graphs."""
        noise = np.random.default_rng(seed).normal(size=(PROBES, self.permutations.ratio.n))
        x = unit(noise)
        assert self.moments is not None
        p = self.moments.tested(self.permutations.ratios(x), Powers.of(x))[0]
        return bool(np.quantile(p, SCREEN / 2) <= SCREEN)

    def test(self, values: np.ndarray, t: np.ndarray | None = None) -> Judged:
        """Test features, shape (b, n), in any units.

        `t`, shape (b,), are their ratios where they are known.
        """
        b = len(values)
        found = Judged(np.full(b, np.nan), np.full(b, np.nan), np.zeros(b, np.int8))
        asked, spread = np.zeros(b, bool), np.zeros(b, bool)
        with np.errstate(all="ignore"):  # features that do not vary get NaN
            for part in pieces(*values.shape):
                x = unit(values[part])
                if self.moments is None:
                    asked[part] = np.isfinite(x[:, 0])
                    continue
                powers = Powers.of(x)
                ratio = self.permutations.ratios(x) if t is None else t[part]
                found.p[part], found.effect[part], past = self.moments.tested(ratio, powers)
                share = len(x[0]) * powers.fourth * self.moments.concentration
                spread[part] = share <= SPREAD
                screened = (found.p[part] > SCREEN) & ~past & spread[part] & self.screens
                asked[part] = ~(screened | np.isnan(found.p[part]))
        rows = np.flatnonzero(asked)
        for low in range(0, len(rows), TOGETHER):
            part = rows[low : low + TOGETHER]
            self._permute(part, unit(values[part]), spread[part], found)
        np.maximum(found.p, self.least, out=found.p)
        return found

    def _permute(self, rows: np.ndarray, x: np.ndarray, spread: np.ndarray, found: Judged) -> None:
        """Permute features x (k, n) of unit norm, and set what is found in the rows (k,)."""
        observed, values = self.permutations.ratios(x), np.empty((len(x), 0))
        found.how[rows] = PERMUTATION
        for end in self.permutations.rounds:
            drawn = self.permutations.permuted(x, values.shape[1], end)
            values = np.hstack([values, drawn])
            better, effect = compared(values, observed, self.permutations.size)
            found.p[rows] = (1 + better) / (end + 1)
            if self.moments is None:
                found.effect[rows] = effect
            else:
                found.effect[rows[effect == 0]] = 0  # in all orders, but for rounding
                if end >= SETTLED:
                    self._extrapolate(rows, x, observed, values, spread & (better == 0), found)
            more = better < ENOUGH
            if self.moments is not None and end >= SETTLED:
                more &= ~spread
            rows, x, observed, values, spread = (
                each[more] for each in (rows, x, observed, values, spread)
            )
            if not len(rows):
                break

    def _extrapolate(
        self,
        rows: np.ndarray,
        x: np.ndarray,
        observed: np.ndarray,
        values: np.ndarray,
        which: np.ndarray,
        found: Judged,
    ) -> None:
        """Set the p-values of some features (k,) that no permuted ratio is as good as."""
        assert self.moments is not None
        at, count = np.flatnonzero(which), values.shape[1]
        tail = np.sort(np.partition(values[at], count // TAIL, axis=1)[:, : count // TAIL + 1])
        powers = Powers.of(x[at])
        fits = np.ones(len(at), bool)
        for rank in RANKS:
            p = self.moments.tested(np.ascontiguousarray(tail[:, rank - 1]), powers)[0]
            fits &= p * FIT >= rank / count
        excess = tail[:, -1] - tail[:, :-1].mean(axis=1)
        beyond = (tail[:, -1] - observed[at]) / excess
        p = np.maximum(self.moments.tested(observed[at], powers)[0], np.exp(-beyond) / TAIL)
        smaller = fits & (p < found.p[rows[at]])
        found.p[rows[at[smaller]]] = p[smaller]
        found.how[rows[at[smaller]]] = EXTRAPOLATION


def unit(values: np.ndarray) -> np.ndarray:
    """Return features (b, n) around their means, of unit norm, in float64."""
    centered = centered_copy(values)
    return centered.values / np.sqrt(centered.square)[:, None]
