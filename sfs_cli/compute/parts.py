"""Parts of passes: a chunk of the features each, kept in a folder until the pass is whole.

A pass that makes sums or a number per feature is cut into chunks by the shape of the matrix alone.
Each chunk is summed by itself, in the order of its spans, and the chunks are added in the order of
a fixed tree (`sfs_cli.compute.tree`); so it does not matter for a single bit who makes which chunk,
and when: one run, one that goes on where another was killed, or many machines. Parts that make a
node of the tree are kept as one.
"""

from __future__ import annotations

import json
import shutil
import uuid
import zipfile
from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from sfs_cli.compute.tree import FAN, LEVELS, Chunk, Fold, Part, Tree, levels_at
from sfs_cli.errors import unwritable

_IDENTITY = "identity.json"


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
        """Tell whether a part is there, by itself or in that of a node."""
        return any(self.path(number, chunk, level).exists() for level in range(LEVELS + 1))

    def load(self, number: int, chunk: int) -> tuple[int, Part] | None:
        """Return the largest node that begins with a chunk and is there: its level, and its part.

        None where there is none; nothing is left of a file that is damaged.
        """
        for level in levels_at(chunk):
            part = read_part(self.path(number, chunk, level))
            if part is not None:
                return level, part
        return None

    def save(self, number: int, chunk: int, part: Part, total: int, fold: Fold) -> None:
        """Write a part; where it is the last one of a node, that of the node in place of all.

        What others read is never put together under their hands: once all parts of a pass are
        there, none is written any more.

        Parameters
        ----------
        number, chunk : int
            The pass, and the chunk.
        part : Part
            What has been made of the chunk.
        total : int
            Number of chunks of the pass.
        fold : callable
            Makes one part of several.

        Raises
        ------
        InputError
            When it cannot be written.
        """
        self.made += 1
        for level in range(LEVELS, 0, -1):
            first = chunk - chunk % FAN**level
            ends = (chunk + 1) % FAN**level == 0 or chunk + 1 == total
            if ends and all(self.makes(number, each, total) for each in range(first, chunk)):
                before = self._nodes(number, first, chunk)
                whole = self._with(before, part, chunk + 1, fold)
                if whole is not None:
                    write_part(self.path(number, first, level), whole)
                    for _, _, path in before or []:
                        path.unlink(missing_ok=True)
                    return
        write_part(self.path(number, chunk), part)

    def _with(
        self, before: list[tuple[int, int, Path]] | None, part: Part, end: int, fold: Fold
    ) -> Part | None:
        """Return what nodes and the part of the chunk after them make; None where some lack."""
        if before is None:
            return None
        tree = Tree(end, fold)
        for level, until, path in before:
            kept = read_part(path)
            if kept is None:
                return None
            tree.add(level, until, kept)
        tree.add(0, end, part)
        return tree.made()

    def _nodes(self, number: int, first: int, end: int) -> list[tuple[int, int, Path]] | None:
        """Return the level, end and file of nodes that hold some chunks; None where some lack."""
        found: list[tuple[int, int, Path]] = []
        while first < end:
            for level in levels_at(first):
                path = self.path(number, first, level)
                if first + FAN**level <= end and path.exists():
                    first += FAN**level
                    found.append((level, first, path))
                    break
            else:
                return None
        return found

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

    def path(self, number: int, chunk: int, level: int = 0) -> Path:
        """Return the file of the node of a level that a chunk belongs to; by default its own."""
        first = chunk - chunk % FAN**level
        of_several = f"x{FAN**level}" if level else ""
        return self.folder / f"pass-{number + 1:02d}-part-{first + 1:02d}{of_several}.npz"


def read_part(path: Path) -> Part | None:
    """Read a part; None, and nothing is left of it, where the file is not there or damaged."""
    try:
        with np.load(path, allow_pickle=False) as arrays:
            return [arrays[f"a{i}"] for i in range(len(arrays.files))]
    except (OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile):
        path.unlink(missing_ok=True)
        return None


def write_part(path: Path, part: Part) -> None:
    """Write a part.

    Raises
    ------
    InputError
        When it cannot be written.
    """
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
