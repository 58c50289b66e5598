"""``sfs methods``: the catalog, for people and for programs."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from itertools import chain, starmap
from typing import Any, NamedTuple

from sfs_cli.catalog import METHODS, Method
from sfs_cli.errors import UsageError, nearest
from sfs_cli.options import grammar, graph, source
from sfs_cli.options.fields import (
    Option,
    flag,
    metavar_of,
    options_of,
    parameter_help,
    stated,
)
from sfs_cli.options.graph import GRAPHS, GraphKind
from sfs_cli.options.rank import RankConfig
from sfs_cli.options.source import KINDS, SOURCE_OPTIONS, WEIGHTINGS, Entry
from sfs_cli.ranking.aggregations import AGGREGATIONS


class Named(NamedTuple):
    """What an option names, and how its parameters are found."""

    table: Mapping[str, Any]
    parameters_of: Callable[[str], Mapping[str, Option]]


NAMED = {
    "method": Named(METHODS, grammar.parameters_of),
    "similarity": Named(GRAPHS, graph.parameters_of),
    "weights": Named(WEIGHTINGS, source.parameters_of),
}
"""What has parameters of its own, by the option that names it."""
NAMES = tuple(dict.fromkeys(name for each in NAMED.values() for name in each.table))
"""What can be described; a method and a similarity may have one name."""
FIELDS = (
    *("title", "needs", "needs_by", "label_types", "columns"),
    *("cost", "passes", "meaning", "when", "reference"),
)
"""What is said of a method beside its parameters."""

NEEDS = {
    "graph": "a sample graph",
    "labels": "labels",
    "some-labels": "labels of some samples",
    "event": "events of the samples (--event or --censored)",
    "sources": "knowledge sources (--source), or a similarity that `sfs fuse` made of them",
    "sources-or-members": "knowledge sources (--source), or methods (members=)",
}
"""What a method may need, for people."""


def describe_methods(name: str | None, as_json: bool) -> str:
    """Return a description of what has a name, or a list of all.

    Raises UsageError for an unknown name.
    """
    if as_json:
        return json.dumps(described(name), indent=2) + "\n"
    return _list() if name is None else "\n".join(_text(*each) for each in _found(name))


def described(name: str | None = None) -> list[dict[str, Any]]:
    """Return what is known of a name, or of all, as plain data.

    Raises UsageError for an unknown name.
    """
    return [_record(*each) for each in _found(name)]


def _found(name: str | None) -> list[tuple[str, str]]:
    """Return the options that have a name, with it; those of all names where none is given."""
    if name is not None and name not in NAMES:
        raise UsageError(f"unknown name {name!r}", hint=nearest(name, NAMES), option="method")
    return [(o, own) for o, each in NAMED.items() for own in each.table if name in (None, own)]


def taken_options(option: str, name: str) -> list[Option]:
    """Return the parameters of what an option names, and the options that only some methods take.

    Each is as this name has it, with its own meaning, values and default.
    """
    taken = dict(NAMED[option].parameters_of(name))
    for o in options_of(RankConfig) if option == "method" else ():
        if o.is_of(name):
            taken.setdefault(o.name, o)
    return sorted(taken.values(), key=lambda o: not o.of)


def known_of(option: str, name: str) -> dict[str, str]:
    """Return what is known of a name for people, beside its parameters and options."""
    entry = NAMED[option].table[name]
    facts = _facts(entry)
    if isinstance(entry, Method):
        facts["needs"] = "; ".join(_needs(entry))
        facts["meaning"] = " ".join(f"{k}: {v}" if k else v for k, v in facts["meaning"].items())
        facts["columns"] = "; ".join(f"{key}: {text}" for key, text in facts["columns"].items())
        del facts["needs_by"]
    facts["needs"] = facts["needs"] or "nothing"
    texts = {key: v if isinstance(v, str) else ", ".join(v) for key, v in facts.items()}
    # the text has no room for the longer name
    return {"labels" if key == "label_types" else key: v for key, v in texts.items() if v}


def _needs(method: Method) -> list[str]:
    """Return what a method needs, each with the values that ask for it, if it is not always."""
    found = [NEEDS[need] for need in method.needs]
    for name, by_value in method.needs_by.items():
        for need in dict.fromkeys(chain.from_iterable(by_value.values())):
            values = [value for value, wanted in by_value.items() if need in wanted]
            found.append(f"{NEEDS[need]} for {name}={', '.join(values)}")
    return found


# ---- JSON --------------------------------------------------------------------------------------

_TYPES = {int: "integer", float: "number", bool: "boolean", str: "text", tuple: "list"}


def _record(option: str, name: str) -> dict[str, Any]:
    own = taken_options(option, name)
    return {
        "name": name,
        "option": flag(option),
        **_facts(NAMED[option].table[name]),
        "parameters": {o.parameter: _described(o) for o in own if o.of},
        "options": {o.flag: _described(o) for o in own if not o.of},
    }


def _described(o: Option) -> dict[str, Any]:
    found = {"type": _TYPES[o.type], "values": o.words or None, "least": o.least, "most": o.most}
    found |= {"above": o.above, "below": o.below, "default_text": o.default_text or None}
    return stated(found) | {"default": o.default, "help": o.help}


def _facts(entry: Method | GraphKind | Entry) -> dict[str, Any]:
    """Return what the catalog says of a method, a similarity or a way of weighting."""
    if isinstance(entry, GraphKind):
        return {"needs": ["labels"] * entry.from_labels, "meaning": entry.meaning}
    if isinstance(entry, Entry):
        own = {"title": entry.title, "needs": ["labels"] * entry.needs_labels}
        return own | {"when": entry.when, "reference": entry.reference}
    found: dict[str, Any] = {field: getattr(entry, field) for field in FIELDS}
    if isinstance(entry.meaning, str):
        found["meaning"] = {"": entry.meaning}
    return found


# ---- text --------------------------------------------------------------------------------------


def _text(option: str, name: str) -> str:
    """Return the description of a name: what is known of it, its parameters and options."""
    known = known_of(option, name)
    lines = [f"{name}: {known.pop('title', f'{flag(option)} {name}')}"]
    lines += [f"  {key:<10}{text}" for key, text in known.items()]
    own = taken_options(option, name)
    rows = {f"{o.parameter}={metavar_of(o)}": parameter_help(o) for o in own if o.of}
    others = {f"{o.flag} {metavar_of(o) or ''}": parameter_help(o) for o in own if not o.of}
    parts = ["\n".join(lines) + "\n"]
    parts += [_section(f"parameters ({flag(option)} {name},KEY=VALUE):", rows)] if rows else []
    parts += [_section("options that it takes:", others)] if others else []
    return "\n".join(parts)


def _list() -> str:
    """Return a line for each of all names, by what they are for."""
    kinds = {}
    for name, kind in KINDS.items():
        options = ", ".join(SOURCE_OPTIONS[o].key for o in kind.takes)
        kinds[name] = kind.meaning.rstrip(".") + (options and f": {options}")
    sections = {
        "methods (--method NAME,KEY=VALUE):": {
            n: f"{each.title}: {each.when}" for n, each in METHODS.items()
        },
        "similarities between samples (--similarity NAME,KEY=VALUE):": {
            n: each.meaning for n, each in GRAPHS.items()
        },
        "kinds of knowledge sources (--source NAME=KIND:PATH,KEY=VALUE) and their options:": kinds,
        "ways of weighting knowledge sources (--weights NAME,KEY=VALUE):": {
            n: f"{each.title}: {each.when}" for n, each in WEIGHTINGS.items()
        },
        "ways of aggregating rankings (how= of kogs, --how of sfs aggregate):": {
            n: f"{each.title}: {each.meaning}" for n, each in AGGREGATIONS.items()
        },
    }
    end = "`sfs methods NAME` describes a method, a similarity or a way of weighting, and its "
    return "\n".join([*starmap(_section, sections.items()), f"{end}parameters.\n"])


def _section(title: str, rows: Mapping[str, str]) -> str:
    width = max(map(len, rows)) + 2
    return "\n".join([title, *(f"  {name:<{width}}{text}" for name, text in rows.items())]) + "\n"
