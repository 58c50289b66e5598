"""``sfs methods``: the registry, for people and for programs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from sfs_cli.config import GRAPH_OPTIONS, METHODS, SIMILARITIES
from sfs_cli.errors import UsageError, nearest
from sfs_cli.methods.base import Method
from sfs_cli.methods.registry import get_method

FIELDS = ("needs", "options", "cost", "passes", "meaning", "when", "reference")


def describe_methods(name: str | None, as_json: bool) -> str:
    """Return what is known of one method, or of all.

    Raises
    ------
    UsageError
        For a name that is no method.
    """
    if name is not None and name not in METHODS:
        raise UsageError(f"{name!r} is not a method", hint=nearest(name, METHODS))
    methods = [get_method(n) for n in ([name] if name else METHODS)]
    if as_json:
        return json.dumps([_record(m) for m in methods], indent=2) + "\n"
    parts = [_text(m) for m in methods]
    if name is None:
        parts.append(_similarities())
    return "\n".join(parts)


def _record(method: Method) -> dict[str, Any]:
    record = {field: getattr(method, field) for field in ("name", "title", *FIELDS)}
    return record | {"options": [_flag(o) for o in method.options], "needs": list(method.needs)}


def _text(method: Method) -> str:
    lines = [f"{method.name}: {method.title}"]
    for field in FIELDS:
        value = getattr(method, field)
        if isinstance(value, Mapping):
            value = " ".join(f"{key}: {text}" if key else text for key, text in value.items())
        if isinstance(value, tuple):
            value = ", ".join(_flag(v) if field == "options" else v for v in value)
        if value:
            lines.append(f"  {field:<10}{value}")
    return "\n".join(lines) + "\n"


def _similarities() -> str:
    lines = ["similarities (--similarity), with the options that each takes:"]
    for name in SIMILARITIES:
        options = ", ".join(_flag(o) for o in GRAPH_OPTIONS[name])
        lines.append(f"  {name:<12}{options}".rstrip())
    return "\n".join(lines) + "\n"


def _flag(option: str) -> str:
    return "--" + option.replace("_", "-")
