"""Stores on disk: a directory with a manifest, the ids, and the values feature by feature.

Handles read blocks of features, and are opened again by workers in other processes.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from sfs_cli.compute.matrix import Ids, Shared, Span
from sfs_cli.errors import InputError
from sfs_cli.io.files.text import arrow_file
from sfs_cli.store.ids import read_ids
from sfs_cli.store.matrix import DenseReads, Matrix, Missing, SparseReads, Stored

NAME = "manifest.json"
FORMAT = "sfs-store"
VERSION = 1

FEATURES = "features.parquet"
SAMPLES = "samples.parquet"
DENSE = ("values.bin",)
SPARSE = ("indptr.bin", "indices.bin", "data.bin")

_REBUILD = "build it again with `sfs convert`"


@dataclass(frozen=True)
class Manifest:
    """What ``manifest.json`` holds."""

    n_features: int
    n_samples: int
    dtype: str  # float32 or float64; values are little-endian, one feature after the other
    sparse: bool  # whether values are three arrays (indptr int64, indices int32, data) or one
    missing: dict[str, Any] = field(default_factory=dict)  # values, features, places of the NaN
    files: dict[str, dict[str, Any]] = field(default_factory=dict)  # size and sha256 of each
    source: dict[str, Any] = field(default_factory=dict)  # what the store was built from

    def write(self, directory: Path) -> None:
        """Write the manifest; it is written last, so a directory that has one is complete."""
        content = {"format": FORMAT, "version": VERSION, **asdict(self)}
        (directory / NAME).write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


def is_store(path: Path) -> bool:
    """Tell whether `path` is a directory with a store's manifest."""
    return path.is_dir() and (path / NAME).is_file()


def read_manifest(directory: Path) -> Manifest:
    """Read the manifest of a store, and check that its version and its files are as expected."""
    path = directory / NAME
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        kind, version = content.pop("format"), content.pop("version")
        manifest = Manifest(**content) if (kind, version) == (FORMAT, VERSION) else None
        sizes = _sizes(manifest) if manifest else {}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        reason = f"no {error}" if isinstance(error, KeyError) else str(error)
        raise InputError(
            "the manifest of the store cannot be read", where=f"{path}: {reason}", hint=_REBUILD
        ) from None
    if manifest is None:
        raise InputError(
            f"the store is of format {kind} {version}; this version reads {FORMAT} {VERSION}",
            where=str(path),
            hint=_REBUILD,
        )
    for name, size in sizes.items():
        file = directory / name
        found = file.stat().st_size if file.is_file() else None
        if found != size:
            has = "is missing" if found is None else f"has {found:,} bytes"
            raise InputError(
                f"{name} of the store {has}; the manifest says {size:,} bytes",
                where=str(directory),
                hint=f"the store is damaged: {_REBUILD}",
            )
    return manifest


def _sizes(manifest: Manifest) -> dict[str, int]:
    """Return the size of every file that the store must have.

    A manifest that lacks one is a KeyError or TypeError; one that contradicts itself a ValueError.
    """
    itemsize = {"float32": 4, "float64": 8}[manifest.dtype]
    names = (*(SPARSE if manifest.sparse else DENSE), FEATURES, SAMPLES)
    sizes = {name: int(manifest.files[name]["bytes"]) for name in names}
    if manifest.sparse:
        first, expected = SPARSE[0], 8 * (manifest.n_features + 1)
    else:
        first, expected = DENSE[0], itemsize * manifest.n_features * manifest.n_samples
    if sizes[first] != expected:
        raise ValueError(f"{first} of {sizes[first]:,} bytes does not fit the shape")
    return sizes


def open_store(directory: Path, *, ids_later: bool = False) -> Matrix:
    """Open a store; one that is damaged is an `InputError`.

    With `ids_later` the ids are read when they are first needed: a pass needs none, and a million
    of them take as long as a tenth of it.
    """
    manifest = read_manifest(directory)
    store: Matrix = (SparseStore if manifest.sparse else DenseStore)(directory, manifest)
    if not ids_later:
        store.ids  # noqa: B018
    return store


