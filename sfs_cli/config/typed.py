"""Single values of a configuration file, as the types that the options have."""

from __future__ import annotations

import math
from typing import Any, get_args, get_type_hints

from sfs_cli.config.documents import Node, kind_of
from sfs_cli.config.flags import flag
from sfs_cli.config.rank import RankConfig
from sfs_cli.errors import InputError
from sfs_cli.sources.spec import KINDS, OPTIONS, SourceSpec

LISTS: dict[str, type] = {"transform": str, "members": str, "weights": float, "evidence": str}
"""Options that may be lists, which the command line has as text with commas, by what is in them."""
_WANTED = {
    int: ("a whole number", "write it without quotes, such as 10"),
    float: ("a number", "write it without quotes, such as 0.5"),
    bool: ("true or false", "write true or false, without quotes"),
    str: ("text", "write a word or path; in quotes where it is true, a date, or ends with a colon"),
}


def key_of(option: str) -> str:
    """Return the name of an option in a file: that of the flag, without the dashes before it."""
    return flag(option)[2:]


def types_of(kind: type) -> dict[str, type]:
    """Return the type of each attribute of a configuration, None left out of account."""
    hints = get_type_hints(kind)
    return {
        name: next((t for t in get_args(hint) if t is not type(None)), hint)
        if type(None) in get_args(hint)
        else hint
        for name, hint in hints.items()
    }


RANK_TYPES = types_of(RankConfig)
SOURCE_TYPES = types_of(SourceSpec)
OPTION_OF = {key_of(option): option for option in RANK_TYPES}
"""From keys to options."""


def source_keys(kind: str | None) -> dict[str, str]:
    """Return the options of a source by their keys; those of all kinds where none is given."""
    own = OPTIONS if kind is None else KINDS[kind]
    return {key_of(option): option for option in ("kind", "path", "weight", *own)}


def typed(node: Node, option: str, wanted: Any, what: str, where: str) -> Any:
    """Return the value of an option.

    Parameters
    ----------
    node : Node
        What the file has.
    option : str
        The option.
    wanted : type
        Its type.
    what : str
        What it is called in messages.
    where : str
        File and line.

    Raises
    ------
    InputError
        When it is of another type.
    """
    if option in LISTS and isinstance(node.value, list):
        if not node.value:
            raise InputError(f"{what} is an empty list", where=where, hint="leave it out")
        items = [_scalar(item, LISTS[option], what, where) for item in node.value]
        words = [
            str(item) if LISTS[option] is str else inner.text or repr(item)
            for item, inner in zip(items, node.value)
        ]
        return tuple(words) if wanted is not str else ",".join(words)
    if wanted in _WANTED:
        return _scalar(node, wanted, what, where)
    text = _scalar(node, str, what, where)
    return tuple(word.strip() for word in text.split(",") if word.strip())


def _scalar(node: Node, wanted: type, what: str, where: str) -> Any:
    value = node.value
    if value is None or (isinstance(value, str) and not value.strip()):
        raise InputError(
            f"{what} has no value", where=where, hint="give it one, or leave the line out"
        )
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if wanted is str and (isinstance(value, str) or number):
        return value if isinstance(value, str) else node.text or repr(value)
    if wanted is bool and isinstance(value, bool):
        return value
    if wanted in (int, float) and number and _is_finite(value):
        if wanted is float:
            return float(value)
        if value == int(value):
            return int(value)
    shown = kind_of(node) if isinstance(value, dict | list) else repr(value)
    name, hint = _WANTED[wanted]
    raise InputError(f"{what}: {shown} is not {name}", where=where, hint=hint)


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number beyond every float
        return False
