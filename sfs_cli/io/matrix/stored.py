"""Matrices kept as arrays in HDF5 or Zarr, sparse or dense, read some rows at a time."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy.sparse import csr_array

from sfs_cli.errors import InputError, counted, listed
from sfs_cli.io.files.child_process import reading
from sfs_cli.io.files.names import check_long, decoded
from sfs_cli.io.files.read_limits import FIELD_BYTES, check_room, check_there
from sfs_cli.io.matrix.base import (
    Annotations,
    Axis,
    ReadOptions,
    RowBlock,
    cast_values,
    read_errors,
    releasing,
)

_POINTER_BYTES = 8
MOST_GROUPS = 32
"""Groups within each other that are followed; AnnData and MuData have five."""
_AGAIN = "copy or write the file again"
_shown = partial(decoded, errors="replace")


def open_hdf5(path: Path, allow_external: bool = False) -> Any:
    """Open an HDF5 file for reading, as an ``h5py.File``.

    One that takes values from other files (external links, external storage, virtual data sets)
    is an `InputError`, unless that is allowed: a file from elsewhere could name any file of the
    user, and what is hashed and recorded would not be what is read.
    """
    import h5py

    with read_errors(path, "HDF5"):
        file = h5py.File(path, "r")
        with releasing(file.close):
            if not allow_external and (found := _external_objects(file)):
                raise InputError(
                    f"it takes values from other files: {listed(found)}",
                    where=path,
                    hint="give --allow-external if you trust it, or write it as one file",
                    option="allow_external",
                )
        return file


def _external_objects(file: Any) -> list[str]:
    """Return the objects of a file whose content is in other files, with the names of these."""
    from h5py import h5d, h5l, h5o

    found: list[str] = []

    def see_link(name: bytes) -> None:
        if file.id.links.get_info(name).type == h5l.TYPE_EXTERNAL:
            other = file.id.links.get_val(name)[0]
            found.append(f"{_shown(name)} (a link to {_shown(other)})")

    def see_object(name: bytes) -> None:
        element = h5o.open(file.id, name)
        if not isinstance(element, h5d.DatasetID):
            return
        plist = element.get_create_plist()
        if plist.get_external_count():
            other = plist.get_external(0)[0]
            found.append(f"{_shown(name)} (stored in {_shown(other)})")
        elif plist.get_layout() == h5d.VIRTUAL:
            # a part of itself is named "."
            others = {plist.get_virtual_filename(i) for i in range(plist.get_virtual_count())}
            if others != {"."}:
                found.append(f"{_shown(name)} (a virtual data set of other files)")

    reading("the list of its objects")
    file.id.links.visit(see_link)
    h5o.visit(file.id, see_object)
    return found


def check_declared(element: Any, where: object) -> None:
    """Refuse a group or an array, to be read as a whole, that declares more than may be held."""
    parts = [element] if hasattr(element, "shape") else parts_of(element, where)
    size = sum(_declared(part, where) for part in parts if hasattr(part, "shape"))
    check_room("what it declares takes", size, where)


def parts_of(group: Any, where: object, depth: int = 0) -> Iterator[Any]:
    """Yield the groups and arrays in a group, and those within these.

    Groups within each other without end, as a link to a group that it lies in makes them, are an
    `InputError`.
    """
    if depth > MOST_GROUPS:
        raise InputError(
            f"groups lie within each other more than {MOST_GROUPS} deep: a link may lead in a "
            "circle",
            where=where,
            hint="the file is damaged, or made to do harm: write it again without links",
        )
    for name in group:
        part = group[name]
        yield part
        if hasattr(part, "keys"):
            yield from parts_of(part, where, depth + 1)


def read_names(array: Any, where: object) -> list[str]:
    """Read an array of names, first one and then twice as many each time.

    HDF5 declares how many texts there are, not how long they are: so gigabytes of names that are
    too long are refused at the first of them.
    """
    check_declared(array, where)
    place = f"{where}, {str(array.name).strip('/')}"
    if len(array.shape or ()) != 1 or array.dtype.kind not in "OSUT":
        raise InputError(
            f"names are expected, but it holds {array.dtype}, of shape {array.shape}",
            where=place,
            hint="write the names as texts",
        )
    found: list[str] = []
    while len(found) < len(array):
        more = list(map(decoded, array[len(found) : 2 * len(found) + 1].tolist()))
        check_long(more, "an entry", place)
        found += more
    return found


def _declared(element: Any, where: object) -> int:
    if not _holds_values(element.dtype):
        raise InputError(
            "it holds references to other parts of the file, or lists, where texts or numbers "
            "belong",
            where=f"{where}, {str(element.name).strip('/')}",
            hint="write it again with a current anndata",
        )
    text = FIELD_BYTES if element.dtype.kind in "OT" else 0
    _check_there(element, where)
    return math.prod(element.shape or ()) * (element.dtype.itemsize + text)


def _holds_values(dtype: Any) -> bool:
    """Tell texts and numbers, records of them too, from references and lists in HDF5."""
    if dtype.names:
        return all(_holds_values(dtype[name]) for name in dtype.names)
    told = dtype.metadata or {}
    return "ref" not in told and told.get("vlen", str) in (str, bytes)


def _check_chunks(array: Any, where: object) -> None:
    """Refuse an array that is read piece by piece, but whose pieces are too large to be held."""
    _check_there(array, where)
    if array.chunks:
        check_room("a chunk of it takes", math.prod(array.chunks) * array.dtype.itemsize, where)


def _check_there(array: Any, where: object) -> None:
    if getattr(array, "is_virtual", False):  # its values are in other files, which is allowed
        return
    size = array.dtype.itemsize
    if hasattr(array, "id"):  # of HDF5
        stored = array.id.get_storage_size()
    else:
        # what the chunks that are there unpack to
        stored = array.nchunks_initialized * math.prod(array.chunks) * size
    check_there(math.prod(array.shape or ()) * size, stored, where)


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
        for array in (self._data, self._indices):
            _check_chunks(array, where)
        check_declared(group["indptr"], where)
        self._indptr = whole_numbers(np.asarray(group["indptr"][:]), where).astype(np.int64)
        self._where = where
        n_values = self._data.shape[0]
        check_pointers(self._indptr, shape[0], n_values, self._indices.shape[0], where)
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

    Pointers that do not fit, an index out of bounds, or two values for one row and column, are an
    `InputError`: compiled loops of SciPy and of ours go where pointers and indices say.
    """
    for array in (indptr, indices):
        whole_numbers(array, where)
    check_pointers(indptr, shape[0], data.size, len(indices), where)
    _check_range(indices, shape[1], where)
    kind = np.int32 if max(shape[1], len(data)) < 2**31 else np.int64
    arrays = (data, indices.astype(kind, copy=False), indptr.astype(kind, copy=False))
    rows = csr_array(arrays, shape=shape)
    rows.sort_indices()
    if not rows.has_canonical_format:
        raise InputError(
            "the sparse matrix has two values for one row and column",
            where=where,
            hint="add them up with sum_duplicates() if that is meant, or write the file again",
        )
    return rows


