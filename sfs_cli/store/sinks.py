"""From blocks of rows to a feature-major matrix: in memory while it is small, else in files.

Rows that are features are appended as they come. Rows that are samples are gathered into panels of
a bounded size, each panel is turned feature-major, and at the end the panels are joined side by
side, some features at a time: the transpose never needs more memory than a panel.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np

if TYPE_CHECKING:
    from scipy.sparse import csr_array

T = TypeVar("T", bound="np.ndarray | csr_array")

VALUES = "values.bin"
INDPTR, INDICES, DATA = "indptr.bin", "indices.bin", "data.bin"
PANELS = "panels.bin"
TILE_BYTES = 256 << 10


class Sink(Protocol[T]):
    """Takes blocks of rows, and gives the feature-major matrix, or leaves it in files."""

    def add(self, values: T) -> None:
        """Take the next rows."""
        ...

    def finish(self, to_disk: bool) -> T | None:
        """Return the matrix (m x n), or None when it is in the files of the folder."""
        ...


class FeatureRows:
    """Dense rows that are features; in a file of `folder` once they outgrow `limit` bytes."""

    def __init__(self, folder: Path, limit: int) -> None:
        self.path = folder / VALUES
        self.limit = limit
        self._held: list[np.ndarray] = []
        self._bytes = 0
        self._spilled = False

    def add(self, values: np.ndarray) -> None:
        """Take the next features."""
        self._held.append(values)
        self._bytes += values.nbytes
        if self._bytes > self.limit or self._spilled:
            self._spill()

    def _spill(self) -> None:
        with self.path.open("ab") as file:
            for block in self._held:
                file.write(as_bytes(block))
        self._held, self._bytes, self._spilled = [], 0, True

    def finish(self, to_disk: bool) -> np.ndarray | None:
        """Return the matrix, or None when it is in the file."""
        if self._spilled or to_disk:
            self._spill()
            return None
        blocks = self._held
        if len(blocks) == 1:
            return np.ascontiguousarray(blocks[0])
        out = np.empty((sum(len(b) for b in blocks), blocks[0].shape[1]), blocks[0].dtype)
        at = 0
        blocks.reverse()
        while blocks:  # each is freed as soon as it is copied: the peak is one matrix, not two
            block = blocks.pop()
            out[at : at + len(block)] = block
            at += len(block)
        return out


class SampleRows:
    """Dense rows that are samples, transposed out of core.

    `limit` is the bytes of one panel, and of what is joined at a time.
    """

    def __init__(self, folder: Path, limit: int, n_features: int, dtype: np.dtype[Any]) -> None:
        self.folder = folder
        self.limit = limit
        self.n_features = n_features
        self.dtype = dtype
        self._held: list[np.ndarray] = []
        self._bytes = 0
        self._widths: list[int] = []

    def add(self, values: np.ndarray) -> None:
        """Take the next samples."""
        self._held.append(values)
        self._bytes += values.nbytes
        if self._bytes > self.limit:
            self._spill()

    def _spill(self) -> None:
        width = sum(len(b) for b in self._held)
        with (self.folder / PANELS).open("ab") as file:
            for tile in self._tiles(width):
                file.write(as_bytes(tile))
        self._widths.append(width)
        self._held, self._bytes = [], 0

    def _tiles(self, width: int) -> Iterator[np.ndarray]:
        """Yield what is held, feature-major, a cache-sized tile of features at a time."""
        step = max(16, TILE_BYTES // max(1, width * self.dtype.itemsize))
        for lo in range(0, self.n_features, step):
            out = np.empty((min(step, self.n_features - lo), width), self.dtype)
            at = 0
            for block in self._held:
                out[:, at : at + len(block)] = block[:, lo : lo + len(out)].T
                at += len(block)
            yield out

    def finish(self, to_disk: bool) -> np.ndarray | None:
        """Return the matrix, or None when it is in the file."""
        if not self._widths and not to_disk:
            width = sum(len(b) for b in self._held)
            out = np.empty((self.n_features, width), self.dtype)
            at = 0
            for tile in self._tiles(width):
                out[at : at + len(tile)] = tile
                at += len(tile)
            return out
        if self._held:
            self._spill()
        self._join()
        return None

    def _join(self) -> None:
        panels = self.folder / PANELS
        if len(self._widths) == 1:
            panels.rename(self.folder / VALUES)
            return
        n = sum(self._widths)
        step = max(1, self.limit // (n * self.dtype.itemsize))
        with panels.open("rb") as source, (self.folder / VALUES).open("wb") as out:
            for lo in range(0, self.n_features, step):
                out.write(as_bytes(self._joined(source, lo, min(lo + step, self.n_features), n)))
        panels.unlink()

    def _joined(self, source: IO[bytes], lo: int, hi: int, n: int) -> np.ndarray:
        """Read features ``lo..hi`` of every panel, side by side."""
        out = np.empty((hi - lo, n), self.dtype)
        at = 0
        for width in self._widths:
            source.seek((self.n_features * at + lo * width) * self.dtype.itemsize)
            panel = np.fromfile(source, self.dtype, (hi - lo) * width)
            out[:, at : at + width] = panel.reshape(hi - lo, width)
            at += width
        return out


class SparseFeatureRows:
    """Sparse rows that are features; as `FeatureRows`."""

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
        with _appending(self.folder, "ab") as append:
            self._counts += [append(block) for block in self._held]
        self._held, self._bytes, self._spilled = [], 0, True

    def finish(self, to_disk: bool) -> csr_array | None:
        """Return the matrix, or None when it is in the files."""
        if not self._spilled and not to_disk:
            return _stacked(self._held)
        self._spill()
        write_indptr(self.folder, self._counts)
        return None


class SparseSampleRows:
    """Sparse rows that are samples, transposed out of core; as `SampleRows`."""

    def __init__(self, folder: Path, limit: int) -> None:
        self.folder = folder
        self.limit = limit
        self._held: list[csr_array] = []
        self._bytes = 0
        self._panels: list[_SparsePanel] = []
        self._ends = np.zeros(1, np.int64)

    def add(self, values: csr_array) -> None:
        """Take the next samples."""
        self._held.append(values)
        self._bytes += stored_bytes(values)
        if self._bytes > self.limit:
            self._spill()

    def _transposed(self) -> csr_array:
        return _stacked(self._held).T.tocsr()

    def _spill(self) -> None:
        turned = self._transposed()
        self._ends = self._ends + turned.indptr
        self._panels.append(_SparsePanel(self.folder / f"panel-{len(self._panels)}.bin", turned))
        self._held, self._bytes = [], 0

    def finish(self, to_disk: bool) -> csr_array | None:
        """Return the matrix, or None when it is in the files."""
        if not self._panels and not to_disk:
            return self._transposed()
        if self._held:
            self._spill()
        counts: list[np.ndarray] = []
        with _appending(self.folder, "wb") as append:
            for lo, hi in self._feature_blocks():
                panels = [panel.read(lo, hi) for panel in self._panels]
                counts.append(append(_stacked(panels, axis=1)))
        write_indptr(self.folder, counts)
        for panel in self._panels:
            panel.path.unlink()
        return None

    def _feature_blocks(self) -> Iterator[tuple[int, int]]:
        """Cut the features so that a block's stored values stay within half the limit."""
        ends, lo = self._ends, 0
        per_value = 2 * (4 + self._panels[0].dtype.itemsize)
        while lo < len(ends) - 1:
            room = ends[lo] + self.limit // (2 * per_value)
            hi = max(lo + 1, int(np.searchsorted(ends, room, side="right")) - 1)
            yield lo, hi
            lo = hi


