"""A dense store as it is scored, by what reads its file itself: the counterpart of blocks."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from sfs_cli.compute.spans import Span
from sfs_cli.store.disk import DenseStore
from sfs_cli.store.prepared import PreparedMatrix

CLOSE = 8
"""Features are read together where they are at least one in so many."""

STREAM_BYTES = 64 << 20
"""Of a block that is read out of the file while it is scored."""
BLOCKS = 64
"""At least so many, for workers to share."""


class StoredBlock:
    """A block of features that is still in its file.

    Attributes
    ----------
    descriptor, offset : int
        Where its values are, one feature after the other.
    shape : (int, int)
        Features b and samples n.
    dtype : dtype
        Of the values.
    held : int
        Features of a block that is in memory, of which this one is several.
    missing, zero : None
        As in `sfs_cli.store.prepared.Block`: nothing is missing, and there are no steps.
    """

    missing = None
    zero = None

    def __init__(self, store: DenseStore, span: Span, held: int) -> None:
        self._store, self._span, self.held = store, span, held
        self.descriptor, self.offset = store.place(span)
        self.shape = span.size, store.n_samples
        self.dtype = store.dtype

    @cached_property
    def values(self) -> np.ndarray:
        """The values, shape (b, n), read when first asked for."""
        out = np.empty(self.shape, self.dtype)
        self._read(0, self.shape[0], out)
        return out

    def take(self, rows: np.ndarray) -> np.ndarray:
        """Return some features, ascending, shape (len(rows), n).

        Where they lie close to each other those between them are read too.
        """
        lo, hi = int(rows[0]), int(rows[-1]) + 1
        if hi - lo <= CLOSE * len(rows):
            out = np.empty((hi - lo, self.shape[1]), self.dtype)
            self._read(lo, hi, out)
            return out[rows - lo]
        out = np.empty((len(rows), self.shape[1]), self.dtype)
        for at, row in enumerate(rows.tolist()):
            self._read(row, row + 1, out[at])
        return out

    def _read(self, lo: int, hi: int, out: np.ndarray) -> None:
        self._store.read(Span(self._span.lo + lo, self._span.lo + hi), out)


class StoredSource:
    """A matrix that is stored as it is scored, and read by what scores it; passes run over it.

    Parameters
    ----------
    source : PreparedMatrix
        Such that `is_stored`.
    held : int
        Features of the blocks that other passes hold in memory.
    """

    def __init__(self, source: PreparedMatrix, held: int) -> None:
        assert isinstance(source.matrix, DenseStore)
        self.store, self.held = source.matrix, held

    @property
    def n_features(self) -> int:
        """Number of features m."""
        return self.store.n_features

    @property
    def n_samples(self) -> int:
        """Number of samples n."""
        return self.store.n_samples

    @property
    def block_size(self) -> int:
        """Features of a block: many, as it is never held whole, but of `BLOCKS` blocks or more."""
        most = STREAM_BYTES // (self.n_samples * self.store.dtype.itemsize)
        return self.held * max(1, min(self.n_features // BLOCKS, most) // self.held)

    def prefetch(self, span: Span) -> None:
        """Tell that `span` will be read soon."""
        self.store.prefetch(span)

    def read(self, span: Span, dtype: np.dtype[Any]) -> StoredBlock:
        """Return a block, of the stored type."""
        assert dtype == self.store.dtype
        return StoredBlock(self.store, span, self.held)


def is_stored(source: object) -> bool:
    """Tell whether blocks of a matrix are values of a dense store as they are in its file."""
    return isinstance(source, PreparedMatrix) and (
        source.plain and isinstance(source.matrix, DenseStore)
    )
