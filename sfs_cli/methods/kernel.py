"""The scoring kernel: the few sums of every feature of a block that scores are formulas of.

With weights d of the samples, c the weighted mean of a feature f and ``g = D^1/2 (f - c)``, or
``f - c`` where scores are not of weighted values, these are ``|g|^2``, ``f' D f`` and quadratic
forms ``g A g'`` (`Sums`). There are four ways to find them:

- Rows times a matrix. Features are centered first (`center`), in float32 where that is good enough;
  forms that are a small part of ``|g|^2`` are found again in float64, from the values as stored.
- Rows times a few columns (`Thin`): A is made of them, as for phi3, labels and class means.
- Stored values over the edges of a graph, and stored values times a few columns
  (`sfs_cli.methods.stored`), where the matrix is sparse.

Thin columns. Most of the time goes into moving features between memory and processor. So a feature
is neither centered nor written back: the sum of squares, the part of it that belongs to the mean,
and the projections are taken of the values as they were read, and the mean's part is subtracted
from those few numbers. That costs digits where a feature varies little about a large mean. A
feature that would lose more than 8 of 53 bits is summed once more after its value in one sample is
subtracted. A feature that still would, and one that is constant, extreme or left out, is centered.

Of a feature that is 0 in sample r, ``d_r c^2`` is one of the terms of ``sum_i d_i (f_i - c)^2``, so
``f' D f``, which is ``c^2 sum(d)`` more, is at most ``1 + sum(d) / d_r`` times as large: n + 1 at
worst where r has the largest degree, and about 2 where r is like the others.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from sfs_cli.compute.engine import join
from sfs_cli.compute.limits import EPS
from sfs_cli.compute.matrix import (
    DOUBLE,
    Arrays,
    Block,
    BlockLike,
    NonZeros,
    Workspace,
    pieces,
    row_by_row,
    rows_of,
)
from sfs_cli.methods.base import Scorer, Status

WEAK_BELOW = 0.05
"""A difference ``g g' - g M g'`` below this part of ``g g'`` is found again in float64."""
KEPT = 2.0**-8
"""A difference of at least this part of the sum of squares has lost at most 8 bits."""
VARIES = (2.0**14 * EPS) ** 2
"""A feature whose variation is a smaller part of its square may vary by rounding alone."""
LOW, HIGH = 1e-200, 1e200
"""Between these no term of a sum of squares over- or underflowed and mattered."""
TOGETHER = 4
"""Columns are multiplied in multiples of this, and features at least in pairs: what BLAS rounds for
a feature then does not depend on where that is in its block, so that every block size gives the
same digits."""
EVEN = 4 * EPS
"""Weights whose relative range is no larger are treated as equal."""


class Sums(NamedTuple):
    """What is found of the features of a block, each shape (b,) in float64.

    Attributes
    ----------
    square : ndarray
        ``|g|^2``, the weighted sum of squares around the mean.
    total : ndarray
        ``f' D f``: that with the mean.
    form : ndarray
        ``g A g'``.
    rest : ndarray
        Of thin columns, what the span of these leaves of ``|g|^2``.
    scale : ndarray
        Factor that returns values to the units of the input: 1, but for features whose squares
        would over- or underflow.
    mean : ndarray
        The weighted mean.
    """

    square: np.ndarray
    total: np.ndarray
    form: np.ndarray
    rest: np.ndarray
    scale: np.ndarray
    mean: np.ndarray


# ---- around means ------------------------------------------------------------------------------


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
        As in `Sums`.
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

    @property
    def status(self) -> np.ndarray:
        """The `Status` of each feature, shape (b,)."""
        return status_of(self, self.square, self.offset, self.volume)

    @property
    def total(self) -> np.ndarray:
        """``f' D f`` of each feature, with its mean, in the units of `values`, shape (b,)."""
        return self.square + self.volume * self.offset**2

    @property
    def spread(self) -> np.ndarray:
        """Sum of squares of each feature around its mean, in the units of the input, (b,)."""
        return self.square * self.scale**2

    def sums(self, form: np.ndarray, rest: np.ndarray) -> Sums:
        """Return the sums of the features with their forms, and what is left of them, (b,)."""
        return Sums(self.square, self.total, form, rest, self.scale, self.offset)


def status_of(
    block: BlockLike | NonZeros, square: np.ndarray, offset: np.ndarray, volume: float
) -> np.ndarray:
    """Return the `Status` of features by their weighted squares around their means; all (b,).

    A feature that varies by less than the rounding of float64 is constant. One that was zero in
    every sample before the transformation is "all zero" even if it varies now: it follows a mean of
    each sample then, and has no information of its own.
    """
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


# ---- a few columns -----------------------------------------------------------------------------


