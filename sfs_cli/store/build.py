"""Building the matrix from a reader: in memory while it is small, else a store on disk."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sfs_cli.compute.matrix import Ids, block_features, cut
from sfs_cli.errors import InputError, counted
from sfs_cli.io.files.atomic import sha256_file
from sfs_cli.io.files.text import arrow_file
from sfs_cli.io.matrix.base import Axis, MatrixReader
from sfs_cli.store.disk import DENSE, FEATURES, SAMPLES, SPARSE, Manifest, open_store
from sfs_cli.store.ids import FeatureIdsBuilder, check_samples, unique_features, write_ids
from sfs_cli.store.matrix import SHOWN, DenseMatrix, FeatureView, Matrix, Missing, SparseMatrix
from sfs_cli.store.sinks import FeatureRows, SampleRows, Sink, SparseFeatureRows, SparseSampleRows

if TYPE_CHECKING:
    from scipy.sparse import csr_array

COARSE = 1e-5
"""A feature that varies by less than this part of its size keeps about two digits in float32."""
Progress = Callable[[int, int | None], None]
"""Called with the rows read so far and, where it is known, their number."""


@dataclass
class Built:
    """A matrix, and what a user should know of how it was read."""

    matrix: Matrix  # in memory or on disk
    renamed: int  # feature ids that were given a suffix to be unique
    coarse: list[str]  # features that vary too little for their size to be resolved by float32


@dataclass
class BuildOptions:
    """How to build a matrix."""

    rows: Axis  # what a row of the reader is
    dtype: np.dtype[Any]  # float32 or float64
    folder: Path  # an existing, empty directory for what does not stay in memory
    limit: int  # bytes to hold in memory before the folder is used
    keep: bool = False  # always write the folder (it becomes a store to keep)
    source: dict[str, Any] = field(default_factory=dict)  # provenance for the manifest
    progress: Progress | None = None


def build(reader: MatrixReader, options: BuildOptions) -> Built:
    """Read a whole matrix, and return it feature-major.

    What a reader refuses, infinite values, repeated sample ids, and fewer than two samples or
    features are an `InputError`.
    """
    where, rows_are_features = str(reader.path), options.rows == "features"
    if rows_are_features:  # the ids of columns are known before a value is read: fail early
        check_samples(reader.column_ids, where)
    sink = _SINKS[options.rows, reader.sparse](options.folder, options.limit)
    row_ids, missing, coarse = _drain(reader, sink, options)
    if not rows_are_features:
        check_samples(row_ids, where)
    features, samples = (
        (row_ids, reader.column_ids) if rows_are_features else (reader.column_ids, row_ids)
    )
    if len(features) < 2:
        raise InputError(
            f"the matrix has {counted(len(features), 'feature')}; a ranking needs at least 2",
            where=where,
            hint="check the delimiter and --rows: features are the rows of an expression matrix",
        )
    unique, renamed = unique_features(features)
    ids = Ids(unique, list(samples), reader.annotations.obs)
    values = sink.finish(options.keep)
    if values is not None:
        kind = SparseMatrix if reader.sparse else DenseMatrix
        return Built(kind(values, ids, missing), renamed, coarse)
    manifest = Manifest(
        n_features=len(unique),
        n_samples=len(samples),
        dtype=np.dtype(options.dtype).name,
        sparse=reader.sparse,
        missing=asdict(missing),
        source=options.source,
    )
    write_store_files(options.folder, ids, manifest, digests=options.keep)
    return Built(open_store(options.folder), renamed, coarse)


_SINKS: dict[tuple[str, bool], type[Sink[Any]]] = {
    ("features", False): FeatureRows,
    ("features", True): SparseFeatureRows,
    ("samples", False): SampleRows,
    ("samples", True): SparseSampleRows,
}


def _drain(
    reader: MatrixReader, sink: Sink[Any], options: BuildOptions
) -> tuple[Sequence[str], Missing, list[str]]:
    """Pass every block from the reader to the sink, looking at its values."""
    rows_are_features = options.rows == "features"
    check = FiniteCheck(str(reader.path), rows_are_features, reader.column_ids)
    spread: SpreadCheck | None = None
    if not reader.sparse and options.dtype == np.float32:
        spread = SpreadCheck(rows_are_features, len(reader.column_ids))
    row_ids: list[str] | FeatureIdsBuilder = FeatureIdsBuilder() if rows_are_features else []
    for block in reader.blocks():
        check.see(block.ids, block.values)
        if spread is not None:
            spread.see(block.ids, np.asarray(block.values))
        sink.add(block.values)
        row_ids.extend(block.ids)
        if options.progress is not None:
            options.progress(len(row_ids), reader.n_rows)
    if not len(row_ids):
        raise InputError(
            "the matrix has no rows",
            where=str(reader.path),
            hint="check the step that wrote it: a filter may have removed everything",
        )
    coarse = [] if spread is None else spread.result(reader.column_ids)
    return row_ids if isinstance(row_ids, list) else row_ids.finish(), check.result(), coarse


def build_subset(matrix: Matrix, features: np.ndarray, folder: Path) -> None:
    """Write a store of some features of a matrix, ascending indices of shape (l,)."""
    view = FeatureView(matrix, features)
    sink: Sink[Any] = (SparseFeatureRows if view.sparse else FeatureRows)(folder, 0)
    for span in cut(view.n_features, block_features(view.n_samples, view.dtype.itemsize)):
        if view.sparse:
            from scipy.sparse import csr_array

            counts, indices, data = view.read_stored(span)
            indptr = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts, dtype=np.int64)])
            sink.add(csr_array((data, indices, indptr), shape=(span.size, view.n_samples)))
        else:
            block = np.empty((span.size, view.n_samples), view.dtype)
            view.read(span, block)
            sink.add(block)
    sink.finish(to_disk=True)
    manifest = Manifest(
        n_features=view.n_features,
        n_samples=view.n_samples,
        dtype=view.dtype.name,
        sparse=view.sparse,
        missing=asdict(view.missing),
    )
    write_store_files(folder, view.ids, manifest, digests=True)


class FiniteCheck:
    """Counts missing values, and refuses infinite ones, block by block."""

    def __init__(self, where: str, rows_are_features: bool, column_ids: Sequence[str]) -> None:
        self.where = where
        self.rows_are_features = rows_are_features
        self.column_ids = column_ids
        self.values = 0
        self.rows = 0
        self.columns = np.zeros(len(column_ids), bool)
        self.places: list[tuple[str, str]] = []

    def see(self, ids: Sequence[str], values: np.ndarray | csr_array) -> None:
        """Look at a block of rows with these ids, shape (rows, columns)."""
        stored = values if isinstance(values, np.ndarray) else values.data
        if _is_finite(stored):
            return
        bad = ~np.isfinite(stored)
        found = stored[bad]
        if isinstance(values, np.ndarray):
            row, column = np.nonzero(bad)
        else:
            row = np.searchsorted(values.indptr, np.flatnonzero(bad), side="right") - 1
            column = values.indices[bad]
        infinite = np.isinf(found)
        if infinite.any():
            first = int(np.argmax(infinite))
            feature, sample = self._place(ids[row[first]], self.column_ids[column[first]])
            raise InputError(
                f"the matrix holds an infinite value ({found[first]})",
                where=f"{self.where}: feature {feature}, sample {sample}",
                hint="replace infinite values; empty or NA fields are missing values (--missing)",
            )
        self.values += len(found)
        self.rows += len(np.unique(row))
        self.columns[column] = True
        free = SHOWN - len(self.places)
        for i, j in zip(row[:free], column[:free]):
            self.places.append(self._place(ids[i], self.column_ids[j]))

    def _place(self, row: str, column: str) -> tuple[str, str]:
        return (row, column) if self.rows_are_features else (column, row)

    def result(self) -> Missing:
        """Return the missing values."""
        features = self.rows if self.rows_are_features else int(self.columns.sum())
        return Missing(self.values, features, tuple(self.places))


def _is_finite(values: np.ndarray) -> bool:
    """Tell whether all values are finite, mostly by one pass at the speed of memory.

    A finite sum has finite terms alone; where it is not, because one is not or because the sum has
    overflowed, every value is looked at.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(np.add.reduce(values, axis=None)) or np.isfinite(values).all())


