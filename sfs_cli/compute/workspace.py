"""Buffers that a worker thread uses again for every span."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np


class Workspace:
    """Named scratch arrays, one set for each thread.

    An array handed out stays valid until the same thread asks for the same name again. Workers in
    other processes start with an empty workspace.
    """

    def __init__(self) -> None:
        self._local = threading.local()

    def array(self, name: str, rows: int, columns: int, dtype: np.dtype[Any]) -> np.ndarray:
        """Return an uninitialized C-ordered array of the given shape."""
        held: dict[str, np.ndarray] = self._local.__dict__.setdefault("arrays", {})
        buffer = held.get(name)
        if buffer is None or buffer.dtype != dtype or buffer.size < rows * columns:
            buffer = held[name] = np.empty(rows * columns, dtype)
        return buffer[: rows * columns].reshape(rows, columns)

    def zeros(self, name: str, size: int, dtype: Any = np.float64) -> np.ndarray:
        """Return a vector of zeros, which whoever writes into it must leave as zeros."""
        held: dict[str, np.ndarray] = self._local.__dict__.setdefault("zeros", {})
        if name not in held or len(held[name]) != size:
            held[name] = np.zeros(size, dtype)
        return held[name]

    def __reduce__(self) -> tuple[type[Workspace], tuple[()]]:
        return Workspace, ()