class Read(NamedTuple):
    """Sums of features as they are read, or less their value in one sample.

    Attributes
    ----------
    total : ndarray, shape (b,)
        ``f' D f``.
    along : ndarray, shape (b,)
        ``d' f / sum(d)^1/2``: the weighted mean times the root of the weights' sum.
    projections : ndarray, shape (k, b)
        ``(D^1/2 f) . u`` for every column u.
    """

    total: np.ndarray
    along: np.ndarray
    projections: np.ndarray


class MeansOfReads(Protocol):
    """Finds class means from the sums that are there anyway, where these hold."""

    def of_read(self, read: Read) -> np.ndarray:
        """Return them by the sums of features as they are read, a row for each."""

    def measure(self, values: np.ndarray) -> np.ndarray:
        """Return them of features (b, n) themselves."""


class Thin:
    """Forms of few columns U, ``g U diag(w) U' g'``, or ``g (I - U diag(w) U') g'``.

    Parameters
    ----------
    weights : ndarray, shape (n,)
        d, positive.
    columns : ndarray, shape (n, k)
        U, orthonormal.
    of_columns : ndarray, shape (k,), optional
        w; 1 by default.
    complement : bool
        Whether the form is the second one.
    """

    def __init__(
        self,
        weights: np.ndarray,
        columns: np.ndarray,
        of_columns: np.ndarray | None = None,
        *,
        complement: bool = False,
    ) -> None:
        self.of_columns, self.complement = of_columns, complement
        self.columns = columns
        root, self.size = np.sqrt(weights), np.sqrt(weights.sum())
        columns = np.column_stack([root / self.size, columns])
        self.weight, self.root = 1.0, root
        if np.ptp(weights) <= EVEN * weights.max():
            # equal weights are one number for all sums: no multiplication of the features
            self.weight, self.root = float(weights.mean()), None
            columns *= np.sqrt(self.weight)
        self.count = columns.shape[1]
        self.padded = np.zeros((len(columns), -(-self.count // TOGETHER) * TOGETHER))
        self.padded[:, : self.count] = columns
        self.reference = int(np.argmax(weights))
        self.work = Workspace()

    def read(self, values: np.ndarray, *, shifted: bool = False) -> Read:
        """Return the sums of features (b, n), which stay as they are.

        They are those of the features less their value in one sample where they are to be
        `shifted`.
        """
        b, n = values.shape
        total, projections = np.empty(b), np.empty((self.padded.shape[1], b))
        for part in pieces(b, n):
            x = self._rooted(values[part], shifted=shifted)
            np.vecdot(x, x, out=total[part])
            if len(x) == 1:
                projections[:, part] = (self.padded.T @ np.repeat(x, 2, axis=0).T)[:, :1]
            else:
                np.matmul(self.padded.T, x.T, out=projections[:, part])
        total *= self.weight
        return Read(total, projections[0], projections[1 : self.count])

    def _rooted(self, values: np.ndarray, *, shifted: bool) -> np.ndarray:
        """Return ``D^1/2 f`` in float64, or that of the differences to one sample."""
        if self.root is None and values.dtype == np.float64 and not shifted:
            return values
        x = self.work.array("prepared", len(values), values.shape[1], DOUBLE)
        np.copyto(x, values)
        with row_by_row():
            if shifted:
                x -= x[:, [self.reference]]
            if self.root is not None:
                x *= self.root
        return x

    def sums_of_read(self, read: Read, plain: Read) -> tuple[Sums, np.ndarray]:
        """Return the sums of features, and which have kept their digits (b,).

        `plain` is of the features that are not shifted, and alone has their mean.
        """
        total, mean = plain.total, plain.along / self.size
        square = read.total - read.along**2
        inside, explained = np.zeros(len(square)), np.zeros(len(square))
        # one column after the other: BLAS would round by where a feature is in the block
        for at, projection in enumerate(read.projections):
            squared = projection * projection
            explained += squared
            inside += squared if self.of_columns is None else self.of_columns[at] * squared
        rest = square - explained
        form = square - inside if self.complement else inside
        sound = (read.total > LOW) & (total < HIGH) & (read.total > VARIES * total)
        difference = form if self.complement else rest if self.of_columns is None else square
        sound &= difference >= KEPT * read.total  # a NaN is not sound either
        return Sums(square, total, form, rest, np.ones(len(square)), mean), sound

    def sums_of_centered(self, centered: CenteredBlock) -> Sums:
        """Return the sums of centered features, which are overwritten by what is left of them."""
        projections, rest = split(centered.values, self.columns)
        weights = np.ones(self.count - 1) if self.of_columns is None else self.of_columns
        squares = projections * projections
        form = rest + squares @ (1 - weights) if self.complement else squares @ weights
        return centered.sums(form, rest)


def split(G: np.ndarray, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the projections (b, k) of centered rows (b, n), and the squares of the rest (b,).

    The rest is what orthonormal `columns` (n, k) leave of a row, which overwrites it.
    """
    square = np.vecdot(G, G)
    projections = G @ columns
    for projection, column in zip(projections.T, columns.T):
        G -= projection[:, None] * column
    rest = np.vecdot(G, G)
    rest[rest <= (G.shape[1] * EPS) ** 2 * square] = 0  # the rounding of the projections
    return projections, rest


# ---- scorers -----------------------------------------------------------------------------------


class KernelScorer(Scorer):
    """Scores features by a `formula` of their sums.

    Attributes
    ----------
    weights : ndarray, shape (n,), optional
        d, in the means; 1 by default.
    rooted : bool
        Whether forms are of ``D^1/2 (f - c)``.
    operator : callable
        From rows g (b, n) to their forms (b,); may overwrite the rows.
    weak : float
        Forms below this part of ``|g|^2`` have lost digits in float32.
    in_pieces : bool
        Whether blocks are multiplied piece by piece.
    thin : Thin or None
        The form, where it is one of a few columns.
    class_means : MeansOfReads or None
        What finds ``class_means`` of the sums of these.
    """

    weights: np.ndarray | None = None
    rooted = False
    operator: Callable[[np.ndarray], np.ndarray]
    weak = 0.0
    in_pieces = False
    thin: Thin | None = None
    class_means: MeansOfReads | None = None

    def __init__(self) -> None:
        super().__init__()
        self.work = Workspace()

    @abstractmethod
    def formula(self, sums: Sums) -> np.ndarray:
        """Return the scores of features (b,): any number, or NaN, for those that do not vary.

        A number that is added to a feature may change the score by `Sums.total` alone.
        """

    def measured(self, sums: Sums) -> Arrays:
        """Return what is found of the sums of features by name: the ``score`` of the formula."""
        return {"score": self.formula(sums)}

    def score_block(self, block: BlockLike) -> Arrays:
        """Return ``score``, ``status`` and ``class_means``; may overwrite the block."""
        if self.thin is not None:
            return self._score_thin(self.thin, block)
        score = self.score_centered
        return by_pieces(score, block) if self.in_pieces else score(block)

    def _score_thin(self, thin: Thin, block: BlockLike) -> Arrays:
        """Score a block, float32 or float64, as it is read; it stays as it is."""
        with np.errstate(all="ignore"):
            read = thin.read(block.values)
            sums, sound = thin.sums_of_read(read, read)
            found = self.measured(sums)
        found["status"] = np.full(len(sound), Status.OK, np.int8)
        if self.class_means is not None:
            found["class_means"] = self.class_means.of_read(read)
        # Most features end here. The second look subtracts one sample, which takes a large
        # offset away without a mean; only what is then still weak pays for centering in float64.
        rows = np.flatnonzero(~sound)
        if len(rows):
            chosen = rows_of(block, rows)
            if self.class_means is not None:
                found["class_means"][rows] = self.class_means.measure(chosen.values)
            with np.errstate(all="ignore"):
                shifted = thin.read(chosen.values, shifted=True)
                plain = Read(*(each[..., rows] for each in read))
                sums, sound = thin.sums_of_read(shifted, plain)
                put(found, rows, self.measured(sums))
            left = np.flatnonzero(~sound)
            if len(left):
                put(found, rows[left], self.score_centered(rows_of(chosen, left, DOUBLE)))
        if block.zero is not None:
            zero = block.zero if block.left_out is None else block.zero & (block.left_out == 0)
            found["score"][zero], found["status"][zero] = np.nan, Status.ALL_ZERO
        return found

    def score_centered(self, block: BlockLike) -> Arrays:
        """Score a block from centered values, and its weak features once more in float64."""
        centered = center(block, self.weights, self.work, rooted=self.rooted)
        status = centered.status
        with np.errstate(all="ignore"):  # features that do not vary get NaN below
            sums = self._sums_of_centered(centered)
            found = self.measured(sums) | {"status": status}
        found["score"][status != Status.OK] = np.nan
        if block.values.dtype == np.float32:
            # float32 values were centered in a copy, so the stored ones are still here
            weak = np.abs(sums.form) < self.weak * sums.square
            rows = np.flatnonzero(weak & (status == Status.OK))
            if len(rows):
                put(found, rows, self.score_centered(rows_of(block, rows, DOUBLE)))
        return found

    def _sums_of_centered(self, centered: CenteredBlock) -> Sums:
        if self.thin is not None:
            return self.thin.sums_of_centered(centered)
        form = self.operator(centered.values).astype(np.float64, copy=False)
        return centered.sums(form, centered.square)


def put(found: Arrays, rows: np.ndarray, again: Arrays) -> None:
    """Put what was found again of some features in the place of what was found first."""
    for name, values in again.items():
        found[name][rows] = values


def by_pieces(score: Callable[[BlockLike], Arrays], block: BlockLike) -> Arrays:
    """Return what `score` finds of the features of a block, which it gets in `pieces`."""
    return join(score(rows_of(block, part)) for part in pieces(*block.values.shape))
