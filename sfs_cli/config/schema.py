"""The JSON Schema of configuration files, which editors complete and check them by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from sfs_cli.config.choices import CHOICES, DEFINITIONS, EXECUTOR, METHODS, ON_SOURCES
from sfs_cli.config.durations import LONGEST, PATTERN
from sfs_cli.config.rank import RankConfig
from sfs_cli.config.schema_values import (
    ABOVE_ZERO,
    BANDWIDTH,
    COUNTS,
    NUMBER,
    Schema,
    any_of,
    list_of,
    of_type,
    words,
)
from sfs_cli.config.source_schema import source_definitions, source_schema
from sfs_cli.config.typed import RANK_TYPES, key_of
from sfs_cli.fusion.catalog import WEIGHTINGS
from sfs_cli.graph.options import SIMILARITIES
from sfs_cli.methods import catalog

_MEMBERS = [name for name in METHODS if name not in ON_SOURCES]
_MEMBER = rf"\s*({'|'.join(_MEMBERS)})\s*"
_WEIGHT = {"type": "number", "minimum": 0}


def schema(helps: Mapping[str, str]) -> Schema:
    """Return the JSON Schema (draft 2020-12) of a configuration file.

    Parameters
    ----------
    helps : mapping of str to str
        What each option of `RankConfig` does.
    """
    properties = {
        key_of(f.name): {"description": helps[f.name]} | _of_option(f.name) | _default(f.default)
        for f in fields(RankConfig)
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Configuration of sfs rank",
        "description": "The options of `sfs rank` under the names of its flags. Paths are relative "
        "to the folder of the file.",
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
        "$defs": source_definitions(),
    }


def _of_option(option: str) -> Schema:
    """Return the schema of the values of an option."""
    if option in _SPECIAL:
        return _SPECIAL[option]
    if option in CHOICES:
        return words(CHOICES[option])
    found = [m.choices[option] for m in catalog.METHODS.values() if option in m.choices]
    if found:
        return words(dict.fromkeys(word for known in found for word in known))
    return of_type(option, RANK_TYPES[option])


def _default(value: Any) -> Schema:
    return {"default": value} if isinstance(value, str | int | float) else {}


_SPECIAL: dict[str, Schema] = {
    "source": source_schema(),
    "members": any_of(
        list_of({"enum": _MEMBERS}),
        {"type": "string", "pattern": f"^{_MEMBER}(,{_MEMBER})*$"},
    ),
    "weights": any_of(
        {"enum": list(WEIGHTINGS)},
        _WEIGHT,
        list_of(_WEIGHT),
        {"type": "string", "pattern": f"^{NUMBER}(,{NUMBER})*$"},
    ),
    "similarity": any_of({"enum": list(SIMILARITIES)}, {"type": "string", "pattern": "^obsp:."}),
    "bandwidth": words(BANDWIDTH),
    **COUNTS,
    "definition": {"enum": list(DEFINITIONS)},
    "executor": {"type": "string", "pattern": f"^({EXECUTOR})$"},
    "time_limit": any_of(
        {"type": "number", "exclusiveMinimum": 0, "maximum": LONGEST},
        {"type": "string", "pattern": f"^({PATTERN}|{ABOVE_ZERO})$"},
    ),
}
