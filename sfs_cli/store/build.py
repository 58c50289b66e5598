"""Building the matrix from a reader: in memory while it is small, else a store on disk."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sfs_cli.compute.limits import TOO_LARGE, TOO_SMALL
from sfs_cli.compute.matrix import Ids, block_features, cut, pointers
from sfs_cli.errors import InputError, counted
from sfs_cli.io.files.names import check_names, nfc
from sfs_cli.io.files.room import FIELD_BYTES, Tally
from sfs_cli.io.files.text import arrow_file
from sfs_cli.io.matrix.base import Axis, MatrixReader
from sfs_cli.store.checksums import BlockSums, SumsByFile, sums_of, write_sums
from sfs_cli.store.disk import (
    CHECKSUMS,
    FAULTY_SCRATCH,
    FEATURES,
    REBUILD,
    SAMPLES,
    Manifest,
    open_store,
)
from sfs_cli.store.ids import FeatureIdsBuilder, check_samples, unique_features, write_ids
from sfs_cli.store.matrix import SHOWN, DenseMatrix, FeatureView, Matrix, Missing, SparseMatrix
from sfs_cli.store.sinks import FeatureRows, SampleRows, Sink, SparseFeatureRows, SparseSampleRows

if TYPE_CHECKING:
    from scipy.sparse import csr_array

COARSE = 1e-5
"""A feature that varies by less than this part of its size keeps about two digits in float32."""
LARGEST_EXACT = 2.0**53
"""Beyond this, whole numbers are not exact in double precision."""
Progress = Callable[[int, int | None], None]
"""Called with the rows read so far and, where it is known, their number."""


@dataclass
class Built:
    """A matrix, and what a user should know of how it was read."""

    matrix: Matrix  # in memory or on disk
    renamed: int  # feature ids that were given a suffix to be unique
    coarse: list[str]  # features that vary too little for their size to be resolved by float32
    large: list[str] = field(default_factory=list)  # features with values beyond whole numbers


@dataclass
class BuildOptions:
    """How to build a matrix."""

    rows: Axis  # what a row of the reader is
    dtype: np.dtype[Any]  # float32 or float64
    folder: Path  # empty, or made when it is needed: for what does not stay in memory
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
        samples = check_samples(reader.column_ids, where, in_rows=False)
    check_names(reader.column_ids, "a sample" if rows_are_features else "a feature", where)
    sink = _SINKS[options.rows, reader.sparse](options.folder, options.limit)
    drained = _drain(reader, sink, options)
    row_ids, missing, coarse = drained.row_ids, drained.missing, drained.coarse
    if not rows_are_features:
        samples = check_samples(row_ids, where, in_rows=True)
    features = row_ids if rows_are_features else reader.column_ids
    if len(features) < 2:
        raise InputError(
            f"the matrix has {counted(len(features), 'feature')}; a ranking needs at least 2",
            where=where,
            hint="check the delimiter and --rows: features are the rows of an expression matrix",
        )
    unique, renamed = unique_features(features)
    obs = reader.annotations.obs
    if obs is not None and (keys := list(map(nfc, obs.column_names))) != obs.column_names:
        obs = obs.rename_columns(keys).replace_schema_metadata(obs.schema.metadata)
    ids = Ids(unique, samples, obs)
    values = sink.finish(options.keep)
    if values is not None:
        kind = SparseMatrix if reader.sparse else DenseMatrix
        return Built(kind(values, ids, missing), renamed, coarse, drained.large)
    manifest = Manifest(
        n_features=len(unique),
        n_samples=len(samples),
        dtype=np.dtype(options.dtype).name,
        sparse=reader.sparse,
        missing=asdict(missing),
        source=options.source,
    )
    write_store_files(options.folder, ids, manifest, sink.sums)
    hint = REBUILD if options.keep else FAULTY_SCRATCH
    return Built(open_store(options.folder, hint=hint), renamed, coarse, drained.large)


_SINKS: dict[tuple[str, bool], type[Sink[Any]]] = {
    ("features", False): FeatureRows,
    ("features", True): SparseFeatureRows,
    ("samples", False): SampleRows,
    ("samples", True): SparseSampleRows,
}


class _Drained(NamedTuple):
    """What was seen while all blocks went from the reader to the sink."""

    row_ids: Sequence[str]
    missing: Missing
    coarse: list[str]
    large: list[str]


def _drain(reader: MatrixReader, sink: Sink[Any], options: BuildOptions) -> _Drained:
    """Pass every block from the reader to the sink, looking at its values."""
    rows_are_features = options.rows == "features"
    check = FiniteCheck(str(reader.path), rows_are_features, reader.column_ids)
    spread: SpreadCheck | None = None
    if not reader.sparse and options.dtype == np.float32:
        spread = SpreadCheck(rows_are_features, len(reader.column_ids))
    row_ids: list[str] | FeatureIdsBuilder = FeatureIdsBuilder() if rows_are_features else []
    held = Tally(str(reader.path))
    large = LargeCheck(str(reader.path), rows_are_features, reader.column_ids)
    row = "a feature" if rows_are_features else "a sample"
    for block in reader.blocks():
        check_names(block.ids, row, str(reader.path))
        held.add(sum(len(name) for name in block.ids if len(name) > FIELD_BYTES))
        check.see(block.ids, block.values)
        large.see(block.ids, block.values)
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
    rows = row_ids if isinstance(row_ids, list) else row_ids.finish()
    return _Drained(rows, check.result(), coarse, large.result())


def build_subset(matrix: Matrix, features: np.ndarray, folder: Path) -> None:
    """Write a store of some features of a matrix, ascending indices of shape (l,)."""
    view = FeatureView(matrix, features)
    sink: Sink[Any] = (SparseFeatureRows if view.sparse else FeatureRows)(folder, 0)
    for span in cut(view.n_features, block_features(view.n_samples, view.dtype.itemsize)):
        if view.sparse:
            from scipy.sparse import csr_array

            counts, indices, data = view.read_stored(span)
            arrays = (data, indices, pointers(counts))
            sink.add(csr_array(arrays, shape=(span.size, view.n_samples)))
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
    write_store_files(folder, view.ids, manifest, sink.sums)


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


class LargeCheck:
    """Finds the features with values so large that whole numbers are no longer exact.

    A value of `TOO_LARGE` or more, and a matrix whose largest one is below `TOO_SMALL` or has lost
    digits because it is below the normal numbers of its type, are an `InputError`.
    """

    def __init__(self, where: str, rows_are_features: bool, column_ids: Sequence[str]) -> None:
        self.where = where
        self.rows_are_features = rows_are_features
        self.column_ids = column_ids
        self._rows: list[str] = []
        self._columns = np.zeros(len(column_ids), bool)
        self._largest, self._least = 0.0, TOO_SMALL

    def see(self, ids: Sequence[str], values: np.ndarray | csr_array) -> None:
        """Look at a block of rows with these ids, shape (rows, columns)."""
        stored = values if isinstance(values, np.ndarray) else values.data
        if not stored.size:
            return
        # NaN is in neither extreme, and few matrices need a closer look
        largest = max(float(np.fmax.reduce(stored, None)), -float(np.fmin.reduce(stored, None)))
        self._largest = max(self._largest, largest)
        self._least = max(self._least, float(np.finfo(stored.dtype).tiny))
        if not largest >= LARGEST_EXACT:
            return
        limit = TOO_LARGE if largest >= TOO_LARGE else LARGEST_EXACT
        rows, columns = _beyond(values, limit)
        if limit == TOO_LARGE and len(rows):
            row, column = ids[int(rows[0])], self.column_ids[int(columns[0])]
            feature, sample = (row, column) if self.rows_are_features else (column, row)
            raise InputError(
                f"the matrix holds values of {TOO_LARGE:g} or more, which measure nothing and "
                "whose squares may overflow",
                where=f"{self.where}: feature {feature}, sample {sample}",
                hint="correct or remove them; missing values are written as NA",
            )
        if self.rows_are_features:
            self._rows += [ids[int(i)] for i in np.unique(rows)]
        else:
            self._columns[columns] = True

    def result(self) -> list[str]:
        """Return the ids of these features, in order."""
        if 0 < self._largest < self._least:
            raise InputError(
                f"the largest value of the matrix is {self._largest:g}: below {self._least:.2g} "
                "numbers lose digits, or their squares become 0",
                where=self.where,
                hint="multiply all values by one number, such as 1e100: change their unit",
            )
        return self._rows or [self.column_ids[int(i)] for i in np.flatnonzero(self._columns)]


def _beyond(values: np.ndarray | csr_array, limit: float) -> tuple[np.ndarray, ...]:
    """Return rows and columns of the values of this size or more."""
    if isinstance(values, np.ndarray):
        return np.nonzero(np.abs(values) >= limit)
    return (abs(values) >= limit).nonzero()


def _coarse(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    size = np.maximum(np.abs(low), np.abs(high))
    with np.errstate(over="ignore"):  # what varies by more than the largest number is not coarse
        return np.flatnonzero((high > low) & (high - low < COARSE * size))


def write_store_files(
    folder: Path, ids: Ids, manifest: Manifest, sums: SumsByFile | None = None
) -> None:
    """Write the ids, the checksums and the manifest beside the values that are there already.

    `sums` are those of the files of the values; what is not among them is read for its checksums.
    The list of files of the manifest is filled in here.
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
    made: Mapping[str, BlockSums] = sums or {}
    checksums = write_sums(
        folder / CHECKSUMS,
        [
            made[name].result() if name in made else sums_of(folder / name)
            for name in manifest.names
        ],
    )
    files = {name: {"bytes": (folder / name).stat().st_size} for name in manifest.names}
    replace(manifest, files=files, checksums=checksums).write(folder)
