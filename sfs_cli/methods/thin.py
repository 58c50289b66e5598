"""Scores made of a feature's sum of squares and its products with a few columns.

With few columns most of the time goes into moving features between memory and processor. So a
feature is neither centred nor written back: its sum of squares, the part of it that is the mean's,
and the products are taken of the values as they were read, and the mean's part is subtracted from
those few numbers. That costs digits where a feature varies little about a large mean. A feature
that would lose more than eight bits of 53 is looked at once more, less its value in one sample.
What still would, and what is constant, extreme or left out, is scored by what centres first.

Let c be the weighted mean of a feature that is 0 in sample r. ``d_r c^2`` is one of the terms of
``sum_i d_i (f_i - c)^2``, so ``f' D f``, ``c^2 sum(d)`` more, is at most ``1 + sum(d) / d_r`` times
that: n + 1 at worst where r has the largest degree, and about 2 where it is like the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from sfs_cli.graph.similarity import FactoredSimilarity, Similarity
from sfs_cli.methods.base import BlockLike, InFile, Status
from sfs_cli.methods.precision import Rows, pieces
from sfs_cli.methods.thin_sums import CompiledSums, make_sums

KEPT = 2.0**-8
"""A difference of at least this part of the sum of squares is exact to 2^8 roundings."""
VARIES = (2.0**14 * float(np.finfo(np.float64).eps)) ** 2
"""A feature whose variation is less than this part of it may vary by rounding alone."""
LOW, HIGH = 1e-200, 1e200
"""A sum of squares between these has no term that over- or underflowed and mattered."""
EVEN = 4 * float(np.finfo(np.float64).eps)
"""Weights that differ by no more than this part are taken to be one number."""


class Moments(NamedTuple):
    """What is known of the features f of a block.

    Attributes
    ----------
    total : ndarray, shape (b,)
        ``f' D f`` of features as they are, or less their values in one sample.
    mean : ndarray, shape (b,)
        ``(d' f)^2 / sum(d)`` of the same, what `total` falls by when they are centred.
    along : ndarray, shape (k, b)
        ``(D^1/2 f) . v`` of the same, for every column v.
    whole : ndarray, shape (b,)
        ``f' D f`` of features as they are.
    """

    total: np.ndarray
    mean: np.ndarray
    along: np.ndarray
    whole: np.ndarray

    @property
    def square(self) -> np.ndarray:
        """Weighted sum of squares around the weighted mean, shape (b,)."""
        return self.total - self.mean

    @property
    def along_squares(self) -> np.ndarray:
        """Sum of the squares of `along`, shape (b,)."""
        return self.weighted_squares(np.ones(len(self.along)))

    def weighted_squares(self, weights: np.ndarray) -> np.ndarray:
        """Return the sum of the squares of `along` with weights (k,) of the columns, shape (b,)."""
        total = np.zeros(len(self.total))
        for weight, product in zip(weights, self.along):  # BLAS would round by where a feature is
            total += weight * (product * product)
        return total


Formula = Callable[[Moments], tuple[np.ndarray, np.ndarray]]
"""Returns the scores (b,), and the smallest of the differences that they were made of (b,).

Scores change only by `whole` when a number is added to a feature.
"""
Careful = Callable[[BlockLike], tuple[np.ndarray, np.ndarray]]
"""Returns scores and statuses of float64 features, which it may overwrite, whatever they are."""


class ThinScores:
    """Scores blocks by a formula in `Moments`, and what it cannot be trusted with carefully.

    Parameters
    ----------
    weights : ndarray, shape (n,)
        d, positive.
    columns : ndarray, shape (n, k)
        V, for products with ``D^1/2 f``.
    """

    def __init__(self, weights: np.ndarray, columns: np.ndarray) -> None:
        self.n = len(weights)
        root = np.sqrt(weights)
        columns = np.column_stack([root / np.sqrt(weights.sum()), columns])
        self.weight, scale = 1.0, root
        if np.ptp(weights) <= EVEN * weights.max():
            self.weight, scale = float(weights.mean()), None
            columns *= np.sqrt(self.weight)
        self.reference = int(np.argmax(weights))
        self.sums = make_sums(columns, scale, self.reference)

    @property
    def reads_files(self) -> bool:
        """Whether blocks may be `InFile`: they are read on the way to the sums."""
        return isinstance(self.sums, CompiledSums)

    def score_block(
        self, block: BlockLike, formula: Formula, careful: Careful
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the scores and statuses of a block, float32 or float64; leaves it as it is.

        Parameters
        ----------
        block : BlockLike
            Values of shape (b, n).
        formula : callable
            Makes scores of `Moments`.
        careful : callable
            Scores the other features from their values.

        Returns
        -------
        score : ndarray, shape (b,), float64
        status : ndarray of int8, shape (b,)
        """
        with np.errstate(all="ignore"):
            moments = self._moments(block)
            score, sound = _scored(formula, moments)
            doubtful = np.flatnonzero(~sound)
        status = np.full(len(score), Status.OK, np.int8)
        for rows in _batches(doubtful, block, self.n):
            few = Rows.of(block, rows)
            score[rows], status[rows] = self._closer(few, moments.whole[rows], formula, careful)
        if block.zero is not None:
            zero = block.zero & (status != Status.MISSING)
            score[zero], status[zero] = np.nan, Status.ALL_ZERO
        return score, status

    def _closer(
        self, block: BlockLike, whole: np.ndarray, formula: Formula, careful: Careful
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return scores and statuses of features that cannot be scored as they are."""
        with np.errstate(all="ignore"):
            score, sound = _scored(formula, self._moments(block, whole))
        status = np.full(len(score), Status.OK, np.int8)
        left = np.flatnonzero(~sound)
        if len(left):
            score[left], status[left] = careful(Rows.of(block, left, np.dtype(np.float64)))
        return score, status

    def _moments(self, block: BlockLike, whole: np.ndarray | None = None) -> Moments:
        """Return the moments of features, less those of one sample if `whole` is known."""
        total, along = self.sums.of(block, less=whole is not None)
        total *= self.weight
        return Moments(total, along[0] ** 2, along[1:], total if whole is None else whole)


def _batches(rows: np.ndarray, block: BlockLike, n: int) -> Iterator[np.ndarray]:
    """Cut rows of a block as if it were held, so that it rounds no other way out of a file."""
    if not len(rows):
        return
    held = block.held if isinstance(block, InFile) else len(block.values)
    for inside in np.split(rows, np.flatnonzero(np.diff(rows // held)) + 1):
        yield from (inside[part] for part in pieces(len(inside), n))


def _scored(formula: Formula, moments: Moments) -> tuple[np.ndarray, np.ndarray]:
    """Return scores, and whether each can be trusted."""
    score, difference = formula(moments)
    sound = (moments.total > LOW) & (moments.whole < HIGH)
    sound &= moments.total > VARIES * moments.whole
    return score, sound & (difference >= KEPT * moments.total)  # false of NaN too


def normalized_factor(similarity: Similarity) -> np.ndarray | None:
    """Return ``D^-1/2 Z``, shape (n, r), of a similarity that is kept as a thin factor Z."""
    if not isinstance(similarity, FactoredSimilarity) or similarity.thin is None:
        return None
    return similarity.thin / np.sqrt(similarity.degrees)[:, None]


def without(factor: np.ndarray, unit: np.ndarray) -> np.ndarray:
    """Take one direction out of a factor.

    Parameters
    ----------
    factor : ndarray, shape (n, r)
        Y.
    unit : ndarray, shape (r,)
        u, of unit norm.

    Returns
    -------
    ndarray, shape (n, r - 1)
        X with ``X X' = Y Y' - (Y u) (Y u)'``.
    """
    return factor @ np.linalg.qr(unit[:, None], mode="complete")[0][:, 1:]
