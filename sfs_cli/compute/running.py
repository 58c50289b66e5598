"""Parts of one run: what it has added up, so that it can go on where it was stopped."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

from sfs_cli.compute.parts import PartFolder, read_part, write_part
from sfs_cli.compute.tree import Tree

SMALL = 1 << 20
"""Running sums of fewer bytes are written after every chunk."""
SAVE_SECONDS = 5.0
"""Larger ones are written after so long, and at the end of the pass."""


class RunningFolder(PartFolder):
    """Parts of one run that may be gone on with: of a pass that is added up, the latest sums alone.

    A sum may be as large as the square of the samples, and there is room for the few that wait in
    a tree where there is none for one of each chunk.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._saved = float("-inf")

    def latest(self, number: int, tree: Tree) -> int:
        """Go on with the sums of the most chunks of a pass; return the number of these chunks."""
        found = sorted(self.folder.glob(f"pass-{number + 1:02d}-sum-*.npz"), reverse=True)
        for path in found:
            kept = read_part(path)
            if kept is not None:
                counts, *arrays = kept
                for level, count in enumerate(counts.tolist()):
                    tree.waiting[level], arrays = arrays[:count], arrays[count:]
                return int(path.stem.rpartition("-")[2])
        return 0

    def save_sums(self, number: int, count: int, tree: Tree) -> None:
        """Write the sums of the first `count` chunks of a pass, unless some were just now.

        Raises
        ------
        InputError
            When they cannot be written.
        """
        arrays = [array for part in tree.waiting for array in part]
        small = sum(array.nbytes for array in arrays) < SMALL
        recent = time.monotonic() - self._saved <= SAVE_SECONDS
        if recent and not small and count < tree.total:
            return
        before = list(self.folder.glob(f"pass-{number + 1:02d}-sum-*.npz"))
        path = self.folder / f"pass-{number + 1:02d}-sum-{count:02d}.npz"
        write_part(path, [np.array([len(part) for part in tree.waiting]), *arrays])
        self._saved = time.monotonic()
        for old in before:
            if old != path:
                old.unlink(missing_ok=True)
