"""The errors that users see, and the only place where exit codes are defined.

An error says *what* is wrong, *where* (file, row, column, how many) and what *to do* about it. The
options it is about are a field, so that nothing has to read them from the message.
"""

from __future__ import annotations

import errno
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from enum import IntEnum
from functools import cache
from importlib.util import find_spec
from typing import Any

LONGEST_ITEM = 300
"""Characters of a name in a list of names in a message; a name may have 32,767."""


Options = str | tuple[str, ...]
"""The options that an error is about, by their attributes; the one to change first is the first."""


class ExitCode(IntEnum):
    """Exit codes of the command line.

    Workflow engines repeat jobs that end with 130 to 145, so only signals and a lack of memory do.
    """

    OK = 0
    BUG = 1
    USAGE = 2
    BAD_INPUT = 3
    OUTPUT_EXISTS = 4
    NOT_CONVERGED = 5
    MISSING_EXTRA = 6
    HUNG_UP = 129
    INTERRUPTED = 130
    OUT_OF_MEMORY = 137
    TERMINATED = 143


class SfsError(Exception):
    """An error that the user can correct.

    Parameters
    ----------
    what : str
        What is wrong, in one sentence.
    where : str or Path, optional
        The file, row, column or source it was found in.
    hint : str, optional
        What to do about it.
    option : str or tuple of str, optional
        The options it is about, by their attributes (``neighbors``, ``source.mirna.path``), the
        one to change first. A configuration file finds the line by them.
    """

    exit_code = ExitCode.BUG

    def __init__(
        self,
        what: str,
        *,
        where: object = None,
        hint: str | None = None,
        option: Options = (),
    ) -> None:
        super().__init__(what)
        self.what = what
        self.where = None if where is None else str(where)
        self.hint = hint
        self.options = (option,) if isinstance(option, str) else option

    def __str__(self) -> str:
        lines = [self.what]
        if self.where:
            lines.append(f"where: {self.where}")
        if self.hint:
            lines.append(f"to do: {self.hint}")
        return "\n".join(lines)

    def __reduce__(self) -> tuple[object, ...]:
        # workers send errors back pickled, and pickle would drop the keyword-only arguments
        facts = {"where": self.where, "hint": self.hint, "option": self.options}
        return _rebuild, (type(self), self.what, facts)


def _rebuild(kind: type[SfsError], what: str, facts: dict[str, Any]) -> SfsError:
    return kind(what, **facts)


class UsageError(SfsError, ValueError):
    """An option has a wrong value, or does not go with the others."""

    exit_code = ExitCode.USAGE


class ConflictError(UsageError):
    """Options that are right by themselves contradict each other, or one needs another."""


class InputError(SfsError, ValueError):
    """A file, or its content, cannot be used."""

    exit_code = ExitCode.BAD_INPUT


class OutputExistsError(SfsError):
    """The output exists already, with other content."""

    exit_code = ExitCode.OUTPUT_EXISTS


class NotConvergedError(SfsError):
    """Eigenvalues did not converge, without which there is no result."""

    exit_code = ExitCode.NOT_CONVERGED


class MissingExtraError(SfsError):
    """An optional dependency is not installed."""

    exit_code = ExitCode.MISSING_EXTRA


def need_extra(module: str, extra: str, what: str, otherwise: str = "") -> None:
    """Raise a `MissingExtraError` if a module that an extra installs is not there.

    `what` says what needs which package; `otherwise` ends the hint.
    """
    if find_spec(module) is None:
        hint = f"pip install 'sfs-cli[{extra}]'{otherwise}"
        raise MissingExtraError(f"{what}, which is not installed", hint=hint)


class OutOfMemoryError(SfsError):
    """The work needs more memory than is allowed."""

    exit_code = ExitCode.OUT_OF_MEMORY


CHECK_PATH = "check the path and the spelling of the name"
CHECK_PERMISSIONS = "check its permissions (ls -l)"
COPY_AGAIN = "the file is damaged or cut off: copy, download or write it again"
"""Hints for files that cannot be used."""


