"""Matrices kept as arrays in HDF5 or Zarr, sparse or dense, read some rows at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from scipy.sparse import csr_array

from sfs_cli.errors import InputError, counted, listed
from sfs_cli.io.matrix.base import (
    Annotations,
    Axis,
    ReadOptions,
    RowBlock,
    cast_values,
    read_errors,
)

_POINTER_BYTES = 8
_AGAIN = "copy or write the file again"


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
        n_values = self._data.shape[0]
        fits = len(indptr) == shape[0] + 1 and indptr[0] == 0 and (indptr[1:] >= indptr[:-1]).all()
        if not fits or not indptr[-1] == n_values == self._indices.shape[0]:
            raise InputError(
                f"the sparse matrix of {shape[0]:,} rows is damaged: {n_values:,} values, "
                f"{self._indices.shape[0]:,} indices, {len(indptr):,} row pointers that end at "
                f"{indptr[-1] if len(indptr) else 0:,}",
                where=where,
                hint=_AGAIN,
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
    try:
        rows = csr_array((data, indices, indptr), shape=shape)
    except ValueError as error:
        raise _damaged(error, where) from error
    check_sparse(rows, where)
    rows.sort_indices()
    if not rows.has_canonical_format:
        raise InputError(
            "the sparse matrix has two values for one row and column",
            where=where,
            hint="add them up with sum_duplicates() if that is meant, or write the file again",
        )
    return rows


def checked_csr(matrix: Any, where: object) -> csr_array:
    """Return a sparse matrix of SciPy as `csr_block` does, in float64."""
    check_sparse(matrix, where)
    rows = csr_array(matrix)
    data = cast_values(rows.data, "float64", where)
    return csr_block(data, rows.indices, rows.indptr, rows.shape, where)


def check_sparse(matrix: Any, where: object) -> None:
    """Refuse a sparse matrix of SciPy whose pointers or indices lead out of its arrays.

    SciPy's compiled loops follow them, and it looks at all of them only when it is asked to.
    """
    if not hasattr(matrix, "check_format"):  # not compressed: it has looked at them
        return
    try:
        matrix.check_format(full_check=True)
    except ValueError as error:
        raise _damaged(error, where) from error


def _damaged(error: ValueError, where: object) -> InputError:
    return InputError(f"the sparse matrix is damaged: {error}", where=where, hint=_AGAIN)


def sparse_rows(group: Any, where: object) -> tuple[SparseRows, bool] | None:
    """Return the rows of a sparse matrix in AnnData, and whether these are features.

    None for another group.
    """
    encoding = attribute(group, "encoding-type", "h5sparse_format")
    shape = attribute(group, "shape", "h5sparse_shape")
    if encoding not in BY_FEATURE or shape is None:
        return None
    by_feature = BY_FEATURE[encoding]
    n, m = (int(size) for size in shape)
    return SparseRows(group, (m, n) if by_feature else (n, m), where), by_feature


BY_FEATURE = {"csr_matrix": False, "csr": False, "csc_matrix": True, "csc": True}
"""The encodings of sparse matrices in AnnData, and whether they go by feature."""


def attribute(element: Any, name: str, old_name: str) -> Any:
    """Return an attribute of a group or an array of AnnData, under its name of today or before."""
    value = element.attrs.get(name, element.attrs.get(old_name))
    return value.decode() if isinstance(value, bytes) else value


def encoding_of(element: Any, old_name: str, where: object) -> Any:
    """Return how a group or an array of AnnData is encoded.

    Raises
    ------
    InputError
        When it is encoded in a version that does not exist yet, whose meaning may be another.
    """
    version = str(attribute(element, "encoding-version", "encoding-version") or "0")
    if version.partition(".")[0] != "0":
        raise InputError(
            f"it is encoded in version {listed([version])}, and versions below 1 are known",
            where=where,
            hint="write it again with a current anndata, or use a newer sfs",
        )
    return attribute(element, "encoding-type", old_name)


class DenseRows:
    """Rows of a dense h5py or zarr array, or with `across` its columns."""

    sparse = False

    def __init__(self, array: Any, across: bool, where: object) -> None:
        n, m = (int(size) for size in array.shape)
        self.shape = (m, n) if across else (n, m)
        self._array = array
        self._across = across
        self._where = where

    def blocks(self, options: ReadOptions) -> Iterator[tuple[int, int, np.ndarray]]:
        """Yield C-ordered blocks, along the borders of chunks where they fit."""
        itemsize = max(self._array.dtype.itemsize, np.dtype(options.dtype).itemsize)
        step = max(1, options.block_bytes // max(1, self.shape[1] * itemsize))
        chunk = self._array.chunks[int(self._across)] if self._array.chunks else 1
        # a chunk on the border of two blocks would be unpacked twice
        step -= step % chunk if chunk <= step else 0
        for start in range(0, self.shape[0], step):
            stop = min(start + step, self.shape[0])
            if self._across:
                values = np.asarray(self._array[:, start:stop]).T
            else:
                values = np.asarray(self._array[start:stop])
            values = cast_values(values, options.dtype, self._where)
            yield start, stop, np.ascontiguousarray(values)


def chunks_are_tall(array: Any, block_bytes: int) -> bool:
    """Say whether reading slabs of rows would unpack the chunks more often than slabs of columns.

    ``array.chunks`` is None where the array is contiguous.
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
