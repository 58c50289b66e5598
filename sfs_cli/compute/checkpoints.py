"""Checkpoints: the sums of passes on disk, for a run that continues, and for shards.

A pass is cut into pieces, each a node of the tree by which sums are added (`compute.engine`): the
whole pass for a run with ``--resume``, and the fewest nodes that make up a shard's chunks for
shards. Of every piece there is one file, with the sums of its chunks so far; it is replaced as the
piece grows. So the disk holds a few sums for each shard, never one for each of 64 chunks (64 sums
of 2,000 x 2,000 samples are 2 GB), nothing has to be merged on disk, and the pieces that are
complete are added in the order of the tree, which gives the bytes of an uninterrupted run.
"""

from __future__ import annotations

import json
import re
import shutil
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from xxhash import xxh3_64

from sfs_cli.compute.matrix import Span
from sfs_cli.compute.tree import (
    MAX_CHUNKS,
    Accumulator,
    Chunk,
    Combine,
    MakeNodes,
    Node,
    PartialSum,
    largest_nodes,
)
from sfs_cli.errors import unwritable

SMALL = 1 << 20
"""Sums of fewer bytes are written after every chunk."""
SAVE_SECONDS = 5.0
"""Larger ones are written no more often than this, and at the end of a piece."""
STALE_SECONDS = 3600.0
"""A half-written file of this age belongs to a run that was killed."""
_IDENTITY = "identity.json"
_SUM = "sum"
_FILE = re.compile(r"pass-(\d+)-chunks-(\d+)-to-(\d+)-done-(\d+)\.npz")


class IncompletePassError(Exception):
    """A pass cannot be finished here: chunks of other shards are missing.

    It has the number of the pass and those shards, both from 0, and how many chunks of the `total`
    are `missing`.
    """

    def __init__(self, number: int, shards: list[int], missing: int, total: int) -> None:
        super().__init__(f"pass {number + 1}: {missing} of {total} chunks are missing")
        self.number = number
        self.shards = shards
        self.missing = missing
        self.total = total


class ShardDoneError(Exception):
    """A shard has nothing more to do: what follows is done by one process."""


