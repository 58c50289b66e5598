"""One judge of all tests whose statistics are ratios of quadratic forms: permutations.

The moments of all permutations give a p-value in no time, but four numbers cannot describe a
distribution of two humps or one with a far end. So they only screen: a feature of `FEWEST` samples
or more whose p-value by moments is above `SCREEN` keeps it, which says no more than that; every
other one is permuted until `ENOUGH` permuted ratios are as good as its own, and its p-value is that
number over the number of permutations (`permutation.counted`). It stays valid where fewer are
enough after s permutations, as p-values of features that these suffice for are larger than those of
the others: whether one is at most a level is told by s permutations, or as of the smaller number.

Where no permutation is as good the p-value is ``1 / (B + 1)``, or a smaller one that is
extrapolated from the moments and the tail of the permuted ratios, where both agree, and neither the
feature nor the graph is held by so few samples that a second hump may be too rare to be drawn.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sfs_cli.compute.matrix import pieces
from sfs_cli.methods.kernel import centered_copy
from sfs_cli.methods.significance.moments import Powers, RatioMoments
from sfs_cli.methods.significance.permutation import Permutations, compared, counted
from sfs_cli.methods.significance.ratios import Ratio

MOMENTS, PERMUTATION, EXTRAPOLATION = range(3)
HOW = ("moments", "permutation", "extrapolation")
"""How a p-value was found, as `Judged.how` numbers it."""
SCREEN, FEWEST = 0.1, 30
"""Features with smaller p-values by moments are permuted, and all of fewer samples: a feature of
two values has so few ratios that moments may say .1 of the largest of them."""
ENOUGH = 10
"""A feature that so many permutations are as good as needs no further one."""
SPREAD = 1 / 4
"""Of ``n sum x^4`` times `RatioMoments.concentration`, and of its square times that of the entries:
the parts of the kurtosis of the permuted form that come from few samples. With less no few values
in some places are a second hump of its distribution."""
SETTLED, EFFORT = 1000, 3e6
"""So many permutations of such a feature are enough, or as many as take so many multiplications,"""
FEW = 5
"""unless one of them is as good, but fewer than so many."""
FAR = 1 / 4
"""A p-value is extrapolated before the last round if it is below this part of 1 / (B + 1)."""
TAIL = 20
"""One of so many permuted ratios is in the tail that is extrapolated, but so many at least."""
RANKS, FIT = (10, 20, 50), 2.0
"""The tail agrees with the moments where they give the best permuted ratios of these ranks no
p-values that are smaller by more than this factor than those ranks say."""
HELD, FULL = 1 / 16, 1 / 2
"""Few samples hold a feature with a sum x^4 above the first and, as it was before covariates were
taken out, a ``(sum |x|)^2`` below this part of the dimensions that these leave. Of normal features
that is 2 / pi of them, and below a half of one feature in ten at most."""
POWER, STEPS, FINEST = 1 / 2, 16, 1e-8
"""The sum of distances to this power is made small in so many steps, of which the last takes those
below `FINEST` for it. Values that are the usual one then differ by less than `permutation.TIE`, so
that orders of these change no ratio."""
PROBES = 500
"""Features of noise of which moments must find as many as they should, within the same factor."""
TOGETHER = 2_000_000
"""Permuted ratios that a worker holds at a time: three arrays (`sfs_cli.run.needs` plans them)."""


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
        # orders within blocks change nothing that is taken out of these alone
        self.beside = ratio.design.shape[1] >= (1 if blocks is None else len(np.unique(blocks)))
        self.moments: RatioMoments | None = None
        self.settled = min(SETTLED, EFFORT / max(1, self.permutations.effort))
        if null == "moments" and blocks is None:
            self.moments = RatioMoments.of(ratio)
            self.fits = self._fits(seed)

    def _fits(self, seed: int) -> bool:
        """Tell whether moments describe normal noise, as they do not where few samples decide."""
        noise = np.random.default_rng(seed).normal(size=(PROBES, self.permutations.ratio.n))
        x = unit(noise)
        assert self.moments is not None
        p = self.moments.tested(self.permutations.ratios(x), Powers.of(x))[0]
        return bool(1 / FIT <= np.quantile(p, SCREEN / 2) / (SCREEN / 2) <= FIT)

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
                spread[part] = self._spread(powers) & self.fits
                screened = (found.p[part] > SCREEN) & ~past & spread[part] & (x.shape[1] >= FEWEST)
                asked[part] = ~(screened | np.isnan(found.p[part]))
        rows = np.flatnonzero(asked)
        together = max(1, TOGETHER // self.permutations.rounds[-1])
        for low in range(0, len(rows), together):
            some = rows[low : low + together]
            x = unit(values[some])
            self._permute(some, x, spread[some], found)
            if self.beside:
                self._permute_before(some, x, found)
        np.maximum(found.p, self.least, out=found.p)
        return found

    def _permute_before(self, rows: np.ndarray, x: np.ndarray, found: Judged) -> None:
        """Permute features x (k, n) that few samples hold as before covariates were taken out, too.

        Taken out, their values are spread over the samples that follow the covariates, as those of
        permuted residuals are not. Of both p-values the larger stays in the rows (k,), with its
        effect.
        """
        ratio = self.permutations.ratio
        asked = (found.p[rows] <= SCREEN) & (Powers.of(x).fourth > HELD)
        before, rows = sparsest(x[asked], ratio.design), rows[asked]
        held = np.abs(before).sum(axis=1) ** 2 < FULL * ratio.free
        if not held.any():
            return
        x, rows, spread = unit(before[held]), rows[held], np.zeros(held.sum(), bool)
        if self.moments is not None:
            spread = self._spread(Powers.of(x)) & self.fits
        first = Judged(*(each[rows] for each in found))
        self._permute(rows, x, spread, found)
        larger = first.p > found.p[rows]
        for each, one in zip(found, first):
            each[rows[larger]] = one[larger]

    def _spread(self, powers: Powers) -> np.ndarray:
        """Tell which features no few samples or entries of the form decide, shape (m,)."""
        assert self.moments is not None
        n, x = self.moments.n, powers.fourth
        by_rows = n * self.moments.concentration * x
        by_entries = (n * x) ** 2 * self.moments.entry_concentration
        return np.maximum(by_rows, by_entries) <= SPREAD

    def _permute(self, rows: np.ndarray, x: np.ndarray, spread: np.ndarray, found: Judged) -> None:
        """Permute features x (k, n) of unit norm, and set what is found in the rows (k,)."""
        observed, x = self.permutations.ratios(x), self.permutations.shuffled(x)
        values, better = np.empty((len(x), 0)), np.zeros(len(x), int)
        found.how[rows] = PERMUTATION
        for end in self.permutations.rounds:
            begun = values.shape[1]
            values = np.hstack([values, self.permutations.permuted(x, begun, end)])
            good, effect = compared(values, observed, self.permutations.size)
            enough = np.where(spread & (begun >= self.settled), FEW, ENOUGH)
            found.p[rows], better = counted(good[:, begun:], better, begun, enough)
            more = better < enough
            if self.moments is None:
                found.effect[rows] = effect
            else:
                found.effect[rows[effect == 0]] = 0  # in all orders, but for rounding
                if end >= self.settled:
                    none = np.flatnonzero(spread & (better == 0))
                    p = self._extrapolated(x[none], observed[none], values[none])
                    # a larger one is still to be drawn: it may not be lucky in one of two ways
                    far = p <= (FAR if end < self.permutations.rounds[-1] else 1) / (end + 1)
                    found.p[rows[none[far]]] = p[far]
                    found.how[rows[none[far]]] = EXTRAPOLATION
                    more &= ~spread | (better < FEW)
                    more[none[far]] = False
            rows, x, observed, values, better, spread = (
                each[more] for each in (rows, x, observed, values, better, spread)
            )
            if not len(rows):
                break

    def _extrapolated(self, x: np.ndarray, observed: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Return p-values of features (k, n) that none of the permuted ratios (k, B) is as good as.

        They are the larger of those of the moments and of an exponential tail of the permuted
        ratios, whose mean is taken two standard errors smaller than measured; 1 where the moments
        do not fit these.
        """
        assert self.moments is not None
        count, powers = values.shape[1], Powers.of(x)
        k = max(count // TAIL, TAIL)
        most = max(k, RANKS[-1])
        best = np.sort(np.partition(values, most, axis=1)[:, : most + 1])
        fits = np.ones(len(x), bool)
        for rank in RANKS:
            p = self.moments.tested(np.ascontiguousarray(best[:, rank - 1]), powers)[0]
            fits &= p * FIT >= rank / count
        excess = (best[:, [k]] - best[:, :k]).mean(axis=1) * (1 - 2 / np.sqrt(k))
        tail = np.exp((observed - best[:, k]) / excess) * k / count
        p = np.maximum(self.moments.tested(observed, powers)[0], tail)
        return np.where(fits, p, 1.0)


def unit(values: np.ndarray) -> np.ndarray:
    """Return features (b, n) around their means, of unit norm, in float64."""
    centered = centered_copy(values)
    return centered.values / np.sqrt(centered.square)[:, None]


def sparsest(x: np.ndarray, Q: np.ndarray) -> np.ndarray:
    """Return features (b, n) as they may have been before covariates were taken out.

    Of all that have the same residuals these have the fewest values beside the usual one: the sum
    of the roots of the distances from it is made small, by least squares whose weights follow these
    (R. Chartrand and W. Yin, "Iteratively reweighted algorithms for compressive sensing", ICASSP
    2008). A feature of a few values is found as it was, but for what covariates explain of it.

    Q, shape (n, r), are orthonormal columns of sum 0. Shape (b, n), of unit norm, and 0 where the
    value is the usual one.
    """
    n = len(Q)
    Z = np.column_stack([np.full(n, 1 / np.sqrt(n)), Q])
    # neither of two samples of a pair is the usual one: start with one of them
    start = np.exp(POWER * np.random.default_rng(0).normal(size=n))
    found = np.empty_like(x)
    step = max(1, TOGETHER // Z.size)
    for low in range(0, len(x), step):
        y = x[low : low + step]
        y = y / np.linalg.norm(y, axis=1)[:, None]
        weights, rest = np.broadcast_to(start, y.shape), y
        for close in np.geomspace(POWER, FINEST, STEPS):
            weighted = weights[:, None] * Z.T
            fit = np.linalg.solve(weighted @ Z, weighted @ y[..., None])[..., 0]
            rest = y - fit @ Z.T
            weights = (rest * rest + close * close) ** (POWER / 2 - 1)
        found[low : low + step] = rest / np.linalg.norm(rest, axis=1)[:, None]
    return found
