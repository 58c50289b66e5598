"""Sorting of many numbers by several threads."""

from __future__ import annotations

import numpy as np

from sfs_cli.compute.engine import ThreadExecutor
from sfs_cli.compute.matrix import Span, cut

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
    if threads == 1 or len(values) < max(2, AT_ONCE):
        return np.argsort(values)

    def order_of(span: Span) -> np.ndarray:
        return span.lo + np.argsort(values[span.lo : span.hi])

    spans = cut(len(values), -(-len(values) // threads))
    order = np.concatenate(list(ThreadExecutor(threads).map(order_of, spans)))
    # the stable sort of NumPy merges runs that are sorted already, in linear time
    return order[np.argsort(values[order], kind="stable")]
