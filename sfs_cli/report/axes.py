"""Axes of a chart: which values are marked, with what words, and where a value is drawn."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sfs_cli.report.formatting import compact, power_of_ten, tick_labels

# Width of a character of a tick label at the largest font that the page sets (narrow windows).
CHARACTER = 9.3
# Ranks of more features than this are drawn on a logarithmic axis.
LOG_ABOVE = 1000


@dataclass(frozen=True)
class Axis:
    """One axis.

    Attributes
    ----------
    title : str
        What is drawn, and its unit.
    low, high : float
        The values at its ends.
    ticks, labels : tuple
        The values that are marked, ascending, and what is written there.
    minor : tuple of float
        Values marked without a label.
    log : bool
        Whether distances are logarithmic.
    """

    title: str
    low: float
    high: float
    ticks: tuple[float, ...]
    labels: tuple[str, ...]
    minor: tuple[float, ...] = ()
    log: bool = False

    def place(self, values: np.ndarray | float) -> np.ndarray:
        """Map values to shares of the axis: 0 at its low end, 1 at its high end."""
        if self.log:
            return np.log(np.asarray(values) / self.low) / math.log(self.high / self.low)
        return (np.asarray(values) - self.low) / (self.high - self.low)

    @property
    def label_width(self) -> float:
        """Room that the widest label takes."""
        return CHARACTER * max(map(len, self.labels))


def nice_step(span: float, count: int) -> float:
    """Return the smallest of 1, 2, 5 times a power of ten that divides `span` `count` times."""
    raw = span / count
    power = 10.0 ** math.floor(math.log10(raw))
    return next(m * power for m in (1, 2, 5, 10) if m * power >= raw * (1 - 1e-9))


def all_equal(low: float, high: float) -> bool:
    """Say whether a range is a single value, up to rounding."""
    return high - low <= 1e-12 * max(abs(low), abs(high))


def spread(low: float, high: float) -> tuple[float, float]:
    """Widen a range that is a single value."""
    if not all_equal(low, high):
        return low, high
    margin = max(abs(low), abs(high)) / 2 or 1.0
    return low - margin, high + margin


def linear_axis(title: str, low: float, high: float, *, count: int = 5) -> Axis:
    """Make a linear axis that ends on round values and holds `low` and `high`."""
    low, high = spread(low, high)
    step = nice_step(high - low, count)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    ticks = [_multiple(k, step) for k in range(first, last + 1)]
    labels, exponent = tick_labels(ticks, step)
    unit = f" (×{power_of_ten(exponent)})" if exponent else ""
    ends = min(low, ticks[0]), max(high, ticks[-1])
    return Axis(title + unit, *ends, tuple(ticks), tuple(labels))


def fitted_axis(title: str, low: float, high: float, width: float) -> Axis:
    """Make a linear axis with as many ticks as can be labelled side by side.

    Half a label may stand out at either end, so that axis and labels together take `width` units.
    """
    axis = linear_axis(title, low, high, count=6)
    for count in (5, 4, 3, 2, 1):
        spacing = (width - axis.label_width) / (len(axis.ticks) - 1)
        if axis.label_width + CHARACTER <= spacing:
            break
        axis = linear_axis(title, low, high, count=count)
    return axis


def rank_axis(m: int) -> Axis:
    """Make the axis of ranks 1 to m: logarithmic for more than a thousand."""
    if m > LOG_ABOVE:
        powers = range(int(math.log10(m) + 1e-9) + 1)
        minor = (k * 10.0**p for p in powers for k in range(2, 10))
        return Axis(
            f"rank, 1 to {m:,} (logarithmic)",
            1.0,
            float(m),
            tuple(10.0**p for p in powers),
            tuple(compact(p) for p in powers),
            minor=tuple(value for value in minor if value <= m),
            log=True,
        )
    step = max(1, round(nice_step(m, 6)))
    ticks = sorted({1, *range(step, m + 1, step)})
    return Axis("rank", 0.5, m + 0.5, tuple(map(float, ticks)), tuple(f"{t:,}" for t in ticks))


def _multiple(k: int, step: float) -> float:
    """Return k * step without the digits that rounding adds (0.3 and not 0.30000000000000004)."""
    return float(f"{k * step:.15g}")
