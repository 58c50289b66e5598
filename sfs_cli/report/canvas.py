"""Axes, frame and SVG elements: what the charts of a report are drawn with."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from html import escape

import numpy as np

WIDTH, HEIGHT = 560.0, 300.0
TOP, RIGHT, BOTTOM = 36.0, 26.0, 52.0
CHARACTER = 9.3
"""Width of a character of a tick label in the largest font of the page (narrow windows)."""
LOG_ABOVE = 1000
"""Ranks of more features than this are drawn on a logarithmic axis."""
SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True)
class Axis:
    """One axis.

    Attributes
    ----------
    title : str
        What is drawn, with its unit.
    low, high : float
        The values at its ends.
    ticks, labels : tuple
        The marked values, ascending, and their labels.
    minor : tuple of float
        Values that are marked without a label.
    log : bool
        Whether the axis is logarithmic.
    """

    title: str
    low: float
    high: float
    ticks: tuple[float, ...]
    labels: tuple[str, ...]
    minor: tuple[float, ...] = ()
    log: bool = False

    def place(self, values: np.ndarray | float) -> np.ndarray:
        """Map values to positions on the axis: 0 at its low end, 1 at its high end."""
        if self.log:
            return np.log(np.asarray(values) / self.low) / math.log(self.high / self.low)
        return (np.asarray(values) - self.low) / (self.high - self.low)

    @property
    def label_width(self) -> float:
        """Width of the widest label."""
        return CHARACTER * max(map(len, self.labels))


def nice_step(span: float, count: int) -> float:
    """Return the smallest of 1, 2, 5 times a power of ten that divides `span` `count` times."""
    raw = span / count
    power = 10.0 ** math.floor(math.log10(raw))
    return next(m * power for m in (1, 2, 5, 10) if m * power >= raw * (1 - 1e-9))


def all_equal(low: float, high: float) -> bool:
    """Tell whether a range is a single value, up to rounding."""
    return high - low <= 1e-12 * max(abs(low), abs(high))


def widened(low: float, high: float) -> tuple[float, float]:
    """Widen a range that is a single value."""
    if not all_equal(low, high):
        return low, high
    margin = max(abs(low), abs(high)) / 2 or 1.0
    return low - margin, high + margin


def linear_axis(title: str, low: float, high: float, *, count: int = 5) -> Axis:
    """Make a linear axis from `low` to `high` that ends on round values."""
    low, high = widened(low, high)
    step = nice_step(high - low, count)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    # without the digits of rounding: 0.3 and not 0.30000000000000004
    ticks = [float(f"{k * step:.15g}") for k in range(first, last + 1)]
    labels, exponent = tick_labels(ticks, step)
    unit = f" (×10{str(exponent).translate(SUPERSCRIPT)})" if exponent else ""
    ends = min(low, ticks[0]), max(high, ticks[-1])
    return Axis(title + unit, *ends, tuple(ticks), tuple(labels))


def fitted_axis(title: str, low: float, high: float, width: float) -> Axis:
    """Make a linear axis with as many ticks as can be labeled side by side within `width`."""
    axis = linear_axis(title, low, high, count=6)
    for count in (5, 4, 3, 2, 1):
        spacing = (width - axis.label_width) / (len(axis.ticks) - 1)
        if axis.label_width + CHARACTER <= spacing:
            break
        axis = linear_axis(title, low, high, count=count)
    return axis


def rank_axis(m: int) -> Axis:
    """Make the axis of ranks 1 to m, logarithmic above `LOG_ABOVE`."""
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


def compact(power: int) -> str:
    """Write 10**power in at most four characters, such as "100", "10k" or "1M"."""
    thousands, rest = divmod(power, 3)
    return f"{10**rest}{('', 'k', 'M', 'G', 'T')[thousands]}"


def tick_labels(ticks: list[float], step: float) -> tuple[list[str], int]:
    """Label evenly spaced ticks with as many decimals as they need to differ.

    Parameters
    ----------
    ticks : list of float
        Multiples of `step`.
    step : float
        Distance between ticks: 1, 2 or 5 times a power of ten.

    Returns
    -------
    labels : list of str
        The ticks divided by 10**exponent.
    exponent : int
        0 unless the largest tick is a million or more, or below a thousandth.
    """
    size = math.floor(math.log10(max(max(map(abs, ticks)), step)) + 1e-9)
    exponent = size if size >= 6 or size < -3 else 0
    decimals = max(0, exponent - math.floor(math.log10(step) + 1e-9))
    scaled = (Decimal(repr(tick)).scaleb(-exponent) for tick in ticks)
    return [f"{value:,.{decimals}f}".replace("-", "−") for value in scaled], exponent


def element(name: str, *children: str, **attributes: object) -> str:
    """Write an element; `children` are markup, a trailing underscore of a name is dropped."""
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(_value(value))}"'
        for key, value in attributes.items()
    )
    return f"<{name}{written}>{''.join(children)}</{name}>"


def text(words: str, x: float, y: float, **attributes: object) -> str:
    """Write words at a point."""
    return element("text", escape(words), x=x, y=y, **attributes)


def line(x1: float, y1: float, x2: float, y2: float, class_: str) -> str:
    """Draw a line."""
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=class_)


def rectangle(x1: float, y1: float, x2: float, y2: float, class_: str, hint: str = "") -> str:
    """Draw a rectangle between two corners; `hint` is shown under the pointer."""
    title = [element("title", escape(hint))] if hint else []
    box = {"x": min(x1, x2), "y": min(y1, y2), "width": abs(x2 - x1), "height": abs(y2 - y1)}
    return element("rect", *title, **box, class_=class_)


def dot(x: float, y: float, class_: str, hint: str = "") -> str:
    """Draw a dot; `hint` is shown under the pointer."""
    title = [element("title", escape(hint))] if hint else []
    return element("circle", *title, cx=x, cy=y, r=3.5, class_=class_)


def polyline(x: np.ndarray, y: np.ndarray, class_: str) -> str:
    """Draw a line through points."""
    points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y))
    return element("polyline", points=points, class_=class_)


def svg(name: str, title: str, description: str, *parts: str) -> str:
    """Wrap the parts of a chart, with a title and a description for screen readers.

    Parameters
    ----------
    name : str
        Prefix of the ids, different for each chart of a page.
    title, description : str
        What the chart is, and what it shows.
    *parts : str
        Markup.
    """
    return element(
        "svg",
        element("title", escape(title), id=f"{name}-title"),
        element("desc", escape(description), id=f"{name}-desc"),
        *parts,
        viewBox=f"0 0 {WIDTH:.0f} {HEIGHT:.0f}",
        role="img",
        aria_labelledby=f"{name}-title",
        aria_describedby=f"{name}-desc",
        class_="chart",
    )


@dataclass(frozen=True)
class Frame:
    """The positions of two axes, and of values between them."""

    horizontal: Axis
    vertical: Axis

    @property
    def left(self) -> float:
        """Position of the vertical axis, with room for its labels."""
        return max(40.0, self.vertical.label_width + 12, self.horizontal.label_width / 2)

    @property
    def bottom(self) -> float:
        """Position of the horizontal axis."""
        return HEIGHT - BOTTOM

    @property
    def right(self) -> float:
        """Right end of the horizontal axis."""
        return WIDTH - max(RIGHT, self.horizontal.label_width / 2)

    def x(self, values: np.ndarray | float) -> np.ndarray:
        """Place values of the horizontal axis."""
        return self.left + (self.right - self.left) * self.horizontal.place(values)

    def y(self, values: np.ndarray | float) -> np.ndarray:
        """Place values of the vertical axis."""
        return self.bottom - (self.bottom - TOP) * self.vertical.place(values)

    def draw(self) -> str:
        """Draw grid, ticks, labels and titles."""
        across = self.y(np.array(self.vertical.ticks))
        along = self.x(np.array(self.horizontal.ticks))
        parts = [line(self.left, y, self.right, y, "grid") for y in across]
        parts += [
            text(label, self.left - 8, y, dy="0.35em", class_="tick end")
            for label, y in zip(self.vertical.labels, across)
        ]
        parts.append(line(self.left, self.bottom, self.right, self.bottom, "axis"))
        parts += [line(x, self.bottom, x, self.bottom + 6, "axis") for x in along]
        minor = self.x(np.array(self.horizontal.minor))
        parts += [line(x, self.bottom, x, self.bottom + 3, "axis") for x in minor]
        parts += [
            text(label, x, self.bottom + 8, dy="0.9em", class_="tick middle")
            for label, x in zip(self.horizontal.labels, along)
        ]
        middle = (self.left + self.right) / 2
        parts.append(text(self.vertical.title, 2, 16, class_="axis-title"))
        parts.append(text(self.horizontal.title, middle, HEIGHT - 6, class_="axis-title middle"))
        return element("g", *parts)


def _value(value: object) -> str:
    return f"{value:.1f}" if isinstance(value, float) else str(value)
