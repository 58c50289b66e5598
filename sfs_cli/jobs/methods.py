"""``sfs methods``: the registry, for people and for programs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from sfs_cli.config import flag
from sfs_cli.errors import UsageError, nearest
from sfs_cli.fusion.catalog import WEIGHTINGS
from sfs_cli.graph.options import GRAPH_OPTIONS, SIMILARITIES
from sfs_cli.methods.catalog import METHODS
from sfs_cli.methods.entry import Method
from sfs_cli.sources.spec import KINDS

FIELDS = ("needs", "options", "cost", "passes", "meaning", "when", "reference")


def describe_methods(name: str | None, as_json: bool) -> str:
    """Return what is known of one method, or of all.

    Raises
    ------
    UsageError
        For a name that is no method.
    """
    if name is not None and name not in METHODS:
        raise UsageError(f"{name!r} is not a method", hint=nearest(name, tuple(METHODS)))
    methods = [METHODS[name]] if name else list(METHODS.values())
    if as_json:
        return json.dumps([_record(m) for m in methods], indent=2) + "\n"
    parts = [_text(m) for m in methods]
    if name is None:
        parts += [_similarities(), _kinds(), _weightings()]
    return "\n".join(parts)


def _record(method: Method) -> dict[str, Any]:
    record = {field: getattr(method, field) for field in ("name", "title", *FIELDS)}
    options = {flag(name): default for name, default in method.options.items()}
    return record | {"options": options, "meaning": dict(method.meaning)}


def _text(method: Method) -> str:
    lines = [f"{method.name}: {method.title}"]
    for name in FIELDS:
        text = _field(method, name)
        if text:
            lines.append(f"  {name:<10}{text}")
    return "\n".join(lines) + "\n"


def _field(method: Method, name: str) -> str:
    value = getattr(method, name)
    if name == "options":
        return ", ".join(_option(method, option) for option in value)
    if isinstance(value, Mapping):
        return " ".join(f"{key}: {text}" if key else text for key, text in value.items())
    return ", ".join(value) if isinstance(value, tuple) else str(value)


def _option(method: Method, option: str) -> str:
    known, default = method.choices.get(option), method.options[option]
    words = [flag(option)]
    if known:
        words.append(f"[{'|'.join(known)}]")
    if default is not None:
        words.append(f"(default {default})")
    return " ".join(words)


def _similarities() -> str:
    lines = ["similarities (--similarity), with the options that each takes:"]
    for name in SIMILARITIES:
        options = ", ".join(flag(o) for o in GRAPH_OPTIONS[name])
        lines.append(f"  {name:<12}{options}".rstrip())
    return "\n".join(lines) + "\n"


def _kinds() -> str:
    lines = ["kinds of sources (--source NAME=KIND:PATH), with the options that each takes:"]
    for kind, takes in KINDS.items():
        options = ", ".join(option.replace("_", "-") for option in takes)
        lines.append(f"  {kind:<20}{options}".rstrip())
    return "\n".join(lines) + "\n"


def _weightings() -> str:
    lines = ["weights of sources (--weights):"]
    for name, entry in WEIGHTINGS.items():
        needs = " (needs labels)" if entry.needs_labels else ""
        cited = f". {entry.reference}" if entry.reference else ""
        lines.append(f"  {name:<13}{entry.title}{needs}: {entry.when}{cited}")
    return "\n".join(lines) + "\n"
