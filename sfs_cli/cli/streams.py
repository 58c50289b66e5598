"""The standard streams, which a shell, a container or cron may have closed."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from io import BufferedWriter, FileIO, TextIOWrapper
from typing import TYPE_CHECKING, Any

from sfs_cli.display import shown
from sfs_cli.errors import InputError, escaped

if TYPE_CHECKING:
    from sfs_cli.logs import Messages

SHOWN_ROWS = 20
"""Rows of a table that a terminal gets."""
_LINES = ("tsv", "csv", "rnk")
"""Formats of a row in each line."""
LAST = 2
"""The number of the last standard stream."""


class _Forgiving(FileIO):
    """Standard error, of which what cannot be written is lost.

    A full disk, a reader that is gone or a terminal that was closed must not end a run whose
    result has nothing to do with it.
    """

    def write(self, data: Any) -> int:
        with suppress(OSError):
            super().write(data)
        return memoryview(data).nbytes


def forgive_stderr() -> None:
    """Make standard error a stream that loses what cannot be written, and raises nothing."""
    sys.stderr = TextIOWrapper(
        BufferedWriter(_Forgiving(LAST, "w", closefd=False)),
        encoding=sys.stderr.encoding,
        errors="backslashreplace",
        line_buffering=True,
    )


def fill_closed() -> None:
    """Open the standard streams that are closed, to nowhere.

    Otherwise the next files that are opened get their numbers, and the messages of libraries with
    them. ``sys.stdout`` stays None, so that `write_stdout` still refuses to lose a result.
    """
    while (number := os.open(os.devnull, os.O_RDWR)) <= LAST:
        pass
    os.close(number)
    if sys.stderr is None:
        sys.stderr = open(LAST, "w", closefd=False)  # noqa: SIM115 - as long as the process


def write_stdout(content: str | bytes) -> None:
    """Write a result to standard output, completely; nothing for an empty result.

    Control characters of names do not reach a terminal; a file or pipe gets what there is.

    A reader that closes the pipe early is no error.

    Raises
    ------
    InputError
        When standard output is closed.
    OSError
        When not all of it can be written.
    """
    if not content:
        return
    if sys.stdout is None:
        raise InputError(
            "standard output is closed, so the result cannot be written",
            hint="redirect it to a file, or give --out if the command has it",
        )
    if isinstance(content, str) and sys.stdout.isatty():
        content = escaped(shown(content), lines=True)
    left = memoryview(shown(content).encode() if isinstance(content, str) else content)
    try:
        while left:  # with PYTHONUNBUFFERED, which containers often set, not all is written at once
            left = left[sys.stdout.buffer.write(left) :]
        sys.stdout.buffer.flush()
    except OSError as error:
        close_stdout()
        if not isinstance(error, BrokenPipeError):
            raise


def write_result(content: bytes, config: Any, messages: Messages) -> None:
    """Write the table that a command without ``--out`` returns; nothing if it is empty.

    A terminal gets the first rows of a table of lines, and a message says how to get all. With
    ``-q``, which hides the message, and in a file or pipe there are all rows.
    """
    lines = config.format in _LINES and config.out is None
    terminal = sys.stdout is not None and sys.stdout.isatty()
    if lines and terminal and messages.verbosity >= 0:
        header = 0 if config.format == "rnk" else 1
        rows = content.splitlines(keepends=True)
        if len(rows) - header > SHOWN_ROWS:
            write_stdout(b"".join(rows[: SHOWN_ROWS + header]).decode(errors="backslashreplace"))
            messages.note(
                f"the first {SHOWN_ROWS} of {len(rows) - header:,} rows; all of them: --out DIR, "
                "> FILE, or | less -S"
            )
            return
    write_stdout(content)


def close_stdout() -> None:
    """Discard what the interpreter would write to it at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
