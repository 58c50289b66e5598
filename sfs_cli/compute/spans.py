"""Cutting the features into spans, the units of work.

The cut depends on the shape of the matrix alone, never on memory or on the number of threads, so
that sums over spans round the same way on every machine.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

TARGET_BYTES = 8 << 20
MAX_FEATURES = 16_384
FLOAT64_BELOW = 2e10
"""Dense arithmetic (n^2 m) below this is done in float64: it takes well under a second."""


class Span(NamedTuple):
    """Features ``lo <= i < hi``."""

    lo: int
    hi: int

    @property
    def size(self) -> int:
        """Number of features."""
        return self.hi - self.lo


def block_features(n_samples: int, itemsize: int) -> int:
    """Return the number of features in a block that stays inside the processor's caches."""
    return max(1, min(MAX_FEATURES, TARGET_BYTES // (n_samples * itemsize)))


def cut(n_features: int, size: int) -> list[Span]:
    """Cut ``n_features`` features into consecutive spans of at most `size`."""
    return [Span(lo, min(lo + size, n_features)) for lo in range(0, n_features, size)]


def arithmetic_dtype(n: int, m: int, stored: np.dtype[Any]) -> np.dtype[Any]:
    """Return the type of the dense arithmetic: float64 where that costs nothing to speak of."""
    return np.dtype(np.float64) if n * n * m <= FLOAT64_BELOW else stored
