"""Building the matrix from a reader: in memory while it is small, else a store on disk.

A `Sink` takes blocks of rows, and makes them a feature-major matrix. Rows that are features are
appended as they come. Rows that are samples are gathered into panels of a bounded size, each panel
is turned feature-major, and at the end the panels are joined side by side, some features at a time:
the transpose never needs more memory than a panel.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sfs_cli.compute.limits import TOO_LARGE, TOO_SMALL
from sfs_cli.compute.matrix import Ids, Span, block_features, cut, pointers
from sfs_cli.errors import InputError, counted
from sfs_cli.io.files.atomic import made, sha256_file
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
    Store,
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
            hint="check the delimiter and --rows: features are the rows of an expression matrix"
            if rows_are_features
            else "features are the columns here: check the delimiter of a text, and the step that "
            "wrote it: a filter may have removed them",
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


TILE_BYTES = 256 << 10
JOINED = 8
"""Sparse panels are held about four times while scipy joins them: in parts, and in copies."""


class Sink:
    """Takes blocks of rows, and gives the feature-major matrix, or leaves it in files of a folder.

    Parameters
    ----------
    folder : Path
        Made where it is needed.
    limit : int
        Bytes of rows that are held, and of what is joined at a time.
    across : bool
        Whether the rows are samples; else features.
    sparse : bool
        Whether blocks are sparse, ``csr_array``; else arrays.
    """

    def __init__(self, folder: Path, limit: int, *, across: bool, sparse: bool) -> None:
        self.folder, self.limit, self.across, self.sparse = folder, limit, across, sparse
        self._held: list[Any] = []
        self._bytes = 0
        self._appended: ValueFiles | None = None
        self._panels: list[tuple[Path, Manifest]] = []

    def add(self, values: np.ndarray | csr_array) -> None:
        """Take the next rows."""
        self._held.append(values)
        self._bytes += stored_bytes(values)
        if self._bytes > self.limit:
            self._spill()

    def finish(self, to_disk: bool) -> Any:
        """Return the matrix (m x n), or None when it is in the files of the folder."""
        if not (to_disk or self._panels or self._appended):
            return self._in_memory()
        if self._panels and self._held:
            self._spill()
        files = self._appended or ValueFiles(self.folder, self.sparse)
        files.append(self._side_by_side() if self._panels else self._turned())
        files.finish()
        for folder, _ in self._panels:
            shutil.rmtree(folder)
        return None

    def _spill(self) -> None:
        """Write what is held: features to the end of the matrix, samples as a panel."""
        if not self.across:
            self._appended = self._appended or ValueFiles(self.folder, self.sparse)
            self._appended.append(self._turned())
            return
        first = self._held[0]
        width, dtype = sum(each.shape[0] for each in self._held), first.dtype.name
        panel = ValueFiles(self.folder / f"panel-{len(self._panels)}", self.sparse)
        panel.append(self._turned())
        panel.finish()
        self._panels.append((panel.folder, Manifest(first.shape[1], width, dtype, self.sparse)))

    def _in_memory(self) -> Any:
        if self.sparse:
            return _stacked([*self._turned()])
        shape = sum(map(len, self._held)), self._held[0].shape[1]
        out = np.empty(shape[::-1] if self.across else shape, self._held[0].dtype)
        at = 0
        for block in self._turned():
            out[at : at + len(block)] = block
            at += len(block)
        return out

    def _turned(self) -> Iterator[Any]:
        """Yield what is held, feature-major; each block of features is let go by then."""
        held, self._held, self._bytes = self._held, [], 0
        if not self.across:
            held.reverse()
            while held:
                yield held.pop()
        elif self.sparse:
            yield _stacked(held).T.tocsr()
        else:
            # a transposed copy of all at once would fetch each line of the cache many times
            width = sum(map(len, held))
            step = max(16, TILE_BYTES // (width * held[0].itemsize))
            for lo in range(0, held[0].shape[1], step):
                parts = [each[:, lo : lo + step].T for each in held]
                out = np.empty((len(parts[0]), width), held[0].dtype)
                yield np.concatenate(parts, axis=1, out=out)

    def _side_by_side(self) -> Iterator[Any]:
        """Yield all panels joined, some features at a time."""
        # opened one after the other, each time: a large matrix has more panels than a process
        # may have open files
        ends = (Store(*panel).bytes_before() for panel in self._panels)
        before = sum(ends, start=np.zeros(1, np.int64))
        lo, m = 0, len(before) - 1
        while lo < m:
            # a block is held twice, in parts and joined
            end = int(np.searchsorted(before, before[lo] + self.limit // JOINED, side="right")) - 1
            hi = max(lo + 1, end)
            parts: list[Any] = [block_of(Store(*panel), Span(lo, hi)) for panel in self._panels]
            yield _stacked(parts, axis=1) if self.sparse else np.concatenate(parts, axis=1)
            lo = hi


class ValueFiles:
    """The files of the values of a store, to which blocks of features are appended."""

    def __init__(self, folder: Path, sparse: bool) -> None:
        self.folder, self.sparse = made(folder), sparse
        self._counts: list[np.ndarray] = []

    def append(self, blocks: Iterable[Any]) -> None:
        """Write blocks of features."""
        with ExitStack() as stack:
            names = (INDICES, DATA) if self.sparse else (VALUES,)
            files = [stack.enter_context((self.folder / name).open("ab")) for name in names]
            for block in blocks:
                arrays = [block]
                if self.sparse:
                    arrays = [block.indices.astype(np.int32, copy=False), block.data]
                    self._counts.append(np.diff(block.indptr))
                for file, array in zip(files, arrays):
                    file.write(np.ascontiguousarray(array).data)

    def finish(self) -> None:
        """Write where the values of each feature begin, if they are sparse."""
        if self.sparse:
            pointers(np.concatenate(self._counts)).tofile(self.folder / INDPTR)


def _stacked(blocks: list[Any], axis: int = 0) -> csr_array:
    """Stack sparse blocks."""
    from scipy import sparse  # dense matrices do without the time that its import takes

    if len(blocks) == 1:
        return blocks[0]
    return sparse.csr_array((sparse.hstack if axis else sparse.vstack)(blocks, format="csr"))


def stored_bytes(block: np.ndarray | csr_array) -> int:
    """Return the bytes of an array, or of the three arrays of a sparse block."""
    if isinstance(block, np.ndarray):
        return block.nbytes
    return block.data.nbytes + block.indices.nbytes + block.indptr.nbytes
