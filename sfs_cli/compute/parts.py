"""Parts of passes: a chunk of the features each, kept in a folder until the pass is whole.

A pass that makes sums or a number per feature is cut into chunks by the shape of the matrix alone.
Each chunk is summed by itself, in the order of its spans, and the chunks are added in their order;
so it does not matter for a single bit who makes which chunk, and when: one run, one that goes on
where another was killed, or many machines.
"""

from __future__ import annotations

import json
import shutil
import time
import uuid
import zipfile
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from sfs_cli.compute.spans import Span
from sfs_cli.errors import unwritable

MAX_CHUNKS = 64
"""Chunks of a pass; no more shards than that have work."""
SMALL = 1 << 20
"""Running sums of fewer bytes are written after every chunk."""
SAVE_SECONDS = 5.0
"""Larger ones are written after so long, and at the end of the pass."""
Part = list[np.ndarray]
_IDENTITY = "identity.json"


@dataclass(frozen=True)
class Chunk:
    """Consecutive spans of a pass."""

    index: int
    spans: tuple[Span, ...]


def chunks_of(spans: Sequence[Span]) -> list[Chunk]:
    """Group spans into at most `MAX_CHUNKS` chunks of nearly equal size."""
    count = min(MAX_CHUNKS, len(spans))
    bounds = [len(spans) * i // count for i in range(count + 1)] if count else []
    groups = [tuple(spans[lo:hi]) for lo, hi in pairwise(bounds)]
    return [Chunk(i, group) for i, group in enumerate(groups)]


class PartsMissingError(Exception):
    """A pass cannot go on: others have not made their parts yet.

    Attributes
    ----------
    number : int
        The pass, from 0.
    chunks : list of int
        The parts that are not there.
    total : int
        The parts of the pass.
    """

    def __init__(self, number: int, chunks: list[int], total: int) -> None:
        super().__init__(f"pass {number + 1}: {len(chunks)} of {total} parts are missing")
        self.number = number
        self.chunks = chunks
        self.total = total


class PartFolder:
    """Parts in files, written whole or not at all, which several processes may share.

    Passes are numbered in the order in which a run makes them, which is the same in every run of
    the same work.

    Parameters
    ----------
    folder : Path
        Where the parts are.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.passes = 0
        self.made = 0

    @property
    def open(self) -> bool:
        """Whether passes that begin now are kept."""
        return True

    def begin(self, total: int) -> int:
        """Begin the next pass, which has `total` parts; return its number."""
        self.passes += 1
        return self.passes - 1

    def makes(self, number: int, chunk: int, total: int) -> bool:
        """Tell whether this process may make a part."""
        return True

    def end(self, number: int) -> None:
        """Tell that this process has made all parts of a pass that it makes."""

    def leave(self) -> None:
        """Tell that what follows cannot be made in parts."""

    def has(self, number: int, chunk: int) -> bool:
        """Tell whether a part is there."""
        return self.path(number, chunk).exists()

    def load(self, number: int, chunk: int) -> Part | None:
        """Return a part; None, and nothing is left of it, where the file is damaged."""
        return _read(self.path(number, chunk))

    def save(self, number: int, chunk: int, part: Part) -> None:
        """Write a part.

        Raises
        ------
        InputError
            When it cannot be written.
        """
        _write(self.path(number, chunk), part)
        self.made += 1

    def claim(self, identity: str) -> bool:
        """Make the folder one of a given work; throw all away that is in one of another.

        Returns
        -------
        bool
            Whether it was one of this work already.

        Raises
        ------
        InputError
            When it cannot be written.
        """
        if self.is_of(identity):
            return True
        try:
            if self.folder.exists():
                shutil.rmtree(self.folder)
            self.folder.mkdir(parents=True)
        except OSError as error:
            raise unwritable(self.folder, error) from None
        text = json.dumps({"identity": identity})
        replace_file(self.folder / _IDENTITY, lambda file: file.write(text.encode()))
        return False

    def is_of(self, identity: str) -> bool:
        """Tell whether the folder is one of a given work."""
        try:
            return json.loads((self.folder / _IDENTITY).read_text())["identity"] == identity
        except (OSError, ValueError, KeyError, TypeError):
            return False

    def missing(self, number: int, chunks: Collection[Chunk]) -> list[int]:
        """Return the parts of a pass that are not there."""
        return [chunk.index for chunk in chunks if not self.has(number, chunk.index)]

    def path(self, number: int, chunk: int) -> Path:
        """Return the file of a part."""
        return self.folder / f"pass-{number + 1:02d}-part-{chunk + 1:02d}.npz"


class RunningFolder(PartFolder):
    """Parts of one run that may be gone on with: of a sum over chunks, the latest alone is kept.

    A sum may be as large as the square of the samples, and there is room for one or two of them
    where there is none for one of each chunk.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._saved = float("-inf")

    def latest(self, number: int) -> tuple[int, Part]:
        """Return the sum of the most chunks of a pass, and their number."""
        found = sorted(self.folder.glob(f"pass-{number + 1:02d}-sum-*.npz"), reverse=True)
        for path in found:
            total = _read(path)
            if total is not None:
                return int(path.stem.rpartition("-")[2]), total
        return 0, []

    def save_sum(self, number: int, count: int, total: Part, *, last: bool) -> None:
        """Write the sum of the first `count` chunks of a pass, unless one was written just now.

        Raises
        ------
        InputError
            When it cannot be written.
        """
        small = sum(array.nbytes for array in total) < SMALL
        if not (small or last or time.monotonic() - self._saved > SAVE_SECONDS):
            return
        before = list(self.folder.glob(f"pass-{number + 1:02d}-sum-*.npz"))
        path = self.folder / f"pass-{number + 1:02d}-sum-{count:02d}.npz"
        _write(path, total)
        self._saved = time.monotonic()
        for old in before:
            if old != path:
                old.unlink(missing_ok=True)


def _read(path: Path) -> Part | None:
    try:
        with np.load(path, allow_pickle=False) as arrays:
            return [arrays[f"a{i}"] for i in range(len(arrays.files))]
    except (OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile):
        path.unlink(missing_ok=True)
        return None


def _write(path: Path, part: Part) -> None:
    arrays: dict[str, Any] = {f"a{i}": array for i, array in enumerate(part)}
    replace_file(path, lambda file: np.savez(file, **arrays))


def replace_file(path: Path, write: Callable[[Any], object]) -> None:
    """Write a file beside its place, and move it there.

    Raises
    ------
    InputError
        When it cannot be written.
    """
    # by chance, not by process: shards on two machines may have the same process id
    partial = path.with_name(f".{path.name}.{uuid.uuid4().hex[:12]}.partial")
    try:
        with partial.open("wb") as file:
            write(file)
        partial.replace(path)
    except OSError as error:
        raise unwritable(path, error) from None
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
