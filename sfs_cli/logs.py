"""Messages and progress, on stderr through one console."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from rich.console import Console

    from sfs_cli.errors import SfsError

QUIET, NORMAL, VERBOSE = -1, 0, 1


class Messages:
    """Where everything that is not the result is said.

    Parameters
    ----------
    verbosity : int
        Below 0 nothing but errors is said; above 0 details are.
    log_file : Path, optional
        A file that gets every message, details included.

    Raises
    ------
    InputError
        When the log file cannot be written.
    """

    def __init__(self, verbosity: int = NORMAL, log_file: Path | None = None) -> None:
        self.verbosity = verbosity
        self.warnings: list[str] = []
        self._stage: tuple[str, int | None] = ("", None)
        self._done = 0
        self._retitle: Callable[[str], None] = _nothing
        self._console: Console | None = None
        self._log_file = log_file
        if log_file is not None:
            _check_log_file(log_file)

    @property
    def console(self) -> Console:
        """The console on stderr (colours only on a terminal, and not under NO_COLOR)."""
        if self._console is None:
            from rich.console import Console

            colours: Literal["auto"] | None = None if os.environ.get("NO_COLOR") else "auto"
            self._console = Console(
                stderr=True, highlight=False, soft_wrap=True, color_system=colours
            )
        return self._console

    def detail(self, text: str) -> None:
        """Say what only the curious want to know."""
        self._write("", text)
        if self.verbosity >= VERBOSE:
            self.console.print(text, style="dim", markup=False)

    def note(self, text: str) -> None:
        """Say what was decided."""
        self._write("", text)
        if self.verbosity >= NORMAL:
            self.console.print(text, markup=False)

    def warn(self, text: str) -> None:
        """Say what may be wrong; it is kept for the report too."""
        self.warnings.append(text)
        self._write("warning: ", text)
        if self.verbosity >= NORMAL:
            self.console.print("[bold yellow]warning:[/] ", end="")
            self.console.print(text, markup=False)

    def error(self, error: SfsError) -> None:
        """Say why the run stopped."""
        self._write("error: ", str(error))
        self.console.print("[bold red]error:[/] ", end="")
        self.console.print(error.what, markup=False)
        for name, text in (("where", error.where), ("to do", error.hint)):
            if text:
                self.console.print(f"  {name}: {text}", markup=False)

    @contextmanager
    def progress(self, title: str, total: int | None) -> Iterator[Callable[[int], None]]:
        """Show a bar on a terminal; give what advances it."""
        self._stage, self._done = (title, total), 0
        if self.verbosity < NORMAL or not sys.stderr.isatty():
            yield self._count
            return
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
        with Progress(*columns, console=self.console, transient=True) as bar:
            task = bar.add_task(title, total=total)

            def advance(count: int) -> None:
                self._count(count)
                bar.advance(task, count)

            self._retitle = lambda text: bar.update(task, description=text)
            try:
                yield advance
            finally:
                self._retitle = _nothing

    def phase(self, title: str) -> None:
        """Say on the bar that is shown what is being done now."""
        self._stage = (title, self._stage[1])
        self._retitle(title)

    def reached(self) -> str:
        """Return how far the work has come, for a message."""
        title, total = self._stage
        if not title or not self._done:
            return title or "nothing was read yet"
        if total and self._done <= total:
            return f"{title}: {100 * self._done // total}%"
        return f"{title}: {self._done:,}"

    def _count(self, count: int) -> None:
        self._done += count

    def _write(self, kind: str, text: str) -> None:
        if self._log_file is None:
            return
        try:
            with self._log_file.open("a", encoding="utf-8") as file:
                file.write(f"{kind}{text}\n")
        except OSError as error:
            # a log is not worth the run that it is about
            path, self._log_file = self._log_file, None
            self.warn(f"{path} cannot be written any more: {error.strerror or error}")


def _nothing(_text: str) -> None:
    """Stand in for what changes a bar where none is shown."""


def _check_log_file(path: Path) -> None:
    from sfs_cli.errors import unwritable

    try:
        path.open("a").close()
    except OSError as error:
        raise unwritable(path, error, "--log-file") from None
