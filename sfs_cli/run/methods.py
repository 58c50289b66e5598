"""``sfs methods``: the catalog, for people and for programs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from sfs_cli.catalog import METHODS, Method
from sfs_cli.errors import UsageError, nearest
from sfs_cli.options.fields import flag, spelled
from sfs_cli.options.graph import GRAPHS
from sfs_cli.options.source import KINDS
from sfs_cli.options.weightings import WEIGHTINGS

FIELDS = (
    *("needs", "label_types", "weighted", "options", "columns"),
    *("cost", "passes", "meaning", "when", "reference"),
)
TITLES = {"label_types": "labels", "weighted": "weights"}
"""What the text calls a field where the name is too long for its column."""


def describe_methods(name: str | None, as_json: bool) -> str:
    """Return a description of one method, or of all.

    Raises UsageError for an unknown method.
    """
    if name is not None and name not in METHODS:
        raise UsageError(f"unknown method {name!r}", hint=nearest(name, METHODS), option="method")
    methods = [METHODS[name]] if name else list(METHODS.values())
    if as_json:
        return json.dumps([_record(m) for m in methods], indent=2) + "\n"
    parts = [_text(m) for m in methods]
    if name is None:
        parts += [
            _section(
                "similarities between samples (--similarity) and their options:",
                {n: g.meaning + _listed(map(flag, g.takes)) for n, g in GRAPHS.items()},
            ),
            _section(
                "kinds of knowledge sources (--source NAME=KIND:PATH) and their options:",
                {
                    n: kind.meaning.rstrip(".") + _listed(flag(o)[2:] for o in kind.takes)
                    for n, kind in KINDS.items()
                },
            ),
            _section(
                "ways of weighting knowledge sources (--weights):",
                {
                    n: f"{entry.title}{' (needs labels)' if entry.needs_labels else ''}: "
                    f"{entry.when}{f'. {entry.reference}' if entry.reference else ''}"
                    for n, entry in WEIGHTINGS.items()
                },
            ),
        ]
    return "\n".join(parts)


def _record(method: Method) -> dict[str, Any]:
    record = {field: getattr(method, field) for field in ("name", "title", *FIELDS)}
    options = {flag(name): default for name, default in method.options.items()}
    meaning = {"": method.meaning} if isinstance(method.meaning, str) else method.meaning
    return record | {"options": options, "meaning": meaning}


def _text(method: Method) -> str:
    lines = [f"{method.name}: {method.title}"]
    for name in FIELDS:
        value = getattr(method, name)
        if name == "options":
            value = tuple(_option(method, option) for option in value)
        elif isinstance(value, bool):
            value = "--sample-weights" if value else ""
        elif isinstance(value, Mapping):
            words = (f"{key}: {text}" if key else text for key, text in value.items())
            value = ("; " if name == "columns" else " ").join(words)
        text = ", ".join(value) if isinstance(value, tuple) else str(value)
        if text:
            lines.append(f"  {TITLES.get(name, name):<10}{text}")
    return "\n".join(lines) + "\n"


def _option(method: Method, option: str) -> str:
    """Return an option as `sfs methods` has it: its flag, choices and default."""
    known, default = method.choices.get(option), method.options[option]
    words = [flag(option)]
    if known:
        words.append(f"[{'|'.join(spelled(known))}]")
    if default not in (None, ()):
        words.append(f"(default {default})")
    return " ".join(words)


def _listed(options: Iterable[str]) -> str:
    text = ", ".join(options)
    return f": {text}" if text else ""


def _section(title: str, rows: dict[str, str]) -> str:
    width = max(map(len, rows)) + 2
    return "\n".join([title, *(f"  {name:<{width}}{text}" for name, text in rows.items())]) + "\n"
