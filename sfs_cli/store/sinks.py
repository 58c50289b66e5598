"""Where incoming dense rows go: memory while they are few, files when they are many.

Rows that are features are appended as they come. Rows that are samples are gathered into panels
of a bounded size, each panel is turned feature-major, and the panels are joined feature block by
feature block at the end: the transpose never needs more memory than a panel.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, Protocol, TypeVar

import numpy as np

T_contra = TypeVar("T_contra", contravariant=True)
T_co = TypeVar("T_co", covariant=True)

VALUES = "values.bin"
PANELS = "panels.bin"
TILE_BYTES = 256 << 10


class Sink(Protocol[T_contra, T_co]):
    """Takes blocks of rows, and gives the feature-major matrix, or leaves it in files."""

    def add(self, values: T_contra) -> None:
        """Take the next rows."""
        ...

    def finish(self, to_disk: bool) -> T_co | None:
        """Return the matrix (m x n), or None when it is in the files of the folder."""
        ...


class FeatureRows:
    """Dense rows that are features.

    Parameters
    ----------
    folder : Path
        Where values go when they outgrow `limit`.
    limit : int
        Bytes to keep in memory.
    """

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
        return _stack(self._held)


class SampleRows:
    """Dense rows that are samples, transposed out of core.

    Parameters
    ----------
    folder : Path
        Where panels and the joined values go.
    limit : int
        Bytes of one panel, and of what is joined at a time.
    n_features : int
        Length of a row.
    dtype : dtype
        Type of the values.
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
            part = np.fromfile(source, self.dtype, (hi - lo) * width)
            out[:, at : at + width] = part.reshape(hi - lo, width)
            at += width
        return out


def as_bytes(block: np.ndarray) -> memoryview:
    """Return the bytes of an array in C order, without a copy where it is so already."""
    return np.ascontiguousarray(block).reshape(-1).data.cast("B")


def _stack(blocks: list[np.ndarray]) -> np.ndarray:
    """Stack blocks of rows, freeing each as soon as it is copied."""
    if len(blocks) == 1:
        return np.ascontiguousarray(blocks[0])
    out = np.empty((sum(len(b) for b in blocks), blocks[0].shape[1]), blocks[0].dtype)
    at = 0
    blocks.reverse()
    while blocks:
        block = blocks.pop()
        out[at : at + len(block)] = block
        at += len(block)
    return out
