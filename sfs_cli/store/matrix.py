"""A matrix as it is stored, in memory or on disk: whole features, read in blocks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sfs_cli.compute.matrix import Ids, Shared, Span, block_features, cut, pointers
from sfs_cli.store.ids import FeatureIds

if TYPE_CHECKING:
    from scipy.sparse import csr_array

SHOWN = 5
"""Missing values whose places are told."""
LOOK_VALUES, LOOK_FEATURES = 4_000_000, 1024
"""At most so many values, and features, are looked at to tell what a matrix holds."""
RUN = 16
"""Features that are read together."""


@dataclass(frozen=True)
class Missing:
    """Where values are missing."""

    values: int = 0  # number of NaN values
    features: int = 0  # number of features that have some
    places: tuple[tuple[str, str], ...] = ()  # the first few, as feature and sample


NONE_MISSING = Missing()


def mean_of_known(values: np.ndarray) -> float | None:
    """Return the mean of the values that are not missing; None where all are."""
    known = values[~np.isnan(values)].astype(np.float64)
    return float(known.mean()) if len(known) else None


class Stored(NamedTuple):
    """The stored values of consecutive features of a sparse matrix; some may be zero."""

    counts: np.ndarray  # (b,): how many each feature has
    indices: np.ndarray  # (sum(counts),): their samples, ascending for each feature
    data: np.ndarray  # (sum(counts),): their values; may belong to the matrix


class Matrix:
    """A samples x features matrix, read in blocks of whole features.

    A dense one says how to `read`, a sparse one how to `read_stored`.
    """

    ids: Ids
    shape: tuple[int, int]  # features m, samples n
    dtype: np.dtype[Any]
    sparse: bool
    missing: Missing

    @property
    def n_features(self) -> int:
        """Number of features m."""
        return self.shape[0]

    @property
    def n_samples(self) -> int:
        """Number of samples n."""
        return self.shape[1]

    def read(self, span: Span, out: np.ndarray) -> None:
        """Fill `out` (span.size x n_samples, C-ordered, of the matrix's dtype)."""
        counts, indices, data = self.read_stored(span)
        out[...] = 0
        out[np.repeat(np.arange(len(counts)), counts), indices] = data

    def values_of(self, span: Span) -> np.ndarray:
        """Return a block of features as an array of its own, shape (b, n)."""
        values = np.empty((span.size, self.n_samples), self.dtype)
        self.read(span, values)
        return values

    def read_stored(self, span: Span) -> Stored:
        """Return the stored values of a block of a sparse matrix; not to be written to."""
        raise NotImplementedError

    def prefetch(self, span: Span) -> None:
        """Announce that a span will be read soon."""


def look(matrix: Matrix, features: int = LOOK_FEATURES) -> np.ndarray:
    """Read the stored values of a few features from all over a matrix, shape (b, n)."""
    n, m = matrix.n_samples, matrix.n_features
    wanted = min(m, features, max(1, LOOK_VALUES // n))
    starts = np.linspace(0, m - min(RUN, m), -(-wanted // RUN)).astype(int)
    spans = (Span(lo, min(lo + RUN, m, lo + wanted)) for lo in dict.fromkeys(starts.tolist()))
    return np.concatenate(list(map(matrix.values_of, spans)))


def block_of(matrix: Matrix, span: Span) -> np.ndarray | csr_array:
    """Return some features, shape (b, n): sparse where the matrix is, and not to be changed."""
    from scipy.sparse import csr_array

    if matrix.sparse:
        counts, indices, data = matrix.read_stored(span)
        shape = (span.size, matrix.n_samples)
        return csr_array((data, indices, pointers(counts)), shape=shape)
    return matrix.values_of(span)


def mostly_zero(values: np.ndarray) -> bool:
    """Tell whether more than half of the values are 0, as of counts of single cells."""
    return bool(2 * np.count_nonzero(values == 0) > values.size)


FOUND = 100
"""Features other than 0 in a typical cell, at least: words in a document are fewer."""


def like_cells(nonzero: int, size: int, m: int) -> bool:
    """Tell whether values are like those of single cells: most are 0, but few samples are empty.

    Of `size` values so many are not zero; the samples have m features.
    """
    return 2 * nonzero < size and nonzero * m >= FOUND * size


class HeldMatrix(Matrix, Shared):
    """A matrix in memory: an array or a csr_array, shape (m, n), one row per feature, C-ordered."""

    def __init__(self, values: Any, ids: Ids, missing: Missing = NONE_MISSING) -> None:
        self.values, self.ids, self.missing = values, ids, missing
        self.shape, self.dtype = values.shape, values.dtype
        self.sparse = not isinstance(values, np.ndarray)

    def read(self, span: Span, out: np.ndarray) -> None:
        """Copy a block of features into `out`."""
        if self.sparse:
            super().read(span, out)
        else:
            np.copyto(out, self.values[span.lo : span.hi])

    def read_stored(self, span: Span) -> Stored:
        """Return the stored values of a block of features; not to be written to."""
        indptr = self.values.indptr[span.lo : span.hi + 1]
        stored = slice(int(indptr[0]), int(indptr[-1]))
        return Stored(np.diff(indptr), self.values.indices[stored], self.values.data[stored])


class DerivedMatrix(Matrix):
    """A matrix made of another one, and like it but for what a subclass says."""

    def __init__(self, matrix: Matrix) -> None:
        self.matrix, self.ids, self.shape = matrix, matrix.ids, matrix.shape
        self.dtype, self.sparse, self.missing = matrix.dtype, matrix.sparse, matrix.missing

    def prefetch(self, span: Span) -> None:
        """Announce that a span will be read soon."""
        self.matrix.prefetch(span)


class FilledMatrix(DerivedMatrix):
    """A dense matrix whose missing values are the mean of what some samples, by index, have.

    They are zero where none of these has a value.
    """

    def __init__(self, matrix: Matrix, samples: np.ndarray) -> None:
        super().__init__(matrix)
        self.samples = samples
        self.sparse, self.missing = False, NONE_MISSING

    def read(self, span: Span, out: np.ndarray) -> None:
        """Read a block of features into `out`, missing values filled."""
        self.matrix.read(span, out)
        gaps = np.isnan(out)
        for row in np.flatnonzero(gaps.any(axis=1)).tolist():
            out[row, gaps[row]] = mean_of_known(out[row, self.samples]) or 0


class FeatureView(DerivedMatrix):
    """Some features of a matrix; no value is copied until it is read.

    Each run of neighboring features is one read of the matrix, so that a store on disk reads
    nothing else. `features`, shape (l,), are the ascending indices of those in the view.
    """

    def __init__(self, matrix: Matrix, features: np.ndarray) -> None:
        super().__init__(matrix)
        self.features = np.asarray(features, np.int64)
        self.shape = len(self.features), matrix.n_samples
        ids = matrix.ids
        names = FeatureIds.of(ids.features).take(self.features)
        var = {name: FeatureIds.of(each).take(self.features) for name, each in ids.var.items()}
        self.ids = Ids(names, ids.samples, ids.obs, var)
        self.missing = self._count_missing() if matrix.missing.values else NONE_MISSING

    def read(self, span: Span, out: np.ndarray) -> None:
        """Read a block of the view's features into `out`."""
        at = 0
        for run in self._runs(span):
            self.matrix.read(run, out[at : at + run.size])
            at += run.size

    def read_stored(self, span: Span) -> Stored:
        """Return the stored values of a block of the view, where the matrix is sparse."""
        found = [self.matrix.read_stored(run) for run in self._runs(span)]
        return Stored(*(np.concatenate(arrays) for arrays in zip(*found)))

    def prefetch(self, span: Span) -> None:
        """Announce that a span of the view will be read soon."""
        for run in self._runs(span):
            self.matrix.prefetch(run)

    def _runs(self, span: Span) -> Iterator[Span]:
        """Yield the spans of neighbors in the matrix."""
        chosen = self.features[span.lo : span.hi]
        for run in np.split(chosen, np.flatnonzero(np.diff(chosen) != 1) + 1):
            if len(run):
                yield Span(int(run[0]), int(run[-1]) + 1)

    def _count_missing(self) -> Missing:
        """Count the missing values of the view: the matrix only knows those of all features."""
        values, features = 0, 0
        places: list[tuple[str, str]] = []
        for span in cut(self.n_features, block_features(self.n_samples, self.dtype.itemsize)):
            gaps = np.isnan(self.values_of(span))
            values += int(gaps.sum())
            features += int(gaps.any(axis=1).sum())
            for i, j in np.argwhere(gaps)[: SHOWN - len(places)]:
                places.append((self.ids.features[span.lo + i], self.ids.samples[j]))
        return Missing(values, features, tuple(places))
