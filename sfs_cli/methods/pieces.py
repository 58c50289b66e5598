"""Pieces of blocks that stay in cache, and the sums over samples that many scores are made of."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sfs_cli.compute.matrix import Block, BlockLike

PIECE_BYTES = 2 << 20
"""So much of a block stays in a cache from one operation to the next.

Half of it would stay in a cache nearer to the core, but threads take turns with the interpreter's
lock after every operation: two of them would be hardly faster than one.
"""


class Sums(NamedTuple):
    """Sums over the samples of the features of a block, as read or less their value in one sample.

    Attributes
    ----------
    total : ndarray, shape (b,)
        ``f' D f``.
    along : ndarray, shape (b,)
        ``d' f / sum(d)^1/2``: the weighted mean times the root of the weights' sum.
    projections : ndarray, shape (k, b)
        ``(D^1/2 f) . v`` for every column v.
    raw_norm : ndarray, shape (b,)
        ``f' D f`` of the features as read.
    """

    total: np.ndarray
    along: np.ndarray
    projections: np.ndarray
    raw_norm: np.ndarray

    @property
    def square(self) -> np.ndarray:
        """Weighted sum of squares around the weighted mean, shape (b,)."""
        return self.total - self.along**2

    def projected(self, weights: np.ndarray | None = None) -> np.ndarray:
        """Return the sum of the squared projections, weighted by column (k,), shape (b,)."""
        total = np.zeros(len(self.total))
        # one column after the other: BLAS would round by where a feature is in the block
        for at, projection in enumerate(self.projections):
            square = projection * projection
            total += square if weights is None else weights[at] * square
        return total


def rows_of(
    block: BlockLike, which: slice | np.ndarray, dtype: np.dtype[Any] | None = None
) -> Block:
    """Return some features of a block: a view of a slice, a copy of chosen rows."""
    values = block.values[which]
    return Block(
        values if dtype is None else values.astype(dtype, copy=False),
        None if block.left_out is None else block.left_out[which],
        None if block.zero is None else block.zero[which],
    )


def pieces(b: int, n: int) -> list[slice]:
    """Cut b features of n samples into pieces that take `PIECE_BYTES` in float64.

    Where features are multiplied by a few columns, most of the time goes into moving them between
    memory and processor. Every operation on a whole block moves them once; a piece stays in cache.
    """
    size = max(1, PIECE_BYTES // (8 * n))
    return [slice(lo, min(lo + size, b)) for lo in range(0, max(1, b), size)]
