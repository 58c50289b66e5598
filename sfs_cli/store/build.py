"""Building the matrix from a reader: in memory while it is small, else a store on disk."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sfs_cli.compute.limits import TOO_LARGE, TOO_SMALL
from sfs_cli.compute.matrix import Ids, block_features, cut
from sfs_cli.errors import InputError, counted
from sfs_cli.io.files.atomic import sha256_file
from sfs_cli.io.files.names import check_names, nfc
from sfs_cli.io.files.text import arrow_file
from sfs_cli.io.matrix.base import Axis, MatrixReader
from sfs_cli.store.collapse import Collapsed, Symbols
from sfs_cli.store.disk import (
    DATA,
    FEATURES,
    INDICES,
    INDPTR,
    SAMPLES,
    VALUES,
    Manifest,
    open_store,
)
from sfs_cli.store.ids import FeatureIds, Texts, check_samples, unique_features
from sfs_cli.store.matrix import (
    NONE_MISSING,
    SHOWN,
    FeatureView,
    HeldMatrix,
    Matrix,
    Missing,
    block_of,
)
from sfs_cli.store.sinks import Sink

if TYPE_CHECKING:
    from scipy.sparse import csr_array

COARSE = 1e-5
"""A feature that varies by less than this part of its size keeps about two digits in float32."""
WHOLE = "whole"
"""Where a matrix lies before its features become fewer, in the folder of what is made of it."""
LARGEST_EXACT = 2.0**53
"""Beyond this, whole numbers are not exact in double precision."""


@dataclass
class Built:
    """A matrix, and what a user should know of how it was read."""

    matrix: Matrix  # in memory or on disk
    renamed: int  # feature ids that were given a suffix to be unique
    coarse: list[str]  # features that vary too little for their size to be resolved by float32
    large: list[str]  # features with values beyond whole numbers, such as times and identifiers
    given: FeatureIds  # the ids as they are in the file
    collapsed: Collapsed | None = None  # how these became fewer


@dataclass
class BuildOptions:
    """How to build a matrix."""

    rows: Axis  # what a row of the reader is
    dtype: np.dtype[Any]  # float32 or float64
    folder: Path  # empty, or made when it is needed: for what does not stay in memory
    limit: int  # bytes to hold in memory before the folder is used
    # provenance for the manifest of a store that is kept, and always written; None: of none
    source: dict[str, Any] | None = None
    progress: Callable[[int], None] | None = None  # called with the number of rows of each block
    collapse: str | None = None  # how features of one id become one, of `collapse.WAYS`
    symbols: Symbols | None = None  # the map that gives those ids


def build(reader: MatrixReader, options: BuildOptions) -> Built:
    """Read a whole matrix, and return it feature-major.

    What a reader refuses, infinite values, repeated sample ids, and fewer than two samples or
    features are an `InputError`.
    """
    if options.collapse is not None:
        return _build_collapsed(reader, options.collapse, replace(options, collapse=None))
    where, rows_are_features = str(reader.path), options.rows == "features"
    if rows_are_features:  # the ids of columns are known before a value is read: fail early
        samples = check_samples(reader.column_ids, where, in_rows=False)
    check_names(reader.column_ids, "a sample" if rows_are_features else "a feature", where)
    sink = Sink(options.folder, options.limit, across=not rows_are_features, sparse=reader.sparse)
    row_ids, seen, texts = _drain(reader, sink, options)
    if not rows_are_features:
        samples = check_samples(row_ids, where, in_rows=True)
    features = row_ids if rows_are_features else reader.column_ids
    if len(features) < 2:
        raise InputError(
            f"the matrix has {counted(len(features), 'feature')}; a ranking needs at least 2",
            where=where,
            hint="check the delimiter and --rows: features are the rows of an expression matrix",
        )
    given = FeatureIds.of(features)
    unique, renamed = unique_features(given)
    obs = reader.annotations.obs
    if obs is not None:
        obs = obs.rename_columns(list(map(nfc, obs.column_names)))
    if not rows_are_features and texts:  # no format of text has others
        import pyarrow as pa

        obs = pa.table({name: column.array.cast(pa.string()) for name, column in texts.items()})
    ids = Ids(unique, samples, obs, texts if rows_are_features else {})
    values = sink.finish(to_disk=options.source is not None)
    if values is None:
        write_store_files(options.folder, ids, options.dtype, seen.missing, options.source)
        matrix: Matrix = open_store(options.folder)
    else:
        matrix = HeldMatrix(values, ids, seen.missing)
    return Built(matrix, renamed, seen.coarse, list(seen.large), given)


def _build_collapsed(reader: MatrixReader, how: str, options: BuildOptions) -> Built:
    folder = options.folder / WHOLE
    whole = build(reader, replace(options, folder=folder, source=None))
    again = Collapsed(whole.matrix, whole.given, how, options.symbols, reader.path)
    made = build(again, replace(options, rows="features", progress=None))
    shutil.rmtree(folder, ignore_errors=True)
    return replace(made, collapsed=again)


def _drain(
    reader: MatrixReader, sink: Sink, options: BuildOptions
) -> tuple[Sequence[str], ValueCheck, dict[str, FeatureIds]]:
    """Pass every block from the reader to the sink.

    Returned are the ids of the rows, what was seen of the values, and the annotations of the rows.
    """
    where, rows_are_features = str(reader.path), options.rows == "features"
    seen = ValueCheck(where, rows_are_features, reader.column_ids)
    pieces: list[FeatureIds] = []
    texts = Texts(where)
    for block in reader.blocks():
        check_names(block.ids, "a feature" if rows_are_features else "a sample", where)
        seen.see(block.ids, block.values)
        sink.add(block.values)
        pieces.append(FeatureIds.of(block.ids))
        texts.add(block.texts)
        if options.progress is not None:
            options.progress(len(block.ids))
    row_ids = FeatureIds.joined(each.array for each in pieces)
    if not len(row_ids):
        raise InputError(
            "the matrix has no rows",
            where=where,
            hint="check the step that wrote it: a filter may have removed everything",
        )
    seen.finish()
    return row_ids, seen, texts.finish()


def build_subset(
    matrix: Matrix, features: np.ndarray, folder: Path, source: dict[str, Any] | None = None
) -> None:
    """Write a store of some features of a matrix, ascending indices of shape (l,).

    `source` is what it was built from.
    """
    view = FeatureView(matrix, features)
    sink = Sink(folder, 0, across=False, sparse=view.sparse)
    for span in cut(view.n_features, block_features(view.n_samples, view.dtype.itemsize)):
        sink.add(block_of(view, span))
    sink.finish(to_disk=True)
    write_store_files(folder, view.ids, view.dtype, view.missing, source)


class ValueCheck:
    """Looks at the values of a matrix block by block: refuses some, and tells of others.

    Infinite values, those of `TOO_LARGE` or more, and a matrix whose largest value is below
    `TOO_SMALL`, or has lost digits because it is below the normal numbers of its type, are an
    `InputError`.

    Parameters
    ----------
    where : str
        The input, for messages.
    rows_are_features : bool
        Whether the rows of blocks are features; else samples.
    column_ids : sequence of str
        The ids of the columns.
    """

    def __init__(self, where: str, rows_are_features: bool, column_ids: Sequence[str]) -> None:
        self.where, self.rows_are_features = where, rows_are_features
        self.column_ids = column_ids
        n_columns = len(column_ids)
        self._gaps, self._rows_with_gaps = 0, 0
        self._columns_with_gaps = np.zeros(n_columns, bool)
        self._places: list[tuple[str, str]] = []
        self._largest, self._least = 0.0, TOO_SMALL
        # of features in columns, whose values come in several blocks
        self._low = np.full(n_columns, np.inf, np.float32)
        self._high = -self._low
        # features of dense blocks that vary too little for float32 to resolve, in order
        self.coarse: list[str] = []
        self.large: dict[str, None] = {}  # those with values beyond exact whole numbers

    @property
    def missing(self) -> Missing:
        """The missing values that were seen."""
        features = self._rows_with_gaps if self.rows_are_features else self._columns_with_gaps.sum()
        return Missing(self._gaps, int(features), tuple(self._places))

    def see(self, ids: Sequence[str], values: np.ndarray | csr_array) -> None:
        """Look at a block of rows with these ids, shape (rows, columns)."""
        stored = values if isinstance(values, np.ndarray) else values.data
        if not stored.size:
            return
        # two passes at the speed of memory; few matrices need a closer look
        low, high = float(stored.min()), float(stored.max())
        if not np.isfinite(high - low):  # NaN is both, and infinities may meet
            infinite = "the matrix holds infinite values"
            hint = "replace them; empty or NA fields are missing values (--missing)"
            self._refuse(ids, values, np.isinf(stored), infinite, hint)
            rows, columns = _indices_of(values, np.isnan(stored))
            self._gaps += len(rows)
            self._rows_with_gaps += len(np.unique(rows))
            self._columns_with_gaps[columns] = True
            first = slice(SHOWN - len(self._places))
            self._places += [self._place(ids[i], j) for i, j in zip(rows[first], columns[first])]
            low, high = float(np.fmin.reduce(stored, None)), float(np.fmax.reduce(stored, None))
        largest = max(high, -low)
        self._largest = max(self._largest, largest)
        self._least = max(self._least, float(np.finfo(stored.dtype).tiny))
        if largest >= TOO_LARGE:
            what = f"the matrix holds values of {TOO_LARGE:g} or more, which measure nothing and "
            what += "whose squares may overflow"
            hint = "correct or remove them; missing values are written as NA"
            self._refuse(ids, values, np.abs(stored) >= TOO_LARGE, what, hint)
        if largest >= LARGEST_EXACT:
            rows, columns = _indices_of(values, np.abs(stored) >= LARGEST_EXACT)
            names, at = (ids, rows) if self.rows_are_features else (self.column_ids, columns)
            self.large.update(dict.fromkeys(names[i] for i in np.unique(at).tolist()))
        if stored is values and stored.dtype == np.float32:
            self._see_spread(ids, stored)

    def _see_spread(self, ids: Sequence[str], values: np.ndarray) -> None:
        """Note the features that vary little for their size."""
        axis = 1 if self.rows_are_features else 0
        low, high = np.fmin.reduce(values, axis), np.fmax.reduce(values, axis)
        if self.rows_are_features:
            self.coarse += [ids[i] for i in _coarse(low, high).tolist()]
        else:
            np.fmin(self._low, low, out=self._low)
            np.fmax(self._high, high, out=self._high)

    def finish(self) -> None:
        """Look at what only the whole matrix shows."""
        if 0 < self._largest < self._least:
            raise InputError(
                f"the largest value of the matrix is {self._largest:g}: below {self._least:.2g} "
                "numbers lose digits, or their squares become 0",
                where=self.where,
                hint="multiply all values by one number, such as 1e100: change their unit",
            )
        if not self.rows_are_features:
            self.coarse = [self.column_ids[i] for i in _coarse(self._low, self._high).tolist()]

    def _place(self, row: str, column: int) -> tuple[str, str]:
        """Return the feature and the sample of a value."""
        other = self.column_ids[column]
        return (row, other) if self.rows_are_features else (other, row)

    def _refuse(
        self,
        ids: Sequence[str],
        values: np.ndarray | csr_array,
        bad: np.ndarray,
        what: str,
        hint: str,
    ) -> None:
        """Raise an error that names the first of some bad values, if there are any."""
        if bad.any():
            rows, columns = _indices_of(values, bad)
            feature, sample = self._place(ids[rows[0]], columns[0])
            stored = values if isinstance(values, np.ndarray) else values.data
            raise InputError(
                f"{what}, such as {stored[bad][0]:g}",
                where=f"{self.where}: feature {feature}, sample {sample}",
                hint=hint,
            )


def _indices_of(
    values: np.ndarray | csr_array, chosen: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and columns of some values, chosen among those that are stored."""
    if isinstance(values, np.ndarray):
        rows, columns = np.nonzero(chosen)
        return rows, columns
    places = np.flatnonzero(chosen)
    return np.searchsorted(values.indptr, places, side="right") - 1, values.indices[places]


