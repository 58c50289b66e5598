"""The errors a user can meet, and the only place where exit codes are defined.

An error says *what* is wrong, *where* (file, row, column, how many) and what *to do* about it.
"""

from __future__ import annotations

import errno
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from enum import IntEnum


class ExitCode(IntEnum):
    """Exit codes of the command line.

    Workflow engines retry 130 to 145, so nothing but a signal or a lack of memory ends there.
    """

    OK = 0
    BUG = 1
    USAGE = 2
    BAD_INPUT = 3
    OUTPUT_EXISTS = 4
    NOT_CONVERGED = 5
    MISSING_EXTRA = 6
    INTERRUPTED = 130
    OUT_OF_MEMORY = 137
    TERMINATED = 143


class SfsError(Exception):
    """Something the user can mend.

    Parameters
    ----------
    what : str
        What is wrong, in one sentence.
    where : str, optional
        The file, row, column or option it was found in.
    hint : str, optional
        What to do about it.
    """

    exit_code = ExitCode.BUG

    def __init__(self, what: str, *, where: str | None = None, hint: str | None = None) -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.hint = hint

    def __str__(self) -> str:
        lines = [self.what]
        if self.where:
            lines.append(f"where: {self.where}")
        if self.hint:
            lines.append(f"to do: {self.hint}")
        return "\n".join(lines)

    def __reduce__(self) -> tuple[object, ...]:
        # keyword-only arguments are lost by the default, and workers send errors back pickled
        return _rebuild, (type(self), self.what, self.where, self.hint)


def _rebuild(kind: type[SfsError], what: str, where: str | None, hint: str | None) -> SfsError:
    return kind(what, where=where, hint=hint)


class UsageError(SfsError):
    """Options that contradict each other or lack a partner."""

    exit_code = ExitCode.USAGE


class InputError(SfsError):
    """A file, or what it holds, cannot be used."""

    exit_code = ExitCode.BAD_INPUT


class OutputExistsError(SfsError):
    """The output is there already, with another content."""

    exit_code = ExitCode.OUTPUT_EXISTS


class OutputBusyError(OutputExistsError):
    """Another run is writing the output."""


class NotConvergedError(SfsError):
    """A solver stopped before it had converged, and the user asked for that to be an error."""

    exit_code = ExitCode.NOT_CONVERGED


class MissingExtraError(SfsError):
    """An optional dependency is not installed."""

    exit_code = ExitCode.MISSING_EXTRA


class TimeLimitError(SfsError):
    """The time that was allowed is up."""

    exit_code = ExitCode.TERMINATED


class OutOfMemoryError(SfsError):
    """The work does not fit the memory that was allowed."""

    exit_code = ExitCode.OUT_OF_MEMORY


CHECK_PATH = "check the path: is the name spelled as it is on the disk?"
CHECK_PERMISSIONS = "check its permissions (ls -l)"
COPY_AGAIN = "the file is damaged or cut off: copy, download or write it again"
"""What to do about files, wherever it is found out."""


def is_full(error: OSError) -> bool:
    """Tell whether an error means that the disk, or the user's share of it, is full."""
    return error.errno in (errno.ENOSPC, errno.EDQUOT)


def unwritable(target: object, error: OSError, option: str = "path") -> InputError:
    """Return the error for an output that cannot be written.

    Parameters
    ----------
    target : Path or str
        What was to be written.
    error : OSError
        Why it was not.
    option : str
        What the user can change.
    """
    where = str(error.filename or target)
    if is_full(error):
        return InputError(
            "there is no space left on the disk",
            where=where,
            hint="free some space, or write elsewhere (--out, --scratch); nothing half-written "
            "was left",
        )
    reason = (error.strerror or str(error)).lower()
    if isinstance(error, FileExistsError | NotADirectoryError):
        reason = "a part of this path is a file, not a folder"
    return InputError(
        f"{target} cannot be written: {reason}",
        where=where if where in str(target) else str(target),
        hint=f"give another {option}, or make that folder writable",
    )


def nearest(word: str, known: Iterable[str]) -> str:
    """Return the hint for a word that is not known: the nearest of those that are, and all."""
    from difflib import get_close_matches

    known = list(known)
    close = get_close_matches(word, known, 1)
    return (f"did you mean {close[0]}? " if close else "") + f"known: {', '.join(known)}"


@contextmanager
def located(where: str) -> Iterator[None]:
    """Say where an input is wrong, unless the error says so itself."""
    try:
        yield
    except InputError as error:
        error.where = error.where or where
        raise


def counted(count: int, noun: str) -> str:
    """Write a count with its noun: ``1 value``, ``1,200 values``."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def listed(items: list[str] | tuple[str, ...], limit: int = 5) -> str:
    """Join the first few items for a message, and say how many were left out."""
    shown = ", ".join(str(i) for i in items[:limit])
    rest = len(items) - limit
    return f"{shown} and {rest:,} more" if rest > 0 else shown
