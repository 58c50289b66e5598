"""Features scaled to the range from 0 to 1."""

from __future__ import annotations

import numpy as np

from sfs_cli.methods.base import BlockLike, Status
from sfs_cli.methods.centering import center


def unit_range(block: BlockLike) -> tuple[np.ndarray, np.ndarray]:
    """Scale each feature of a block so that its smallest value is 0 and its largest 1.

    Parameters
    ----------
    block : BlockLike
        Values of shape (b, n), float64; overwritten.

    Returns
    -------
    values : ndarray, shape (b, n)
        Zero where a feature cannot be scored.
    status : ndarray of int8, shape (b,)
        Values of `Status`.
    """
    n = block.values.shape[1]
    centred = center(block, np.ones(n))
    values = centred.values
    status = centred.status(np.vecdot(values, values), float(n))
    unscored = status != Status.OK
    values -= values.min(axis=1, keepdims=True)
    span = values.max(axis=1, keepdims=True)
    span[unscored] = 1
    values /= span
    values[unscored] = 0
    return values, status
