"""p-values by permuting the samples of the features.

Permutations are drawn once for a run. A feature's samples are shuffled by a permutation of its own
first, so that what a drawn permutation happens to favor is another thing for every feature:
otherwise all sparse features with as many values err alike, and the rate of small p-values of a
list is that of one feature. The shuffle is drawn by the seed and the feature's values: it does not
depend on where the feature stands.

A form ``x'Ax`` with ``A 1 = 0`` does not change when a number is taken off all values: the smallest
or the largest one, whichever more samples have. Where k values are left, and k is small, the
permuted form is the sum of ``a_ij x_i x_j`` over the pairs of the places that these values are put
on.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from sfs_cli.methods.significance.form import Form
from sfs_cli.methods.significance.ratios import Ratio

FIRST, GROWTH = 100, 3
"""Permutations of the first round at least; after each there are so many times as many."""
TIE = 1e-9
"""Ratios that differ by this part of the largest one are equal: sums in another order differ."""
PAIRED, PAIRED_DENSE = 16, 16
"""Forms are sums over pairs of values where k is at most the former or, where entries of A are
looked up fast, the samples over the latter."""
FULL = 0.06
"""A matrix with at least this part of entries that are not 0 is faster as a dense one."""
DENSE_ENTRIES = 2000
"""Up to so many samples entries are looked up in a dense matrix."""
DRAWN = 250
"""Permutations that are drawn by one generator."""
HELD, KEPT = 1_000_000, 64 << 20
"""Numbers of one array at a time, and bytes of permutations that are kept for the next feature."""


class Permutations:
    """p-values of features from ratios of the same values in random orders.

    Parameters
    ----------
    ratio : Ratio
        What is tested; smaller is better.
    count : int
        The most permutations of a feature.
    seed : int
        Random seed.
    blocks : ndarray of int, shape (n,), optional
        Block of each sample; values are permuted within blocks.
    """

    def __init__(
        self, ratio: Ratio, count: int, seed: int, blocks: np.ndarray | None = None
    ) -> None:
        n = ratio.n
        dense = Form.of(ratio.numerator.dense()) if n <= DENSE_ENTRIES else ratio.numerator
        self.matrix = dense
        full = ratio.numerator.entries_held >= FULL * n * n
        self.ratio = replace(ratio, numerator=dense) if full else ratio
        fast = full or n <= DENSE_ENTRIES
        self.paired = 0 if ratio.adjusted else max(PAIRED, n // PAIRED_DENSE if fast else 0)
        self.size = ratio.numerator.size * (n - 1) / ratio.denominator.trace
        self.seed, self.rounds = seed, [count]
        while self.rounds[0] // GROWTH >= FIRST:
            self.rounds.insert(0, self.rounds[0] // GROWTH)
        self.marks = np.random.default_rng(0).integers(1 << 40, size=n)
        self.kept: dict[int, np.ndarray] = {}
        codes = np.zeros(n, np.int64) if blocks is None else blocks
        self.members = [
            members
            for code in np.unique(codes)
            if len(members := np.flatnonzero(codes == code).astype(np.int32)) > 1
        ]

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"kept": {}}

    def permuted(self, x: np.ndarray, start: int, end: int) -> np.ndarray:
        """Return the ratios of features in the orders from `start` to `end`, (b, end - start).

        They are given around their means, of unit norm, shape (b, n).
        """
        return np.array([self._permuted(f, start, end) for f in x]).reshape(len(x), -1)

    def _permuted(self, f: np.ndarray, start: int, end: int) -> np.ndarray:
        """Return the ratios of a feature (n,) in the orders from `start` to `end`."""
        n, y = len(f), f - _usual(f)
        rng = np.random.default_rng((self.seed, int(self.marks[f > 0].sum())))
        shuffle = self._drawn(rng, 1)[0]
        at = np.flatnonzero(y)
        paired = len(at) <= self.paired
        one, two = np.triu_indices(len(at)) if paired else (at, at)
        values, rows = np.empty(end - start), max(1, HELD // (len(one) if paired else n))
        shuffled = np.empty(n)
        shuffled[shuffle] = y
        for orders, inverse, low in self._orders(start, end):
            for top in range(0, len(orders), rows):
                part = slice(top, top + rows)
                if paired:
                    found = self._of_pairs(y[at], orders[part, shuffle[at]], one, two)
                else:
                    found = self.ratios(shuffled[inverse[part]])
                values[low - start + top :][: len(found)] = found
        return values

    def _of_pairs(
        self, y: np.ndarray, places: np.ndarray, one: np.ndarray, two: np.ndarray
    ) -> np.ndarray:
        """Return ratios (r,) of values (k,) on places (r, k), by pairs ``one <= two`` of them."""
        ratio = self.ratio
        entries = self.matrix.entries(places[:, one], places[:, two])
        form = entries @ (y[one] * y[two] * np.where(one == two, 1, 2))
        if ratio.even:
            return self._over_scatter(form, y)
        degrees = ratio.degrees[places]
        return form / (degrees @ (y * y) - (degrees @ y) ** 2 / ratio.degrees.sum())

    def _orders(self, start: int, end: int) -> Iterator[tuple[np.ndarray, np.ndarray, int]]:
        """Yield permutations (r, n) from `start` to `end`, their inverses, and the first one."""
        n = self.ratio.n
        for number in range(start // DRAWN, -(-end // DRAWN)):
            both = self.kept.get(number)
            if both is None:
                orders = self._drawn(np.random.default_rng((self.seed, number)), DRAWN)
                both = np.array([orders, np.argsort(orders, axis=1)], np.min_scalar_type(n - 1))
                if (len(self.kept) + 1) * both.nbytes <= KEPT:
                    self.kept[number] = both
            low = max(start, number * DRAWN)
            orders, inverse = both[:, low - number * DRAWN : end - number * DRAWN]
            yield orders, inverse, low

    def _drawn(self, rng: np.random.Generator, count: int) -> np.ndarray:
        """Return random orders of the samples, shape (count, n), which stay within blocks."""
        orders = np.tile(np.arange(self.ratio.n, dtype=np.int32), (count, 1))
        for members in self.members:
            orders[:, members] = rng.permuted(orders[:, members], axis=1)
        return orders

    def ratios(self, x: np.ndarray) -> np.ndarray:
        """Return the ratios of features (b, n), shape (b,)."""
        ratio = self.ratio
        form = ratio.numerator.form(x)
        if ratio.even:
            return self._over_scatter(form, x)
        if ratio.adjusted:
            return form / ratio.denominator.form(x)
        degrees = ratio.degrees
        return form / ((x * x) @ degrees - (x @ degrees) ** 2 / degrees.sum())

    def _over_scatter(self, form: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return forms over those of B, which is even, by the n values: those not in y are 0."""
        n = self.ratio.n
        scatter = np.vecdot(y, y) - y.sum(axis=-1) ** 2 / n
        return form * (n - 1) / self.ratio.denominator.trace / scatter


def _usual(f: np.ndarray) -> float:
    """Return the smallest or the largest value of a feature (n,), whichever more samples have."""
    return min((f.min(), f.max()), key=lambda end: np.count_nonzero(f != end))


def compared(
    values: np.ndarray, observed: np.ndarray, size: float
) -> tuple[np.ndarray, np.ndarray]:
    """Compare ratios, of which smaller ones are better, with permuted ones.

    Parameters
    ----------
    values : ndarray, shape (b, count)
        The permuted ones.
    observed : ndarray, shape (b,)
        What is compared with them.
    size : float
        Of what is added up to make them, where that is larger than they are.

    Returns
    -------
    better, effect : ndarray, shape (b,)
        How many are as good, and by how many standard deviations of the permuted ones the observed
        ones are below their mean: 0 where all orders are as good, but for rounding.
    """
    allowed = TIE * np.maximum(np.abs(values).max(axis=1), np.maximum(np.abs(observed), size))
    better = np.count_nonzero(values <= (observed + allowed)[:, None], axis=1)
    spread = values.std(axis=1)
    below = values.mean(axis=1) - observed
    return better, np.divide(below, spread, where=spread > allowed, out=np.zeros(len(spread)))
