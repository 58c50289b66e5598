"""Lowess: robust local linear regression of one variable on another.

W. S. Cleveland, "Robust locally weighted regression and smoothing scatterplots", J. Am. Stat.
Assoc. 74, 1979. The line is fitted at points that are not too close, and interpolated between
them, as in Cleveland's own program, which R's ``lowess`` is.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import NamedTuple

import numpy as np

STEPS = 3
"""The regressions are made again so many times, with bisquare weights, which take outliers out."""
CLOSE = 0.01
"""Closer points than this part of the range of x get interpolated values."""
_NEAR, _FAR = 0.001, 0.999
"""Within this part of the bandwidth a weight is 1, beyond that part 0."""
_PERFECT = 1e-7
"""Six median residuals below this part of the mean one count as zero: no point is an outlier."""


class _Window(NamedTuple):
    """The points of one local regression."""

    at: int  # the point where the line is fitted
    lo: int
    hi: int
    bandwidth: float


def lowess(x: np.ndarray, y: np.ndarray, span: float) -> np.ndarray:
    """Return the smoothed values of y, at each x.

    Parameters
    ----------
    x, y : ndarray, shape (m,)
        Finite, in any order.
    span : float
        Part of the points that each local regression uses.

    Returns
    -------
    ndarray, shape (m,)
        In the order of x.
    """
    order = np.argsort(x, kind="stable")
    x, y = np.asarray(x, np.float64)[order], np.asarray(y, np.float64)[order]
    smooth = np.empty(len(x))
    smooth[order] = _smoothed(x, y, span) if len(x) > 1 else y
    return smooth


def _smoothed(x: np.ndarray, y: np.ndarray, span: float) -> np.ndarray:
    """Return the smoothed values of at least two points, sorted by x."""
    extent = float(x[-1] - x[0])
    windows = _windows(x, span, CLOSE * extent)
    points = np.array([window.at for window in windows])
    robustness: np.ndarray | None = None
    for step in range(STEPS + 1):
        fitted = np.array([_local(x, y, window, robustness, extent) for window in windows])
        smooth = np.interp(x, x[points], fitted)
        residual = np.abs(y - smooth)
        cut = 6 * float(np.median(residual))  # Cleveland 1979, section 2
        if step == STEPS or cut < _PERFECT * float(residual.mean()):
            break
        robustness = np.zeros(len(x))
        with np.errstate(divide="ignore", invalid="ignore"):
            np.copyto(robustness, (1 - (residual / cut) ** 2) ** 2, where=residual <= _FAR * cut)
        robustness[residual <= _NEAR * cut] = 1
    return smooth


def _windows(x: np.ndarray, span: float, delta: float) -> list[_Window]:
    """Return the points where lines are fitted, each with its neighbours.

    These are the `span * m` nearest ones, and what is as near as the farthest of them.
    """
    m, values = len(x), x.tolist()
    size = max(2, min(m, int(span * m + 1e-7)))
    windows = []
    lo = at = 0
    while at < m:
        here = values[at]
        # the window moves to the right as long as that brings its farthest point nearer
        lo = bisect_left(
            range(m - size),
            True,
            lo=lo,
            key=lambda j: not here - values[j] > values[j + size] - here,
        )
        bandwidth = max(here - values[lo], values[lo + size - 1] - here)
        far = _FAR * bandwidth
        hi = bisect_left(values, True, lo=at, key=lambda v: v - here > far)
        windows.append(_Window(at, lo, hi, bandwidth))
        last = bisect_left(values, True, lo=at, key=lambda v: v > here) - 1
        beyond = bisect_left(values, True, lo=at, key=lambda v: v > here + delta)
        at = max(last + 1, beyond - 1)
    return windows


def _local(
    x: np.ndarray,
    y: np.ndarray,
    window: _Window,
    robustness: np.ndarray | None,
    extent: float,
) -> float:
    """Return the height at its point of the line fitted in a window.

    The line is that of weighted least squares, with the tricube weights ``(1 - |d / h|^3)^3``.
    """
    at, lo, hi, bandwidth = window
    here, near = x[at], x[lo:hi]
    distance = np.abs(near - here)
    if bandwidth > 0:
        weights = (1 - (distance / bandwidth) ** 3) ** 3
        weights[distance > _FAR * bandwidth] = 0
        weights[distance <= _NEAR * bandwidth] = 1
    else:
        weights = np.ones(len(near))
    if robustness is not None:
        weights *= robustness[lo:hi]
    total = weights.sum()
    if total <= 0:  # all neighbours are outliers
        return float(y[at])
    weights /= total
    if bandwidth > 0:
        center = weights @ near
        spread = weights @ (near - center) ** 2
        if np.sqrt(spread) > 0.001 * extent:  # a slope would be rounding otherwise
            weights *= 1 + (here - center) / spread * (near - center)
    return float(weights @ y[lo:hi])
