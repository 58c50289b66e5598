"""Stores on disk: a directory with a manifest, the ids, and the values feature by feature.

Handles read blocks of features, and are opened again by workers in other processes. What is read
is compared with checksums (`sfs_cli.store.checksums`), once in each process: the manifest has one
of itself and a digest of those of the other files.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from sfs_cli.compute.matrix import Ids, Shared, Span, block_features, cut
from sfs_cli.errors import InputError, counted, listed
from sfs_cli.io.files.names import check_name_array, check_names, nfc
from sfs_cli.io.files.text import arrow_file
from sfs_cli.store.checksums import (
    SUM_TYPE,
    CheckedFile,
    count_blocks,
    facts_of,
    text_sum,
)
from sfs_cli.store.ids import FeatureIds, LaterIds, read_ids
from sfs_cli.store.matrix import (
    Matrix,
    Missing,
    Stored,
    rises_in_bounds,
)

NAME = "manifest.json"
FORMAT = "sfs-store"
VERSION = 2

FEATURES = "features.parquet"
SAMPLES = "samples.parquet"
VALUES = "values.bin"
"""The file of the values of a dense store; a sparse one has three."""
INDPTR, INDICES, DATA = "indptr.bin", "indices.bin", "data.bin"
CHECKSUMS = "checksums.bin"

REBUILD = "build it again: sfs convert --force"
"""What to do about a damaged store that a user keeps."""
FAULTY_SCRATCH = "the disk of the scratch folder may be faulty: run again with another --scratch"
"""What to do about a damaged store that this run has made."""
OTHER_NUMBER = "their number is not that of the manifest"
CHECKED_AT_ONCE = 64
"""Blocks of a checksum that a thread compares at a time."""


@dataclass(frozen=True)
class Manifest:
    """What ``manifest.json`` holds."""

    n_features: int
    n_samples: int
    dtype: str  # float32 or float64; values are little-endian, one feature after the other
    sparse: bool  # whether values are three arrays (indptr int64, indices int32, data) or one
    missing: Missing
    files: dict[str, dict[str, Any]]  # the size of each, in bytes
    source: dict[str, Any]  # what the store was built from
    checksums: dict[str, Any]  # of the file of checksums: algorithm, block_bytes and sha256
    annotations: tuple[str, ...] = ()  # of the features; older stores have none

    def write(self, directory: Path) -> None:
        """Write the manifest; it is written last, so a directory that has one is complete."""
        content = {"format": FORMAT, "version": VERSION, **asdict(self)}
        (directory / NAME).write_text(_with_checksum(content), encoding="utf-8")

    @property
    def names(self) -> tuple[str, ...]:
        """The files with checksums, in the order of these."""
        return files_of(self.sparse)


def files_of(sparse: bool) -> tuple[str, ...]:
    """Return the names of the files of a store that have checksums."""
    return (*((INDPTR, INDICES, DATA) if sparse else (VALUES,)), FEATURES, SAMPLES)


def _with_checksum(content: dict[str, Any]) -> str:
    """Return the text of a manifest, which ends with a checksum of all else in it."""
    own = text_sum(json.dumps(content, indent=2))
    return json.dumps(content | {"checksum": own}, indent=2) + "\n"


def is_store(path: Path) -> bool:
    """Tell whether `path` is a directory with a store's manifest."""
    return path.is_dir() and (path / NAME).is_file()


def read_manifest(directory: Path, hint: str = REBUILD) -> Manifest:
    """Read the manifest of a store, and check that its version and its files are as expected.

    One that is not is an `InputError`; `hint` says what to do then.
    """
    path = directory / NAME
    try:
        text = path.read_text(encoding="utf-8")
        content = json.loads(text)
        kind, version = content["format"], content["version"]
        if (kind, version) != (FORMAT, VERSION):
            raise InputError(
                f"the store is of format {kind} {version}; this version reads {FORMAT} {VERSION}",
                where=str(path),
                hint=hint,
            )
        manifest = _parsed(content, text)
        sizes = _sizes(manifest)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        reason = f"no {error}" if isinstance(error, KeyError) else str(error)
        raise InputError(
            "the manifest of the store cannot be read", where=f"{path}: {reason}", hint=hint
        ) from None
    for name, size in sizes.items():
        file = directory / name
        found = file.stat().st_size if file.is_file() else None
        if found != size:
            has = "is missing" if found is None else f"has {found:,} bytes"
            raise InputError(
                f"{name} of the store {has}; the manifest says {size:,} bytes",
                where=str(directory),
                hint=f"the store is damaged: {hint}",
            )
    return manifest