class Checkpoints:
    """The checkpoints of one run, in a folder.

    Passes are numbered in the order in which a run makes them, which is the same in every run of
    the same work.

    Attributes
    ----------
    shards : int
        Number of shards.
    own : range
        The shards whose pieces this process makes (from 0).
    only : int or None
        The pass, from 0, after which it stops and of which alone it makes pieces.
    active : bool
        Whether passes that begin now are kept.
    """

    shards = 1
    own = range(1)
    only: int | None = None
    active = True

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.passes = 0
        self.chunks_made = 0
        self._saved = float("-inf")

    def begin(self, total: int) -> int:
        """Begin the next pass, which has `total` chunks; return its number."""
        self.passes += 1
        return self.passes - 1

    def stop_saving(self) -> None:
        """Announce the passes of a solver, which one run alone can keep."""

    def run_pass(
        self,
        chunks: Sequence[Chunk],
        combine: Combine,
        make: MakeNodes,
        count: Callable[[Sequence[Span]], None],
    ) -> Iterator[tuple[Node, PartialSum]]:
        """Yield the pieces of a pass in order, loaded where they are kept and made where not.

        `count` receives the spans that need not be made, for progress.
        """
        number = self.begin(len(chunks))
        own = self.own if self.only in (None, number) else ()
        pieces = list(self.pieces(chunks))
        found = self._found(number)
        for shard, piece in pieces:
            done = found.get(_key(piece), 0)
            count([span for chunk in piece.chunks[:done] for span in chunk])
            if done < len(piece.chunks) and shard in own:
                self._make(number, piece, combine, make)
        if self.only == number:
            raise ShardDoneError
        self._check_complete(number, pieces, len(chunks))
        # own pieces are read back like those of other shards: one at a time is in memory
        for shard, piece in pieces:
            part = self._load(number, piece)
            if part is None and shard in own:  # damaged: it is made again
                part = self._make(number, piece, combine, make)
            if part is None:
                raise IncompletePassError(number, [shard], len(piece.chunks), len(chunks))
            yield piece, part

    def pieces(self, chunks: Sequence[Chunk]) -> Iterator[tuple[int, Node]]:
        """Yield the pieces of a pass in order, each with the shard it belongs to."""
        total = len(chunks)
        for shard, run in groupby(range(total), lambda i: owner(i, total, self.shards)):
            own = list(run)
            yield from ((shard, node) for node in largest_nodes(chunks, own[0], own[-1] + 1))

    def _make(self, number: int, piece: Node, combine: Combine, make: MakeNodes) -> PartialSum:
        """Make a piece from where an earlier run has stopped, saving it as it grows."""
        total = Accumulator(piece.end, combine)
        done = self._restore(number, piece, total)
        rest = [Node(0, piece.first + i, (chunk,)) for i, chunk in enumerate(piece.chunks)][done:]
        for node, part in make(rest):
            total.add(0, node.end, part)
            self.chunks_made += 1
            self._save(number, piece, node.end - piece.first, total)
        return total.result()

    def _check_complete(self, number: int, pieces: Sequence[tuple[int, Node]], total: int) -> None:
        """Refuse to go on while chunks are missing."""
        found = self._found(number)
        left = [(s, len(piece.chunks) - found.get(_key(piece), 0)) for s, piece in pieces]
        if any(count for _, count in left):
            shards = sorted({shard for shard, count in left if count})
            raise IncompletePassError(number, shards, sum(count for _, count in left), total)

    def _found(self, number: int) -> dict[tuple[int, int], int]:
        """Return how many chunks of each piece (its first chunk and its end) are on disk."""
        found: dict[tuple[int, int], int] = {}
        for path in self.folder.glob(f"pass-{number + 1:02d}-chunks-*.npz"):
            match = _FILE.fullmatch(path.name)
            if match is not None:
                _, first, end, done = map(int, match.groups())
                found[first - 1, end] = max(done, found.get((first - 1, end), 0))
        return found

    def _files(self, number: int, piece: Node) -> list[Path]:
        """Return the files of a piece, the one with the most chunks first."""
        return sorted(self.folder.glob(_name(number, piece, "*")), reverse=True)

    def _restore(self, number: int, piece: Node, total: Accumulator) -> int:
        """Take the sums of the most chunks of a piece; return the number of these chunks."""
        for path in self._files(number, piece):
            try:
                with np.load(path, allow_pickle=False) as file:
                    counts, *arrays = [file[f"a{i}"] for i in range(len(file.files) - 1)]
                    if file[_SUM] != _sum_of(path.name, (counts, *arrays)):
                        raise ValueError("its checksum is another one")
            except Exception as error:  # NumPy raises any kind on what is damaged
                if isinstance(error, MemoryError) and not _has_room(path.stat().st_size):
                    raise  # the file may be sound
                path.unlink(missing_ok=True)  # the one before it may be whole
                continue
            for level, count in enumerate(counts.tolist()):
                total.waiting[level], arrays = arrays[:count], arrays[count:]
            return int(path.stem.rpartition("-")[2])
        return 0

    def _load(self, number: int, piece: Node) -> PartialSum | None:
        """Return a piece that is complete; None where it is not, or damaged."""
        total = Accumulator(piece.end, lambda parts: parts[-1])
        complete = self._restore(number, piece, total) == len(piece.chunks)
        return total.result() if complete else None

    def _save(self, number: int, piece: Node, done: int, total: Accumulator) -> None:
        """Write the sums of the first `done` chunks of a piece, unless some were just now."""
        arrays = [array for part in total.waiting for array in part]
        small = sum(array.nbytes for array in arrays) < SMALL
        recent = time.monotonic() - self._saved <= SAVE_SECONDS
        if recent and not small and done < len(piece.chunks):
            return
        path = self.folder / _name(number, piece, f"{done:02d}")
        before = self._files(number, piece)
        if before and before[0].name >= path.name and done < len(piece.chunks):
            return  # the same shard runs twice, and the other process is ahead
        counts = np.array([len(part) for part in total.waiting])
        named: dict[str, Any] = {f"a{i}": array for i, array in enumerate([counts, *arrays])}
        named[_SUM] = _sum_of(path.name, named.values())
        replace_file(path, lambda file: np.savez(file, **named))
        self._saved = time.monotonic()
        for old in before:
            if old.name < path.name:
                old.unlink(missing_ok=True)

    def claim(self, identity: str) -> bool:
        """Take the folder for a given work, and remove that of another one.

        Tells whether it was the folder of this work already.
        """
        if self.is_of(identity):
            return True
        try:
            if self.folder.exists():
                shutil.rmtree(self.folder)
            self.folder.mkdir(parents=True)
        except OSError as error:
            raise unwritable(self.folder, error) from None
        _note(self.folder / _IDENTITY, "identity", identity)
        return False

    def is_of(self, identity: str) -> bool:
        """Tell whether the folder is one of a given work."""
        return _noted(self.folder / _IDENTITY, "identity") == identity


