"""Some features of a matrix, read from it where they are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

import numpy as np

from sfs_cli.compute.spans import Span, block_features, cut
from sfs_cli.store.checks import PLACES
from sfs_cli.store.matrix import Ids, Matrix, Missing, SparseReading, Stored, _Shaped


class FeatureView(_Shaped):
    """A view of some features of a matrix; no value is copied until it is read.

    Each run of neighbouring features is one read of the matrix, so that a store on disk reads
    nothing else.

    Parameters
    ----------
    matrix : Matrix
        All features.
    features : ndarray of int, shape (l,)
        Indices of those in the view, ascending.
    """

    def __init__(self, matrix: Matrix, features: np.ndarray) -> None:
        self.matrix = matrix
        self.features = np.asarray(features, np.int64)
        names = matrix.ids.features
        self.ids = Ids([names[i] for i in self.features], matrix.ids.samples, matrix.ids.obs)
        self.dtype = matrix.dtype
        self.sparse = matrix.sparse
        self.missing = Missing()
        if matrix.missing.values:
            self.missing = self._count_missing()

    def read(self, span: Span, out: np.ndarray) -> None:
        """Read a block of the view's features into `out`."""
        at = 0
        for run in self._runs(span):
            self.matrix.read(run, out[at : at + run.size])
            at += run.size

    def read_stored(self, span: Span) -> Stored:
        """Return the stored values of a block of the view, where the matrix is sparse."""
        sparse = cast(SparseReading, self.matrix)
        parts = [sparse.read_stored(run) for run in self._runs(span)]
        return Stored(*(np.concatenate(arrays) for arrays in zip(*parts)))

    def prefetch(self, span: Span) -> None:
        """Tell that `span` of the view will be read soon."""
        for run in self._runs(span):
            self.matrix.prefetch(run)

    def _runs(self, span: Span) -> Iterator[Span]:
        """Yield the spans of neighbouring features of the matrix that make up one of the view."""
        chosen = self.features[span.lo : span.hi]
        if not len(chosen):
            return
        ends = np.append(np.flatnonzero(np.diff(chosen) != 1), len(chosen) - 1)
        starts = np.append(0, ends[:-1] + 1)
        for lo, hi in zip(chosen[starts].tolist(), chosen[ends].tolist()):
            yield Span(lo, hi + 1)

    def _count_missing(self) -> Missing:
        """Count the missing values of the view: the matrix only knows those of all features."""
        values, features = 0, 0
        places: list[tuple[str, str]] = []
        size = block_features(self.n_samples, self.dtype.itemsize)
        for span in cut(self.n_features, size):
            block = np.empty((span.size, self.n_samples), self.dtype)
            self.read(span, block)
            gaps = np.isnan(block)
            values += int(gaps.sum())
            features += int(gaps.any(axis=1).sum())
            for i, j in np.argwhere(gaps)[: PLACES - len(places)]:
                places.append((self.ids.features[span.lo + i], self.ids.samples[j]))
        return Missing(values, features, tuple(places))
