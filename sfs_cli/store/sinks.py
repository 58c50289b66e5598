"""From blocks of rows to a feature-major matrix: in memory while it is small, else in files.

Rows that are features are appended as they come. Rows that are samples are gathered into panels of
a bounded size, each panel is turned feature-major, and at the end the panels are joined side by
side, some features at a time: the transpose never needs more memory than a panel.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sfs_cli.compute.matrix import Span, pointers
from sfs_cli.io.files.scratch import made
from sfs_cli.store.disk import DATA, INDICES, INDPTR, VALUES, Manifest, Store
from sfs_cli.store.matrix import block_of

if TYPE_CHECKING:
    from scipy.sparse import csr_array

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

    return sparse.csr_array((sparse.hstack if axis else sparse.vstack)(blocks, format="csr"))


def stored_bytes(block: np.ndarray | csr_array) -> int:
    """Return the bytes of an array, or of the three arrays of a sparse block."""
    if isinstance(block, np.ndarray):
        return block.nbytes
    return block.data.nbytes + block.indices.nbytes + block.indptr.nbytes
