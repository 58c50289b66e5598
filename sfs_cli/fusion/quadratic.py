"""Small convex quadratic programs over non-negative numbers."""

from __future__ import annotations

import numpy as np

_EPS = float(np.finfo(np.float64).eps)
_TIE = 1e-9
_VIOLATION = 1e-13


def minimise(
    H: np.ndarray, b: np.ndarray, start: np.ndarray, keep_sum: bool = False
) -> tuple[np.ndarray, float]:
    """Minimise x'Hx/2 - b'x over x >= 0, and over 1'x = 1'start if the sum is to be kept.

    A primal active-set method that begins with every variable free and moves along directions of
    least norm. So it treats variables alike whose rows of H are: sources that are given twice share
    their weight, in whatever order they come, and a singular H needs no care.

    Parameters
    ----------
    H : ndarray, shape (K, K)
        Symmetric, positive semi-definite.
    b : ndarray, shape (K,)
        In the range of H but for a multiple of 1 where the sum is kept.
    start : ndarray, shape (K,)
        Feasible.
    keep_sum : bool
        Whether the sum of x stays that of `start`.

    Returns
    -------
    x : ndarray, shape (K,)
        The minimum.
    violation : float
        By how much the optimality conditions are missed, relative to the gradient's terms.
    """
    diagonal = H.diagonal()
    unit = 1.0 / np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
    program = _Program(H * np.outer(unit, unit), b * unit, unit if keep_sum else None)
    x = start / unit
    free = np.ones(len(x), bool)
    # each pass frees or fixes a variable; few are moved twice
    for _ in range(20 + 10 * len(x)):
        x, free, whole = program.move(x, free)
        slopes = program.slopes(x, free)
        entering = ~free & (slopes < -_VIOLATION * program.size(x))
        if not whole:
            continue
        if not entering.any():
            break
        free |= entering & (slopes <= slopes[entering].min() * (1.0 - _TIE))
    violation = program.violation(x)
    x *= unit
    if keep_sum:
        x *= start.sum() / x.sum()  # rounding has moved it, in other units
    return x, violation


class _Program:
    """The program in variables in which H has a unit diagonal; `c` are those of the sum."""

    def __init__(self, H: np.ndarray, b: np.ndarray, c: np.ndarray | None) -> None:
        self.H, self.b, self.c = H, b, c

    def move(self, x: np.ndarray, free: np.ndarray) -> tuple[np.ndarray, np.ndarray, bool]:
        """Go to the minimum over the free variables, or as far as none becomes negative."""
        step = np.zeros(len(x))
        step[free] = self._newton(x, free)
        falling = step < 0.0
        ratios = np.full(len(x), np.inf)
        ratios[falling] = x[falling] / -step[falling]
        length = ratios.min(initial=np.inf)
        if length >= 1.0:
            return np.maximum(x + step, 0.0), free, True
        blocked = ratios <= length * (1.0 + _TIE)
        x = np.maximum(x + length * step, 0.0)
        x[blocked] = 0.0
        return x, free & ~blocked, False

    def slopes(self, x: np.ndarray, free: np.ndarray) -> np.ndarray:
        """Return the gradient, less that of the sum where it is kept."""
        gradient = self.H @ x - self.b
        if self.c is None:
            return gradient
        c = self.c[free]
        return gradient - (c @ gradient[free]) / (c @ c) * self.c

    def size(self, x: np.ndarray) -> float:
        """Return the size of the terms of the gradient, to which its rounding is relative."""
        return float(np.abs(self.b).max() + (np.abs(self.H) @ x).max())

    def violation(self, x: np.ndarray) -> float:
        """Return the largest miss of slopes >= 0, and = 0 where x > 0, relative to their terms."""
        size = self.size(x)
        if size == 0.0:
            return 0.0
        slopes = self.slopes(x, x > 0.0)
        return float(np.where(x > 0.0, np.abs(slopes), -slopes).max(initial=0.0)) / size

    def _newton(self, x: np.ndarray, free: np.ndarray) -> np.ndarray:
        H, slopes = self.H[np.ix_(free, free)], self.slopes(x, free)[free]
        if self.c is not None:
            c = self.c[free] / np.linalg.norm(self.c[free])
            across = np.eye(len(c)) - np.outer(c, c)
            H = across @ H @ across
        values, vectors = np.linalg.eigh(H)
        curved = values > 8 * _EPS * len(self.b)  # H has a unit diagonal: the rest is rounding
        vectors = vectors[:, curved]
        return -vectors @ ((vectors.T @ slopes) / values[curved])
