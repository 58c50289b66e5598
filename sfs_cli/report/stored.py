"""``page.json``: what a page shows, as it is written beside the ranking and drawn from again.

Numbers of all features are not in it: it names the columns of the ranking that have them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, is_dataclass
from typing import Any

import numpy as np

from sfs_cli.display import shown
from sfs_cli.report import model
from sfs_cli.report.model import ReportData

NAME = "page.json"
KINDS: dict[str, Any] = {name: kind for name, kind in vars(model).items() if is_dataclass(kind)}


@dataclass(frozen=True)
class Column:
    """The first rows of a column of the ranking, in place of an array until the JSON is read."""

    name: str
    rows: int


def to_json(data: ReportData) -> str:
    """Return the contents of a page as JSON (RFC 8259), the same bytes for the same page.

    An array, a mapping (its pairs, so that no name in it is taken for a kind), an infinite number
    or a dataclass is an object with one key, its kind; NaN is null. Numbers of arrays have ten
    significant digits, as those of a ranking.
    """
    return json.dumps(_plain(data), separators=(",", ":"), allow_nan=False) + "\n"


def from_json(text: str, column: Callable[[str], np.ndarray]) -> ReportData:
    """Return the contents of a page; `column` returns one of the ranking by its name, shape (m,).

    Raises ValueError, TypeError or KeyError for what `to_json` has not written.
    """

    def made(known: dict[str, Any]) -> object:
        match [*known.items()]:
            case [("Column", of)]:
                return column(of["name"])[: of["rows"]]
            case [("array", values)]:
                found = np.array(values)
                return found if found.dtype.kind == "i" else found.astype(float)  # null is NaN
            case [("mapping", pairs)]:
                return dict(pairs)
            case [("number", words)]:
                return float(words)
            case [(kind, fields)] if kind in KINDS:
                return KINDS[kind](**fields)
        return known

    data = json.loads(text, object_hook=made)
    if not isinstance(data, ReportData):
        raise ValueError("no page")
    return data


def _plain(value: Any) -> Any:
    match value:
        case np.ndarray(dtype=dtype):
            rounded = np.char.mod("%.10g", value).astype(float) if dtype.kind == "f" else value
            return {"array": _plain(rounded.tolist())}
        case np.generic():
            return _plain(value.item())
        case str():
            return shown(value)
        case float() if math.isnan(value):
            return None
        case float() if math.isinf(value):
            return {"number": str(value)}
        case Mapping():
            return {"mapping": [[shown(name), _plain(each)] for name, each in value.items()]}
        case list() | tuple():
            return [*map(_plain, value)]
        case _ if is_dataclass(value):
            return {type(value).__name__: {k: _plain(each) for k, each in vars(value).items()}}
    return value
