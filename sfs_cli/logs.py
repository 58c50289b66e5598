"""Messages and progress, on stderr through one console."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Literal

from sfs_cli.display import shown
from sfs_cli.errors import counted, escaped, unwritable

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console

    from sfs_cli.errors import SfsError

QUIET, NORMAL, VERBOSE = -1, 0, 1
SHOWN = 3
"""Warnings of a command that are shown, unless it fails or is verbose: more are not read."""
AT_ONCE, FIRST, ORDINARY, LAST = range(4)
"""Weights of warnings: what a user would stop the run for, what makes the result invalid, most of
them, and what is about a few features or samples."""

Warnings = list[tuple[int, str]]
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
    """

    def __init__(self, verbosity: int = NORMAL) -> None:
        self.verbosity = verbosity
        self.kept_in = "-v shows all"
        self._warned: Warnings = []
        self._held: Warnings | None = None  # those to show at the end
        self._shown = 0
        self._about = ""
        self._title = ""
        self._step = ""
        self._total: int | None = None
        self._done = 0
        self._phases = 0  # so many bars were begun
        self._update_bar: Callable[[], None] = _no_bar
        self._console: Console | None = None
        self._log_file: Path | None = None

    def log_to(self, log_file: Path, folders: Sequence[Path] = ()) -> None:
        """Append every message from now on, with details, to a file; InputError where it cannot be.

        It may be in one of the `folders` that the run will make, which is then made now.
        """
        _check_log_file(log_file, folders)
        self._log_file = log_file

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
        """Log a detail, which is shown with ``-v``."""
        text = clean(text)
        self._write("", text)
        if self.verbosity >= VERBOSE:
            self.console.print(text, style="dim", markup=False)

    def step(self, text: str) -> None:
        """Log how far a solver has come, and show it on the bar."""
        self._step = text
        self._update_bar()
        self.detail(text)

    def note(self, text: str) -> None:
        """Log a decision or a result."""
        text = clean(self._about + text)
        self._write("", text)
        if self.verbosity >= NORMAL:
            self.console.print(text, markup=False)

    def warn(self, text: str, weight: int = ORDINARY) -> None:
        """Log a warning of this weight, and keep it for the report."""
        text = shown(self._about + text)  # now: the names of copies are forgotten before the end
        self._warned.append((weight, text))
        self._write("warning: ", clean(text))
        at_once = weight == AT_ONCE and self._shown < SHOWN
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
        """Log the error that ends the run."""
        self._write("error: ", escaped(shown(str(error)), lines=True))
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

    def reached(self) -> str:
        """Return how far the work has come, for an error message."""
        if not self._title or not self._done:
            return self._title or "nothing was read yet"
        if self._step:
            return f"{self._title}: {self._step}"
        if self._total and self._done <= self._total:
            return f"{self._title}: {100 * self._done // self._total}%"
        return f"{self._title}: {self._done:,}"

    def _advance(self, count: int) -> None:
        self._done += count
        self._update_bar()

    def _write(self, kind: str, text: str) -> None:
        if self._log_file is None:
            return
        try:
            with open(
                self._log_file, "a", encoding="utf-8", errors="backslashreplace", opener=_open_log
            ) as file:
                file.write(f"{kind}{text}\n")
        except OSError as error:
            # a full disk must not end a run that only cannot log
            path, self._log_file = self._log_file, None
            self.warn(f"{path} cannot be written any more: {error.strerror or error}")


def _by_weight(warnings: Warnings) -> list[str]:
    """Return texts by their weights, and those of one weight as they were given."""
    return [text for _, text in sorted(warnings, key=lambda each: each[0])]


def _no_bar() -> None:
    """Update no bar, where none is shown."""


def _check_log_file(path: Path, folders: Sequence[Path]) -> None:
    inside = path.parent in (folder.absolute() for folder in folders)
    made = [folder for folder in path.parents if inside and not folder.exists()]
    try:
        if made:
            path.parent.mkdir(parents=True, exist_ok=True)
        handle = _open_log(str(path), os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    except OSError as error:
        for folder in made:  # the innermost first
            with suppress(OSError):
                folder.rmdir()
        raise unwritable(path, error, "--log-file") from None
    if not stat.S_ISFIFO(os.fstat(handle).st_mode):  # who reads a pipe would take that for its end
        os.close(handle)


def _open_log(path: str, flags: int) -> int:
    """Open a log; a named pipe that nobody reads is an OSError, and would be waited for else."""
    return os.open(path, flags | os.O_NONBLOCK, 0o666)
