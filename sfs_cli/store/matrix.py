"""The matrix as methods see it, and the one that lives in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from sfs_cli.compute.executor import Shared
from sfs_cli.compute.spans import Span

if TYPE_CHECKING:
    import pyarrow as pa
    from scipy.sparse import csr_array


@dataclass(frozen=True)
class Missing:
    """Where values are missing.

    Attributes
    ----------
    values : int
        Number of NaN values.
    features : int
        Number of features that have some.
    places : tuple of (str, str)
        The first few, as feature and sample.
    """

    values: int = 0
    features: int = 0
    places: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Ids:
    """The names of both axes, and what is known of the samples.

    Attributes
    ----------
    features, samples : sequence of str
        Unique ids.
    obs : pyarrow.Table, optional
        One row per sample; columns are annotations.
    """

    features: Sequence[str]
    samples: Sequence[str]
    obs: pa.Table | None = field(default=None, compare=False)


class Matrix(Protocol):
    """A samples x features matrix, read in blocks of whole features."""

    ids: Ids
    dtype: np.dtype[Any]
    sparse: bool
    missing: Missing

    @property
    def n_features(self) -> int:
        """Number of features m."""
        ...

    @property
    def n_samples(self) -> int:
        """Number of samples n."""
        ...

    def read(self, span: Span, out: np.ndarray) -> None:
        """Fill `out` (span.size x n_samples, C-ordered, of the matrix's dtype)."""
        ...

    def prefetch(self, span: Span) -> None:
        """Tell that `span` will be read soon."""
        ...


class Stored(NamedTuple):
    """The stored values of consecutive features of a sparse matrix; some may be zero.

    Attributes
    ----------
    counts : ndarray of int, shape (b,)
        How many each feature has.
    indices : ndarray of int, shape (sum(counts),)
        Their samples, each once for a feature.
    data : ndarray, shape (sum(counts),)
        Their values; may belong to the matrix.
    """

    counts: np.ndarray
    indices: np.ndarray
    data: np.ndarray


class SparseReading(Protocol):
    """What sparse matrices have besides `Matrix.read`."""

    def read_stored(self, span: Span) -> Stored:
        """Return the stored values of a block of features; not to be written to."""
        ...


class _Shaped:
    """The shape of a matrix, from its ids."""

    ids: Ids

    @property
    def n_features(self) -> int:
        """Number of features m."""
        return len(self.ids.features)

    @property
    def n_samples(self) -> int:
        """Number of samples n."""
        return len(self.ids.samples)


class DenseMatrix(_Shaped, Shared):
    """A dense matrix in memory.

    Parameters
    ----------
    values : ndarray, shape (m, n)
        One row per feature, C-ordered.
    ids : Ids
        The names of features and samples.
    missing : Missing, optional
        Where values are NaN.
    """

    sparse = False

    def __init__(self, values: np.ndarray, ids: Ids, missing: Missing | None = None) -> None:
        self.values = values
        self.ids = ids
        self.dtype = values.dtype
        self.missing = missing or Missing()

    def read(self, span: Span, out: np.ndarray) -> None:
        """Copy a block of features into `out`."""
        np.copyto(out, self.values[span.lo : span.hi])

    def prefetch(self, span: Span) -> None:
        """Nothing to do: the values are here."""


class SparseMatrix(_Shaped, Shared):
    """A sparse matrix in memory, feature by feature.

    Parameters
    ----------
    values : csr_array, shape (m, n)
        One row per feature.
    ids : Ids
        The names of features and samples.
    missing : Missing, optional
        Where values are NaN.
    """

    sparse = True

    def __init__(self, values: csr_array, ids: Ids, missing: Missing | None = None) -> None:
        self.values = values
        self.ids = ids
        self.dtype = values.dtype
        self.missing = missing or Missing()

    def read(self, span: Span, out: np.ndarray) -> None:
        """Write a block of features into `out`, zeros included."""
        scatter(*self.read_stored(span), out)

    def read_stored(self, span: Span) -> Stored:
        """Return the stored values of a block of features; not to be written to."""
        indptr = self.values.indptr[span.lo : span.hi + 1]
        part = slice(int(indptr[0]), int(indptr[-1]))
        return Stored(np.diff(indptr), self.values.indices[part], self.values.data[part])

    def prefetch(self, span: Span) -> None:
        """Nothing to do: the values are here."""


def scatter(counts: np.ndarray, indices: np.ndarray, data: np.ndarray, out: np.ndarray) -> None:
    """Write the non-zero values of consecutive features into a dense block.

    Parameters
    ----------
    counts : ndarray of int, shape (b,)
        Number of stored values of each feature.
    indices, data : ndarray, shape (sum(counts),)
        Sample index and value of each.
    out : ndarray, shape (b, n)
        The block; overwritten.
    """
    out[...] = 0
    out[np.repeat(np.arange(len(counts)), counts), indices] = data
