"""Buffers that a worker thread uses again for every span, and how large NumPy's own are."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

OF_A_ROW = 512
"""Values in NumPy's buffers, in `row_by_row`."""


@contextmanager
def row_by_row() -> Iterator[None]:
    """Let NumPy combine the rows of a block with a column, or with one row, row by row.

    It combines as many rows at a time as its buffers hold (8,192 values), for which it first
    copies the column or the row along the buffer: two to three times the work of the operation.
    Only the time differs; sums in buffers (a `sum` that changes the type) do not belong here.
    """
    before = np.setbufsize(OF_A_ROW)
    try:
        yield
    finally:
        np.setbufsize(before)


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