def _read_ids(directory: Path, manifest: Manifest) -> Ids:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        features = read_ids(directory / FEATURES, "feature")
        # read_table would import pandas first
        with arrow_file(directory / SAMPLES) as raw, pq.ParquetFile(raw) as file:
            obs = file.read()
        samples = obs["sample"].to_pylist()
        if (len(features), len(samples)) != (manifest.n_features, manifest.n_samples):
            raise ValueError("their number is not that of the manifest")
    except (OSError, KeyError, ValueError, pa.ArrowException) as error:
        raise InputError(
            "the ids of the store cannot be read", where=f"{directory}: {error}", hint=_REBUILD
        ) from None
    obs = obs.drop_columns(["sample"])
    return Ids(features, samples, obs if obs.num_columns else None)


class _Store(Shared):
    """A store, which workers in other processes open for themselves."""

    def __init__(self, directory: Path, manifest: Manifest) -> None:
        self.directory = directory
        self.n_features = manifest.n_features
        self.n_samples = manifest.n_samples
        self._manifest = manifest
        self._ids: Ids | None = None
        self._reading = Lock()
        self.dtype: np.dtype[Any] = np.dtype(manifest.dtype)
        found = manifest.missing
        places = tuple((feature, sample) for feature, sample in found.get("places", ()))
        self.missing = Missing(found.get("values", 0), found.get("features", 0), places)

    @property
    def ids(self) -> Ids:
        """Features, samples and annotations; read at the first use, by whichever thread."""
        with self._reading:
            if self._ids is None:
                self._ids = _read_ids(self.directory, self._manifest)
            return self._ids

    @property
    def files(self) -> tuple[Path, ...]:
        """The manifest, which knows the digests of the other files."""
        return (self.directory / NAME,)

    def __reduce__(self) -> tuple[Any, tuple[Path]]:
        return partial(open_store, ids_later=True), (self.directory.absolute(),)


class DenseStore(DenseReads, _Store):
    """A dense store: ``values.bin`` holds the features one after the other."""

    def __init__(self, directory: Path, manifest: Manifest) -> None:
        super().__init__(directory, manifest)
        self._file = _File(directory / DENSE[0])
        self._row = self.n_samples * self.dtype.itemsize

    def read(self, span: Span, out: np.ndarray) -> None:
        """Read a block of features into `out`."""
        self._file.read_into(span.lo * self._row, out)

    def prefetch(self, span: Span) -> None:
        """Have the kernel read `span` ahead."""
        self._file.read_ahead(span.lo * self._row, span.size * self._row)


class SparseStore(SparseReads, _Store):
    """A sparse store: non-zero values feature by feature."""

    def __init__(self, directory: Path, manifest: Manifest) -> None:
        super().__init__(directory, manifest)
        indptr, indices, data = (directory / name for name in SPARSE)
        self.indptr = np.fromfile(indptr, np.int64)
        self._indices, self._data = _File(indices), _File(data)

    def read_stored(self, span: Span) -> Stored:
        """Return the stored values of a block of features."""
        lo, hi = int(self.indptr[span.lo]), int(self.indptr[span.hi])
        indices, data = np.empty(hi - lo, np.int32), np.empty(hi - lo, self.dtype)
        self._indices.read_into(4 * lo, indices)
        self._data.read_into(self.dtype.itemsize * lo, data)
        return Stored(np.diff(self.indptr[span.lo : span.hi + 1]), indices, data)

    def prefetch(self, span: Span) -> None:
        """Have the kernel read `span` ahead."""
        lo, hi = int(self.indptr[span.lo]), int(self.indptr[span.hi])
        self._indices.read_ahead(4 * lo, 4 * (hi - lo))
        self._data.read_ahead(self.dtype.itemsize * lo, self.dtype.itemsize * (hi - lo))


class _File:
    """A file read at given offsets, by many threads at a time."""

    def __init__(self, path: Path) -> None:
        self.path = path
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
                    "the store ends before its last value", where=str(self.path), hint=_REBUILD
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
