"""How much of a file may be held in memory: what it declares, or unpacks to, is not trusted.

A file that would take more than a run may use is refused before the memory is taken, as one that
is damaged or made to do harm. A lack of memory, which workflow engines answer by repeating the job
with more, it is not: the file stays what it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from sfs_cli.compute.memory import available, default_memory, format_size
from sfs_cli.errors import InputError

LEAST = 512 << 20
"""Bytes of a file that may always be held, as objects of Python or arrays."""
LINE_PART, LEAST_LINE = 16, 16 << 20
"""A line may take one part in so many of the memory, and always so many bytes: its numbers take
ten times the room of their text."""
FIELD_BYTES = 64
"""Bytes of a short text as an object of Python, and of the place in a list that holds it."""
MOST_PACKED = 10_000
"""No compression makes an array smaller by more."""
SHORT = 256 << 20
"""With fewer bytes left to take, an allocation fails for lack of memory."""

_memory: ContextVar[int | None] = ContextVar("memory", default=None)


@contextmanager
def reading_within(memory: int) -> Iterator[None]:
    """Let readers hold so many bytes; without this block they take the default of ``--memory``."""
    before = _memory.set(memory)
    try:
        yield
    finally:
        _memory.reset(before)


def _of_run() -> int:
    memory = _memory.get()
    return default_memory() if memory is None else memory


def _room() -> int:
    return max(_of_run(), LEAST)


def most_taken() -> int:
    """Return how many bytes a child process that reads may take.

    What is held of a sound file, and the copy that its conversion takes, have room in them.
    """
    return _room() * 3 // 2


def longest_line() -> int:
    """Return how many bytes a line of text may have."""
    return max(_of_run() // LINE_PART, LEAST_LINE)


def check_room(what: str, size: int, where: object) -> None:
    """Refuse what takes more bytes than readers may hold.

    `what` is a subject with its verb, such as "the array declares".

    Raises
    ------
    InputError
        When it does.
    """
    room = _room()
    if size > room:
        raise InputError(
            f"{what} {format_size(size)}, more than the {format_size(room)} that may be held",
            where=where,
            hint="the file is damaged, or is not what it should be; if it is right, raise --memory",
        )


def check_there(declared: int, stored: int, where: object) -> None:
    """Refuse an array that declares much and of which next to nothing is there.

    It would be read as zeros, which fill memory or disk.

    Raises
    ------
    InputError
        When its bytes cannot come from those that are stored.
    """
    if declared > max(LEAST, stored * MOST_PACKED):
        raise InputError(
            f"it declares {format_size(declared)}, of which {format_size(stored)} are there",
            where=where,
            hint="the file is damaged or was not written to its end: write it again",
        )


class MemoryCounter:
    """The bytes that a reader holds of a file that it reads piece by piece."""

    def __init__(self, where: object) -> None:
        self._where = where
        self._room = _room()
        self._held = 0

    def add(self, size: int) -> None:
        """Count more bytes; too many in all are an `InputError`."""
        self._held += size
        if self._held > self._room:
            check_room("what was read of it takes", self._held, self._where)


def asks_too_much(error: MemoryError, name: str, where: object) -> InputError | None:
    """Return the error for a file that asks for more memory than there is.

    None where memory is short: then any file might have failed.
    """
    if available() < SHORT:
        return None
    return InputError(
        f"cannot be read as {name}: it asks for more memory than there is ({error})",
        where=where,
        hint="the file is damaged, or made to do harm: copy or write it again; "
        "if it is right, raise --memory",
    )
