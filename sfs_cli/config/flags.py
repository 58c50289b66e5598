"""Options in the words of the command line."""

from __future__ import annotations

from typing import Any


def flag(option: str) -> str:
    """Return the flag of an option; ``lambda_`` has its underscore from Python alone."""
    return "--" + option.rstrip("_").replace("_", "-")


def words_of(option: str, value: Any) -> list[str]:
    """Return the words of the command line that give an option its value."""
    if option == "source":
        return [word for source in value for word in (flag(option), source.text())]
    if option == "members":
        return [flag(option), ",".join(value)]
    if value is False:
        return ["--no-" + flag(option)[2:]]
    return [flag(option)] if value is True else [flag(option), str(value)]
