"""Matrices kept as arrays in HDF5 or Zarr, sparse or dense, read some rows at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from scipy.sparse import csr_array, issparse, safely_cast_index_arrays

from sfs_cli.errors import COPY_AGAIN, InputError, counted
from sfs_cli.io.matrix.base import (
    Annotations,
    Axis,
    ReadOptions,
    RowBlock,
    cast_values,
    read_errors,
)

_POINTER_BYTES = 8


def open_hdf5(path: Path) -> Any:
    """Open an HDF5 file for reading, as an ``h5py.File``."""
    import h5py

    with read_errors(path, "HDF5"):
        return h5py.File(path, "r")


def open_zarr_group(path: Path) -> Any:
    """Open a Zarr folder for reading."""
    import zarr

    with read_errors(path, "Zarr"):
        return zarr.open_group(str(path), mode="r")


class StoredMatrix(Protocol):
    """A matrix that can be read some rows at a time."""

    shape: tuple[int, int]
    sparse: bool

    def blocks(self, options: ReadOptions) -> Iterator[tuple[int, int, np.ndarray | csr_array]]:
        """Yield the range of the rows (start, stop) and the values of each block."""
        ...


class SparseRows:
    """Rows of a compressed sparse matrix; only the row pointers are held.

    `group` (h5py or zarr) has ``data``, ``indices`` and ``indptr``; `shape` counts rows (the
    compressed axis) and columns; `where` is the place for messages.
    """

    sparse = True

    def __init__(self, group: Any, shape: tuple[int, int], where: object) -> None:
        self.shape = shape
        self._data = group["data"]
        self._indices = group["indices"]
        self._indptr = indptr = np.asarray(group["indptr"][:]).astype(np.int64)
        self._where = where
        n_values, n_indices = self._data.shape[0], self._indices.shape[0]
        if len(indptr) != shape[0] + 1 or indptr[0] or not indptr[-1] == n_values == n_indices:
            raise InputError(  # each block is checked by SciPy, which does not see what is left out
                f"the row pointers of the sparse matrix do not fit its {shape[0]:,} rows and "
                f"{n_values:,} values",
                where=where,
                hint=COPY_AGAIN,
            )
        # an absent chunk of Zarr reads as zeros, which sparse matrices do not store
        lost = getattr(self._data, "nchunks", 0) - getattr(self._data, "nchunks_initialized", 0)
        if n_values and lost > 0:
            raise InputError(
                f"{lost:,} chunks of the values of the sparse matrix are lost",
                where=where,
                hint="copy the folder again, or drop stored zeros with eliminate_zeros()",
            )

    def blocks(self, options: ReadOptions) -> Iterator[tuple[int, int, csr_array]]:
        """Yield blocks of about equal size, larger than asked for only where one row is."""
        value_bytes = max(self._data.dtype.itemsize, np.dtype(options.dtype).itemsize)
        entry_bytes = value_bytes + self._indices.dtype.itemsize
        # what comes before each row takes, so that a block ends where a binary search says
        cost = self._indptr * entry_bytes + np.arange(len(self._indptr)) * _POINTER_BYTES
        start = 0
        while start < self.shape[0]:
            end = int(np.searchsorted(cost, cost[start] + options.block_bytes, side="right")) - 1
            stop = max(start + 1, end)
            first, last = int(self._indptr[start]), int(self._indptr[stop])
            data = cast_values(np.asarray(self._data[first:last]), options.dtype, self._where)
            indices = np.asarray(self._indices[first:last])
            indptr = self._indptr[start : stop + 1] - first
            shape = stop - start, self.shape[1]
            yield start, stop, csr_block(data, indices, indptr, shape, self._where)
            start = stop


def csr_block(
    data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, shape: tuple[int, int], where: object
) -> csr_array:
    """Return sparse rows with sorted indices.

    What `check_sparse` finds, and two values for one row and column, are an `InputError`.
    """
    with read_errors(where, "a sparse matrix"):
        rows = csr_array((data, indices, indptr), shape=shape)
    check_sparse(rows, where)
    rows.sort_indices()
    if not rows.has_canonical_format:
        raise InputError(
            "the sparse matrix has two values for one row and column",
            where=where,
            hint="add them up with sum_duplicates() if that is meant, or write the file again",
        )
    # pointers of a whole file may be long: all that follows would copy indices to fit them
    rows.indices, rows.indptr = safely_cast_index_arrays(rows, np.int32)
    return rows


def checked_csr(matrix: Any, where: object, dtype: str = "float64") -> csr_array:
    """Return the sorted rows of a sparse matrix of SciPy, which adds up the values of one place.

    What `check_sparse` finds is an `InputError`.
    """
    check_sparse(matrix, where)
    if matrix.dtype.kind in "biuf" and not getattr(matrix, "has_canonical_format", False):
        matrix = matrix.astype(np.float64)  # a sum of short integers overflows, of float32 rounds
    rows = csr_array(matrix, copy=True)  # it may be all of the user's matrix
    rows.sum_duplicates()
    rows.data = cast_values(rows.data, dtype, where)
    return rows


def check_sparse(matrix: Any, where: object) -> None:
    """Refuse a sparse matrix of SciPy whose pointers or indices lead out of its arrays.

    SciPy's compiled loops follow them, and it looks at all of them only when it is asked to.
    """
    if hasattr(matrix, "check_format"):  # else it has looked at them
        with read_errors(where, "a sparse matrix"):
            matrix.check_format(full_check=True)


class ArrayRows:
    """Rows, or `across` the columns, of what is cut as an array is.

    That is an array of NumPy, HDF5, Zarr or Dask, or a sparse matrix of SciPy.
    """

    def __init__(self, values: Any, across: bool, where: object) -> None:
        n, m = map(int, values.shape)
        self.shape = (m, n) if across else (n, m)
        self._values, self._across, self._where = values, across, where
        self.sparse = is_sparse(values)

    def _rows(self, start: int, stop: int) -> Any:
        # a matrix in a file has no transpose of its own
        return self._values[:, start:stop].T if self._across else self._values[start:stop]

    def blocks(self, options: ReadOptions) -> Iterator[tuple[int, int, np.ndarray | csr_array]]:
        """Yield blocks, the dense ones C-ordered, along the borders of chunks where they fit."""
        itemsize = max(self._values.dtype.itemsize, np.dtype(options.dtype).itemsize)
        step = max(1, options.block_bytes // max(1, self.shape[1] * itemsize))
        chunks = getattr(self._values, "chunks", None)
        chunk = chunks[int(self._across)] if chunks else 1
        # a chunk on the border of two blocks would be unpacked twice; those of Dask are several
        if isinstance(chunk, int) and chunk <= step:
            step -= step % chunk
        for start in range(0, self.shape[0], step):
            stop = min(start + step, self.shape[0])
            values = real(self._rows(start, stop), self._where, options.dtype)
            yield start, stop, values if self.sparse else np.ascontiguousarray(values)


def is_sparse(value: Any) -> bool:
    """Tell sparse matrices and arrays of SciPy from everything else."""
    return bool(issparse(value))


def real(values: Any, where: object, dtype: str = "float64") -> np.ndarray | csr_array:
    """Return a dense or sparse matrix of numbers in a type; InputError for other values."""
    if is_sparse(values):
        return checked_csr(values, where, dtype)
    return cast_values(np.asarray(values), dtype, where)


@dataclass
class StoredReader:
    """A `MatrixReader` of a `StoredMatrix` with known ids; `release` closes the file.

    Ids that are not as many as the rows and columns are an `InputError`.
    """

    path: Path
    format: str
    features: Sequence[str]
    samples: Sequence[str]
    fixed_rows: Axis | None  # which of them are the rows; None: the features, and it is not sure
    matrix: StoredMatrix
    options: ReadOptions
    release: Callable[[], None]
    annotations: Annotations = field(default_factory=Annotations)
    notes: Sequence[str] = ()

    def __post_init__(self) -> None:
        self.sparse = self.matrix.sparse
        named = [("feature", self.features), ("sample", self.samples)]
        if self.fixed_rows == "samples":
            named.reverse()
        (_, self.row_ids), (_, self.column_ids) = named
        self.n_rows: int | None = len(self.row_ids)
        n, m = self.matrix.shape
        if (n, m) != (len(self.row_ids), len(self.column_ids)):
            ids = " and ".join(counted(len(names), what) for what, names in named)
            raise InputError(
                f"the matrix is {n:,} x {m:,}, but there are the names of {ids}",
                where=self.path,
                hint="give the names and the matrix that were written together, or write them "
                "again",
            )

    def first_row_ids(self) -> Sequence[str]:
        """Return the ids of all rows, which were read when the file was opened."""
        return self.row_ids

    def blocks(self) -> Iterator[RowBlock]:
        """Yield the rows in order."""
        with read_errors(self.path, self.format):
            for start, stop, values in self.matrix.blocks(self.options):
                yield RowBlock(self.row_ids[start:stop], values)

    def close(self) -> None:
        """Release the file."""
        self.release()
