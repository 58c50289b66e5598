"""What passes see of a matrix: spans of its features, blocks of their values, buffers for blocks.

`graph` and `methods` know a matrix by `MatrixView` alone; where its values are is the business of
``sfs_cli.store``.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Self

import numpy as np

if TYPE_CHECKING:
    from scipy.sparse import csr_array

DOUBLE = np.dtype(np.float64)
Arrays = dict[str, np.ndarray]
"""What is found of some features, by name: arrays that are added up, or joined."""
TARGET_BYTES = 8 << 20
MAX_FEATURES = 16_384
FLOAT64_BELOW = 2e10
"""Dense arithmetic (n^2 m) below this is done in float64: it takes well under a second."""


class Span(NamedTuple):
    """Features ``lo <= i < hi``."""

    lo: int
    hi: int

    @property
    def size(self) -> int:
        """Number of features."""
        return self.hi - self.lo


def block_features(n_samples: int, itemsize: int) -> int:
    """Return the number of features in a block that stays inside the processor's caches.

    It depends on the shape alone, never on memory or threads: blocks decide how sums are rounded,
    and those have to be the same on every machine.
    """
    return max(1, min(MAX_FEATURES, TARGET_BYTES // (n_samples * itemsize)))


def cut(n_features: int, size: int) -> list[Span]:
    """Cut ``n_features`` features into consecutive spans of at most `size`."""
    return [Span(lo, min(lo + size, n_features)) for lo in range(0, n_features, size)]


def pointers(counts: np.ndarray) -> np.ndarray:
    """Return where each row's stored values begin, shape (b + 1,), from how many each has."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(counts, dtype=np.int64)])


def arithmetic_dtype(n: int, m: int, stored: np.dtype[Any]) -> np.dtype[Any]:
    """Return the type of the dense arithmetic: float64 where that costs next to nothing."""
    return DOUBLE if n * n * m <= FLOAT64_BELOW else stored


class InDtypes(dict[np.dtype[Any], Any]):
    """A matrix, dense or sparse, by the dtypes of the arithmetic: each is made once, on demand.

    It is pickled without those.
    """

    def __init__(self, matrix: Any) -> None:
        super().__init__({matrix.dtype: matrix})
        self.matrix = matrix

    def __missing__(self, dtype: np.dtype[Any]) -> Any:
        """Make the matrix in the dtype of a block."""
        if dtype.kind != "f":
            raise TypeError(f"a block must hold floating-point numbers, not {dtype}")
        self[dtype] = self.matrix.astype(dtype)
        return self[dtype]

    def __reduce__(self) -> tuple[type[InDtypes], tuple[Any]]:
        return InDtypes, (self.matrix,)


@dataclass(frozen=True)
class Ids:
    """The ids of both axes, and the annotations of both.

    Attributes
    ----------
    features, samples : sequence of str
        Unique ids.
    obs : pyarrow.Table, optional
        One row per sample; columns are annotations.
    var : mapping of str to sequence of str
        The annotations of the features, each of length m; "" where there is none.
    """

    features: Sequence[str]
    samples: Sequence[str]
    obs: Any | None = field(default=None, compare=False)  # this room knows no table format
    var: Mapping[str, Sequence[str]] = field(default_factory=dict, compare=False)


class LeftOut(IntEnum):
    """Why a feature takes no part in anything, from the sums of the samples to the scores.

    The numbers are those of its status (``sfs_cli.methods.base.Status``).
    """

    MISSING = 3
    EXCLUDED = 5
    NOT_INCLUDED = 6
    FEW_SAMPLES = 7
    EXPLAINED = 8
    LOW_COUNTS = 10


@dataclass(frozen=True)
class Block:
    """A block of features, ready to be scored.

    Attributes
    ----------
    values : ndarray, shape (b, n)
        In the dtype asked for; the receiver may overwrite it.
    left_out : ndarray of int8, shape (b,), or None
        Why features are left out (`LeftOut`), 0 for those that take part; the rows of the others
        are zero.
    zero : ndarray of bool, shape (b,), or None
        Features that are zero in every sample before the transformation; None where there is no
        transformation and `values` shows it.
    """

    values: np.ndarray
    left_out: np.ndarray | None = None
    zero: np.ndarray | None = None


