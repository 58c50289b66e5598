"""Centring blocks of features without losing digits, and finding those that do not vary."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfs_cli.compute.workspace import Workspace
from sfs_cli.methods.base import BlockLike, Status

_EPS = float(np.finfo(np.float64).eps)


@dataclass
class Centred:
    """A block of features around their weighted means.

    Attributes
    ----------
    values : ndarray, shape (b, n)
        ``f - offset``, in the block's dtype.
    offset : ndarray, shape (b,), float64
        The weighted mean of each feature, in the units of `values`.
    scale : ndarray, shape (b,), float64
        What `values` and `offset` are to be multiplied by to be in the input's units (1 but for
        extreme features).
    missing, zero : ndarray of bool or None
        As in the block.
    """

    values: np.ndarray
    offset: np.ndarray
    scale: np.ndarray
    missing: np.ndarray | None
    zero: np.ndarray | None

    def status(self, square: np.ndarray, total_weight: float) -> np.ndarray:
        """Tell which features vary.

        Parameters
        ----------
        square : ndarray, shape (b,)
            Weighted sum of squares of `values`.
        total_weight : float
            Sum of the weights.

        Returns
        -------
        ndarray of int8, shape (b,)
            Values of `Status`. What varies by less than the rounding of float64 is constant. What
            was zero everywhere before the steps is "all zero", also where a step made it vary: it
            varies as a mean of the samples does, and says nothing of the feature.
        """
        rounding = total_weight * (8 * _EPS * self.offset) ** 2
        constant = square <= rounding
        status = np.where(constant, Status.CONSTANT, Status.OK).astype(np.int8)
        zero = constant & (self.offset == 0) if self.zero is None else self.zero
        status[zero] = Status.ALL_ZERO
        if self.missing is not None:
            status[self.missing] = Status.MISSING
        return status


def center(block: BlockLike, weights: np.ndarray, work: Workspace | None = None) -> Centred:
    """Centre the features of a block by their weighted means.

    The first sample is subtracted before the mean is taken: the rounding that is left is relative
    to the spread of the feature and not to its offset, and a constant feature becomes exactly
    zero. Features whose squares would under- or overflow are scaled by a power of two, which
    every ratio of quadratic forms ignores.

    Parameters
    ----------
    block : BlockLike
        Values of shape (b, n); overwritten unless there is a place to `work`.
    weights : ndarray, shape (n,)
        Positive; they need not add up to one.
    work : Workspace, optional
        Where to put the centred values, as ``centred``, if those of the block are to stay.
    """
    first = block.values[:, :1].copy()
    values = block.values
    if work is not None:
        values = work.array("centred", len(values), values.shape[1], values.dtype)
    np.subtract(block.values, first, out=values)
    weight = (weights / weights.sum()).astype(values.dtype)
    mean = values @ weight
    values -= mean[:, None]
    offset = first[:, 0].astype(np.float64) + mean
    scale = _rescale(values, offset)
    return Centred(values, offset, scale, block.missing, block.zero)


def _rescale(values: np.ndarray, offset: np.ndarray) -> np.ndarray:
    """Scale extreme features by a power of two so that their squares can be represented.

    Returns
    -------
    ndarray, shape (b,)
        The factors that undo it.
    """
    scale = np.ones(len(values))
    tiny = np.finfo(values.dtype).tiny
    low, high = np.sqrt(tiny) * 1e3, np.sqrt(np.finfo(values.dtype).max) * 1e-3
    with np.errstate(over="ignore"):
        square = np.vecdot(values, values)
    for row in np.flatnonzero((square < low**2) | ~(square < high**2)):
        peak = float(np.abs(values[row]).max())
        if peak > 0:
            exponent = int(np.frexp(peak)[1])
            values[row] = np.ldexp(values[row], -exponent)
            offset[row] = np.ldexp(offset[row], -exponent)
            scale[row] = np.ldexp(1.0, exponent)
    return scale
