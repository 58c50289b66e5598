"""p-values by permuting the samples of the features.

Permutations are drawn once for a run. A feature's samples are shuffled by a permutation of its own
first, so that what a drawn permutation happens to favor is another thing for every feature:
otherwise all sparse features with as many values err alike, and the rate of small p-values of a
list is that of one feature. The shuffle does not depend on where the feature stands.

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
from scipy.sparse import csr_array, diags_array

from sfs_cli.methods.significance.form import Form
from sfs_cli.methods.significance.moments import less
from sfs_cli.methods.significance.ratios import Ratio

FIRST, GROWTH = 100, 1.5
"""Permutations of the first round at least; after each there are so many times as many. Rounds are
for speed alone: no p-value that is counted depends on them."""
TIE = 1e-9
"""Ratios that differ by this part of the largest one are equal: sums in another order differ."""
ROUNDING = 1e-14
"""Diagonals that differ by no more than this part of them are equal."""
PAIRED, PAIRED_DENSE = 16, 16
"""Forms are sums over pairs of values where k is at most the former or, where entries of A are
looked up fast, the samples over the latter."""
FULL = 0.25
"""A matrix with at least this part of entries that are not 0 is faster as a dense one."""
LEADING, LEFT = 64, 3e-3
"""Eigenpairs of a dense form of more samples at most that stand for it, where the variance of the
permuted forms of the others is at most this part of the whole. Of few samples, that tells orders
apart that are equally good: of 6 in two classes, those of one class from those of the other."""
STEPS = 3
"""Steps of subspace iteration by which they are found."""
DENSE_ENTRIES = 2000
"""Up to so many samples entries are looked up in a dense matrix."""
DRAWN = 250
"""Permutations that are drawn by one generator."""
HELD, KEPT = 250_000, 64 << 20
"""Numbers of one array at a time, and bytes of permutations that are kept for the next feature."""


def rounds_up_to(count: int) -> list[int]:
    """Return how many permutations there are after each round, of so many at most."""
    rounds = [count]
    while rounds[0] / GROWTH >= FIRST:
        rounds.insert(0, int(rounds[0] / GROWTH))
    return rounds


class Orders:
    """Random orders of n samples, which stay within `blocks` (n,), where there are some."""

    def __init__(self, n: int, blocks: np.ndarray | None) -> None:
        codes = np.zeros(n, np.int64) if blocks is None else blocks
        self.n = n
        members = [np.flatnonzero(codes == code) for code in np.unique(codes)]
        self.members = [each for each in members if len(each) > 1]

    def drawn(self, rng: np.random.Generator, count: int) -> np.ndarray:
        """Return so many orders, shape (count, n)."""
        orders = np.tile(np.arange(self.n), (count, 1))
        for members in self.members:
            orders[:, members] = rng.permuted(orders[:, members], axis=1)
        return orders


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
        n, (numerator, self.middle) = ratio.n, _without_diagonal(ratio)
        stored = numerator.entries_held - numerator.columns.size
        self.thin = ratio.even and not stored  # of columns alone
        full = not self.thin and numerator.entries_held >= FULL * n * n
        if full and not isinstance(numerator.core, np.ndarray):
            numerator = Form.of(numerator.dense())
        if isinstance(numerator.core, np.ndarray) and n > LEADING:
            numerator, middle = _leading(replace(ratio, numerator=numerator))
            self.middle += middle
        self.effort = numerator.entries_held
        self.ratio = replace(ratio, numerator=numerator)
        fast = n <= DENSE_ENTRIES
        self.matrix = Form.of(numerator.dense()) if fast else numerator
        self.paired = (
            0 if ratio.adjusted or self.thin else max(PAIRED, n // PAIRED_DENSE if fast else 0)
        )
        self.size = ratio.numerator.size * (n - 1) / ratio.denominator.trace
        self.seed, self.rounds = seed, rounds_up_to(count)
        self.marks = np.random.default_rng(0).integers(1 << 40, size=n)
        self.kept: dict[int, np.ndarray] = {}
        self.orders = Orders(n, blocks)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"kept": {}}

    def shuffled(self, x: np.ndarray) -> np.ndarray:
        """Return features (b, n) around their means, each with its samples in an order of its own.

        The order is drawn by the seed and the feature's values.
        """
        y = np.empty_like(x)
        for f, own in zip(x, y):
            rng = np.random.default_rng((self.seed, int(self.marks[f > 0].sum())))
            own[self.orders.drawn(rng, 1)[0]] = f
        return y

    def permuted(self, x: np.ndarray, start: int, end: int) -> np.ndarray:
        """Return the ratios of features in the orders from `start` to `end`, (b, end - start).

        They are given as `shuffled`, around their means, of unit norm, shape (b, n).
        """
        y, values = x - _usual(x), np.empty((len(x), end - start))
        paired = np.count_nonzero(y, axis=1) <= self.paired
        for row in np.flatnonzero(paired):
            values[row] = self._by_pairs(y[row], start, end)
        if not paired.all():
            rest = np.ascontiguousarray(x[~paired].T)
            values[~paired] = self._by_samples(rest, start, end)
        return values + self.middle

    def _by_samples(self, x: np.ndarray, start: int, end: int) -> np.ndarray:
        """Return the ratios of features x (n, b) in some orders, shape (b, end - start)."""
        if self.thin:
            return self._by_columns(x, start, end)
        (n, b), values = x.shape, []
        for _, inverse in self._orders(start, end, n * b):
            y = np.take(x, inverse.T, axis=0).reshape(n, -1)
            found = self.ratio.numerator.of_columns(y)
            if not self.ratio.even:
                found /= self.ratio.denominator.of_columns(y)
            values.append(found.reshape(-1, b).T)
        found = np.hstack(values)
        return self._over_scatter(found.T, x.T).T if self.ratio.even else found

    def _by_columns(self, x: np.ndarray, start: int, end: int) -> np.ndarray:
        """Return the same where a form has columns alone: these are put in the orders."""
        (n, b), form, values = x.shape, self.ratio.numerator, []
        k = form.columns.shape[1]
        for orders, _ in self._orders(start, end, max(n, b) * k):
            projections = (x.T @ form.columns[orders.T].reshape(n, -1)).reshape(b, -1, k)
            values.append(np.vecdot(projections, projections @ form.weights))
        return self._over_scatter(np.hstack(values).T, x.T).T

    def _by_pairs(self, y: np.ndarray, start: int, end: int) -> np.ndarray:
        """Return the ratios of a feature (n,) of few values beside 0 in some orders."""
        at = np.flatnonzero(y)
        one, two = np.triu_indices(len(at))
        every = self._orders(start, end, len(one))
        return np.hstack([self._of_pairs(y[at], orders[:, at], one, two) for orders, _ in every])

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

    def _orders(self, start: int, end: int, width: int) -> Iterator[np.ndarray]:
        """Yield permutations from `start` to `end` and their inverses, shape (2, r, n).

        Of so many that r times the width is about `HELD`.
        """
        n, step = self.ratio.n, max(1, HELD // width)
        for number in range(start // DRAWN, -(-end // DRAWN)):
            both = self.kept.get(number)
            if both is None:
                orders = self.orders.drawn(np.random.default_rng((self.seed, number)), DRAWN)
                both = np.empty((2, DRAWN, n), np.min_scalar_type(n - 1))
                both[0] = orders
                np.put_along_axis(both[1], orders, np.arange(n)[None], axis=1)
                if (len(self.kept) + 1) * both.nbytes <= KEPT:
                    self.kept[number] = both
            first = number * DRAWN
            asked = both[:, max(start - first, 0) : end - first]
            for low in range(0, asked.shape[1], step):
                yield asked[:, low : low + step]

    def ratios(self, x: np.ndarray) -> np.ndarray:
        """Return the ratios of features (b, n) as they are compared, shape (b,)."""
        y = np.ascontiguousarray(x.T)
        form = self.ratio.numerator.of_columns(y)
        if self.ratio.even:
            return self._over_scatter(form, x) + self.middle
        return form / self.ratio.denominator.of_columns(y) + self.middle

    def _over_scatter(self, form: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return forms over those of B, which is even, by the n values: those not in y are 0."""
        n = self.ratio.n
        scatter = np.vecdot(y, y) - y.sum(axis=-1) ** 2 / n
        return form * (n - 1) / self.ratio.denominator.trace / scatter