def _parsed(content: dict[str, Any], text: str) -> Manifest:
    """Return the manifest with this content; another text than was written is a ValueError."""
    if _with_checksum({k: v for k, v in content.items() if k != "checksum"}) != text:
        raise ValueError("it was changed since it was written")
    own = ("format", "version", "checksum")
    found = content["missing"]
    places = tuple((feature, sample) for feature, sample in found["places"])
    missing = Missing(**found | {"places": places})
    given = {k: v for k, v in content.items() if k not in own}
    annotations = tuple(content.get("annotations", ()))
    manifest = Manifest(**given | {"missing": missing, "annotations": annotations})
    shape = manifest.n_features, manifest.n_samples
    counts = (*shape, missing.values, missing.features)
    if not all(type(count) is int and count >= 0 for count in counts) or 0 in shape:
        raise ValueError("a number of features, samples or missing values is none")
    names = all(isinstance(name, str) for place in (*places, annotations) for name in place)
    if not (names and isinstance(manifest.sparse, bool) and isinstance(manifest.source, dict)):
        raise ValueError("sparse, source or a place of a missing value is of another type")
    return manifest


def _sizes(manifest: Manifest) -> dict[str, int]:
    """Return the size of every file that the store must have.

    A manifest that lacks one is a KeyError or TypeError; one that contradicts itself a ValueError.
    """
    itemsize = {"float32": 4, "float64": 8}[manifest.dtype]
    sizes = {name: int(manifest.files[name]["bytes"]) for name in manifest.names}
    if manifest.sparse:
        first, expected = INDPTR, 8 * (manifest.n_features + 1)
        stored = sizes[INDICES] // 4
        if (sizes[INDICES], sizes[DATA]) != (4 * stored, itemsize * stored):
            raise ValueError("there are not as many indices as values")
    else:
        first, expected = VALUES, itemsize * manifest.n_features * manifest.n_samples
    if sizes[first] != expected:
        raise ValueError(f"{first} of {sizes[first]:,} bytes does not fit the shape")
    return sizes | {CHECKSUMS: SUM_TYPE.itemsize * sum(map(count_blocks, sizes.values()))}


def _damaged(path: Path, why: str, hint: str) -> InputError:
    what = f"{path.name} of the store is damaged: {why}"
    return InputError(what, where=str(path), hint=hint)


def _read_sums(directory: Path, manifest: Manifest, hint: str) -> dict[str, np.ndarray]:
    """Return the checksums of each file."""
    content = (directory / CHECKSUMS).read_bytes()
    if facts_of(content) != manifest.checksums:
        raise _damaged(directory / CHECKSUMS, "it may be that of another one", hint)
    sizes = [manifest.files[name]["bytes"] for name in manifest.names]
    ends = np.cumsum([count_blocks(size) for size in sizes])
    return dict(zip(manifest.names, np.split(np.frombuffer(content, SUM_TYPE), ends[:-1])))


def open_store(directory: Path, *, ids_later: bool = False, hint: str = REBUILD) -> Store:
    """Open a store; one that is damaged is an `InputError`, now or when it is read.

    With `ids_later` the ids are read when they are first needed: a pass needs none, and a million
    of them take as long as a tenth of it. `hint` says what to do about damage.
    """
    manifest = read_manifest(directory, hint)
    store = (SparseStore if manifest.sparse else DenseStore)(directory, manifest, hint)
    if not ids_later:
        store.ids.features[:1]
    return store


def check_store(directory: Path, threads: int = 1) -> None:
    """Read a whole store; raise an `InputError` that names the parts that are damaged."""
    found = open_store(directory, ids_later=True).damage(threads)
    if found:
        raise InputError(
            f"the store is damaged in {counted(len(found), 'place')}",
            where=f"{directory}: {listed(found, 8)}",
            hint=REBUILD,
        )


