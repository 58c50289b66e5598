"""Stores on disk: a directory with a manifest, the ids, and the values feature by feature.

Handles read blocks of features, and are opened again by workers in other processes. The manifest
has a digest of all other files, by which a store that is kept is known.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from sfs_cli.compute.matrix import Ids, Shared, Span
from sfs_cli.errors import InputError
from sfs_cli.io.files.names import check_name_array, check_names, nfc
from sfs_cli.io.files.text import arrow_file
from sfs_cli.store.ids import FeatureIds, LaterIds, read_ids
from sfs_cli.store.matrix import (
    Matrix,
    Missing,
    Stored,
    rises_in_bounds,
)

NAME = "manifest.json"
FORMAT = "sfs-store"
VERSION = 3

FEATURES = "features.parquet"
SAMPLES = "samples.parquet"
VALUES = "values.bin"
"""The file of the values of a dense store; a sparse one has three."""
INDPTR, INDICES, DATA = "indptr.bin", "indices.bin", "data.bin"

REBUILD = "build it again: sfs convert --force"
"""What to do about a damaged store that a user keeps."""
FAULTY_SCRATCH = "the disk of the temporary folder may be faulty: run again with another TMPDIR"
"""What to do about a damaged store that this run has made."""
OTHER_NUMBER = "their number is not that of the manifest"


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
    digest: str = ""  # of the files, where the store is kept
    annotations: tuple[str, ...] = ()  # of the features; older stores have none

    def write(self, directory: Path) -> None:
        """Write the manifest; it is written last, so a directory that has one is complete."""
        content = {"format": FORMAT, "version": VERSION, **asdict(self)}
        text = json.dumps(content, indent=2) + "\n"
        (directory / NAME).write_text(text, encoding="utf-8")

    @property
    def names(self) -> tuple[str, ...]:
        """The files beside the manifest."""
        return files_of(self.sparse)


def files_of(sparse: bool) -> tuple[str, ...]:
    """Return the names of the files of a store beside its manifest."""
    return (*((INDPTR, INDICES, DATA) if sparse else (VALUES,)), FEATURES, SAMPLES)


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
        manifest = _parsed(content)
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


def _parsed(content: dict[str, Any]) -> Manifest:
    """Return the manifest with this content; a ValueError where it contradicts itself."""
    own = ("format", "version")
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
    return sizes


def _damaged(path: Path, why: str, hint: str) -> InputError:
    what = f"{path.name} of the store is damaged: {why}"
    return InputError(what, where=str(path), hint=hint)


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


class StoredFile:
    """A file read at given offsets, by many threads at a time; `hint` says what to do of damage."""

    def __init__(self, path: Path, hint: str) -> None:
        self.path, self.hint = path, hint
        self.handle = os.open(path, os.O_RDONLY)

    def read_into(self, offset: int, out: np.ndarray) -> None:
        """Fill `out` with the bytes from `offset`."""
        view = out.reshape(-1).data.cast("B")
        done = 0
        while done < len(view):
            # at an offset of its own: threads share the descriptor, but not its position
            count = os.preadv(self.handle, [view[done:]], offset + done)
            if count == 0:
                raise InputError(
                    "the store ends before its last value", where=str(self.path), hint=self.hint
                )
            done += count

    def read_ahead(self, offset: int, length: int) -> None:
        """Have the kernel read what it does not hold yet."""
        if not length or not hasattr(os, "posix_fadvise"):
            return  # no length would mean all that follows
        # asking about two bytes is cheaper than advice on pages that are in memory already
        if not (self._is_held(offset) and self._is_held(offset + length - 1)):
            os.posix_fadvise(self.handle, offset, length, os.POSIX_FADV_WILLNEED)

    def _is_held(self, offset: int) -> bool:
        """Tell whether a byte can be read without waiting."""
        if not hasattr(os, "RWF_NOWAIT"):
            return False
        try:
            return os.preadv(self.handle, [bytearray(1)], offset, os.RWF_NOWAIT) == 1
        except OSError:  # it would wait, or this file system cannot tell
            return False

    def __del__(self) -> None:
        if hasattr(self, "handle"):
            os.close(self.handle)


class Store(Matrix, Shared):
    """A store, which workers in other processes open for themselves."""

    def __init__(self, directory: Path, manifest: Manifest, hint: str) -> None:
        self.directory = directory
        self._manifest = manifest
        self._hint = hint
        self._known_ids: Ids | None = None
        self._reading = Lock()
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
        table = _read_samples(self.directory / SAMPLES, self._hint, self.n_samples)
        samples, obs = list(map(nfc, table.column(0).to_pylist())), table.remove_column(0)

        # nothing of the store itself: in a circle it would stay, and its files open
        def later(column: str) -> LaterIds:
            read = partial(_read_features, path, hint, count, column)
            return LaterIds(count, read)

        path, hint, count = self.directory / FEATURES, self._hint, self.n_features
        var = {name: later(name) for name in self._manifest.annotations}
        return Ids(later("feature"), samples, obs if obs.num_columns else None, var)

    @property
    def files(self) -> tuple[Path, ...]:
        """The manifest, which knows the digest of the other files."""
        return (self.directory / NAME,)

    def __reduce__(self) -> tuple[Any, tuple[Path]]:
        return partial(open_store, ids_later=True, hint=self._hint), (self.directory.absolute(),)

    def _open(self, name: str) -> StoredFile:
        return StoredFile(self.directory / name, self._hint)


class DenseStore(Store):
    """A dense store: ``values.bin`` holds the features one after the other."""

    sparse = False

    def __init__(self, directory: Path, manifest: Manifest, hint: str) -> None:
        super().__init__(directory, manifest, hint)
        self._row = self.n_samples * self.dtype.itemsize
        self._file = self._open(VALUES)

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
        self.indptr = np.empty(self.n_features + 1, np.int64)
        self._open(INDPTR).read_into(0, self.indptr)
        counts = np.diff(self.indptr)
        stored = manifest.files[INDICES]["bytes"] // 4
        fits = self.indptr[0] == 0 and self.indptr[-1] == stored
        if not fits or counts.min() < 0 or counts.max() > self.n_samples:
            why = "it does not say where each feature begins"
            raise _damaged(directory / INDPTR, why, hint)
        self._indices, self._data = self._open(INDICES), self._open(DATA)

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
            why = f"the samples of features {span.lo + 1:,} to {span.hi:,} are out of bounds, "
            why += "repeated or out of order"
            raise _damaged(self.directory / INDICES, why, self._hint)
        return Stored(counts, indices, data)

    def prefetch(self, span: Span) -> None:
        """Have the kernel read `span` ahead."""
        lo, hi = int(self.indptr[span.lo]), int(self.indptr[span.hi])
        self._indices.read_ahead(4 * lo, 4 * (hi - lo))
        self._data.read_ahead(self.dtype.itemsize * lo, self.dtype.itemsize * (hi - lo))


def _read_samples(path: Path, hint: str, count: int) -> Any:
    """Return the table of the samples, which must be so many."""
    import pyarrow.parquet as pq

    # read_table would import pandas first
    with _ids_read(path, hint), arrow_file(path) as raw, pq.ParquetFile(raw) as table:
        obs = table.read()
        check_names(map(str, obs.column(0).to_pylist()), "a sample", str(path))
        if len(obs) != count:
            raise ValueError(OTHER_NUMBER)
        return obs


def _read_features(path: Path, hint: str, count: int, column: str) -> FeatureIds:
    """Return the ids of the features, or an annotation, which must be so many."""
    with _ids_read(path, hint):
        features = read_ids(path, column)
        if column == "feature":
            check_name_array(features.array, "a feature", str(path))
        if len(features) != count:
            raise ValueError(OTHER_NUMBER)
        return features


@contextmanager
def _ids_read(path: Path, hint: str) -> Iterator[None]:
    """Say what cannot be read of a file of ids."""
    from pyarrow import ArrowException

    try:
        yield
    except (OSError, KeyError, ValueError, ArrowException) as error:
        raise InputError(
            "the ids of the store cannot be read", where=f"{path.parent}: {error}", hint=hint
        ) from None