def _usual(x: np.ndarray) -> np.ndarray:
    """Return the smallest or largest value of features (b, n), the one of more samples, (b, 1)."""
    low, high = x.min(axis=1, keepdims=True), x.max(axis=1, keepdims=True)
    lower = np.count_nonzero(x == low, axis=1) >= np.count_nonzero(x == high, axis=1)
    return np.where(lower[:, None], low, high)


def _without_diagonal(ratio: Ratio) -> tuple[Form, float]:
    """Return ``A - tB`` of sparse cores, and t, where its core has no diagonal; A and 0 else.

    That of graphs of classes is a few columns, as the core of ``D - S`` is D.
    """
    A, B = ratio.numerator, ratio.denominator
    if isinstance(A.core, np.ndarray) or isinstance(B.core, np.ndarray) or B.half.ndim > 1:
        return A, 0.0
    diagonal, t = A.core.diagonal(), float(A.core.trace() / B.core.trace())
    if not np.allclose(diagonal, t * B.half, rtol=ROUNDING, atol=0):
        return A, 0.0
    from scipy.linalg import block_diag

    core = csr_array(A.core - diags_array(diagonal))
    core.eliminate_zeros()
    weights = block_diag(A.weights, -t * B.weights)
    return Form(core, np.column_stack([A.columns, B.columns]), weights), t


