"""Telling whether an operator on the samples is zero, without a matrix of it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

PROBES = 4


def vanishes(
    apply: Callable[[np.ndarray], np.ndarray],
    n: int,
    scale: float,
    centre: Callable[[np.ndarray], np.ndarray],
) -> bool:
    """Tell whether an operator is 0 to rounding, from its products with a few fixed vectors.

    Parameters
    ----------
    apply : callable
        From rows (b, n) to rows (b, n), linear.
    n : int
        Number of samples.
    scale : float
        What its eigenvalues would be compared with.
    centre : callable
        Makes rows what `apply` expects.
    """
    rows = centre(np.cos(np.outer(np.arange(1, PROBES + 1), np.arange(n) ** 2 + 1.0)))
    product = apply(rows.copy())
    return bool(np.linalg.norm(product) <= 1e-11 * scale * np.linalg.norm(rows))
