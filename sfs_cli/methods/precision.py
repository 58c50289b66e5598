"""float32 where it is good enough, and float64 where a score is a small difference.

``g N g'`` is found as ``g g' - g M g'``. Where that leaves little, the rounding of float32, in the
products and in the features themselves, is no longer small beside it; such features are scored
once more in float64, from the values as they were stored.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sfs_cli.methods.base import BlockLike

WEAK_BELOW = 0.05
"""A quadratic form below this part of its scale is found again in float64."""


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
        zero = None if block.zero is None else block.zero[rows]
        missing = None if block.missing is None else block.missing[rows]
        exact = Rows(block.values[rows].astype(np.float64), missing, zero)
        found[rows], status[rows], _ = score(exact)
    return found, status