def _leading(ratio: Ratio) -> tuple[Form, float]:
    """Return the leading eigenpairs of ``A - tB``, where few hold nearly all of it, and t; A else.

    With t such that the mean of the other eigenvalues is 0, what they leave out of the permuted
    forms has the variance of their squares. N. Halko, P. G. Martinsson and J. A. Tropp, "Finding
    structure with randomness", SIAM Review 53, 2011, for how they are found. Any of them would make
    a valid test.
    """
    n, mean = ratio.n, ratio.denominator.trace / (ratio.n - 1)
    rank, t = min(LEADING, n // 3), ratio.numerator.trace / ratio.denominator.trace
    for turn in range(2):
        M = less(ratio, t, 0.0).core
        basis = np.random.default_rng(0).normal(size=(n, rank))
        for _ in range(STEPS):
            basis = np.linalg.qr(M @ basis)[0]
        values, vectors = np.linalg.eigh(basis.T @ M @ basis)
        if not turn:
            t += float(np.trace(M) - values.sum()) / (n - 1 - rank) / mean
    order, whole = np.argsort(-np.abs(values)), float(np.vdot(M, M))
    enough = np.flatnonzero(whole - np.cumsum(values[order] ** 2) <= LEFT * whole)
    if not len(enough):
        return ratio.numerator, 0.0
    first = order[: enough[0] + 1]
    return Form.of(csr_array((n, n)), basis @ vectors[:, first], values[first]), t


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
    good : ndarray of bool, shape (b, count)
        Which are as good.
    effect : ndarray, shape (b,)
        By how many standard deviations of the permuted ones the observed ones are below their mean:
        0 where all orders are as good, but for rounding.
    """
    allowed = TIE * np.maximum(np.abs(values).max(axis=1), np.maximum(np.abs(observed), size))
    spread = values.std(axis=1)
    below = values.mean(axis=1) - observed
    effect = np.divide(below, spread, where=spread > allowed, out=np.zeros(len(spread)))
    return values <= (observed + allowed)[:, None], effect


def counted(
    good: np.ndarray, better: np.ndarray, drawn: int, enough: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return sequential p-values of features after further permutations, and how many are as good.

    The p-value is ``(better + 1) / (drawn + 1)`` after the first round, and later where fewer than
    `enough` are as good; else it is ``enough / L`` where the L-th permutation is the last of so
    many. That is valid, as a number of permutations that depends on the level alone tells whether a
    p-value is at most the level a: as many as the first round has, or of h that are enough the
    first ``m = ceil(h / a) - 1``, of which fewer than h are as good where the feature is among the
    best h of ``m + 1`` orders that chance makes alike, with a probability of at most ``h / (m + 1)
    <= a``. J. Besag and P. Clifford, "Sequential Monte Carlo p-values", Biometrika 78, 1991.

    Parameters
    ----------
    good : ndarray of bool, shape (b, r)
        Which of the further permutations are as good. The first ones are the first round.
    better : ndarray of int, shape (b,)
        How many of the permutations before are; fewer than enough.
    drawn : int
        Permutations before.
    enough : ndarray of int, shape (b,)
        As many as are enough.
    """
    count = better[:, None] + np.cumsum(good, axis=1)
    last = np.argmax(count >= enough[:, None], axis=1)  # the first one where there are not enough
    better, end = count[:, -1], drawn + good.shape[1]
    fixed = (better < enough) | (drawn == 0)
    return np.where(fixed, (better + 1) / (end + 1), enough / (drawn + last + 1)), better
