"""Comparing JSON: numbers and single words have to agree, wording may change."""

from __future__ import annotations

import math
from typing import Any

from tools.compare.tables import Findings, Level

RELATIVE = 1e-6
CHANGING = {
    "command",
    "finished",
    "fingerprint",
    "in_page_cache",
    "inputs",
    "memory_allowed",
    "outputs",
    "path",
    "peak_memory_bytes",
    "read_rate",
    "seconds",
    "sha256",
    "started",
    "versions",
}
"""Keys whose values are those of one run."""


def compare_documents(
    a: Any, b: Any, *, strict: bool, ignored: set[str] = CHANGING, limit: float = RELATIVE
) -> Findings:
    """Compare what two JSON texts hold.

    Parameters
    ----------
    a, b : dict, list, str, float, bool or None
        What was read.
    strict : bool
        Whether numbers, single words and keys that are gone make a difference, or only a note.
    ignored : set of str
        Keys that are not looked at.
    limit : float
        How far numbers may be apart, relative to them.
    """
    found = Findings(Level.WITHIN)
    tell = found.differ if strict else found.note

    def walk(a: Any, b: Any, at: str) -> None:
        if isinstance(a, dict) and isinstance(b, dict):
            for key in a.keys() - ignored:
                if key in b:
                    walk(a[key], b[key], f"{at}.{key}")
                else:
                    tell(f"{at}.{key} is gone")
            for key in b.keys() - a.keys() - ignored:
                found.note(f"{at}.{key} is new")
        elif isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
            for one, other in zip(a, b):
                walk(one, other, f"{at}[]")
        elif isinstance(a, list) and isinstance(b, list):
            walk_lists(a, b, at)
        elif isinstance(a, str) and isinstance(b, str) and " " in a + b:
            if a != b:
                found.note(f"{at} has other words")
        elif not _equal(*_last_parts(a, b), limit):
            tell(f"{at}: {_short(a)}, now {_short(b)}")

    def walk_lists(a: list[Any], b: list[Any], at: str) -> None:
        for gone in (v for v in a if v not in b):
            tell(f"{at}: {_short(gone)} is gone")
        for new in (v for v in b if v not in a):
            found.note(f"{at}: {_short(new)} is new")

    walk(a, b, "")
    return found


def only(document: Any, keys: set[str]) -> Any:
    """Return a document with some keys alone, wherever they are."""
    if isinstance(document, dict):
        return {k: only(v, keys) for k, v in document.items() if k in keys}
    return [only(v, keys) for v in document] if isinstance(document, list) else document


def _last_parts(a: Any, b: Any) -> tuple[Any, Any]:
    """Return the last parts of two paths, which may be relative to different folders."""
    if isinstance(a, str) and isinstance(b, str) and "/" in a + b:
        return a.rpartition("/")[2], b.rpartition("/")[2]
    return a, b


def _equal(a: Any, b: Any, limit: float) -> bool:
    numbers = (int, float)
    if isinstance(a, bool) or isinstance(b, bool) or not isinstance(a, numbers):
        return a == b
    return isinstance(b, numbers) and math.isclose(a, b, rel_tol=limit, abs_tol=1e-12)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
