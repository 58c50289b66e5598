"""Sorting of many numbers by several threads."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np

AT_ONCE = 100_000
"""Fewer numbers are sorted by one thread."""


def ascending(values: np.ndarray, threads: int = 1) -> np.ndarray:
    """Return the order in which numbers, shape (m,), ascend; NaN last in the order of the input.

    Equal numbers come in any order. Each thread sorts a part of the numbers.
    """
    missing = np.isnan(values)
    if missing.any():
        known = np.flatnonzero(~missing)
        order = known[ascending(values[known], threads)]
        return np.concatenate([order, np.flatnonzero(missing)])
    if threads == 1 or len(values) < AT_ONCE:
        return np.argsort(values)
    bounds = [len(values) * i // threads for i in range(threads + 1)]
    with ThreadPoolExecutor(threads) as pool:
        parts = pool.map(lambda lo, hi: lo + np.argsort(values[lo:hi]), bounds[:-1], bounds[1:])
    order = np.concatenate(list(parts))
    # the stable sort of NumPy merges runs that are sorted already, in linear time
    return order[np.argsort(values[order], kind="stable")]
