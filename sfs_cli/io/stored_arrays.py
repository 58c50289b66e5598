"""Matrices kept as arrays in HDF5 or Zarr, sparse or dense, read a part at a time."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from sfs_cli.errors import InputError
from sfs_cli.io.base import Annotations, Axis, ReadOptions, RowBlock
from sfs_cli.io.casting import cast_values
from sfs_cli.io.sparse_rows import csr_block, row_spans

_READ_ERRORS = (OSError, RuntimeError, KeyError, ValueError, TypeError, EOFError, zlib.error)


class StoredMatrix(Protocol):
    """A matrix that can be read some rows at a time."""

    shape: tuple[int, int]
    sparse: bool

    def spans(self, options: ReadOptions) -> Iterator[tuple[int, int]]:
        """Yield the row ranges that make blocks."""
        ...

    def block(self, start: int, stop: int, dtype: str) -> Any:
        """Return rows ``start`` to ``stop`` as a block carries them."""
        ...


@contextmanager
def storage_errors(path: Path, name: str) -> Iterator[None]:
    """Turn what h5py, zarr or anndata raise on damaged or missing parts into an `InputError`."""
    try:
        yield
    except InputError:
        raise
    except _READ_ERRORS as error:
        reason = str(error).partition("\n")[0] or type(error).__name__
        raise InputError(
            f"cannot be read as {name}: {reason}",
            where=str(path),
            hint="the file is truncated, damaged or of another kind: copy or write it again",
        ) from error


class SparseRows:
    """Rows of a compressed sparse matrix; only the row pointers are held.

    Parameters
    ----------
    group : h5py or zarr group
        With ``data``, ``indices`` and ``indptr``.
    shape : tuple of int
        Rows (the compressed axis) and columns.
    where : str
        File and place in it, for messages.

    Raises
    ------
    InputError
        The three arrays and the shape contradict each other.
    """

    sparse = True

    def __init__(self, group: Any, shape: tuple[int, int], where: str) -> None:
        self.shape = shape
        self._data = group["data"]
        self._indices = group["indices"]
        self._indptr = np.asarray(group["indptr"][:]).astype(np.int64)
        self._where = where
        self._check()

    def spans(self, options: ReadOptions) -> Iterator[tuple[int, int]]:
        """Yield the row ranges that make blocks."""
        value_bytes = max(self._data.dtype.itemsize, np.dtype(options.dtype).itemsize)
        entry_bytes = value_bytes + self._indices.dtype.itemsize
        yield from row_spans(self._indptr, entry_bytes, options.block_bytes)

    def block(self, start: int, stop: int, dtype: str) -> Any:
        """Return rows ``start`` to ``stop``, a csr_array."""
        first, last = int(self._indptr[start]), int(self._indptr[stop])
        data = cast_values(np.asarray(self._data[first:last]), dtype, self._where)
        indices = np.asarray(self._indices[first:last])
        indptr = self._indptr[start : stop + 1] - first
        return csr_block(data, indices, indptr, self.shape[1], self._where)

    def _check(self) -> None:
        n_values, n_indices = self._data.shape[0], self._indices.shape[0]
        steps = np.diff(self._indptr)
        whole = len(self._indptr) == self.shape[0] + 1 and (steps >= 0).all()
        if not whole or self._indptr[0] != 0 or not self._indptr[-1] == n_values == n_indices:
            raise InputError(
                f"the sparse matrix of {self.shape[0]:,} rows is damaged: {n_values:,} values, "
                f"{n_indices:,} indices, {len(self._indptr):,} row pointers that end at "
                f"{self._indptr[-1] if len(self._indptr) else 0:,}",
                where=self._where,
                hint="copy or write the file again",
            )
        # an absent chunk of Zarr reads as zeros, which sparse matrices do not store
        lost = getattr(self._data, "nchunks", 0) - getattr(self._data, "nchunks_initialized", 0)
        if n_values and lost > 0:
            raise InputError(
                f"{lost:,} chunks of the values of the sparse matrix are lost",
                where=self._where,
                hint="copy the folder again, or drop stored zeros with eliminate_zeros()",
            )


class DenseRows:
    """Rows of a dense array, or its columns where its chunks are tall.

    Parameters
    ----------
    array : h5py.Dataset or zarr.Array, shape (n, m)
        The values.
    across : bool
        Read columns of the array as rows of the matrix.
    where : str
        File and place in it, for messages.
    """

    sparse = False

    def __init__(self, array: Any, across: bool, where: str) -> None:
        n, m = (int(size) for size in array.shape)
        self.shape = (m, n) if across else (n, m)
        self._array = array
        self._across = across
        self._where = where

    def spans(self, options: ReadOptions) -> Iterator[tuple[int, int]]:
        """Yield the row ranges that make blocks, along the borders of chunks where they fit."""
        itemsize = max(self._array.dtype.itemsize, np.dtype(options.dtype).itemsize)
        step = max(1, options.block_bytes // max(1, self.shape[1] * itemsize))
        chunk = self._array.chunks[int(self._across)] if self._array.chunks else 1
        step -= step % chunk if chunk <= step else 0
        for start in range(0, self.shape[0], step):
            yield start, min(start + step, self.shape[0])

    def block(self, start: int, stop: int, dtype: str) -> np.ndarray:
        """Return rows ``start`` to ``stop``, C-ordered."""
        if self._across:
            values = np.asarray(self._array[:, start:stop]).T
        else:
            values = np.asarray(self._array[start:stop])
        return np.ascontiguousarray(cast_values(values, dtype, self._where))


def chunks_are_tall(array: Any, block_bytes: int) -> bool:
    """Tell whether slabs of rows would unpack the chunks of an array more often than columns.

    Parameters
    ----------
    array : h5py.Dataset or zarr.Array, shape (n, m)
        The array; ``chunks`` is None where it is contiguous.
    block_bytes : int
        Size of a slab.
    """
    if not array.chunks:
        return False
    n, m = array.shape
    tall, wide = array.chunks
    itemsize = array.dtype.itemsize
    rows = max(1, block_bytes // max(1, m * itemsize))
    columns = max(1, block_bytes // max(1, n * itemsize))
    return max(1.0, min(tall, n) / rows) > max(1.0, min(wide, m) / columns)


@dataclass
class StoredReader:
    """A reader over a `StoredMatrix` whose ids are known; see `MatrixReader`."""

    path: Path
    format: str
    fixed_rows: Axis | None
    row_ids: Sequence[str]
    column_ids: Sequence[str]
    matrix: StoredMatrix
    annotations: Annotations
    notes: list[str]
    options: ReadOptions
    release: Callable[[], None]

    def __post_init__(self) -> None:
        self.sparse = self.matrix.sparse
        self.n_rows: int | None = len(self.row_ids)

    def first_row_ids(self) -> Sequence[str]:
        """Return the ids of all rows, which were read when the file was opened."""
        return self.row_ids

    def blocks(self) -> Iterator[RowBlock]:
        """Yield the rows in order."""
        for start, stop in self.matrix.spans(self.options):
            with storage_errors(self.path, self.format):
                values = self.matrix.block(start, stop, self.options.dtype)
            yield RowBlock(self.row_ids[start:stop], values)

    def close(self) -> None:
        """Release the file."""
        self.release()
