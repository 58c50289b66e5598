"""float32 where it is good enough, and float64 where a score is a small difference.

``g N g'`` is found as ``g g' - g M g'``. Where that leaves little, the rounding of float32, in the
products and in the features themselves, is no longer small beside it; such features are scored
once more in float64, from the values as they were stored.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sfs_cli.methods.base import BlockLike, InFile

WEAK_BELOW = 0.05
"""A quadratic form below this part of its scale is found again in float64."""
PIECE_BYTES = 1 << 20
"""So much of a block stays in a core's own cache from one operation to the next."""


class Scored(NamedTuple):
    """What one way of scoring a block gives.

    Attributes
    ----------
    score : ndarray, shape (b,), float64
        NaN where there is none.
    status : ndarray of int8, shape (b,)
        Values of `Status`.
    weak : ndarray of bool, shape (b,)
        Scores that float32 cannot be trusted with.
    """

    score: np.ndarray
    status: np.ndarray
    weak: np.ndarray


@dataclass
class Rows:
    """Some features of a block."""

    values: np.ndarray
    missing: np.ndarray | None
    zero: np.ndarray | None

    @classmethod
    def of(
        cls, block: BlockLike, which: slice | np.ndarray, dtype: np.dtype[Any] | None = None
    ) -> Rows:
        """Return rows of a block: a view of a slice of them, or a copy of chosen ones."""
        if isinstance(block, InFile) and not isinstance(which, slice):
            values = block.take(which)
        else:
            values = block.values[which]
        return cls(
            values if dtype is None else values.astype(dtype, copy=False),
            None if block.missing is None else block.missing[which],
            None if block.zero is None else block.zero[which],
        )


def piecewise(
    block: BlockLike, score: Callable[[BlockLike], tuple[np.ndarray, np.ndarray]]
) -> tuple[np.ndarray, np.ndarray]:
    """Score a block in pieces of some rows, cut by the shape of the block alone.

    Where features are multiplied by a few columns, most of the time goes into moving them between
    memory and processor, once for every operation on a whole block.

    Parameters
    ----------
    block : BlockLike
        Values of shape (b, n).
    score : callable
        Scores a block; may overwrite it.

    Returns
    -------
    score : ndarray, shape (b,), float64
    status : ndarray of int8, shape (b,)
    """
    found = [score(Rows.of(block, part)) for part in pieces(*block.values.shape)]
    scores, statuses = zip(*found)
    return np.concatenate(scores), np.concatenate(statuses)


def pieces(b: int, n: int) -> list[slice]:
    """Cut b features of n samples into pieces that are of `PIECE_BYTES` in float64."""
    size = max(1, PIECE_BYTES // (8 * n))
    return [slice(lo, min(lo + size, b)) for lo in range(0, max(1, b), size)]


def refined(
    block: BlockLike, score: Callable[[BlockLike], Scored]
) -> tuple[np.ndarray, np.ndarray]:
    """Score a block, and its weak features once more in float64.

    Parameters
    ----------
    block : BlockLike
        Values of shape (b, n), float32 or float64.
    score : callable
        Scores a block in the dtype of its values; must not overwrite float32 values.

    Returns
    -------
    score : ndarray, shape (b,), float64
    status : ndarray of int8, shape (b,)
    """
    found, status, weak = score(block)
    rows = np.flatnonzero(weak)
    if block.values.dtype == np.float32 and len(rows):
        found[rows], status[rows], _ = score(Rows.of(block, rows, np.dtype(np.float64)))
    return found, status
