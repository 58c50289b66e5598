"""Functions of two variables on fixed cells, as sums of Chebyshev polynomials.

The cells and their nodes depend on the function alone: what is found at a place does not depend on
what else is asked for, nor on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

COUNTS = (5, 9, 17)
"""Numbers of nodes of a cell in each direction; each set has those of the set before."""


@cache
def nodes(count: int) -> np.ndarray:
    """Return the Chebyshev points of the second kind on -1..1, from 1 down, shape (count,)."""
    return np.cos(np.pi * np.arange(count) / (count - 1))


@cache
def _transform(count: int) -> np.ndarray:
    """Return the matrix from values at the nodes to coefficients, shape (count, count)."""
    last = count - 1
    halves = np.ones(count)
    halves[[0, last]] = 0.5
    cosines = np.cos(np.pi * np.outer(np.arange(count), np.arange(count)) / last)
    return 2 / last * halves[:, None] * cosines * halves


def series(values: np.ndarray) -> np.ndarray:
    """Return the coefficients of the polynomial through values (k, k) at the nodes."""
    transform = _transform(len(values))
    return transform @ values @ transform.T


def evaluated(coefficients: np.ndarray, x: np.ndarray, y: np.ndarray | None = None) -> np.ndarray:
    """Evaluate a sum (k,) at places x of -1..1, or (k, k) at places x, y; all shape (m,).

    By the recurrence of C. W. Clenshaw, Mathematics of Computation 9, 1955, place by place: a
    matrix product would round by where a place stands among the others.
    """
    rows = list(coefficients) if y is None else [evaluated(row, y) for row in coefficients]
    if len(rows) == 1:
        return np.broadcast_to(rows[0], x.shape)
    twice, one, two = 2 * x, rows[-1] + 0 * x, np.zeros_like(x)
    for row in rows[-2:0:-1]:
        next_one = twice * one
        next_one -= two
        next_one += row
        one, two = next_one, one
    return x * one - two + rows[0]


def fitted_plane(
    function: Callable[[np.ndarray, np.ndarray], np.ndarray], error: float
) -> np.ndarray | None:
    """Return the coefficients of a function of places x, y: as many as foresee further nodes.

    `error` is the largest difference of what was foreseen. None where 17 nodes in each direction
    are too few.
    """
    known: np.ndarray | None = None
    for count in COUNTS:
        x, y = (each.ravel() for each in np.meshgrid(nodes(count), nodes(count), indexing="ij"))
        values = function(x, y)
        found = series(values.reshape(count, count))
        if known is not None and (np.abs(evaluated(known, x, y) - values) <= error).all():
            return found
        known = found
    return None
