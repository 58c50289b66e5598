"""What shards make for each other: the sums of their parts of each pass, in files of a folder.

Every shard adds up (or joins) what a pass makes of its own run of spans, and writes one file. When
the files of all shards are there, their sums are added in order.
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

from sfs_cli.compute.matrix import Arrays, Span
from sfs_cli.errors import InputError, unwritable

_FILE = re.compile(r"pass-(\d+)-shard-(\d+)\.npz")
_DONE = "done"


def runs_of(spans: Sequence[Span], count: int) -> list[Sequence[Span]]:
    """Cut spans into runs of nearly equal length, the last ones of one more; they may be empty."""
    return [spans[len(spans) * i // count : len(spans) * (i + 1) // count] for i in range(count)]


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
        spans: Sequence[Span],
        make: Callable[[Sequence[Span]], Arrays],
        count: Callable[[Sequence[Span]], None],
    ) -> Iterator[Arrays]:
        """Yield what every shard made of its spans; own parts are made where they are missing.

        `count` receives the spans of parts that are there, for progress.

        Raises
        ------
        IncompletePassError
            Where parts of other shards are missing.
        """
        self.passes += 1
        number = self.passes
        runs = dict(enumerate(runs_of(spans, self.shards), 1))
        for shard, run in runs.items():
            if self._file(number, shard).exists():
                count(run)
            elif shard in self.own:
                _write(self._file(number, shard), self._cut(run), make(run))
                self.made += 1
        if missing := self._missing(number):
            raise IncompletePassError(number, missing)
        for shard, run in runs.items():
            if run:
                yield _load(self._file(number, shard), self._cut(run))

    def _cut(self, run: Sequence[Span]) -> np.ndarray:
        """Return which spans a part is of: a part of another plan has others, or fewer shards."""
        ends = [run[0].lo, run[-1].hi] if run else [0, 0]
        return np.array([self.shards, len(run), *ends])

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


def _load(path: Path, cut: np.ndarray) -> Arrays:
    try:
        with np.load(path, allow_pickle=False) as file:
            if not np.array_equal(file["cut"], cut):
                raise ValueError("it is of other features, or of another number of shards")
            return {name: file[name] for name in file.files if name != "cut"}
    except (OSError, ValueError, EOFError, KeyError, BadZipFile) as error:
        raise InputError(
            f"the part of a shard cannot be read: {error}",
            where=str(path),
            hint="remove it, and run this shard again",
        ) from None


def _write(path: Path, cut: np.ndarray, part: Arrays) -> None:
    """Write a part beside its place, and move it there: it is complete or not there."""
    # by chance, not by process: shards on two machines may have the same process id
    partial = path.with_name(f".{path.name}.{uuid.uuid4().hex[:12]}.partial")
    try:
        with partial.open("wb") as file:
            named: dict[str, Any] = {"cut": cut} | part
            np.savez(file, **named)
        partial.replace(path)
    except OSError as error:
        raise unwritable(path, error) from None
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