def _coarse(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    size = np.maximum(np.abs(low), np.abs(high))
    with np.errstate(over="ignore"):  # what varies by more than the largest number is not coarse
        return np.flatnonzero((high > low) & (high - low < COARSE * size))


def write_store_files(
    folder: Path,
    ids: Ids,
    dtype: np.dtype[Any],
    missing: Missing = NONE_MISSING,
    source: dict[str, Any] | None = None,
) -> None:
    """Write the ids and the manifest beside the values that are there already.

    `source` is what a store that is kept was built from; its files get a digest then.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = {"feature": ids.features, **ids.var}
    features = pa.table({name: FeatureIds.of(each).array for name, each in columns.items()})
    samples = pa.table({"sample": pa.array(ids.samples, pa.string())})
    if ids.obs is not None:  # an annotation may be named sample too
        for name, column in zip(ids.obs.column_names, ids.obs.columns):
            samples = samples.append_column(name, column)
    for place, table in ((FEATURES, features), (SAMPLES, samples)):
        with arrow_file(folder / place, "wb") as file:
            pq.write_table(table, file)
    sparse = not (folder / VALUES).exists()
    names = [*((INDPTR, INDICES, DATA) if sparse else (VALUES,)), FEATURES, SAMPLES]
    digest = sha256()
    for name in names if source is not None else ():
        digest.update(f"{name}\0{sha256_file(folder / name)}\n".encode())
    Manifest(
        n_features=len(ids.features),
        n_samples=len(ids.samples),
        dtype=np.dtype(dtype).name,
        sparse=sparse,
        missing=missing,
        files={name: {"bytes": (folder / name).stat().st_size} for name in names},
        source=source or {},
        digest=digest.hexdigest() if source is not None else "",
    ).write(folder)
