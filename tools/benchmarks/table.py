"""Rows of the benchmark table, and the registry of what makes them.

A job is a function of a `Bench` that yields rows and notes. Importing a ``rows_*`` module registers
its jobs; each runs in a process of its own.
"""

from __future__ import annotations

import shutil
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
RBF_PHI2 = ("--similarity", "rbf", "--method", "spec,ranking=phi2")
"""Options of `sfs rank` that many jobs measure."""
HEAD = "| what | ours | reference | ratio | asked | holds |\n|---|---|---|---|---|---|"


@dataclass(frozen=True)
class Row:
    """A line of the table.

    Attributes
    ----------
    what : str
        What was measured, with its size.
    ours, reference : str
        The two numbers, with their units.
    ratio : float, optional
        Ours by the reference, or what stands for it: an exponent, a difference.
    asked : float, optional
        What the ratio is to be.
    least : bool
        Whether the ratio is to be at least, not at most, what is asked.
    """

    what: str
    ours: str
    reference: str = ""
    ratio: float | None = None
    asked: float | None = None
    least: bool = False

    @property
    def holds(self) -> bool | None:
        """Whether what is asked holds; None where nothing is."""
        if self.asked is None:
            return None
        if self.ratio is None:
            return False
        return self.ratio >= self.asked if self.least else self.ratio <= self.asked

    def line(self) -> str:
        """Return the row as Markdown."""
        asked = "" if self.asked is None else f"{'≥' if self.least else '≤'} {number(self.asked)}"
        ratio = "" if self.ratio is None else number(self.ratio)
        holds = {None: "", True: "yes", False: "**no**"}[self.holds]
        cells = (self.what, self.ours, self.reference, ratio, asked, holds)
        return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"


@dataclass(frozen=True)
class Note:
    """A paragraph, or a table of its own, under the rows of a job."""

    text: str


@dataclass(frozen=True)
class Part:
    """Rows of a job that may fail without the others."""

    what: str
    run: Callable[[], Found]


Found: TypeAlias = "Iterator[Row | Note | Part]"


@dataclass(frozen=True)
class Bench:
    """Where things are, and how much is measured.

    Attributes
    ----------
    scratch : Path
        Folder for stores, which jobs share.
    peers : Path, optional
        Folder of the peers' environments; None leaves the peers out, by name.
    data : Path, optional
        Folder of the shared data sets.
    small : bool
        Toy sizes.
    """

    scratch: Path
    peers: Path | None = None
    data: Path | None = None
    small: bool = False

    @property
    def repeat(self) -> int:
        """How often a run of some seconds is repeated."""
        return 1 if self.small else 3

    def asked(self, ratio: float) -> float | None:
        """Return what is asked of a ratio of times; nothing at toy sizes, where start-up rules."""
        return None if self.small else ratio

    def store(self, n: int, m: int) -> Path:
        """Return a simulated float32 store, made on first use by a process of its own."""
        path = self.scratch / f"{n}x{m}.store"
        if not path.exists():
            maker = [sys.executable, "-m", "tools.benchmarks.make_store", str(path), str(n), str(m)]
            subprocess.run(maker, check=True)
        return path

    def labels(self, n: int, classes: int = 4) -> Path:
        """Return a table of classes for the samples of a simulated store."""
        path = self.scratch / f"{n}-{classes}.tsv"
        lines = [f"s{i:06d}\tclass{i % classes}" for i in range(n)]
        path.write_text("\n".join(["sample\tclass", *lines]) + "\n")
        return path

    def data_set(self, name: str) -> Path:
        """Return the folder of a shared data set."""
        if self.data is None or not (self.data / name).is_dir():
            raise MissingError(f"data set {name} is absent: name its folder with --data")
        return self.data / name

    def forget(self, store: Path) -> None:
        """Remove a store that is too large to stay."""
        shutil.rmtree(store)


class MissingError(Exception):
    """A peer, a package or a data set that a job needs is not there."""


@dataclass(frozen=True)
class Job:
    """What makes some rows."""

    name: str
    title: str
    run: Callable[[Bench], Found] = field(repr=False)


JOBS: dict[str, Job] = {}


def job(name: str, title: str) -> Callable[[Callable[[Bench], Found]], Callable[[Bench], Found]]:
    """Register a function that yields rows and notes."""

    def register(function: Callable[[Bench], Found]) -> Callable[[Bench], Found]:
        assert name not in JOBS, name
        JOBS[name] = Job(name, title, function)
        return function

    return register


def number(value: float) -> str:
    """Return a ratio with three digits or so."""
    if value == 0 or abs(value) < 1e-3:
        return f"{value:.1e}" if value else "0"
    return f"{value:.3f}" if abs(value) < 0.1 else f"{value:.2f}"


def seconds(value: float) -> str:
    """Return a time as a person would write it."""
    if abs(value) < 0.1:
        return f"{1000 * value:.2g} ms" if abs(value) < 0.01 else f"{1000 * value:.0f} ms"
    return f"{value:.2f} s" if value < 100 else f"{value:.0f} s"


def in_turn(
    ours: Callable[[], float], theirs: Callable[[], float], repeat: int
) -> tuple[float, float, float]:
    """Run two things in turn; return the medians of their times and of their ratio."""
    pairs = [(ours(), theirs()) for _ in range(repeat)]
    a, b = (statistics.median(pair[i] for pair in pairs) for i in (0, 1))
    return a, b, statistics.median(x / y for x, y in pairs)


def compared(
    what: str,
    ours: Callable[[], float],
    theirs: Callable[[], float],
    repeat: int,
    asked: float | None = None,
) -> Row:
    """Run two things in turn; return a row of medians."""
    a, b, ratio = in_turn(ours, theirs, repeat)
    return Row(what, seconds(a), seconds(b), ratio, asked)


def plain_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Note:
    """Return a table of its own as a note."""
    lines = [f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *rows)]
    return Note("\n".join(lines))
