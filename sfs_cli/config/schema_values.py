"""JSON Schemas of single values, from the types, words and bounds of the options."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sfs_cli.config.choices import LEAST, MOST, POSITIVE
from sfs_cli.config.typed import LISTS
from sfs_cli.graph.options import ALL_GENES, COUNT, NO_COMPONENTS

Schema = dict[str, Any]

TEXT: Schema = {"type": ["string", "number"], "pattern": r"\S"}
"""Text; a number stands for itself as it is written."""
NUMBER = r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*"
"""Numbers as text."""
ABOVE_ZERO = r"(?!\s*(-|\+?0*\.?0*([eE\s]|$)))" + NUMBER
BANDWIDTH = ("median", "self-tuning", "NUMBER")


def words(known: Iterable[str]) -> Schema:
    """Return the schema of a few words, of ``NUMBER``, and of words such as ``heat:T``."""
    known = list(known)
    plain = [word for word in known if ":" not in word and word != "NUMBER"]
    parts: list[Schema] = [{"enum": plain}] if plain else []
    begun = [word.partition(":")[0] for word in known if ":" in word]
    parts += [_text(f"{word}:{ABOVE_ZERO}") for word in begun]
    if "NUMBER" in known:
        parts += [{"type": "number", "exclusiveMinimum": 0}, _text(ABOVE_ZERO)]
    return any_of(*parts)


def count_or(word: str) -> Schema:
    """Return the schema of a whole number above zero, or of a word in its place."""
    return any_of({"enum": [word]}, {"type": "integer", "minimum": 1}, _text(COUNT))


def any_of(*parts: Schema) -> Schema:
    """Return the schema of what one of several admits."""
    return parts[0] if len(parts) == 1 else {"anyOf": list(parts)}


def list_of(item: Schema) -> Schema:
    """Return the schema of a list that is not empty."""
    return {"type": "array", "items": item, "minItems": 1}


def of_type(option: str, kind: type) -> Schema:
    """Return the schema of an option by its type and bounds."""
    if kind is bool:
        return {"type": "boolean"}
    if kind is int:
        least = LEAST | {"clusters": 1}  # of all methods
        lower = {"minimum": least[option]} if option in least else {}
        upper = {"maximum": MOST[option]} if option in MOST else {}
        return {"type": "integer"} | lower | upper
    if kind is float:
        return {"type": "number"} | ({"exclusiveMinimum": 0} if option in POSITIVE else {})
    return any_of(TEXT, list_of(TEXT)) if option in LISTS else TEXT


def _text(pattern: str) -> Schema:
    return {"type": "string", "pattern": f"^{pattern}$"}


COUNTS = {"components": count_or(NO_COMPONENTS), "variable_genes": count_or(ALL_GENES)}
"""Schemas of whole numbers that a word may stand for."""
