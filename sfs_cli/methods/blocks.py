"""Blocks of features: centering without losing digits, which features vary, and parts of blocks.

Dense arithmetic is done in float32 where that is good enough. Scores that are a small part of what
they are made of are found again in float64, from the values as they are stored (`CenteredScorer`).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sfs_cli.compute.limits import EPS
from sfs_cli.compute.matrix import DOUBLE, Block, BlockLike, NonZeros, Workspace, row_by_row
from sfs_cli.methods.base import Scorer, Status
from sfs_cli.methods.class_means import ProjectedMeans
from sfs_cli.methods.low_rank import LowRankScores
from sfs_cli.methods.pieces import Sums, pieces, rows_of

WEAK_BELOW = 0.05
"""A difference ``g g' - g M g'`` below this part of ``g g'`` is found again in float64."""


@dataclass
class CenteredBlock:
    """A block of features around their weighted means.

    Attributes
    ----------
    values : ndarray, shape (b, n)
        ``f - offset``, or ``D^1/2`` of it where that was asked for, in the dtype of the block.
    square : ndarray, shape (b,), float64
        Sum of the squares of `values`.
    offset : ndarray, shape (b,), float64
        The weighted mean of each feature, in the units of `values`.
    scale : ndarray, shape (b,), float64
        Factor that returns `values` and `offset` to the units of the input: 1, but for features
        whose squares would over- or underflow.
    volume : float
        Sum of the weights.
    left_out, zero : ndarray of int8 and of bool, or None
        As in the block.
    """

    values: np.ndarray
    square: np.ndarray
    offset: np.ndarray
    scale: np.ndarray
    volume: float
    left_out: np.ndarray | None
    zero: np.ndarray | None

    def status(self, square: np.ndarray) -> np.ndarray:
        """Return the `Status` of each feature, given the weighted squares of `values`; both (b,).

        A feature that varies by less than the rounding of float64 is constant. One that was zero
        in every sample before the transformation is "all zero" even if it varies now: it follows
        a mean of each sample then, and has no information of its own.
        """
        return status_of(self, square, self.offset, self.volume)

    @property
    def spread(self) -> np.ndarray:
        """Sum of squares of each feature around its mean, in the units of the input, (b,)."""
        return self.square * self.scale**2


def status_of(
    block: BlockLike | NonZeros, square: np.ndarray, offset: np.ndarray, volume: float
) -> np.ndarray:
    """Return the statuses of features, as of `CenteredBlock.status`, by their means (b,)."""
    constant = square <= volume * (8 * EPS * offset) ** 2
    status = np.where(constant, Status.CONSTANT, Status.OK).astype(np.int8)
    zero = constant & (offset == 0) if block.zero is None else block.zero
    status[zero] = Status.ALL_ZERO
    if block.left_out is not None:
        np.copyto(status, block.left_out, where=block.left_out != 0)
    return status


def center(
    block: BlockLike,
    weights: np.ndarray | None = None,
    work: Workspace | None = None,
    *,
    rooted: bool = False,
) -> CenteredBlock:
    """Center the features of a block by their weighted means.

    The value of the first sample is subtracted before the mean is computed. So the rounding is
    relative to the spread of the feature and not to its offset, and a constant feature becomes
    exactly zero. Features whose squares would under- or overflow are scaled by a power of two,
    which cancels in every ratio of quadratic forms.

    Parameters
    ----------
    block : BlockLike
        Values of shape (b, n); overwritten, but for what `work` says.
    weights : ndarray, shape (n,), optional
        Positive; they need not add up to one. 1 by default.
    work : Workspace, optional
        Receives the centered values of a float32 block. The block keeps its own, for a second look.
    rooted : bool
        Whether to multiply the centered values by the square roots of the weights.
    """
    n = block.values.shape[1]
    if weights is None:
        weights = np.ones(n)
    volume = float(weights.sum())
    first = block.values[:, :1].copy()
    values = block.values
    if work is not None and values.dtype == np.float32:
        values = work.array("centered", len(values), n, values.dtype)
    with row_by_row():
        np.subtract(block.values, first, out=values)
        # a matrix product would depend on the rows beside: this is the same in any block
        mean = np.vecdot(values, (weights / volume).astype(values.dtype))
        values -= mean[:, None]
        if rooted:
            values *= np.sqrt(weights).astype(values.dtype)
    offset = first[:, 0].astype(np.float64) + mean
    scale = np.ones(len(values))
    low = np.sqrt(np.finfo(values.dtype).tiny) * 1e3
    high = np.sqrt(np.finfo(values.dtype).max) * 1e-3
    with np.errstate(over="ignore"):
        square = np.vecdot(values, values)
    for row in np.flatnonzero((square < low**2) | ~(square < high**2)):
        peak = float(np.abs(values[row]).max())
        if peak > 0:
            exponent = int(np.frexp(peak)[1])
            values[row] = np.ldexp(values[row], -exponent)
            offset[row] = np.ldexp(offset[row], -exponent)
            scale[row] = np.ldexp(1.0, exponent)
            square[row] = np.vecdot(values[row], values[row])
    return CenteredBlock(
        values, square.astype(np.float64), offset, scale, volume, block.left_out, block.zero
    )


