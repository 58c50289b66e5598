"""From blocks of rows to a feature-major matrix: in memory while it is small, else in files.

Rows that are features are appended as they come. Rows that are samples are gathered into panels of
a bounded size, each panel is turned feature-major, and at the end the panels are joined side by
side, some features at a time: the transpose never needs more memory than a panel.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from sfs_cli.compute.matrix import pointers
from sfs_cli.io.files.scratch import made
from sfs_cli.store.disk import DATA, INDICES, INDPTR, VALUES

if TYPE_CHECKING:
    from scipy.sparse import csr_array

T = TypeVar("T", bound="np.ndarray | csr_array")

PANELS = "panels.bin"
TILE_BYTES = 256 << 10


class Sink(ABC, Generic[T]):
    """Takes blocks of rows, and gives the feature-major matrix, or leaves it in files of a folder.

    The folder is made where it is needed. `limit` is the bytes of rows that are held, and of what
    is joined at a time.
    """

    appends: bool  # whether rows go to the end of the files of the matrix, as features do

    def __init__(self, folder: Path, limit: int) -> None:
        self.folder = folder
        self.limit = limit
        self._held: list[T] = []
        self._bytes = 0
        self._spilled = False

    def add(self, values: T) -> None:
        """Take the next rows."""
        self._held.append(values)
        self._bytes += stored_bytes(values)
        # panels of samples are as large as may be; features that no longer fit need not wait
        if self._bytes > self.limit or (self._spilled and self.appends):
            self._spill()

    def finish(self, to_disk: bool) -> T | None:
        """Return the matrix (m x n), or None when it is in the files of the folder."""
        if not self._spilled and not to_disk:
            return self._in_memory()
        if self._held:
            self._spill()
        self._complete()
        return None

    def _spill(self) -> None:
        if not self._spilled:
            made(self.folder)
        self._write()
        self._held, self._bytes, self._spilled = [], 0, True

    @abstractmethod
    def _in_memory(self) -> T:
        """Return the matrix, of which all rows are held."""

    @abstractmethod
    def _write(self) -> None:
        """Write the rows that are held."""

    @abstractmethod
    def _complete(self) -> None:
        """Make the files of the matrix of what has been written."""


class FeatureRows(Sink["np.ndarray"]):
    """Dense rows that are features."""

    appends = True

    def _in_memory(self) -> np.ndarray:
        blocks = self._held
        if len(blocks) == 1:
            return np.ascontiguousarray(blocks[0])
        shape, dtype = (sum(len(b) for b in blocks), blocks[0].shape[1]), blocks[0].dtype
        blocks.reverse()
        # each is freed as soon as it is copied: the peak is one matrix, not two
        return _filled(shape, dtype, (blocks.pop() for _ in range(len(blocks))))

    def _write(self) -> None:
        with (self.folder / VALUES).open("ab") as file:
            for block in self._held:
                file.write(as_bytes(block))

    def _complete(self) -> None:
        pass


class SampleRows(Sink["np.ndarray"]):
    """Dense rows that are samples, transposed out of core."""

    appends = False

    def __init__(self, folder: Path, limit: int) -> None:
        super().__init__(folder, limit)
        self._widths: list[int] = []  # the samples of each panel

    def _in_memory(self) -> np.ndarray:
        width = sum(len(block) for block in self._held)
        return _filled((self._held[0].shape[1], width), self._held[0].dtype, self._tiles())

    def _write(self) -> None:
        with (self.folder / PANELS).open("ab") as file:
            for tile in self._tiles():
                file.write(as_bytes(tile))
        self._widths.append(sum(len(block) for block in self._held))
        self._n_features, self._dtype = self._held[0].shape[1], self._held[0].dtype

    def _tiles(self) -> Iterator[np.ndarray]:
        """Yield what is held, feature-major, a cache-sized tile of features at a time."""
        width = sum(len(block) for block in self._held)
        n_features, dtype = self._held[0].shape[1], self._held[0].dtype
        # a transposed copy of all at once would fetch each line of the cache many times
        step = max(16, TILE_BYTES // max(1, width * dtype.itemsize))
        for lo in range(0, n_features, step):
            out = np.empty((min(step, n_features - lo), width), dtype)
            at = 0
            for block in self._held:
                out[:, at : at + len(block)] = block[:, lo : lo + len(out)].T
                at += len(block)
            yield out

    def _complete(self) -> None:
        """Read some features of every panel at a time, and write them side by side."""
        panels, values = self.folder / PANELS, self.folder / VALUES
        if len(self._widths) == 1:  # one panel is the matrix already
            panels.rename(values)
            return
        n, itemsize = sum(self._widths), self._dtype.itemsize
        step = max(1, self.limit // (n * itemsize))
        with panels.open("rb") as source, values.open("wb") as target:
            for lo in range(0, self._n_features, step):
                out = np.empty((min(step, self._n_features - lo), n), self._dtype)
                at = 0
                for width in self._widths:
                    source.seek((self._n_features * at + lo * width) * itemsize)
                    panel = np.fromfile(source, self._dtype, len(out) * width)
                    out[:, at : at + width] = panel.reshape(len(out), width)
                    at += width
                target.write(as_bytes(out))
        panels.unlink()


def _filled(
    shape: tuple[int, int], dtype: np.dtype[Any], blocks: Iterable[np.ndarray]
) -> np.ndarray:
    """Return an array whose rows are those of some blocks, one after the other."""
    out, at = np.empty(shape, dtype), 0
    for block in blocks:
        out[at : at + len(block)] = block
        at += len(block)
    return out


class SparseFeatureRows(Sink["csr_array"]):
    """Sparse rows that are features."""

    appends = True

    def __init__(self, folder: Path, limit: int) -> None:
        super().__init__(folder, limit)
        self._counts: list[np.ndarray] = []

    def _in_memory(self) -> csr_array:
        return _stacked(self._held)

    def _write(self) -> None:
        with _appending(self.folder, "ab") as append:
            self._counts += [append(block) for block in self._held]

    def _complete(self) -> None:
        write_indptr(self.folder, self._counts)


class SparseSampleRows(Sink["csr_array"]):
    """Sparse rows that are samples, transposed out of core; each panel is a file."""

    appends = False

    def __init__(self, folder: Path, limit: int) -> None:
        super().__init__(folder, limit)
        self._panels: list[_SparsePanel] = []
        self._ends = np.zeros(1, np.int64)  # where each feature ends, in all panels together

    def _in_memory(self) -> csr_array:
        return _stacked(self._held).T.tocsr()

    def _write(self) -> None:
        turned = self._in_memory()
        self._ends = self._ends + turned.indptr
        self._panels.append(_SparsePanel(self.folder / f"panel-{len(self._panels)}.bin", turned))

    def _complete(self) -> None:
        counts: list[np.ndarray] = []
        # stored values of a block take half the limit, twice: in the panels and joined
        room = self.limit // (4 * (4 + self._panels[0].dtype.itemsize))
        lo = 0
        with _appending(self.folder, "wb") as append:
            while lo < len(self._ends) - 1:
                end = int(np.searchsorted(self._ends, self._ends[lo] + room, side="right")) - 1
                hi = max(lo + 1, end)
                block = _stacked([panel.read(lo, hi) for panel in self._panels], axis=1)
                counts.append(append(block))
                lo = hi
        write_indptr(self.folder, counts)
        for panel in self._panels:
            panel.path.unlink()


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


def stored_bytes(block: np.ndarray | csr_array) -> int:
    """Return the bytes of an array, or of the three arrays of a sparse block."""
    if isinstance(block, np.ndarray):
        return block.nbytes
    return block.data.nbytes + block.indices.nbytes + block.indptr.nbytes


def write_indptr(folder: Path, counts: list[np.ndarray]) -> None:
    """Write where each feature's values start, from how many each has."""
    with (folder / INDPTR).open("wb") as file:
        file.write(as_bytes(pointers(np.concatenate(counts))))
