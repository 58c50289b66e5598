"""Sums of squares of features and their products with a few columns, in one go through memory.

Arrays are contiguous. b features of n samples, float32 or float64 (`itemsize` 4 or 8), give

- ``squares`` (b,): ``sum_j x_ij^2``
- ``products`` (k, b): ``sum_j x_ij v_jc``

of ``x_ij = s_j (f_ij - f_ir)``, with r the `reference`; -1 subtracts nothing. `scale` holds s, with
zeros up to a multiple of 8, or nothing for ones. `columns` (groups of 8 samples, k, 8) holds V in
the same way. `set` is one of `SETS`.
"""

import numpy as np

SETS: tuple[str, ...]
"""The instruction sets that were compiled and that this processor has, the widest first."""
MOST_COLUMNS: int
"""Columns that are taken at most."""
GROUP: int
"""Samples that go through the processor together: 8."""

def of_values(
    values: np.ndarray,
    samples: int,
    itemsize: int,
    set: str,
    reference: int,
    scale: np.ndarray,
    columns: np.ndarray,
    squares: np.ndarray,
    products: np.ndarray,
    /,
) -> None:
    """Fill `squares` and `products` from `values` (b, n)."""

def of_file(
    descriptor: int,
    offset: int,
    buffer: np.ndarray,
    samples: int,
    itemsize: int,
    set: str,
    reference: int,
    scale: np.ndarray,
    columns: np.ndarray,
    squares: np.ndarray,
    products: np.ndarray,
    /,
) -> None:
    """Fill `squares` and `products` from the values at `offset` of a file.

    Raises
    ------
    OSError
        When the file cannot be read.
    EOFError
        When it ends before.
    """
