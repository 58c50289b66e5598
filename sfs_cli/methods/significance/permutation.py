"""p-values by permuting the samples of the features, with a generalized Pareto tail.

A form ``x'Ax`` with ``A 1 = 0`` does not change when the smallest value is taken off all values.
The k values that are left are put on k places drawn at random, and the permuted form is
``sum_ij a_{P_i P_j} x_i x_j`` over pairs of these values. The places are the same for all features
with as many values, so all forms of many features are one product of two matrices: permutations x
pairs, and pairs x features. Sparse features are cheap that way.

Permutations are made in rounds that grow. A feature stops after a round in which `ENOUGH` permuted
ratios are as good as its own. That keeps its p-value valid: for a level above that at which it may
stop after the first round, the p-value is at most the level only if that of the first round is,
and for a level below it only if that of the other rounds is. J. Besag and P. Clifford, "Sequential
Monte Carlo p-values", Biometrika 78, 1991, for the idea.

T. A. Knijnenburg, L. F. A. Wessels, M. J. T. Reinders and I. Shmulevich, "Fewer permutations, more
accurate P-values", Bioinformatics 25, 2009, for the tail; J. R. M. Hosking and J. R. Wallis,
"Parameter and quantile estimation for the generalized Pareto distribution", Technometrics 29, 1987,
for its estimation by probability-weighted moments, which needs no iterations.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from sfs_cli.methods.significance.ratios import Form, Ratio

FEW = 10
"""A feature that fewer permutations are as good as gets the p-value of the tail."""
ENOUGH = 20
"""A feature that so many permutations of a round are as good as needs no further round."""
GROWTH = 8
"""After each round there are so many times the permutations of the one before."""
TAIL = 250
"""Permuted ratios that the tail is fitted to, of a quarter of the permutations at most."""
LEAST_TAIL = 50
"""With fewer no tail is fitted."""
TIE = 1e-9
"""Ratios that differ by this part of the largest one are equal: sums in another order differ."""
SMALL = 32
"""Up to so many places are drawn by themselves, and more as the beginning of a permutation."""
PAIRED = 256
"""Up to so many values above the smallest one, forms are sums over pairs of values."""
DENSE_FORM, DENSE_ENTRIES = 500, 2000
"""Up to so many samples a dense matrix is faster than a sparse one: in products, and to look up."""
HELD, KEPT = 4_000_000, 16_000_000
"""Numbers that are held together, and entries of the graph that are kept for other blocks."""


class Permutations:
    """Permuted ratios of features: the same permutations for all with as many values.

    Parameters
    ----------
    ratio : Ratio
        What is tested; smaller is better.
    count : int
        The most permutations of a feature.
    first : int
        The least permutations of a feature, unless `count` is less.
    seed : int
        Random seed.
    """

    def __init__(self, ratio: Ratio, count: int, first: int, seed: int) -> None:
        dense = Form.of(ratio.numerator.dense()) if ratio.n <= DENSE_ENTRIES else ratio.numerator
        self.matrix = dense
        self.ratio = replace(ratio, numerator=dense) if ratio.n <= DENSE_FORM else ratio
        self.count, self.seed = count, seed
        self.rounds = [count]
        while self.rounds[0] // GROWTH >= first:
            self.rounds.insert(0, self.rounds[0] // GROWTH)
        self.kept: dict[tuple[int, int, int], tuple[np.ndarray, np.ndarray]] = {}
        self.small: dict[int, np.ndarray] = {}

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"kept": {}, "small": {}}

    def test(self, x: np.ndarray) -> np.ndarray:
        """Test features (b, n) around their means, of unit norm.

        Returns
        -------
        ndarray, shape (b, 2)
            The p-values, and the effects: by how many standard deviations of the permuted ratios
            the ratio is below their mean.
        """
        observed, found = self._ratios(x), np.empty((len(x), 2))
        for part, y in self._groups(x):
            found[part] = self._by_rounds(y, observed[part])
        return found

    def below(self, x: np.ndarray, t: float) -> np.ndarray:
        """Return the parts of the permuted ratios of such features that are at most t, (b,)."""
        found = np.empty(len(x))
        for part, y in self._groups(x):
            found[part] = (self._permuted(y, 0, self.count) <= t).mean(axis=1)
        return found

    def _groups(self, x: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield indices of features (l,), and their values (l, k) above the smallest one."""
        y = x - x.min(axis=1, keepdims=True)
        counts = np.count_nonzero(y, axis=1)
        widths = np.array([_width(k, x.shape[1]) for k in range(x.shape[1] + 1)])[counts]
        for width in np.unique(widths).tolist():
            group = np.flatnonzero(widths == width)
            rows = max(1, HELD // self.count)
            for low in range(0, len(group), rows):
                part = group[low : low + rows]
                yield part, _first_values(y[part], width)

    def _by_rounds(self, y: np.ndarray, observed: np.ndarray) -> np.ndarray:
        """Test features by their values (b, k) above the smallest one, shape (b, 2)."""
        found = np.empty((len(y), 2))
        left, values, done = np.arange(len(y)), np.empty((len(y), 0)), 0
        for end in self.rounds:
            values = np.concatenate([values, self._permuted(y[left], done, end)], axis=1)
            size = np.maximum(np.abs(values).max(axis=1), np.abs(observed[left]))
            better = (values <= (observed[left] + TIE * size)[:, None]).sum(axis=1)
            stop = (better >= ENOUGH) | (end == self.count)
            p = (1 + better[stop]) / (end + 1)
            if end == self.count:
                p = _with_tail(p, better, values, observed[left])
            deviation = values[stop].std(axis=1)
            at = left[stop]
            found[at, 0] = p
            found[at, 1] = (values[stop].mean(axis=1) - observed[at]) / deviation
            left, values, done = left[~stop], values[~stop], end
        return found

    def _permuted(self, y: np.ndarray, start: int, end: int) -> np.ndarray:
        """Return permuted ratios, shape (b, end - start), of the permutations of one round."""
        b, k = y.shape
        values = np.empty((b, end - start))
        if not b:
            return values
        if k <= PAIRED:
            low = 0
            for entries, weights in self._entries(k, start, end):
                part = slice(low, low + len(entries))
                values[:, part] = self._of_pairs(y, entries, weights)
                low = part.stop
            return values
        for place, places in enumerate(self._places(k, start, end)):
            permuted = np.zeros((b, self.ratio.n))
            permuted[:, places] = y
            values[:, place] = self._ratios(permuted)
        return values

    def _of_pairs(self, y: np.ndarray, entries: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return ratios (b, r) from the entries of A (r, pairs), and degrees (r, k)."""
        one, two = _pairs(y.shape[1])
        form = np.empty((len(y), len(entries)))
        rows = max(1, HELD // len(one))
        for low in range(0, len(y), rows):
            part = y[low : low + rows]
            np.matmul(part[:, one] * part[:, two], entries.T, out=form[low : low + rows])
        ratio = self.ratio
        if ratio.even:
            return form * (ratio.n - 1) / ratio.denominator.trace / _scatter(y, ratio.n)[:, None]
        return form / ((y * y) @ weights.T - (y @ weights.T) ** 2 / ratio.degrees.sum())

    def _entries(self, k: int, start: int, end: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the entries of A at pairs of places, and the degrees there, of some permutations.

        Those of two different places are doubled.
        """
        one, two = _pairs(k)
        rows = max(1, HELD // len(one))
        places = None
        for low in range(start, end, rows):
            key = (k, start, low)
            found = self.kept.get(key)
            if found is None:
                places = self._drawn(k, start, end) if places is None else places
                of = places[low - start : low - start + rows]
                entries = self.matrix.entries(of[:, one], of[:, two])
                entries[:, one != two] *= 2
                found = entries, self.ratio.degrees[of]
                if sum(each.size for each, _ in list(self.kept.values())) + entries.size <= KEPT:
                    self.kept[key] = found
            yield found

    def _drawn(self, k: int, start: int, end: int) -> np.ndarray:
        """Return the places of one round, shape (end - start, k)."""
        width = SMALL if k <= SMALL < self.ratio.n else k
        drawn = self.small.get(start) if width == SMALL else None
        if drawn is None:
            drawn = np.array(list(self._places(width, start, end)))
            if width == SMALL:
                self.small[start] = drawn
        return drawn[:, :k]

    def _places(self, k: int, start: int, end: int) -> Iterator[np.ndarray]:
        """Yield k different places for each of some permutations, the same for every block."""
        n = self.ratio.n
        few = k <= SMALL < n
        rng = np.random.default_rng((self.seed, start, few))
        for _ in range(start, end):
            drawn = rng.choice(n, SMALL, replace=False) if few else rng.permutation(n)
            yield drawn[:k]

    def _ratios(self, x: np.ndarray) -> np.ndarray:
        ratio = self.ratio
        form = ratio.numerator.form(x)
        if ratio.even:
            return form * (ratio.n - 1) / ratio.denominator.trace / _scatter(x, ratio.n)
        degrees = ratio.degrees
        return form / ((x * x) @ degrees - (x @ degrees) ** 2 / degrees.sum())


def _scatter(y: np.ndarray, n: int) -> np.ndarray:
    """Return the sums of squares around the mean of n values, of which those not in y are 0."""
    return np.vecdot(y, y) - y.sum(axis=1) ** 2 / n


def _width(k: int, n: int) -> int:
    """Return the number of places for k values: a few numbers, so that many features share one."""
    if k <= 4:
        return min(max(k, 1), n)
    step = 1 << max(0, k.bit_length() - 3)
    return min(-(-k // step) * step, n)


def _pairs(k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the indices i <= j of the pairs of k values."""
    return np.triu_indices(k)


def _first_values(y: np.ndarray, width: int) -> np.ndarray:
    """Return the values that are not 0, in their order, and then zeros, shape (b, width)."""
    order = np.argsort(y == 0, axis=1, kind="stable")[:, :width]
    return np.take_along_axis(y, order, axis=1)


def _with_tail(
    p: np.ndarray, better: np.ndarray, values: np.ndarray, observed: np.ndarray
) -> np.ndarray:
    """Return p-values (b,), of features that few permutations (b, count) are as good as too."""
    size = min(TAIL, values.shape[1] // 4)
    few = np.flatnonzero(better < FEW)
    if size >= LEAST_TAIL and len(few):
        p[few] = np.minimum(p[few], tail(values[few], observed[few], size))
    return p


def tail(values: np.ndarray, observed: np.ndarray, size: int) -> np.ndarray:
    """Return ``P(value <= observed)`` from the tail of the smallest values of each row.

    The smallest `size` of the values (b, count) exceed a threshold, half-way to the next one, by
    y. They follow a generalized Pareto distribution, ``P(Y > y) = (1 - k y / scale)^(1/k)``.
    One with k > 0 ends at ``scale / k``, which is no reason to call an observation (b,) beyond it
    impossible: from half of the way on the tail goes on as an exponential one.
    """
    count = values.shape[1]
    lowest = np.sort(np.partition(values, size, axis=1)[:, : size + 1], axis=1)
    threshold = lowest[:, size - 1 :].mean(axis=1)
    excess = threshold[:, None] - lowest[:, :size]  # from the largest to the smallest
    mean = excess.mean(axis=1)
    # of the ascending y_(i): a_1 = mean of (1 - p_i) y_(i), p_i = (i - 0.35) / size
    rank = np.arange(size, 0, -1)
    first = ((1 - (rank - 0.35) / size) * excess).mean(axis=1)
    y = threshold - observed
    with np.errstate(all="ignore"):
        k = mean / (mean - 2 * first) - 2
        k = np.where(np.isfinite(k), k, 0.0)
        reached = k * y / ((1 + k) * mean)  # the scale is (1 + k) times the mean
        far = np.maximum(reached - 0.5, 0) / 0.5  # the slope of the logarithm at half of the way
        long = np.exp((np.log1p(-np.minimum(reached, 0.5)) - far) / k)
        beyond = np.where(np.abs(k) < 1e-8, np.exp(-y / mean), long)
    return np.where(mean > 0, size / count * beyond, np.inf)
