"""YAML, TOML and JSON as one tree with line numbers, before any option is looked at.

YAML is read by the core schema of version 1.2: ``no`` and ``off`` are words, ``1e-3`` is a number,
and dates or ``1:30`` stay text.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from sfs_cli.errors import CHECK_PATH, InputError, nearest, reason_of

if TYPE_CHECKING:
    import yaml

_LARGEST_INTEGER = 2**63 - 1
_SURROGATE = re.compile("[\ud800-\udfff]")  # half of a character, which no file can hold

# scalars without quotes in the core schema of YAML 1.2
_WORDS = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
}
_INTEGER = re.compile(r"[-+]?[0-9]+")
_BASED = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)")


class Node(NamedTuple):
    """A value of a file."""

    value: Any  # dict of str to Node, list of Node, str, int, float, bool, None; dates of TOML
    line: int | None = None  # of its key, or of itself, from 1; None for TOML and JSON
    text: str | None = None  # a number as it is written in the file


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
    except RecursionError:
        raise _refused("lists and mappings are nested too deeply", name) from None
    _check_text(node, name)
    if not isinstance(node.value, dict):
        what = "is empty" if node.value is None else f"is {kind_of(node)}, not options by name"
        hint = "write options such as matrix: expression.csv"
        raise InputError(f"the file {what}", where=name, hint=hint)
    return node


_KINDS = {
    type(None): "nothing",
    dict: "a mapping",
    list: "a list",
    str: "text",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
}


def kind_of(node: Node) -> str:
    """Return the type of a value, for a message."""
    return _KINDS.get(type(node.value), "a date or time")


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


def _check_text(node: Node, name: str) -> None:
    """Refuse text that no file can hold, and whole numbers that nothing counts."""
    where = place(name, node.line)
    if isinstance(node.value, dict):
        for key, inner in node.value.items():
            _check_text(Node(key, inner.line), name)
            _check_text(inner, name)
    elif isinstance(node.value, list):
        for inner in node.value:
            _check_text(inner, name)
    elif isinstance(node.value, str) and _SURROGATE.search(node.value):
        what = f"text holds half of a character: {node.value[:80]!a}"
        raise InputError(what, where=where, hint="write the character itself, in UTF-8")
    elif isinstance(node.value, int) and abs(node.value) > _LARGEST_INTEGER:
        raise InputError("a number is too long", where=where, hint="correct it there")


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
        # the base loader ignores tags, so that no file can create Python objects
        root = yaml.compose(text, Loader=yaml.BaseLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        what = " ".join(part for part in (error.context, error.problem) if part)
        at = (mark.line + 1, mark.column + 1) if mark else ()
        raise _refused(what, name, *at) from None
    except yaml.YAMLError as error:  # a character that YAML does not allow
        before = text[: getattr(error, "position", 0)]
        at = (before.count("\n") + 1, len(before) - before.rfind("\n"))
        raise _refused(str(error).splitlines()[0], name, *at) from None
    return Node(None) if root is None else _of_yaml(root, name)


def _of_yaml(node: yaml.Node, name: str) -> Node:
    import yaml

    line = node.start_mark.line + 1
    if node.tag.removeprefix("tag:yaml.org,2002:") not in ("map", "seq", "str"):
        raise _refused(f"unknown tag {node.tag}", name, line, node.start_mark.column + 1)
    if isinstance(node, yaml.MappingNode):
        pairs = []
        for key, value in node.value:
            mark = key.start_mark
            if not isinstance(key, yaml.ScalarNode):
                raise _refused("a key is not text", name, mark.line + 1, mark.column + 1)
            inner = _of_yaml(value, name)
            pairs.append((key.value, Node(inner.value, mark.line + 1, inner.text)))
        return Node(_mapping(pairs, name).value, line)
    if isinstance(node, yaml.SequenceNode):
        return Node([_of_yaml(item, name) for item in node.value], line)
    if isinstance(node, yaml.ScalarNode) and node.style is not None:  # in quotes, or a block
        return Node(node.value, line)
    try:
        value = _plain_scalar(node.value)
    except ValueError:  # of thousands of digits
        raise _refused("a number is too long", name, line) from None
    return Node(value, line, None if isinstance(value, str | bool | None) else node.value)


def _plain_scalar(text: str) -> Any:
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    if _BASED.fullmatch(text):
        return int(text, 0)
    return float(text.lower().replace(".inf", "inf")) if _FLOAT.fullmatch(text) else text


def _toml(text: str, name: str) -> Node:
    import tomllib

    try:
        found = tomllib.loads(text, parse_float=_written(float))
    except tomllib.TOMLDecodeError as error:
        what, _, place = str(error).partition(" (at ")
        numbers = [int(n) for n in re.findall(r"\d+", place)]
        # at the end of the document it gives no place
        raise _refused(what, name, *(numbers or [text.count("\n") + 1])) from None
    except ValueError as error:
        raise _refused(str(error), name) from None
    return _of_plain(found)


def _json(text: str, name: str) -> Node:
    import json

    def refuse_constant(word: str) -> None:
        raise ValueError(f"{word} is not JSON")

    try:
        found = json.loads(
            text,
            parse_float=_written(float),
            parse_int=_written(int),
            parse_constant=refuse_constant,
            object_pairs_hook=lambda pairs: _mapping(
                ((key, _of_plain(value)) for key, value in pairs), name
            ),
        )
    except json.JSONDecodeError as error:
        raise _refused(error.msg, name, error.lineno, error.colno) from None
    except InputError:  # of a key that is there twice
        raise
    except ValueError as error:
        raise _refused(str(error), name) from None
    return _of_plain(found)


def _written(kind: Callable[[str], Any]) -> Callable[[str], Any]:
    """Return a converter of numbers that keeps their text."""
    return lambda text: Node(kind(text), text=text)


def _of_plain(value: Any) -> Node:
    if isinstance(value, Node):
        return value
    if isinstance(value, dict):
        return Node({key: _of_plain(inner) for key, inner in value.items()})
    if isinstance(value, list):
        return Node([_of_plain(inner) for inner in value])
    whole = type(value) is int and abs(value) <= _LARGEST_INTEGER  # more digits have no text
    return Node(value, text=str(value) if whole else None)
