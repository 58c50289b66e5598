"""Stores on disk: a directory with a manifest, the ids, and the values feature by feature.

Blocks of features are read when they are asked for, and workers in other processes open a store
again. The manifest has a digest of all other files, by which a store that is kept is known.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import finalize

import numpy as np

from sfs_cli.compute.matrix import Ids, Shared, Span
from sfs_cli.errors import InputError
from sfs_cli.io.files.sniff import MANIFEST
from sfs_cli.io.files.text import arrow_file
from sfs_cli.io.matrix.base import read_errors
from sfs_cli.store.ids import FeatureIds
from sfs_cli.store.matrix import NONE_MISSING, Matrix, Missing, Stored

if TYPE_CHECKING:
    import pyarrow as pa

FORMAT = "sfs-store"
VERSION = 3

FEATURES = "features.parquet"
SAMPLES = "samples.parquet"
VALUES = "values.bin"
"""The file of the values of a dense store; a sparse one has three."""
INDPTR, INDICES, DATA = "indptr.bin", "indices.bin", "data.bin"

REBUILD = "make it again: sfs convert --force, or sfs shard init --force"
"""What to do about a store that is damaged, or of another version."""


@dataclass(frozen=True)
class Manifest:
    """What ``manifest.json`` holds."""

    n_features: int
    n_samples: int
    dtype: str  # float32 or float64; values are little-endian, one feature after the other
    sparse: bool  # whether values are three arrays (indptr int64, indices int32, data) or one
    missing: Missing = NONE_MISSING
    files: dict[str, dict[str, Any]] = field(default_factory=dict)  # the size of each, in bytes
    source: dict[str, Any] = field(default_factory=dict)  # what the store was built from
    digest: str = ""  # of the files, where the store is kept

    def write(self, directory: Path) -> None:
        """Write the manifest; it is written last, so a directory that has one is complete."""
        content = {"format": FORMAT, "version": VERSION, **asdict(self)}
        text = json.dumps(content, indent=2) + "\n"
        (directory / MANIFEST).write_text(text, encoding="utf-8")


def read_manifest(directory: Path) -> Manifest:
    """Read the manifest of a store; another version, and files of other sizes, are an `InputError`.

    The sizes are checked because a copy of a store that was cut off would be found by a pass only.
    """
    path = directory / MANIFEST
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        kind, version = content["format"], content["version"]
        if (kind, version) == (FORMAT, VERSION):
            found = content["missing"]
            found["places"] = tuple(map(tuple, found["places"]))
            content["missing"] = Missing(**found)
            manifest = Manifest(**{each.name: content[each.name] for each in fields(Manifest)})
    except (OSError, ValueError, KeyError, TypeError) as error:
        reason = f"no {error}" if isinstance(error, KeyError) else str(error)
        raise InputError(
            "the manifest of the store cannot be read", where=f"{path}: {reason}", hint=REBUILD
        ) from None
    if (kind, version) != (FORMAT, VERSION):
        raise InputError(
            f"the store is of format {kind} {version}; this version reads {FORMAT} {VERSION}",
            where=str(path),
            hint=REBUILD,
        )
    for name, about in manifest.files.items():
        file, size = directory / name, about["bytes"]
        found = file.stat().st_size if file.is_file() else None
        if found != size:
            has = "is missing" if found is None else f"has {found:,} bytes"
            raise InputError(
                f"{name} of the store {has}; the manifest says {size:,} bytes",
                where=str(directory),
                hint=f"the store is damaged: {REBUILD}",
            )
    return manifest


def open_store(directory: Path) -> Store:
    """Open a store; one that is damaged is an `InputError`."""
    return Store(directory, read_manifest(directory))


class Store(Matrix, Shared):
    """A store, which workers in other processes open for themselves."""

    def __init__(self, directory: Path, manifest: Manifest) -> None:
        self.directory = directory.absolute()
        self.shape = manifest.n_features, manifest.n_samples
        self.dtype, self.sparse = np.dtype(manifest.dtype), manifest.sparse
        self.missing = manifest.missing
        self._handles = {}
        for name in (INDICES, DATA) if self.sparse else (VALUES,):
            self._handles[name] = os.open(directory / name, os.O_RDONLY)
            finalize(self, os.close, self._handles[name])
        if self.sparse:
            self.indptr = np.fromfile(directory / INDPTR, np.int64)
            counts, stored = np.diff(self.indptr), (directory / INDICES).stat().st_size // 4
            fits = self.indptr[0] == 0 and self.indptr[-1] == stored and counts.min() >= 0
            if not fits or len(counts) != self.n_features:
                raise self._damaged(INDPTR, "it does not say where each feature begins")

    @cached_property
    def ids(self) -> Ids:  # type: ignore[override]
        """Features, samples and annotations, read when they are first needed: a pass needs none."""
        features, samples = map(self._table, (FEATURES, SAMPLES))
        names = zip(features.column_names, features.columns)
        var = {name: FeatureIds.joined(column.chunks) for name, column in names}
        obs = samples.remove_column(0)  # an annotation may be named sample too
        ids = samples.column(0).to_pylist()
        if (len(features), len(ids)) != self.shape:
            raise self._damaged(
                MANIFEST, "it has other numbers of features and samples than their ids"
            )
        return Ids(var.pop("feature"), ids, obs if obs.num_columns else None, var)

    def _damaged(self, name: str, why: str) -> InputError:
        what = f"{name} of the store is damaged: {why}"
        return InputError(what, where=str(self.directory / name), hint=REBUILD)

    def _table(self, name: str) -> pa.Table:
        import pyarrow.parquet as pq

        path = self.directory / name
        # read_table would import pandas first
        with (
            read_errors(path, "the ids of a store", REBUILD),
            arrow_file(path) as raw,
            pq.ParquetFile(raw) as file,
        ):
            return file.read(use_threads=False)

    @property
    def files(self) -> tuple[Path, ...]:
        """The manifest, which knows the digest of the other files."""
        return (self.directory / MANIFEST,)

    def __reduce__(self) -> tuple[Any, tuple[Path]]:
        return open_store, (self.directory,)

    def read(self, span: Span, out: np.ndarray) -> None:
        """Read a block of features into `out`."""
        if self.sparse:
            super().read(span, out)
        else:
            self._fill(out, VALUES, span.lo * self.n_samples)

    def read_stored(self, span: Span) -> Stored:
        """Return the stored values of a block of features, where the store is sparse.

        Their samples are those of the matrix, each once for a feature, and ascending: compiled
        loops rely on it.
        """
        indices, data = (
            self._fill(np.empty(hi - lo, kind), name, lo)
            for name, kind, lo, hi in self._places(span)
        )
        counts = np.diff(self.indptr[span.lo : span.hi + 1])
        if not _rise_in_bounds(indices, counts, self.n_samples):
            raise self._damaged(INDICES, "samples are out of bounds, repeated or out of order")
        return Stored(counts, indices, data)

    def prefetch(self, span: Span) -> None:
        """Have the kernel read `span` ahead."""
        for name, kind, lo, hi in self._places(span):
            # macOS has no such call; a length of 0 would mean all that follows
            if lo < hi and hasattr(os, "posix_fadvise"):
                first, length = lo * kind.itemsize, (hi - lo) * kind.itemsize
                os.posix_fadvise(self._handles[name], first, length, os.POSIX_FADV_WILLNEED)

    def bytes_before(self) -> np.ndarray:
        """Return the bytes of the values before each feature, and of all, shape (m + 1,)."""
        if self.sparse:
            return self.indptr * (np.dtype(np.int32).itemsize + self.dtype.itemsize)
        return np.arange(self.n_features + 1) * (self.n_samples * self.dtype.itemsize)

    def _places(self, span: Span) -> list[tuple[str, np.dtype[Any], int, int]]:
        """Return the files of the values of a span, their type, and which numbers they are."""
        if not self.sparse:
            return [(VALUES, self.dtype, span.lo * self.n_samples, span.hi * self.n_samples)]
        lo, hi = int(self.indptr[span.lo]), int(self.indptr[span.hi])
        return [(INDICES, np.dtype(np.int32), lo, hi), (DATA, self.dtype, lo, hi)]

    def _fill(self, out: np.ndarray, name: str, first: int) -> np.ndarray:
        """Fill an array with the numbers of a file, of its type, and return it."""
        view, done = out.reshape(-1).view(np.uint8), 0
        while done < out.nbytes:  # at most 2 GiB are read at once
            # at an offset of its own: threads share the file, but not its position
            at = first * out.itemsize + done
            count = os.preadv(self._handles[name], [view[done:].data], at)
            if count == 0:
                where = str(self.directory / name)
                raise InputError("the store ends before its last value", where=where, hint=REBUILD)
            done += count
        return out


def _rise_in_bounds(indices: np.ndarray, counts: np.ndarray, n: int) -> bool:
    """Tell whether the indices of each feature, int32, rise from 0 or more to below n.

    `counts`, shape (b,), say how many each feature has, and add up to all.
    """
    if not indices.size:
        return True
    if indices.view(np.uint32).max() >= n:  # without a sign, one below 0 is a large number
        return False
    rises = indices[1:] > indices[:-1]
    begins = np.cumsum(counts[:-1]) - 1  # where the next index is that of another feature
    rises[begins[(begins >= 0) & (begins < len(rises))]] = True
    return bool(rises.all())