def escaped(text: str, *, lines: bool = False) -> str:
    """Return a text as a terminal may get it: control characters are escaped, as ``\\x1b`` is.

    So are marks that turn the direction of writing, and halves of characters. `lines` keeps line
    ends and tabs.
    """
    return text.translate(_escapes("\n\t" if lines else ""))


@cache
def _escapes(kept: str) -> dict[int, str]:
    codes = (*range(0x20), *range(0x7F, 0xA0), 0x200E, 0x200F, *range(0x2028, 0x202F))
    codes += (*range(0x2066, 0x206A), *range(0xD800, 0xE000))
    return {code: ascii(chr(code))[1:-1] for code in codes if chr(code) not in kept}


def reason_of(error: OSError) -> str:
    """Return the reason for an error of the system, as a part of a sentence."""
    return (error.strerror or str(error)).lower()


def is_full(error: OSError) -> bool:
    """Tell whether the disk, or the user's quota, is full."""
    return error.errno in (errno.ENOSPC, errno.EDQUOT)


def unwritable(target: object, error: OSError, option: str = "path") -> InputError:
    """Return the error for an output that cannot be written.

    Parameters
    ----------
    target : Path or str
        The output.
    error : OSError
        The reason.
    option : str
        What the user can change, for the hint.
    """
    where = str(error.filename2 or error.filename or target)  # the second is what was written to
    place = where if where in str(target) else str(target)
    if is_full(error):
        return InputError(
            "there is no space left on the disk",
            where=where,
            hint="free some space, or write elsewhere (--out, TMPDIR); no partial output was left",
        )
    reason, hint = reason_of(error), f"give another {option}, or make that folder writable"
    if error.errno == errno.EFBIG:
        hint = "raise the limit (ulimit -f), or write to another file system"
    elif isinstance(error, FileExistsError | NotADirectoryError):
        reason = "a part of this path is a file, not a folder"
    return InputError(f"{target} cannot be written: {reason}", where=place, hint=hint)


def nearest(word: str, known: Iterable[str], meant: str | None = None) -> str:
    """Return the hint for an unknown word: the most similar of the known ones, and all of them.

    `meant` is what it means, where that is known.
    """
    known = list(known)
    return f"{near(meant or word, [meant] if meant else known)}choose from {', '.join(known)}"


def near(word: str, known: Sequence[str], prefix: str = "") -> str:
    """Return the question whether the most similar of the known words is meant; "" if none is.

    It is to be written with the prefix.
    """
    from difflib import get_close_matches

    close = get_close_matches(word, known, 1)
    return f"did you mean {prefix}{close[0]}? " if close else ""


@contextmanager
def located(where: object) -> Iterator[None]:
    """Add the place to an input error that does not name one."""
    try:
        yield
    except InputError as error:
        error.where = error.where or str(where)
        raise


@contextmanager
def within(place: str) -> Iterator[None]:
    """Put a place before that of an error; of none ("") it stays as it is."""
    try:
        yield
    except SfsError as error:
        if place:
            error.where = place + (f"; {error.where}" if error.where else "")
        raise


def counted(count: int, noun: str) -> str:
    """Write a count with its noun: ``1 value``, ``1,200 values``, ``2 batches``."""
    return f"{count:,} {noun if count == 1 else plural(noun)}"


def plural(noun: str) -> str:
    """Return the plural of a noun."""
    return noun + ("es" if noun.endswith(("s", "ch")) else "s")


def either(words: Sequence[str], word: str = "or") -> str:
    """Join alternatives: ``a``, ``a or b``, ``a, b or c``; or what another word joins."""
    *others, last = words
    return f"{', '.join(others)} {word} {last}" if others else last


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_ITEM else f"{text[:LONGEST_ITEM]}..."


def counts_text(facts: dict[str, int]) -> str:
    """Return numbers with what they count, for people."""
    return ", ".join(f"{count:,} {what.replace('_', ' ')}" for what, count in facts.items())


def listed(items: list[str] | tuple[str, ...], limit: int = 5) -> str:
    """Join the first few items for a message, long ones cut, with the number of the others."""
    shown = ", ".join(_cut(str(i)) for i in items[:limit])
    rest = len(items) - limit
    return f"{shown} and {rest:,} more" if rest > 0 else shown