class SpreadCheck:
    """Finds the features of a dense float32 matrix that vary little for their size."""

    def __init__(self, rows_are_features: bool, n_columns: int) -> None:
        self.rows_are_features = rows_are_features
        self._coarse: list[str] = []
        self._low = np.full(0 if rows_are_features else n_columns, np.inf, np.float32)
        self._high = -self._low

    def see(self, ids: Sequence[str], values: np.ndarray) -> None:
        """Look at a block."""
        axis = 1 if self.rows_are_features else 0
        low, high = np.fmin.reduce(values, axis), np.fmax.reduce(values, axis)
        if self.rows_are_features:
            self._coarse += [ids[i] for i in _coarse(low, high)]
        else:
            np.fmin(self._low, low, out=self._low)
            np.fmax(self._high, high, out=self._high)

    def result(self, column_ids: Sequence[str]) -> list[str]:
        """Return the ids of these features, in order."""
        if self.rows_are_features:
            return self._coarse
        return [column_ids[i] for i in _coarse(self._low, self._high)]


def _coarse(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    size = np.maximum(np.abs(low), np.abs(high))
    return np.flatnonzero((high > low) & (high - low < COARSE * size))


def write_store_files(folder: Path, ids: Ids, manifest: Manifest, *, digests: bool) -> None:
    """Write the ids and the manifest beside the values that are there already.

    The list of files is filled in here, with the sha256 of each if `digests`: a store that is kept
    is identified by them.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    write_ids(folder / FEATURES, "feature", ids.features)
    samples = pa.table({"sample": pa.array(ids.samples, pa.string())})
    if ids.obs is not None:
        for name in ids.obs.column_names:
            if name != "sample":
                samples = samples.append_column(name, ids.obs[name])
    with arrow_file(folder / SAMPLES, "wb") as file:
        pq.write_table(samples, file)
    files: dict[str, dict[str, Any]] = {}
    for name in (*(SPARSE if manifest.sparse else DENSE), FEATURES, SAMPLES):
        files[name] = {"bytes": (folder / name).stat().st_size}
        if digests:
            files[name]["sha256"] = sha256_file(folder / name)
    replace(manifest, files=files).write(folder)
