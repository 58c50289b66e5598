"""YAML, TOML and JSON as one tree that knows its lines, before any option is looked at.

YAML is read by the core schema of its version 1.2: ``no`` and ``off`` are words, ``1e-3`` is a
number, and a date or ``1:30`` is the text that it looks like.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfs_cli.errors import CHECK_PATH, InputError, nearest

if TYPE_CHECKING:
    import yaml

DEEPEST = 8
"""Lists and mappings inside each other; a file of options has four."""
_SPLIT = "correct it there; strings with : or # in them are put in quotes"
_NULL = ("", "~", "null", "Null", "NULL")
_TRUE, _FALSE = ("true", "True", "TRUE"), ("false", "False", "FALSE")
_INTEGER = re.compile(r"[-+]?[0-9]+")
_BASED = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)")
_NAN = (".nan", ".NaN", ".NAN")


@dataclass(frozen=True)
class Node:
    """A value of a file.

    Attributes
    ----------
    value : dict of str to Node, list of Node, str, int, float, bool or None
        What it is; a date of TOML is itself.
    line : int, optional
        The line that its key, or else it, is on, from 1; None where the format does not tell.
    text : str, optional
        A number as it is written.
    """

    value: Any
    line: int | None = None
    text: str | None = None


def parse(path: Path) -> Node:
    """Read a file of YAML, TOML or JSON, as its suffix says.

    Raises
    ------
    InputError
        When it cannot be read or parsed (naming line and column), a key is there twice, or it holds
        something else than a mapping.
    """
    parsers = {".yaml": _yaml, ".yml": _yaml, ".toml": _toml, ".json": _json}
    suffix = path.suffix.lower()
    if suffix not in parsers:
        raise InputError(
            f"the format of {path.name} cannot be told from its suffix",
            where=str(path),
            hint=nearest(suffix, parsers),
        )
    text = _read(path)
    try:
        node = parsers[suffix](text, str(path))
    except RecursionError:
        raise _too_deep(str(path)) from None
    if not isinstance(node.value, dict):
        what = "is empty" if node.value is None else f"holds {kind_of(node)}, not options by name"
        raise InputError(
            f"the file {what}", where=str(path), hint="write options such as matrix: expression.csv"
        )
    return node


def kind_of(node: Node) -> str:
    """Return what a value is, for a message."""
    if node.value is None:
        return "nothing"
    names = {dict: "a mapping", list: "a list", str: "text", bool: "true or false"}
    numbers = {int: "a whole number", float: "a number"}
    return (names | numbers).get(type(node.value), "a date or time")


def _read(path: Path) -> str:
    try:
        content = path.read_bytes()
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise InputError(
            f"{path.name} cannot be read: {reason}", where=str(path), hint=CHECK_PATH
        ) from None
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InputError(
            "this is not text in UTF-8", where=f"{path}, line {line}", hint="save it as UTF-8"
        ) from None


def _refused(what: str, name: str, line: int | None, column: int | None) -> InputError:
    place = f", line {line}" if line else ""
    place += f", column {column}" if column else ""
    return InputError(f"the file cannot be parsed: {what}", where=name + place, hint=_SPLIT)


def _too_deep(name: str) -> InputError:
    return InputError(
        "lists and mappings are nested too deeply",
        where=name,
        hint=f"options need no more than {DEEPEST} levels",
    )


def _mapping(pairs: Iterable[tuple[str, Node]], name: str) -> Node:
    """Return a mapping, unless it has a key twice."""
    found: dict[str, Node] = {}
    for key, node in pairs:
        if key in found:
            lines = [str(n.line) for n in (found[key], node) if n.line is not None]
            place = f", line{'s' if len(lines) > 1 else ''} {' and '.join(lines)}" if lines else ""
            raise InputError(f"{key!r} is there twice", where=name + place, hint="leave one out")
        found[key] = node
    return Node(found)


def _yaml(text: str, name: str) -> Node:
    import yaml

    try:
        # the base loader makes nothing of tags: every scalar is its text
        root = yaml.compose(text, Loader=yaml.BaseLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        what = " ".join(part for part in (error.context, error.problem) if part)
        at = (mark.line + 1, mark.column + 1) if mark else (None, None)
        raise _refused(what, name, *at) from None
    except yaml.YAMLError as error:
        raise _refused(str(error).splitlines()[0], name, *_place_of(text, error)) from None
    return Node(None) if root is None else _of_yaml(root, name, 0)


def _place_of(text: str, error: Any) -> tuple[int | None, int | None]:
    """Return line and column of a character that YAML does not admit."""
    at = getattr(error, "position", None)
    if not isinstance(at, int):
        return None, None
    before = text[:at]
    return before.count("\n") + 1, at - before.rfind("\n")


def _of_yaml(node: yaml.Node, name: str, depth: int) -> Node:
    import yaml

    line = node.start_mark.line + 1
    if depth > DEEPEST:
        raise _too_deep(f"{name}, line {line}")
    if node.tag.removeprefix("tag:yaml.org,2002:") not in ("map", "seq", "str"):
        raise _refused(f"the tag {node.tag} is not known", name, line, node.start_mark.column + 1)
    if isinstance(node, yaml.MappingNode):
        pairs = [_pair(key, value, name, depth) for key, value in node.value]
        return Node(_mapping(pairs, name).value, line)
    if isinstance(node, yaml.SequenceNode):
        return Node([_of_yaml(item, name, depth + 1) for item in node.value], line)
    if isinstance(node, yaml.ScalarNode) and node.style is not None:  # in quotes, or a block
        return Node(node.value, line)
    value = _plain_scalar(node.value, name, line)
    return Node(value, line, None if isinstance(value, str | bool | None) else node.value)


def _pair(key: yaml.Node, value: yaml.Node, name: str, depth: int) -> tuple[str, Node]:
    import yaml

    mark = key.start_mark
    if not isinstance(key, yaml.ScalarNode):
        raise _refused("a key is not text", name, mark.line + 1, mark.column + 1)
    inner = _of_yaml(value, name, depth + 1)
    return key.value, Node(inner.value, mark.line + 1, inner.text)


def _plain_scalar(text: str, name: str, line: int) -> Any:
    """Return what a scalar without quotes is in the core schema of YAML 1.2."""
    if text in _NULL:
        return None
    if text in _TRUE or text in _FALSE:
        return text in _TRUE
    try:
        if _INTEGER.fullmatch(text):
            return int(text)
        if _BASED.fullmatch(text):
            return int(text, 0)
    except ValueError:  # of thousands of digits
        raise _refused("a number is too long", name, line, None) from None
    if _FLOAT.fullmatch(text):
        return float(text.replace(".inf", "inf").replace(".Inf", "inf").replace(".INF", "inf"))
    return float("nan") if text in _NAN else text


def _toml(text: str, name: str) -> Node:
    import tomllib

    try:
        found = tomllib.loads(text, parse_float=_written(float))
    except tomllib.TOMLDecodeError as error:
        what, _, place = str(error).partition(" (at ")
        numbers = [int(n) for n in re.findall(r"\d+", place)]
        line, column = numbers if len(numbers) == 2 else (text.count("\n") + 1, None)
        raise _refused(what, name, line, column) from None
    except ValueError as error:
        raise _refused(str(error), name, None, None) from None
    return _of_plain(found, name, 0)


def _json(text: str, name: str) -> Node:
    import json

    try:
        found = json.loads(
            text,
            parse_float=_written(float),
            parse_int=_written(int),
            parse_constant=lambda word: _refuse_constant(word, name),
            object_pairs_hook=lambda pairs: _mapping(
                ((key, _of_plain(value, name, 0)) for key, value in pairs), name
            ),
        )
    except json.JSONDecodeError as error:
        raise _refused(error.msg, name, error.lineno, error.colno) from None
    except ValueError as error:
        raise _refused(str(error), name, None, None) from None
    return _of_plain(found, name, 0)


def _written(kind: Callable[[str], Any]) -> Callable[[str], Any]:
    """Return what makes a number that keeps how it is written."""
    return lambda text: Node(kind(text), text=text)


def _refuse_constant(word: str, name: str) -> None:
    raise _refused(f"{word} is not JSON", name, None, None)


def _of_plain(value: Any, name: str, depth: int) -> Node:
    if depth > DEEPEST:
        raise _too_deep(name)
    if isinstance(value, Node):
        return value
    if isinstance(value, dict):
        return Node({key: _of_plain(inner, name, depth + 1) for key, inner in value.items()})
    if isinstance(value, list):
        return Node([_of_plain(inner, name, depth + 1) for inner in value])
    return Node(value, text=str(value) if type(value) is int else None)
