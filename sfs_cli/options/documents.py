"""YAML, TOML and JSON as one tree with line numbers, before any option is looked at.

Numbers and dates stay text, as on a command line: the option that takes one says what it is. Only
``true``, ``false`` and ``null`` are more than words, by the core schema of YAML 1.2: ``no`` and
``off`` are words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from sfs_cli.errors import CHECK_PATH, InputError, nearest, reason_of

if TYPE_CHECKING:
    import yaml

# scalars without quotes that are no text in the core schema of YAML 1.2
_WORDS = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}


class Node(NamedTuple):
    """A value of a file."""

    value: Any  # dict of str to Node, list of Node, str, bool, None
    line: int | None = None  # of its key, or of itself, from 1; None for TOML and JSON


def parse(path: Path) -> Node:
    """Read a YAML, TOML or JSON file; its suffix names the format.

    Raises
    ------
    InputError
        When it cannot be read or parsed (naming line and column), has a key twice, or is not a
        mapping.
    """
    parsers = {".yaml": _yaml, ".yml": _yaml, ".toml": _toml, ".json": _json}
    suffix, name = path.suffix.lower(), str(path)
    if suffix not in parsers:
        what = f"{path.name} has no suffix of a configuration file"
        raise InputError(what, where=name, hint=nearest(suffix, parsers))
    try:
        content = path.read_bytes()
    except OSError as error:
        what = f"{path.name} cannot be read: {reason_of(error)}"
        raise InputError(what, where=name, hint=CHECK_PATH) from None
    try:
        node = parsers[suffix](content.decode("utf-8-sig"), name)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InputError(
            "the file is not UTF-8 text", where=place(name, line), hint="save it as UTF-8"
        ) from None
    if not isinstance(node.value, dict):
        what = (
            "is empty" if node.value is None else f"is {kind_of(node.value)}, not options by name"
        )
        hint = "write options such as matrix: expression.csv"
        raise InputError(f"the file {what}", where=name, hint=hint)
    return node


_KINDS = {
    type(None): "nothing",
    dict: "a mapping",
    list: "a list",
    str: "text",
    bool: "true or false",
}


def kind_of(value: object) -> str:
    """Return the type of a value, for a message."""
    return _KINDS[type(value)]


def place(name: str, line: int | None = None, column: int | None = None) -> str:
    """Return a place in a file, for a message, as far as it is known."""
    where = name if line is None else f"{name}, line {line}"
    return where if column is None else f"{where}, column {column}"


def _refused(what: str, *at: Any) -> InputError:
    """Return the error for what no parser takes; `at` are name, line and column of `place`."""
    return InputError(
        f"the file cannot be parsed: {what}",
        where=place(*at),
        hint="correct it there; put strings with : or # in quotes",
    )


def _mapping(pairs: Iterable[tuple[str, Node]], name: str) -> Node:
    """Return a mapping; refuse a key that it has twice."""
    found: dict[str, Node] = {}
    for key, node in pairs:
        if key in found:
            first, line = found[key].line, node.line
            where = name if line is None else f"{name}, lines {first} and {line}"
            raise InputError(f"{key!r} appears twice", where=where, hint="leave one out")
        found[key] = node
    return Node(found)


def _yaml(text: str, name: str) -> Node:
    import yaml

    try:
        # the base loader makes no Python objects of tags
        root = yaml.compose(text, Loader=yaml.BaseLoader)
        tokens = yaml.scan(text, Loader=yaml.BaseLoader) if "!" in text else ()
        tag = next((each for each in tokens if isinstance(each, yaml.TagToken)), None)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        what = " ".join(part for part in (error.context, error.problem) if part)
        at = (mark.line + 1, mark.column + 1) if mark else ()
        raise _refused(what, name, *at) from None
    except yaml.YAMLError as error:  # a character that YAML does not allow
        before = text[: getattr(error, "position", 0)]
        at = (before.count("\n") + 1, len(before) - before.rfind("\n"))
        raise _refused(str(error).splitlines()[0], name, *at) from None
    if tag is not None:
        at = (tag.start_mark.line + 1, tag.start_mark.column + 1)
        hint = "leave it out, or put the value in quotes if the ! is part of it"
        raise InputError("tags of YAML have no meaning here", where=place(name, *at), hint=hint)
    return Node(None) if root is None else _of_yaml(root, name)


def _of_yaml(node: yaml.Node, name: str) -> Node:
    import yaml

    line = node.start_mark.line + 1
    if isinstance(node, yaml.MappingNode):
        pairs = []
        for key, value in node.value:
            mark = key.start_mark
            if not isinstance(key, yaml.ScalarNode):
                raise _refused("a key is not text", name, mark.line + 1, mark.column + 1)
            inner = _of_yaml(value, name)
            pairs.append((key.value, Node(inner.value, mark.line + 1)))
        return Node(_mapping(pairs, name).value, line)
    if isinstance(node, yaml.SequenceNode):
        return Node([_of_yaml(item, name) for item in node.value], line)
    plain = isinstance(node, yaml.ScalarNode) and node.style is None  # without quotes
    return Node(_WORDS.get(node.value, node.value) if plain else node.value, line)


def _toml(text: str, name: str) -> Node:
    import tomllib

    try:
        found = tomllib.loads(text, parse_float=str)
    except tomllib.TOMLDecodeError as error:
        what, _, place = str(error).partition(" (at ")
        numbers = [int(n) for n in re.findall(r"\d+", place)]
        # at the end of the document it gives no place
        raise _refused(what, name, *(numbers or [text.count("\n") + 1])) from None
    return _of_plain(found)


def _json(text: str, name: str) -> Node:
    import json

    def mapping(pairs: list[tuple[str, Any]]) -> Node:
        return _mapping(((key, _of_plain(value)) for key, value in pairs), name)

    try:
        found = json.loads(
            text, parse_float=str, parse_int=str, parse_constant=str, object_pairs_hook=mapping
        )
    except json.JSONDecodeError as error:
        raise _refused(error.msg, name, error.lineno, error.colno) from None
    return _of_plain(found)


def _of_plain(value: Any) -> Node:
    if isinstance(value, Node):
        return value
    if isinstance(value, dict):
        return Node({key: _of_plain(inner) for key, inner in value.items()})
    if isinstance(value, list):
        return Node([_of_plain(inner) for inner in value])
    return Node(value if value is None or isinstance(value, bool) else str(value))