class BlockLike(Protocol):
    """What methods read of a `Block`; they score rows of one too."""

    @property
    def values(self) -> np.ndarray:
        """The values, shape (b, n)."""

    @property
    def left_out(self) -> np.ndarray | None:
        """As in `Block`."""

    @property
    def zero(self) -> np.ndarray | None:
        """As in `Block`."""


PIECE_BYTES = 2 << 20
"""So much of a block stays in a cache from one operation to the next.

Half of it would stay in a cache nearer to the core, but threads take turns with the interpreter's
lock after every operation: two of them would be hardly faster than one.
"""


def pieces(b: int, n: int) -> list[slice]:
    """Cut b features of n samples into pieces that take `PIECE_BYTES` in float64.

    Where features are multiplied by a few columns, most of the time goes into moving them between
    memory and processor. Every operation on a whole block moves them once; a piece stays in cache.
    """
    size = max(1, PIECE_BYTES // (8 * n))
    return [slice(lo, min(lo + size, b)) for lo in range(0, max(1, b), size)]


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


@dataclass(frozen=True)
class NonZeros:
    """The stored values of a block of features, ready to be scored.

    Attributes
    ----------
    indptr : ndarray of int64, shape (b + 1,)
        Where each feature begins.
    indices : ndarray of int32, shape (nnz,)
        Samples; each once for a feature.
    data : ndarray, shape (nnz,)
        Values, which may be zero; the receiver may overwrite them.
    n_samples : int
        Number of samples n.
    left_out, zero : ndarray of int8 and of bool, shape (b,), or None
        As in `Block`; nothing is stored of features that are left out.
    coefficients : ndarray, shape (b, r), or None
        Of the `basis` of the matrix, which are to be subtracted from the values.
    """

    indptr: np.ndarray
    indices: np.ndarray
    data: np.ndarray
    n_samples: int
    left_out: np.ndarray | None = None
    zero: np.ndarray | None = None
    coefficients: np.ndarray | None = None

    @property
    def rows(self) -> np.ndarray:
        """The feature of each value, shape (nnz,)."""
        return np.repeat(np.arange(self.n_features), np.diff(self.indptr))

    @property
    def n_features(self) -> int:
        """Number of features b."""
        return len(self.indptr) - 1

    @property
    def stored(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Where each feature begins, and the samples and values of all."""
        return self.indptr, self.indices, self.data

    def as_rows(self) -> csr_array:
        """Return the values as a sparse matrix, shape (b, n)."""
        from scipy.sparse import csr_array

        shape = self.n_features, self.n_samples
        return csr_array((self.data, self.indices, self.indptr), shape=shape)

    def with_rows(self, which: np.ndarray, values: np.ndarray) -> NonZeros:
        """Return a block with other values (l, n) of the features `which` (l,), ascending."""
        rows = self.rows
        kept = np.isin(rows, which, invert=True)
        rows = np.concatenate([rows[kept], np.repeat(which, self.n_samples)])
        samples = np.tile(np.arange(self.n_samples, dtype=np.int32), len(which))
        order = np.argsort(rows, kind="stable")
        return replace(
            self,
            indptr=pointers(np.bincount(rows, minlength=self.n_features)),
            indices=np.concatenate([self.indices[kept], samples])[order],
            data=np.concatenate([self.data[kept], values.ravel()])[order],
        )


class Shared:
    """What many tasks refer to: workers in other processes get it once, not with every task.

    Attributes
    ----------
    files : tuple of Path
        What a worker reads it from; empty where it is sent whole.
    """

    @property
    def files(self) -> tuple[Path, ...]:
        """Empty: all of it is sent."""
        return ()


class MatrixView(Protocol):
    """A matrix as methods see it: chosen samples, transformed, read in blocks of features."""

    @property
    def n_features(self) -> int:
        """Number of features m."""

    @property
    def n_samples(self) -> int:
        """Number of samples n that are used."""

    @property
    def ids(self) -> Ids:
        """The ids of the features and of the samples that are used."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the stored values."""

    @property
    def lossless_dtype(self) -> np.dtype[Any]:
        """Shortest type in which blocks hold their values without rounding."""

    @property
    def sparse(self) -> bool:
        """Whether zeros are not stored."""

    @property
    def keeps_zeros(self) -> bool:
        """Whether zeros are not stored, and are still zero after the transformation."""

    @property
    def basis(self) -> np.ndarray | None:
        """Rows (r, n), orthonormal and of sum 0, that are taken out of a matrix that keeps zeros.

        None where nothing is taken out, or of values that are not stored as they are.
        """

    def read(self, span: Span, dtype: np.dtype[Any]) -> Block:
        """Read a block; its values stay valid until this thread's next read."""

    def read_nonzeros(self, span: Span, dtype: np.dtype[Any]) -> NonZeros:
        """Read the stored values of a block, where the matrix `keeps_zeros` or has a `basis`."""

    def prefetch(self, span: Span) -> None:
        """Announce that a span will be read soon."""

    def selecting(self, features: np.ndarray) -> Self:
        """Return the view of some features (indices, ascending), transformed as among all."""


class ArrayMatrix(Shared):
    """An array in memory as a `MatrixView`, such as the principal components of the samples.

    Parameters
    ----------
    values : ndarray, shape (m, n)
        One row per feature, without missing values.
    ids : Ids
        The ids of both axes.
    """

    sparse = False
    keeps_zeros = False
    basis = None

    def __init__(self, values: np.ndarray, ids: Ids) -> None:
        self.values = values
        self.ids = ids
        self.n_features, self.n_samples = values.shape
        self.dtype = self.lossless_dtype = values.dtype

    def read(self, span: Span, dtype: np.dtype[Any]) -> Block:
        """Copy a block of features."""
        return Block(self.values[span.lo : span.hi].astype(dtype, order="C"))

    def read_nonzeros(self, span: Span, dtype: np.dtype[Any]) -> NonZeros:
        """Refuse: zeros are stored."""
        raise NotImplementedError

    def prefetch(self, span: Span) -> None:
        """Nothing to do: the values are here."""

    def selecting(self, features: np.ndarray) -> ArrayMatrix:
        """Return a copy of some features."""
        names = [self.ids.features[i] for i in features]
        return ArrayMatrix(self.values[features], Ids(names, self.ids.samples, self.ids.obs))


OF_A_ROW = 512
"""Values in NumPy's buffers, in `row_by_row`."""


@contextmanager
def row_by_row() -> Iterator[None]:
    """Let NumPy combine the rows of a block with a column, or with one row, row by row.

    It combines as many rows at a time as its buffers hold (8,192 values), for which it first
    copies the column or the row along the buffer: two to three times the work of the operation.
    Only the time differs; sums in buffers (a `sum` that changes the type) do not belong here.
    """
    before = np.setbufsize(OF_A_ROW)
    try:
        yield
    finally:
        np.setbufsize(before)


class Workspace:
    """Named scratch arrays, one set for each thread.

    An array handed out stays valid until the same thread asks for the same name again. Workers in
    other processes start with an empty workspace.
    """

    def __init__(self) -> None:
        self._local = threading.local()

    def array(self, name: str, rows: int, columns: int, dtype: np.dtype[Any]) -> np.ndarray:
        """Return an uninitialized C-ordered array of the given shape."""
        held: dict[str, np.ndarray] = self._local.__dict__.setdefault("arrays", {})
        buffer = held.get(name)
        if buffer is None or buffer.dtype != dtype or buffer.size < rows * columns:
            buffer = held[name] = np.empty(rows * columns, dtype)
        return buffer[: rows * columns].reshape(rows, columns)

    def zeros(self, name: str, size: int, dtype: Any = np.float64) -> np.ndarray:
        """Return a vector of zeros, which whoever writes into it must leave as zeros."""
        held: dict[str, np.ndarray] = self._local.__dict__.setdefault("zeros", {})
        if name not in held or len(held[name]) != size:
            held[name] = np.zeros(size, dtype)
        return held[name]

    def __reduce__(self) -> tuple[type[Workspace], tuple[()]]:
        return Workspace, ()
