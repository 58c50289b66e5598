"""Squares of features and their products with a few columns, from values as they are stored."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from sfs_cli.compute import compiled
from sfs_cli.compute.workspace import Workspace
from sfs_cli.methods.base import BlockLike, InFile
from sfs_cli.methods.precision import PIECE_BYTES, pieces

DOUBLE = np.dtype(np.float64)
FLOATS = (np.dtype(np.float32), DOUBLE)


class Sums(Protocol):
    """Sums over the samples of ``x_ij = s_j (f_ij - f_ir)``, the second term only if asked for."""

    def of(self, block: BlockLike, *, less: bool) -> tuple[np.ndarray, np.ndarray]:
        """Return sums of the features of a block, which is left as it is.

        Parameters
        ----------
        block : BlockLike
            Values of shape (b, n), float32 or float64.
        less : bool
            Whether each feature's value in the sample r is subtracted first.

        Returns
        -------
        squares : ndarray, shape (b,)
            ``sum_j x_ij^2``.
        products : ndarray, shape (k, b)
            ``sum_j x_ij v_jc``.
        """
        ...


def make_sums(columns: np.ndarray, scale: np.ndarray | None, reference: int) -> Sums:
    """Return what makes sums fastest here.

    Parameters
    ----------
    columns : ndarray, shape (n, k)
        V.
    scale : ndarray, shape (n,), optional
        s; ones by default.
    reference : int
        r.
    """
    if compiled.SETS and columns.shape[1] <= compiled.moments.MOST_COLUMNS:
        return CompiledSums(columns, scale, reference)
    return NumpySums(columns, scale, reference)


class CompiledSums:
    """Sums in one go through memory; what is still in a file is read on the way."""

    def __init__(self, columns: np.ndarray, scale: np.ndarray | None, reference: int) -> None:
        n, k = columns.shape
        self.width, self.reference = k, reference
        group = compiled.moments.GROUP
        padded = np.zeros((-(-n // group) * group, k))
        padded[:n] = columns
        self.columns = padded.reshape(-1, group, k).transpose(0, 2, 1).copy()
        self.scale = np.zeros(0 if scale is None else len(padded))
        if scale is not None:
            self.scale[:n] = scale
        self.work = Workspace()

    def of(self, block: BlockLike, *, less: bool) -> tuple[np.ndarray, np.ndarray]:
        """Return sums of the features of a block; see `Sums`.

        Raises
        ------
        TypeError
            When values are of another type: the compiled code sees bytes alone.
        """
        place = block if isinstance(block, InFile) else np.ascontiguousarray(block.values)
        if place.dtype not in FLOATS:
            raise TypeError(f"values are float32 or float64 of this machine, not {place.dtype}")
        (b, n), itemsize = place.shape, place.dtype.itemsize
        squares, products = np.empty(b), np.empty((self.width, b))
        how = (n, itemsize, compiled.SETS[0], self.reference if less else -1, self.scale)
        to = (self.columns, squares, products)
        if isinstance(place, np.ndarray):
            compiled.moments.of_values(place, *how, *to)
            return squares, products
        rows = min(b, max(1, 2 * PIECE_BYTES // (n * itemsize)))
        buffer = self.work.array("buffer", rows, n, place.dtype)
        try:
            compiled.moments.of_file(place.descriptor, place.offset, buffer, *how, *to)
        except EOFError:
            place.take(np.arange(b))  # its reader tells which file is too short
            raise
        return squares, products


class NumpySums:
    """Sums by a product of matrices, in pieces that stay in a core's own cache."""

    def __init__(self, columns: np.ndarray, scale: np.ndarray | None, reference: int) -> None:
        self.columns, self.scale, self.reference = columns, scale, reference
        self.work = Workspace()

    def of(self, block: BlockLike, *, less: bool) -> tuple[np.ndarray, np.ndarray]:
        """Return sums of the features of a block; see `Sums`."""
        b, n = block.values.shape
        squares, products = np.empty(b), np.empty((self.columns.shape[1], b))
        for part in pieces(b, n):
            x = self._scaled(block.values[part], less)
            np.vecdot(x, x, out=squares[part])
            products[:, part] = (x @ self.columns).T
        return squares, products

    def _scaled(self, values: np.ndarray, less: bool) -> np.ndarray:
        if self.scale is None and values.dtype == DOUBLE and not less:
            return values
        x = self.work.array("scaled", len(values), values.shape[1], DOUBLE)
        np.copyto(x, values)
        if less:
            x -= x[:, [self.reference]]
        if self.scale is not None:
            x *= self.scale
        return x
