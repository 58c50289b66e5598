"""Checks of single option values, each refused with what could be given instead.

All raise `UsageError`, and take a value of None for one that is not given.
"""

from __future__ import annotations

from sfs_cli.errors import UsageError, nearest


def one_of(flag: str, value: str | None, known: tuple[str, ...]) -> None:
    """Check a value against the words that are known."""
    if value is None or value in known:
        return
    raise UsageError(f"{flag} {value!r} is not known", hint=nearest(value, known))


def matches(flag: str, value: str | None, known: tuple[str, ...]) -> None:
    """Check a value against words, ``NUMBER``, and words with a number such as ``heat:T``."""
    if value is None or (value in known and not value.isupper()):
        return
    for pattern in known:
        word, colon, _ = pattern.partition(":")
        number = value.removeprefix(word + ":") if colon else value
        if (pattern == "NUMBER" or (colon and number != value)) and _is_positive(number):
            return
    words = tuple("a positive number" if pattern == "NUMBER" else pattern for pattern in known)
    raise UsageError(f"{flag} {value!r} is not known", hint=nearest(value, words))


def _is_positive(text: str) -> bool:
    try:
        return 0 < float(text) < float("inf")
    except ValueError:
        return False


def positive(flag: str, value: float | None) -> None:
    """Check that a number is positive."""
    if value is not None and not 0 < value < float("inf"):
        raise UsageError(f"{flag} {value:g} is not a positive number", hint="give one, such as 1")


def at_least(flag: str, value: int | None, least: int) -> None:
    """Check the lower bound of a number."""
    if value is not None and value < least:
        raise UsageError(f"{flag} {value} is too small", hint=f"give {least} or more")


def at_most(flag: str, value: int | None, most: int) -> None:
    """Check the upper bound of a number."""
    if value is not None and value > most:
        raise UsageError(f"{flag} {value} is too large", hint=f"give {most} or less")