def _has_room(size: int) -> bool:
    """Tell whether so many bytes can be allocated: no array is larger than its file."""
    try:
        np.empty(size, np.uint8)
    except MemoryError:
        return False
    return True


def _note(path: Path, name: str, value: Any) -> None:
    """Note a value under a name, in a file that holds nothing else."""
    replace_file(path, lambda file: file.write(json.dumps({name: value}).encode()))


def _noted(path: Path, name: str) -> Any:
    """Return what a file notes under a name, None where it cannot be read."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))[name]
    except (OSError, ValueError, KeyError, TypeError, IndexError, RecursionError):
        return None


def _sum_of(name: str, arrays: Iterable[np.ndarray]) -> np.uint64:
    """Return the checksum of a checkpoint: the sums of a zip file do not cover what a file is."""
    total = xxh3_64(name.encode())
    for array in arrays:
        total.update(f"{array.dtype.str}{array.shape}".encode())
        total.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return np.uint64(total.intdigest())


class ShardCheckpoints(Checkpoints):
    """The checkpoints that shards make for each other.

    Parameters
    ----------
    folder : Path
        Where the files are, on a file system that all shards see.
    shards : int
        Number of shards.
    own : range
        The shards whose pieces this process makes (from 0); none by default.
    only : int, optional
        Makes pieces of this pass alone (from 0), and stops after it.
    gather : bool
        Goes on, without checkpoints, where passes cannot be shared; else it stops there.
    """

    def __init__(
        self,
        folder: Path,
        shards: int,
        own: range = range(0),
        *,
        only: int | None = None,
        gather: bool = False,
    ) -> None:
        super().__init__(folder)
        self.shards = shards
        self.own = own
        self.only = only
        self.gather = gather
        self.shares: list[int] = []

    def begin(self, total: int) -> int:
        """Begin the next pass, and note on disk how many chunks it has."""
        number = super().begin(total)
        path = self.folder / f"pass-{number + 1:02d}.json"
        if not path.exists():
            _note(path, "chunks", total)
        self.shares.append(sum(owner(i, total, self.shards) in self.own for i in range(total)))
        return number

    def stop_saving(self) -> None:
        """Stop; where all is gathered, go on without checkpoints."""
        if not self.gather:
            raise ShardDoneError
        self.active = False

    def progress(self) -> list[list[tuple[int, int]]]:
        """Return, for each pass that was begun, the chunks that each shard has made, and has."""
        passes: list[list[tuple[int, int]]] = []
        while True:
            total = _noted(self.folder / f"pass-{len(passes) + 1:02d}.json", "chunks")
            if type(total) is not int or not 0 < total <= MAX_CHUNKS:
                return passes
            found, made = self._found(len(passes)), [[0, 0] for _ in range(self.shards)]
            for shard, piece in self.pieces([()] * total):
                made[shard][0] += found.get(_key(piece), 0)
                made[shard][1] += len(piece.chunks)
            passes.append([(done, share) for done, share in made])

    def remove_stale(self) -> None:
        """Remove what killed runs were writing long ago."""
        for path in self.folder.glob(".*.partial"):
            with suppress(OSError):
                if time.time() - path.stat().st_mtime > STALE_SECONDS:
                    path.unlink()


def owner(chunk: int, total: int, shards: int) -> int:
    """Return the shard (from 0) that a chunk belongs to: shards are runs of chunks."""
    return -(-(chunk + 1) * shards // total) - 1


def _key(piece: Node) -> tuple[int, int]:
    return piece.first, piece.end


def _name(number: int, piece: Node, done: str) -> str:
    """Return the name of the file with the first chunks of a piece; it counts from 1."""
    return f"pass-{number + 1:02d}-chunks-{piece.first + 1:02d}-to-{piece.end:02d}-done-{done}.npz"


def replace_file(path: Path, write: Callable[[Any], object]) -> None:
    """Write a file beside its place, and move it there: it is complete or not there."""
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