class Store(Matrix, Shared):
    """A store, which workers in other processes open for themselves."""

    def __init__(self, directory: Path, manifest: Manifest, hint: str) -> None:
        self.directory = directory
        self._manifest = manifest
        self._hint = hint
        self._sums = _read_sums(directory, manifest, hint)
        self._known_ids: Ids | None = None
        self._reading = Lock()
        self._values: list[CheckedFile] = []  # the files of the values
        self.dtype = np.dtype(manifest.dtype)
        self.missing = manifest.missing

    @property
    def n_features(self) -> int:
        """Number of features m."""
        return self._manifest.n_features

    @property
    def n_samples(self) -> int:
        """Number of samples n."""
        return self._manifest.n_samples

    @property
    def ids(self) -> Ids:
        """Features, samples and annotations; read at the first use, by whichever thread.

        The features are read when they are used themselves: a pass needs none of them.
        """
        with self._reading:
            if self._known_ids is None:
                self._known_ids = self._read_ids()
            return self._known_ids

    def _read_ids(self) -> Ids:
        table = _read_samples(self._opener(SAMPLES)(), self.n_samples)
        samples, obs = list(map(nfc, table.column(0).to_pylist())), table.remove_column(0)

        # nothing of the store itself: in a circle it would stay, and its files open
        def later(column: str) -> LaterIds:
            read = partial(_read_features, opener, count, column)
            return LaterIds(count, read)

        opener, count = self._opener(FEATURES), self.n_features
        var = {name: later(name) for name in self._manifest.annotations}
        return Ids(later("feature"), samples, obs if obs.num_columns else None, var)

    @property
    def files(self) -> tuple[Path, ...]:
        """The manifest, which knows the digests of the other files."""
        return (self.directory / NAME,)

    def __reduce__(self) -> tuple[Any, tuple[Path]]:
        return partial(open_store, ids_later=True, hint=self._hint), (self.directory.absolute(),)

    def _opener(
        self, name: str, parts: Callable[[int, int], str] | None = None
    ) -> Callable[[], CheckedFile]:
        """Return what opens a file; `parts` names what its bytes ``lo..hi - 1`` hold."""
        size = self._manifest.files[name]["bytes"]
        path = self.directory / name
        return partial(CheckedFile, path, size, self._sums[name], self._hint, parts)

    def damage(self, threads: int = 1) -> list[str]:
        """Read the whole store, and return what is damaged; files are compared by `threads`."""
        found: list[str] = []
        files = [*self._values, self._opener(FEATURES)(), self._opener(SAMPLES)()]
        parts = [(file, span) for file in files for span in cut(file.blocks, CHECKED_AT_ONCE)]
        with ThreadPoolExecutor(threads) as pool:
            for (file, _), bad in zip(parts, pool.map(lambda p: p[0].damaged(*p[1]), parts)):
                found += (f"{file.path.name}, {file.describe(block)}" for block in bad)
        if not found:
            try:
                self._check_structure()
            except InputError as error:
                found.append(error.what)
        return found

    def _check_structure(self) -> None:
        """Raise an `InputError` if ids or indices are not as a store has them."""
        self.ids.features[:1]


class DenseStore(Store):
    """A dense store: ``values.bin`` holds the features one after the other."""

    sparse = False

    def __init__(self, directory: Path, manifest: Manifest, hint: str) -> None:
        super().__init__(directory, manifest, hint)
        self._row = self.n_samples * self.dtype.itemsize
        self._file = self._opener(VALUES, partial(_rows_between, self._row))()
        self._values = [self._file]

    def read(self, span: Span, out: np.ndarray) -> None:
        """Read a block of features into `out`."""
        self._file.read_into(span.lo * self._row, out)

    def prefetch(self, span: Span) -> None:
        """Have the kernel read `span` ahead."""
        self._file.read_ahead(span.lo * self._row, span.size * self._row)