def centered_copy(values: np.ndarray) -> CenteredBlock:
    """Center a copy of features (b, n), in float64."""
    return center(Block(values.astype(np.float64)))


class Measured(NamedTuple):
    """What a formula makes of the centered features of a block.

    Attributes
    ----------
    score : ndarray, shape (b,), float64
        Any number, or NaN, for features that do not vary.
    square : ndarray, shape (b,), float64
        Weighted sum of squares of the centered values.
    weak : ndarray of bool, shape (b,), optional
        Scores that have lost digits in float32.
    """

    score: np.ndarray
    square: np.ndarray
    weak: np.ndarray | None = None


class CenteredScorer(Scorer):
    """Scores features around their weighted means; `measure` is the formula.

    Attributes
    ----------
    weights : ndarray, shape (n,), optional
        Weights of the samples in the means; 1 by default.
    rooted : bool
        Whether the formula is one of ``D^1/2 (f - c)``, D the weights.
    in_pieces : bool
        Whether a block is scored piece by piece.
    low_rank : LowRankScores or None
        Scores features as they are read by `of_sums`, where the formula is one of a few sums.
    further : ProjectedMeans or None
        What else is found of those sums.
    """

    weights: np.ndarray | None = None
    rooted = False
    in_pieces = False
    low_rank: LowRankScores | None = None
    further: ProjectedMeans | None = None

    def __init__(self) -> None:
        super().__init__()
        self.work = Workspace()

    @abstractmethod
    def measure(self, centered: CenteredBlock) -> Measured:
        """Apply the formula to a block; may overwrite its values."""

    def score_block(self, block: BlockLike) -> tuple[np.ndarray, ...]:
        """Return scores, statuses and what is found `further`; may overwrite the block."""
        if self.low_rank is not None:
            return self.low_rank.score_block(block, self.of_sums, self.score_centered, self.further)
        score = self.score_centered
        return by_pieces(score, block) if self.in_pieces else score(block)

    def of_sums(self, sums: Sums) -> tuple[np.ndarray, np.ndarray]:
        """Apply the formula to sums, as a `low_rank.Formula`."""
        raise NotImplementedError

    def score_centered(self, block: BlockLike) -> tuple[np.ndarray, np.ndarray]:
        """Score a block from centered values, and its weak features once more in float64."""
        centered = center(block, self.weights, self.work, rooted=self.rooted)
        with np.errstate(all="ignore"):  # features that do not vary get NaN below
            score, square, weak = self.measure(centered)
        status = centered.status(square)
        score[status != Status.OK] = np.nan
        if weak is not None and block.values.dtype == np.float32:
            # float32 values were centered in a copy, so the stored ones are still here
            rows = np.flatnonzero(weak & (status == Status.OK))
            if len(rows):
                again = rows_of(block, rows, DOUBLE)
                score[rows], status[rows] = self.score_centered(again)
        return score, status


def by_pieces(
    score: Callable[[BlockLike], tuple[np.ndarray, ...]], block: BlockLike
) -> tuple[np.ndarray, ...]:
    """Return what `score` finds of the features of a block, which it gets in `pieces`."""
    found = [score(rows_of(block, part)) for part in pieces(*block.values.shape)]
    return tuple(np.concatenate(column) for column in zip(*found))
