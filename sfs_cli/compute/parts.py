"""What shards make for each other: the sums of their parts of each pass, in files of a folder.

Every shard adds up its own chunks of a pass, and writes one file: a sum for each node of the tree
by which sums are added (`compute.tree`). When the files of all shards are there, the nodes are
added in order, which gives the bytes that one process would have made.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import BadZipFile

import numpy as np

from sfs_cli.compute.matrix import Span
from sfs_cli.compute.tree import (
    Accumulator,
    Chunk,
    Combine,
    MakeNodes,
    Node,
    PartialSum,
    largest_nodes,
)
from sfs_cli.errors import InputError, unwritable

_FILE = re.compile(r"pass-(\d+)-shard-(\d+)\.npz")
_DONE = "done"
_NODES = "nodes"


class IncompletePassError(Exception):
    """A pass cannot be finished here: the parts of other shards are missing.

    It has the number of the pass and those shards, both from 1.
    """

    def __init__(self, number: int, missing: list[int]) -> None:
        super().__init__(f"pass {number} lacks {len(missing)} shards")
        self.number = number
        self.missing = missing


class ShardDoneError(Exception):
    """A shard has nothing more to do: what follows is done by one process."""


class State(NamedTuple):
    """How far shards have come."""

    number: int  # of the pass that they are making, from 1
    missing: list[int]  # the shards that have not made their part of it, from 1
    done: bool  # whether all passes are made that shards can share


class Parts:
    """The parts of one plan, in a folder that all shards see.

    Passes are numbered in the order in which a run makes them, which is the same in every run of
    the same work.

    Attributes
    ----------
    shards : int
        Number of shards.
    own : range
        The shards whose parts this process makes where they are missing (from 1).
    gather : bool
        Goes on where passes cannot be shared; else it stops there.
    active : bool
        Whether passes that begin now are shared.
    """

    def __init__(
        self, folder: Path, shards: int, own: range = range(0), *, gather: bool = False
    ) -> None:
        self.folder, self.shards, self.own, self.gather = folder, shards, own, gather
        self.active = True
        self.passes = 0  # that were begun
        self.made = 0  # parts

    def run_pass(
        self,
        chunks: Sequence[Chunk],
        combine: Combine,
        make: MakeNodes,
        count: Callable[[Sequence[Span]], None],
    ) -> Iterator[tuple[Node, PartialSum]]:
        """Yield the nodes of a pass in order; own parts are made where they are missing.

        `count` receives the spans of parts that are there, for progress.

        Raises
        ------
        IncompletePassError
            Where parts of other shards are missing.
        """
        self.passes += 1
        number = self.passes
        for shard in range(1, self.shards + 1):
            if self._file(number, shard).exists():
                nodes = self._nodes(chunks, shard)
                count([span for node in nodes for chunk in node.chunks for span in chunk])
            elif shard in self.own:
                self._make(self._file(number, shard), self._nodes(chunks, shard), combine, make)
        if missing := self._missing(number):
            raise IncompletePassError(number, missing)
        for shard in range(1, self.shards + 1):
            yield from _load(self._file(number, shard), self._nodes(chunks, shard))

    def stop_sharing(self) -> None:
        """Announce passes that only one process can make.

        Raises ShardDoneError unless this is the process that gathers all.
        """
        if not self.gather:
            raise ShardDoneError
        self.active = False

    def state(self) -> State:
        """Return how far the shards have come."""
        names = [_FILE.fullmatch(path.name) for path in self.folder.glob("pass-*.npz")]
        last = max((int(name[1]) for name in names if name), default=0)
        for number in range(1, last + 1):
            if missing := self._missing(number):
                return State(number, missing, False)
        if (self.folder / _DONE).exists():
            return State(last, [], True)
        return State(last + 1, [*range(1, self.shards + 1)], False)

    def finish(self) -> None:
        """Note that there is no other pass to share."""
        (self.folder / _DONE).touch()

    def _missing(self, number: int) -> list[int]:
        return [i for i in range(1, self.shards + 1) if not self._file(number, i).exists()]

    def _file(self, number: int, shard: int) -> Path:
        return self.folder / f"pass-{number}-shard-{shard}.npz"

    def _nodes(self, chunks: Sequence[Chunk], shard: int) -> list[Node]:
        """Return the nodes of a part: shards are runs of chunks, the last ones of one more."""
        total = len(chunks)
        lo, hi = (total * i // self.shards for i in (shard - 1, shard))
        return [*largest_nodes(chunks, lo, hi)]

    def _make(self, path: Path, nodes: Sequence[Node], combine: Combine, make: MakeNodes) -> None:
        """Make a part; that of a shard without chunks is empty."""
        arrays: dict[str, np.ndarray] = {_NODES: _places(nodes)}
        for at, node in enumerate(nodes):
            total = Accumulator(node.end, combine)
            single = [Node(0, node.first + i, (chunk,)) for i, chunk in enumerate(node.chunks)]
            for each, part in make(single):
                total.add(0, each.end, part)
            arrays |= {f"{at}.{i}": array for i, array in enumerate(total.result())}
        _write(path, arrays)
        self.made += 1


def _load(path: Path, nodes: Sequence[Node]) -> Iterator[tuple[Node, PartialSum]]:
    """Yield the nodes of a part, each with its sum."""
    try:
        with np.load(path, allow_pickle=False) as file:
            if not np.array_equal(file[_NODES], _places(nodes)):
                raise ValueError("it is of another number of shards")
            for at, node in enumerate(nodes):
                count = sum(name.startswith(f"{at}.") for name in file.files)
                yield node, [file[f"{at}.{i}"] for i in range(count)]
    except (OSError, ValueError, EOFError, KeyError, BadZipFile) as error:
        raise InputError(
            f"the part of a shard cannot be read: {error}",
            where=str(path),
            hint="remove it, and run this shard again",
        ) from None


def _places(nodes: Sequence[Node]) -> np.ndarray:
    """Return the first chunk of each node, and the one after its last, shape (nodes, 2)."""
    return np.array([(node.first, node.end) for node in nodes], np.int64).reshape(-1, 2)


def _write(path: Path, arrays: dict[str, Any]) -> None:
    """Write a part beside its place, and move it there: it is complete or not there."""
    # by chance, not by process: shards on two machines may have the same process id
    partial = path.with_name(f".{path.name}.{uuid.uuid4().hex[:12]}.partial")
    try:
        with partial.open("wb") as file:
            np.savez(file, **arrays)
        partial.replace(path)
    except OSError as error:
        raise unwritable(path, error) from None
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