class SparseStore(Store):
    """A sparse store: non-zero values feature by feature."""

    sparse = True

    def __init__(self, directory: Path, manifest: Manifest, hint: str) -> None:
        super().__init__(directory, manifest, hint)
        pointers = self._opener(INDPTR, partial(_rows_between, 8))()
        self.indptr = np.empty(self.n_features + 1, np.int64)
        pointers.read_into(0, self.indptr)
        counts = np.diff(self.indptr)
        stored = manifest.files[INDICES]["bytes"] // 4
        fits = self.indptr[0] == 0 and self.indptr[-1] == stored
        if not fits or counts.min() < 0 or counts.max() > self.n_samples:
            why = "it does not say where each feature begins"
            raise _damaged(directory / INDPTR, why, hint)
        self._indices, self._data = (
            self._opener(name, partial(_values_between, self.indptr, size))()
            for name, size in ((INDICES, 4), (DATA, self.dtype.itemsize))
        )
        self._values = [pointers, self._indices, self._data]

    def read_stored(self, span: Span) -> Stored:
        """Return the stored values of a block of features.

        Their samples are those of the matrix, each once for a feature, and ascending: compiled
        loops rely on it.
        """
        lo, hi = int(self.indptr[span.lo]), int(self.indptr[span.hi])
        indices, data = np.empty(hi - lo, np.int32), np.empty(hi - lo, self.dtype)
        self._indices.read_into(4 * lo, indices)
        self._data.read_into(self.dtype.itemsize * lo, data)
        counts = np.diff(self.indptr[span.lo : span.hi + 1])
        if not rises_in_bounds(indices, counts, self.n_samples):
            features = _features(span.lo, span.hi - 1)
            why = f"samples of {features} are out of bounds, repeated or out of order"
            raise _damaged(self.directory / INDICES, why, self._hint)
        return Stored(counts, indices, data)

    def prefetch(self, span: Span) -> None:
        """Have the kernel read `span` ahead."""
        lo, hi = int(self.indptr[span.lo]), int(self.indptr[span.hi])
        self._indices.read_ahead(4 * lo, 4 * (hi - lo))
        self._data.read_ahead(self.dtype.itemsize * lo, self.dtype.itemsize * (hi - lo))

    def _check_structure(self) -> None:
        super()._check_structure()
        for span in cut(self.n_features, block_features(self.n_samples, self.dtype.itemsize)):
            self.read_stored(span)


def _read_samples(file: CheckedFile, count: int) -> Any:
    """Return the table of the samples, which must be so many."""
    import pyarrow.parquet as pq

    # read_table would import pandas first
    with _checked(file) as path, arrow_file(path) as raw, pq.ParquetFile(raw) as table:
        obs = table.read()
        check_names(map(str, obs.column(0).to_pylist()), "a sample", str(path))
        if len(obs) != count:
            raise ValueError(OTHER_NUMBER)
        return obs


def _read_features(opened: Callable[[], CheckedFile], count: int, column: str) -> FeatureIds:
    """Return the ids of the features, or an annotation, which must be so many."""
    with _checked(opened()) as path:
        features = read_ids(path, column)
        if column == "feature":
            check_name_array(features.array, "a feature", str(path))
        if len(features) != count:
            raise ValueError(OTHER_NUMBER)
        return features


@contextmanager
def _checked(file: CheckedFile) -> Iterator[Path]:
    """Compare a file of ids with its checksums, and say what cannot be read of it."""
    from pyarrow import ArrowException

    if bad := file.damaged(0, file.blocks):
        raise file.error(bad[0])
    try:
        yield file.path
    except (OSError, KeyError, ValueError, ArrowException) as error:
        raise InputError(
            "the ids of the store cannot be read",
            where=f"{file.path.parent}: {error}",
            hint=file.hint,
        ) from None


def _rows_between(size: int, lo: int, hi: int) -> str:
    """Name the features of bytes ``lo..hi - 1``, where each has `size` bytes."""
    return _features(lo // size, (hi - 1) // size)


def _values_between(indptr: np.ndarray, size: int, lo: int, hi: int) -> str:
    """Name the features of bytes ``lo..hi - 1``, where each value has `size` bytes."""
    at = np.array([lo // size, (hi - 1) // size])
    first, last = np.searchsorted(indptr, at, side="right") - 1
    return _features(int(first), int(last))


def _features(first: int, last: int) -> str:
    return f"features {first + 1:,} to {last + 1:,}"
