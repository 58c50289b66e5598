"""Stores on disk: handles that read blocks of features and reopen in every worker."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from sfs_cli.compute.executor import Shared
from sfs_cli.compute.spans import Span
from sfs_cli.errors import InputError
from sfs_cli.store.feature_ids import read_ids
from sfs_cli.store.manifest import FEATURES, NAME, SAMPLES, Manifest, read_manifest
from sfs_cli.store.matrix import Ids, Matrix, Missing, Stored, _Shaped, scatter


class _File:
    """A file read at given offsets; opened again after pickling."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.handle = os.open(path, os.O_RDONLY)

    def read_into(self, offset: int, out: np.ndarray) -> None:
        """Fill `out` with the bytes from `offset`."""
        view = out.reshape(-1).data.cast("B")
        done = 0
        while done < len(view):
            count = os.preadv(self.handle, [view[done:]], offset + done)
            if count == 0:
                raise InputError(
                    "the store ends before its last value",
                    where=str(self.path),
                    hint="build it again with `sfs convert`",
                )
            done += count

    def expect(self, offset: int, length: int) -> None:
        """Have the kernel read ahead what it does not hold yet."""
        if not length or not hasattr(os, "posix_fadvise"):
            return  # no length would mean all that follows
        if not (self._is_held(offset) and self._is_held(offset + length - 1)):
            os.posix_fadvise(self.handle, offset, length, os.POSIX_FADV_WILLNEED)

    def _is_held(self, offset: int) -> bool:
        """Tell whether a byte can be read without waiting; advice on what is held takes longer."""
        if not hasattr(os, "RWF_NOWAIT"):
            return False
        try:
            return os.preadv(self.handle, [bytearray(1)], offset, os.RWF_NOWAIT) == 1
        except OSError:  # it would wait, or this file system cannot tell
            return False

    def __reduce__(self) -> tuple[type[_File], tuple[Path]]:
        return _File, (self.path,)

    def __del__(self) -> None:
        if hasattr(self, "handle"):
            os.close(self.handle)


class _Store(_Shaped, Shared):
    """A store, which workers in other processes open for themselves."""

    directory: Path

    @property
    def files(self) -> tuple[Path, ...]:
        """The manifest, which knows the digests of the other files."""
        return (self.directory / NAME,)

    def __reduce__(self) -> tuple[Any, tuple[Path]]:
        return open_store, (self.directory.absolute(),)


class DenseStore(_Store):
    """A dense store: ``values.bin`` holds the features one after the other."""

    sparse = False

    def __init__(self, directory: Path, manifest: Manifest, ids: Ids) -> None:
        self.directory = directory
        self.ids = ids
        self.dtype: np.dtype[Any] = np.dtype(manifest.dtype)
        self.missing = missing_of(manifest)
        self._file = _File(directory / "values.bin")
        self._row = self.n_samples * self.dtype.itemsize

    def read(self, span: Span, out: np.ndarray) -> None:
        """Read a block of features into `out`."""
        self._file.read_into(span.lo * self._row, out)

    def place(self, span: Span) -> tuple[int, int]:
        """Return the file that a block of features is in, as its descriptor, and the offset."""
        return self._file.handle, span.lo * self._row

    def prefetch(self, span: Span) -> None:
        """Have the kernel read `span` ahead."""
        self._file.expect(span.lo * self._row, span.size * self._row)


class SparseStore(_Store):
    """A sparse store: non-zero values feature by feature."""

    sparse = True

    def __init__(self, directory: Path, manifest: Manifest, ids: Ids) -> None:
        self.directory = directory
        self.ids = ids
        self.dtype: np.dtype[Any] = np.dtype(manifest.dtype)
        self.missing = missing_of(manifest)
        self.indptr = np.fromfile(directory / "indptr.bin", np.int64)
        self._indices = _File(directory / "indices.bin")
        self._data = _File(directory / "data.bin")

    def read(self, span: Span, out: np.ndarray) -> None:
        """Read a block of features into `out`, zeros included."""
        scatter(*self.read_stored(span), out)

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
        self._indices.expect(4 * lo, 4 * (hi - lo))
        self._data.expect(self.dtype.itemsize * lo, self.dtype.itemsize * (hi - lo))


def missing_of(manifest: Manifest) -> Missing:
    """Return what a manifest says of missing values."""
    facts = manifest.missing
    places = tuple((feature, sample) for feature, sample in facts.get("places", ()))
    return Missing(facts.get("values", 0), facts.get("features", 0), places)


def open_store(directory: Path) -> Matrix:
    """Open a store.

    Raises
    ------
    InputError
        When the store is damaged.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    manifest = read_manifest(directory)
    try:
        features = read_ids(directory / FEATURES, "feature")
        with pq.ParquetFile(directory / SAMPLES) as file:  # read_table would import pandas first
            obs = file.read()
        samples = obs["sample"].to_pylist()
    except (OSError, KeyError, ValueError, pa.ArrowException) as error:
        raise _damaged_ids(directory, str(error)) from None
    if (len(features), len(samples)) != (manifest.n_features, manifest.n_samples):
        raise _damaged_ids(directory, "their number is not that of the manifest")
    obs = obs.drop_columns(["sample"])
    ids = Ids(features, samples, obs if obs.num_columns else None)
    kind = SparseStore if manifest.sparse else DenseStore
    return kind(directory, manifest, ids)


def _damaged_ids(directory: Path, reason: str) -> InputError:
    return InputError(
        "the ids of the store cannot be read",
        where=f"{directory}: {reason}",
        hint="build it again with `sfs convert`",
    )