def whole_numbers(array: np.ndarray, where: object) -> np.ndarray:
    """Return the pointers or indices of a sparse matrix; other than integers are refused."""
    if array.dtype.kind not in "iu" or array.ndim != 1:
        raise InputError(
            f"the sparse matrix is damaged: indices of type {array.dtype}, in {array.ndim} "
            "dimensions",
            where=where,
            hint=_AGAIN,
        )
    return array


def check_pointers(
    indptr: np.ndarray, n_rows: int, n_values: int, n_indices: int, where: object
) -> None:
    """Refuse pointers that do not cut values and indices into rows, one after the other."""
    fits = len(indptr) == n_rows + 1 and indptr[0] == 0 and (indptr[1:] >= indptr[:-1]).all()
    if not fits or not indptr[-1] == n_values == n_indices:
        raise InputError(
            f"the sparse matrix of {n_rows:,} rows is damaged: {n_values:,} values, "
            f"{n_indices:,} indices, {len(indptr):,} row pointers that end at "
            f"{indptr[-1] if len(indptr) else 0:,}",
            where=where,
            hint=_AGAIN,
        )


class Compressed(NamedTuple):
    """The arrays of a matrix that is compressed by rows (csr) or columns (csc), as a file has them.

    SciPy's own classes cut and convert them.
    """

    format: str
    shape: tuple[int, ...]
    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray


