"""Objects of Python that stand for files: a name such as ``<labels>`` in place of a path.

Readers get them from `sniff.recognize`. The names are known in the block of `giving` alone, and
only to the thread that is in it, so that two rankings at a time do not meet.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from types import MappingProxyType
from typing import Any

_GIVEN: ContextVar[Mapping[str, Any]] = ContextVar("given", default=MappingProxyType({}))


def named(what: str) -> str:
    """Return the name of an object: how messages call it."""
    return f"<{what}>"


def given(path: str | Path) -> Any:
    """Return the object of this name, or None where a path names a file."""
    return _GIVEN.get().get(str(path))


def is_named(path: str | Path) -> bool:
    """Tell whether a path has the name of an object, such as ``results/<labels>``."""
    return re.fullmatch(r"<[^<>/]+>(\.gmt)?", Path(path).name) is not None


@contextmanager
def giving(objects: Mapping[str, Any]) -> Iterator[None]:
    """Let names stand for objects: data frames, AnnData, or sets of genes by their names."""
    token = _GIVEN.set({**_GIVEN.get(), **objects})
    try:
        yield
    finally:
        _GIVEN.reset(token)
