"""``sfs methods``: the catalog, for people and for programs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from sfs_cli.catalog import METHODS, Method
from sfs_cli.errors import UsageError, nearest
from sfs_cli.options.fields import flag, metavar_of, options_of, spelled
from sfs_cli.options.graph import GRAPHS
from sfs_cli.options.rank import RankConfig
from sfs_cli.options.source import KINDS
from sfs_cli.options.weightings import WEIGHTINGS
from sfs_cli.ranking.aggregations import AGGREGATIONS

FIELDS = (
    *("needs", "label_types", "weighted", "tested", "options", "columns"),
    *("cost", "passes", "meaning", "when", "reference"),
)
TITLES = {"label_types": "labels", "weighted": "weights", "tested": "p-values"}
"""What the text calls a field where the name is too long for its column."""
NEEDS = {
    "graph": "a sample graph",
    "labels": "labels",
    "some-labels": "labels of some samples",
    "event": "events of the samples (--event or --censored)",
}
TAKES = {
    "weighted": "--sample-weights",
    "tested": "--pvalues",
}
"""The options that a method may take beside its own, by the field that says so."""


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
    if name is not None:
        own = [o for o in options_of(RankConfig) if o.is_of(name)]
        rows = {
            f"{o.parameter}={metavar_of(o)}" if o.of else f"{o.flag} {metavar_of(o) or ''}": o.help
            for o in own
        }
        title = f"parameters (--method {name},KEY=VALUE) and options:"
        parts += [_section(title, rows)] if rows else []
    else:
        parts += [
            _section(
                "similarities between samples (--similarity NAME,KEY=VALUE) and their parameters:",
                {n: g.meaning + _listed(map(key_of, g.takes)) for n, g in GRAPHS.items()},
            ),
            _section(
                "kinds of knowledge sources (--source NAME=KIND:PATH) and their options:",
                {
                    n: kind.meaning.rstrip(".") + _listed(map(key_of, kind.takes))
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
            _section(
                "ways of aggregating rankings (how= of kogs, --how of sfs aggregate):",
                {n: f"{way.title}: {way.meaning}" for n, way in AGGREGATIONS.items()},
            ),
        ]
    return "\n".join(parts)


def _record(method: Method) -> dict[str, Any]:
    record = {field: getattr(method, field) for field in ("name", "title", *FIELDS)}
    options = {key_of(name): default for name, default in method.options.items()}
    needs_by = {key_of(name): by_value for name, by_value in method.needs_by.items()}
    meaning = {"": method.meaning} if isinstance(method.meaning, str) else method.meaning
    return record | {"needs_by": needs_by, "options": options, "meaning": meaning}


def _text(method: Method) -> str:
    lines = [f"{method.name}: {method.title}"]
    for name in FIELDS:
        value = getattr(method, name)
        if name == "needs":
            value = tuple(f"{need} ({by})" if by else need for need, by in needs(method))
            value = value or ("nothing",)
        elif name == "options":
            value = tuple(_option(method, option) for option in value)
        elif isinstance(value, bool):
            value = TAKES[name] if value else ""
        elif isinstance(value, Mapping):
            words = (f"{key}: {text}" if key else text for key, text in value.items())
            value = ("; " if name == "columns" else " ").join(words)
        text = ", ".join(value) if isinstance(value, tuple) else str(value)
        if text:
            lines.append(f"  {TITLES.get(name, name):<10}{text}")
    return "\n".join(lines) + "\n"


def needs(method: Method) -> list[tuple[str, str]]:
    """Return what a method needs, each with the option that asks for it; empty where always."""
    found = [(NEEDS[need], "") for need in method.needs]
    for option, by_value in method.needs_by.items():
        for value, wanted in by_value.items():
            found += [(NEEDS[need], f"{key_of(option)}={value}") for need in wanted]
    return found


def _option(method: Method, option: str) -> str:
    """Return an option as `sfs methods` has it: its flag, choices and default."""
    known, default = method.choices.get(option), method.options[option]
    words = [key_of(option) + (f"=[{'|'.join(spelled(known))}]" if known else "")]
    if default not in (None, ()):
        words.append(f"(default {default})")
    return " ".join(words)


def key_of(name: str) -> str:
    """Return the key of a parameter, or of an option."""
    return _KEYS.get(name, flag(name)[2:])


_KEYS = {o.name: o.parameter for o in options_of(RankConfig) if o.of == "method"}


def _listed(options: Iterable[str]) -> str:
    text = ", ".join(options)
    return f": {text}" if text else ""


def _section(title: str, rows: dict[str, str]) -> str:
    width = max(map(len, rows)) + 2
    return "\n".join([title, *(f"  {name:<{width}}{text}" for name, text in rows.items())]) + "\n"