def checked_csr(matrix: Any, where: object) -> csr_array:
    """Return a `Compressed` or any sparse matrix of SciPy, float64, with sorted rows.

    SciPy's readers take the arrays of a file as they are, and its conversions are compiled loops:
    so the arrays are checked first. Those that are not of a sparse matrix are an `InputError`.
    """
    data = cast_values(np.asarray(matrix.data), "float64", where)
    n, m = (int(size) for size in matrix.shape)
    if matrix.format in ("csr", "csc"):
        by_row = matrix.format == "csr"
        shape = (n, m) if by_row else (m, n)
        found = csr_block(data, matrix.indices, matrix.indptr, shape, where)
        return found if by_row else csr_array(found.T.tocsr())
    check_sparse(matrix, where)
    try:
        other = matrix.tocoo()  # diagonals are cut to the shape
    except (ValueError, IndexError) as error:
        raise InputError(
            f"the sparse matrix is damaged: {error}", where=where, hint=_AGAIN
        ) from None
    order = np.lexsort((other.col, other.row))
    indptr = np.searchsorted(other.row[order], np.arange(n + 1))
    return csr_block(
        cast_values(other.data, "float64", where)[order], other.col[order], indptr, (n, m), where
    )


def check_sparse(matrix: Any, where: object) -> None:
    """Refuse a sparse matrix of SciPy whose arrays do not fit each other, as an `InputError`.

    Compiled loops of SciPy go where pointers and indices say, out of their memory too, and it looks
    at them when a matrix is made only. Values for one place are added up, in any order, so that
    these are no fault.
    """
    kind, shape = matrix.format, tuple(matrix.shape)
    if len(shape) != 2:
        raise InputError(
            f"the sparse matrix has {len(shape)} axes, not 2",
            where=where,
            hint="give rows and columns",
        )
    if kind == "dok":  # a dict of Python, whose conversion checks the keys
        return
    data = np.concatenate([[], *matrix.data]) if kind == "lil" else np.asarray(matrix.data)
    if data.dtype.kind not in "biuf":
        cast_values(data, "float64", where)
    rows, columns = shape[::-1] if kind == "csc" else shape
    fits = data.ndim == {"bsr": 3, "dia": 2}.get(kind, 1)
    if kind in ("csr", "csc", "bsr"):
        indptr, indices = _signed(matrix.indptr, where), _signed(matrix.indices, where)
        if kind == "bsr" and fits:
            high, wide = data.shape[1:]
            fits = high > 0 and wide > 0 and (rows % high, columns % wide) == (0, 0)
            rows, columns = (rows // high, columns // wide) if fits else (0, 0)
        if fits:
            check_pointers(indptr, rows, len(data), len(indices), where)
            _check_range(indices, columns, where)
    elif kind == "coo":
        for index, length in ((matrix.row, rows), (matrix.col, columns)):
            fits &= len(np.atleast_1d(index)) == len(data)
            _check_range(_signed(index, where), length, where)
    elif kind == "dia":
        fits &= len(_signed(matrix.offsets, where)) == len(data)
    elif kind == "lil":
        lengths = [[len(row) for row in part] for part in (matrix.rows, matrix.data)]
        fits &= lengths[0] == lengths[1] and len(lengths[0]) == rows
        places = [int(i) for row in matrix.rows for i in row]
        _check_range(np.asarray(places, np.int64), columns, where)
    if not fits:
        raise InputError(
            f"the sparse matrix ({kind}) of {rows:,} x {columns:,} is damaged: values of shape "
            f"{data.shape} do not fit its indices",
            where=where,
            hint=_AGAIN,
        )


def _signed(array: Any, where: object) -> np.ndarray:
    """Return indices or pointers that SciPy can take as int64."""
    found = whole_numbers(np.asarray(array), where)
    if not np.can_cast(found.dtype, np.int64):
        raise InputError(
            f"the sparse matrix is damaged: indices of type {found.dtype}", where=where, hint=_AGAIN
        )
    return found


def _check_range(indices: np.ndarray, length: int, where: object) -> None:
    if indices.size and (indices.min() < 0 or indices.max() >= length):
        raise InputError(
            f"the sparse matrix is damaged: an index is outside 0 to {length - 1:,}",
            where=where,
            hint=_AGAIN,
        )


def check_sparse_groups(group: Any, where: object, options: ReadOptions) -> None:
    """Check all sparse matrices in a file of AnnData; damage is an `InputError`.

    Other libraries follow their indices without looking.
    """
    for part in parts_of(group, where):
        if hasattr(part, "keys"):
            found = sparse_rows(part, f"{where}, {part.name.strip('/')}")
            for _ in found[0].blocks(options) if found else ():
                pass


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
        _check_chunks(array, where)
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
