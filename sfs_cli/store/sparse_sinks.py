"""Where incoming sparse rows go: the counterparts of the dense sinks."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import IO

import numpy as np
from scipy import sparse
from scipy.sparse import csr_array

from sfs_cli.store.sinks import as_bytes


class SparseFeatureRows:
    """Sparse rows that are features.

    Parameters
    ----------
    folder : Path
        Where the three arrays go when they outgrow `limit`.
    limit : int
        Bytes to keep in memory.
    """

    def __init__(self, folder: Path, limit: int) -> None:
        self.folder = folder
        self.limit = limit
        self._held: list[csr_array] = []
        self._bytes = 0
        self._counts: list[np.ndarray] = []
        self._spilled = False

    def add(self, values: csr_array) -> None:
        """Take the next features."""
        self._held.append(values)
        self._bytes += stored_bytes(values)
        if self._bytes > self.limit or self._spilled:
            self._spill()

    def _spill(self) -> None:
        with ExitStack() as stack:
            indices = stack.enter_context((self.folder / "indices.bin").open("ab"))
            data = stack.enter_context((self.folder / "data.bin").open("ab"))
            for block in self._held:
                self._counts.append(_append(block, indices, data))
        self._held, self._bytes, self._spilled = [], 0, True

    def finish(self, to_disk: bool) -> csr_array | None:
        """Return the matrix, or None when it is in the files."""
        if not self._spilled and not to_disk:
            return csr_array(sparse.vstack(self._held, format="csr"))
        self._spill()
        write_indptr(self.folder, self._counts)
        return None


class SparseSampleRows:
    """Sparse rows that are samples, transposed out of core.

    Parameters
    ----------
    folder : Path
        Where panels and the joined arrays go.
    limit : int
        Bytes of one panel.
    """

    def __init__(self, folder: Path, limit: int) -> None:
        self.folder = folder
        self.limit = limit
        self._held: list[csr_array] = []
        self._bytes = 0
        self._panels: list[_Panel] = []
        self._ends = np.zeros(1, np.int64)

    def add(self, values: csr_array) -> None:
        """Take the next samples."""
        self._held.append(values)
        self._bytes += stored_bytes(values)
        if self._bytes > self.limit:
            self._spill()

    def _transposed(self) -> csr_array:
        return csr_array(sparse.vstack(self._held, format="csr").T.tocsr())

    def _spill(self) -> None:
        turned = self._transposed()
        self._ends = self._ends + turned.indptr
        self._panels.append(_Panel.write(turned, self.folder, len(self._panels)))
        self._held, self._bytes = [], 0

    def finish(self, to_disk: bool) -> csr_array | None:
        """Return the matrix, or None when it is in the files."""
        if not self._panels and not to_disk:
            return self._transposed()
        if self._held:
            self._spill()
        self._join()
        return None

    def _join(self) -> None:
        counts: list[np.ndarray] = []
        with ExitStack() as stack:
            indices = stack.enter_context((self.folder / "indices.bin").open("wb"))
            data = stack.enter_context((self.folder / "data.bin").open("wb"))
            for lo, hi in self._feature_blocks():
                parts = [panel.read(lo, hi) for panel in self._panels]
                block = csr_array(sparse.hstack(parts, format="csr"))
                counts.append(_append(block, indices, data))
        write_indptr(self.folder, counts)
        for panel in self._panels:
            panel.path.unlink()

    def _feature_blocks(self) -> list[tuple[int, int]]:
        """Cut the features so that a block's stored values stay within half the limit."""
        ends = self._ends
        per_value = 2 * (4 + self._panels[0].dtype.itemsize)
        cuts, lo = [], 0
        while lo < len(ends) - 1:
            room = ends[lo] + self.limit // (2 * per_value)
            hi = max(lo + 1, int(np.searchsorted(ends, room, side="right")) - 1)
            cuts.append((lo, hi))
            lo = hi
        return cuts


class _Panel:
    """Some samples, feature-major, in one file: where each feature ends, indices and values."""

    def __init__(self, path: Path, values: csr_array) -> None:
        self.path = path
        self.n_features, self.width = values.shape
        self.stored = values.nnz
        self.dtype = values.dtype

    @classmethod
    def write(cls, values: csr_array, folder: Path, number: int) -> _Panel:
        path = folder / f"panel-{number}.bin"
        with path.open("wb") as file:
            file.write(as_bytes(values.indptr.astype(np.int64, copy=False)))
            file.write(as_bytes(values.indices.astype(np.int32, copy=False)))
            file.write(as_bytes(values.data))
        return cls(path, values)

    def read(self, lo: int, hi: int) -> csr_array:
        indptr = np.fromfile(self.path, np.int64, hi - lo + 1, offset=8 * lo)
        first, count = int(indptr[0]), int(indptr[-1] - indptr[0])
        start = 8 * (self.n_features + 1)
        indices = np.fromfile(self.path, np.int32, count, offset=start + 4 * first)
        start += 4 * self.stored + self.dtype.itemsize * first
        data = np.fromfile(self.path, self.dtype, count, offset=start)
        return csr_array((data, indices, indptr - first), shape=(hi - lo, self.width))


def stored_bytes(block: csr_array) -> int:
    """Return the bytes of the three arrays of a sparse block."""
    return block.data.nbytes + block.indices.nbytes + block.indptr.nbytes


def _append(block: csr_array, indices: IO[bytes], data: IO[bytes]) -> np.ndarray:
    """Write the stored values of a block; return how many each feature has."""
    indices.write(as_bytes(block.indices.astype(np.int32, copy=False)))
    data.write(as_bytes(block.data))
    return np.diff(block.indptr)


def write_indptr(folder: Path, counts: list[np.ndarray]) -> None:
    """Write where each feature's values start, from how many each has."""
    total = np.concatenate([np.zeros(1, np.int64), *counts]).cumsum(dtype=np.int64)
    total.tofile(folder / "indptr.bin")