class _SparsePanel:
    """Some samples, feature-major, in one file: where each feature ends, indices and values."""

    def __init__(self, path: Path, values: csr_array) -> None:
        self.path = path
        self.n_features, self.width = values.shape
        self.stored = values.nnz
        self.dtype = values.dtype
        with path.open("wb") as file:
            file.write(as_bytes(values.indptr.astype(np.int64, copy=False)))
            file.write(as_bytes(values.indices.astype(np.int32, copy=False)))
            file.write(as_bytes(values.data))

    def read(self, lo: int, hi: int) -> csr_array:
        """Return the features ``lo..hi`` of these samples."""
        from scipy.sparse import csr_array

        indptr = np.fromfile(self.path, np.int64, hi - lo + 1, offset=8 * lo)
        first, count = int(indptr[0]), int(indptr[-1] - indptr[0])
        start = 8 * (self.n_features + 1)
        indices = np.fromfile(self.path, np.int32, count, offset=start + 4 * first)
        start += 4 * self.stored + self.dtype.itemsize * first
        data = np.fromfile(self.path, self.dtype, count, offset=start)
        return csr_array((data, indices, indptr - first), shape=(hi - lo, self.width))


def _stacked(blocks: list[csr_array], axis: int = 0) -> csr_array:
    """Stack sparse blocks."""
    from scipy import sparse  # dense matrices do without the time that its import takes

    return sparse.csr_array((sparse.hstack if axis else sparse.vstack)(blocks, format="csr"))


@contextmanager
def _appending(folder: Path, mode: str) -> Iterator[Callable[[csr_array], np.ndarray]]:
    """Open the files of indices and values; give what appends a block and returns its counts."""
    with (folder / INDICES).open(mode) as indices, (folder / DATA).open(mode) as data:

        def append(block: csr_array) -> np.ndarray:
            indices.write(as_bytes(block.indices.astype(np.int32, copy=False)))
            data.write(as_bytes(block.data))
            return np.diff(block.indptr)

        yield append


def as_bytes(block: np.ndarray) -> memoryview:
    """Return the bytes of an array in C order, without a copy where it is so already."""
    return np.ascontiguousarray(block).reshape(-1).data.cast("B")


def stored_bytes(block: csr_array) -> int:
    """Return the bytes of the three arrays of a sparse block."""
    return block.data.nbytes + block.indices.nbytes + block.indptr.nbytes


def write_indptr(folder: Path, counts: list[np.ndarray]) -> None:
    """Write where each feature's values start, from how many each has."""
    total = np.concatenate([np.zeros(1, np.int64), *counts]).cumsum(dtype=np.int64)
    total.tofile(folder / INDPTR)
