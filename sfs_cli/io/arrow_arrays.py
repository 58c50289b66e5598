"""Arrow arrays of numbers and strings in memory.

They are made of buffers, because the first call of ``pyarrow.array`` or ``pyarrow.scalar`` imports
pandas, which takes longer than writing a million lines.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pyarrow as pa


def numbers(values: np.ndarray) -> pa.Array:
    """Return an array that shares its values with one of NumPy; truth values are packed.

    Parameters
    ----------
    values : ndarray of int, float or bool, shape (b,)
        The numbers.
    """
    import pyarrow as pa

    kind = pa.from_numpy_dtype(values.dtype)
    if values.dtype == bool:
        content = np.packbits(values, bitorder="little")
    else:
        content = np.ascontiguousarray(values)
    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(content)])


def strings(texts: Iterable[str]) -> pa.Array:
    """Return an array of type ``large_string``.

    Parameters
    ----------
    texts : iterable of str
        None of them missing.
    """
    import pyarrow as pa

    pieces = [text.encode() for text in texts]
    bounds = np.zeros(len(pieces) + 1, np.int64)
    np.cumsum([len(piece) for piece in pieces], out=bounds[1:])
    buffers = [None, pa.py_buffer(bounds), pa.py_buffer(b"".join(pieces))]
    return pa.Array.from_buffers(pa.large_string(), len(pieces), buffers)
