"""Messages and progress, on stderr through one console."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal

from sfs_cli.display import shown
from sfs_cli.errors import counted, escaped

if TYPE_CHECKING:
    from rich.console import Console

    from sfs_cli.errors import SfsError

QUIET, NORMAL, VERBOSE = -1, 0, 1
SHOWN = 3
"""Warnings of a command that are shown, unless it fails or is verbose: more are not read."""
AT_ONCE, FIRST, ORDINARY, LAST = range(4)
"""Weights of warnings: what a user would stop the run for, what makes the result invalid, most of
them, and what is about a few features or samples. Kinds of one weight are parts of 1 apart
(`sfs_cli.options.guards`)."""

Warnings = list[tuple[float, str]]
"""Weights and texts of warnings."""


def clean(text: str) -> str:
    """Return a text as people are to see it, without control characters."""
    return escaped(shown(text))


class Messages:
    """Receives everything that a run reports besides its result.

    Parameters
    ----------
    verbosity : int
        Below 0 only errors are shown; above 0 details are shown too.

    Attributes
    ----------
    kept_in : str
        Where those can be read that are not shown.
    notes : bool
        Whether notes are shown: not where another command has shown the same.
    """

    def __init__(self, verbosity: int = NORMAL) -> None:
        self.verbosity = verbosity
        self.kept_in = "-v shows all"
        self.notes = True
        self._warned: Warnings = []
        self._held: Warnings | None = None  # those to show at the end
        self._shown = 0
        self._noted: set[str] = set()
        self._about = ""
        self._title = ""
        self._step = ""
        self._total: int | None = None
        self._done = 0
        self._phases = 0  # so many bars were begun
        self._update_bar: Callable[[], None] = _no_bar
        self._console: Console | None = None

    @property
    def console(self) -> Console:
        """The console on stderr (colors only on a terminal, and not under NO_COLOR)."""
        if self._console is None:
            from rich.console import Console

            colors: Literal["auto"] | None = None if os.environ.get("NO_COLOR") else "auto"
            self._console = Console(
                stderr=True, highlight=False, soft_wrap=True, emoji=False, color_system=colors
            )
        return self._console

    def detail(self, text: str) -> None:
        """Show a detail with ``-v``."""
        if self.verbosity >= VERBOSE:
            self.console.print(clean(text), style="dim", markup=False)

    def step(self, text: str) -> None:
        """Show how far a solver has come on the bar, and with ``-v`` as a detail."""
        self._step = text
        self._update_bar()
        self.detail(text)

    def note(self, text: str) -> None:
        """Show a decision or a result."""
        if self.verbosity >= NORMAL and self.notes:
            self.console.print(clean(self._about + text), markup=False)

    def note_once(self, text: str) -> None:
        """Show a decision that several parts of a run make alike."""
        if text not in self._noted:
            self._noted.add(text)
            self.note(text)

    def warn(self, text: str, weight: float = ORDINARY) -> None:
        """Give a warning of this weight, and keep it for the report."""
        text = shown(self._about + text)
        self._warned.append((weight, text))
        at_once = weight < FIRST and self._shown < SHOWN
        if self._held is None or self.verbosity >= VERBOSE or at_once:
            self._show(text)
        else:
            self._held.append((weight, text))

    @property
    def warnings(self) -> list[str]:
        """All warnings so far, for the report and ``run.json``, the most important first."""
        return _by_weight(self._warned)

    def _show(self, text: str) -> None:
        self._shown += 1
        if self.verbosity >= NORMAL:
            self.console.print("[bold yellow]warning:[/] ", end="")
            self.console.print(clean(text), markup=False)

    @contextmanager
    def few_warnings(self) -> Iterator[None]:
        """Hold warnings back until the end of a command, and show the most important `SHOWN` then.

        The others are counted. Those of weight `AT_ONCE` are not held back; where the command
        fails, all are shown.
        """
        self._held, most = [], None
        try:
            yield
            most = max(0, SHOWN - self._shown)
        finally:
            held, self._held = _by_weight(self._held), None
            for text in held[:most]:
                self._show(text)
            if most is not None and len(held) > most and self.verbosity >= NORMAL:
                more = counted(len(held) - most, "more warning")
                self.console.print(f"{more}: {self.kept_in}", markup=False)

    @contextmanager
    def about(self, part: str) -> Iterator[None]:
        """Begin the notes and warnings of a part of the run with its name."""
        self._about = f"{part}: "
        try:
            yield
        finally:
            self._about = ""

    def error(self, error: SfsError) -> None:
        """Show the error that ends the run."""
        self.console.print("[bold red]error:[/] ", end="")
        self.console.print(clean(error.what), markup=False)
        for name, text in (("where", error.where), ("to do", error.hint)):
            if text:
                self.console.print(f"  {name}: {clean(text)}", markup=False)

    @contextmanager
    def progress(self, title: str, total: int | None) -> Iterator[Callable[[int], None]]:
        """Show a progress bar on a terminal; give the function that advances it."""
        self._title, self._step, self._total, self._done = title, "", total, 0
        if self.verbosity < NORMAL or not sys.stderr.isatty():
            yield self._advance
            return
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TimeRemainingColumn(),
        )
        with Progress(*columns, console=self.console, transient=True) as bar:
            task, phase = bar.add_task(clean(title), total=total), self._phases

            def update_bar() -> None:
                nonlocal task, phase
                title = clean(self._title + (f": {self._step}" if self._step else ""))
                if phase != self._phases:  # another task, whose time is estimated by itself
                    bar.remove_task(task)
                    task, phase = bar.add_task(title, total=self._total), self._phases
                bar.update(task, description=title, completed=self._done)

            self._update_bar = update_bar
            try:
                yield self._advance
            finally:
                self._update_bar = _no_bar

    def phase(self, title: str, total: int | None = None) -> None:
        """Show on a new bar what is being done now, and how much of it there is to do."""
        self._title, self._step, self._total, self._done = title, "", total, 0
        self._phases += 1
        self._update_bar()

    def _advance(self, count: int) -> None:
        self._done += count
        self._update_bar()


def _by_weight(warnings: Warnings) -> list[str]:
    """Return texts by their weights, and those of one weight as they were given."""
    return [text for _, text in sorted(warnings, key=lambda each: each[0])]


def _no_bar() -> None:
    """Update no bar, where none is shown."""
