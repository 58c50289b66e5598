"""How charts are drawn, and the curve of the scores.

Each is one inline SVG element. Colors, fonts and line widths come from the style of the page, by
class; nothing in a chart depends on color alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from html import escape
from typing import Any

import numpy as np

from sfs_cli.errors import counted
from sfs_cli.report.words import LOG_ABOVE, significant

WIDTH, HEIGHT = 560.0, 300.0
TOP, RIGHT, BOTTOM = 36.0, 26.0, 52.0
CHARACTER = 9.3
"""Width of a character of a tick label in the largest font of the page (narrow windows)."""
SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
LARGEST = 1e300
"""Larger scores, and infinite ones, are not drawn: the range of an axis would overflow."""
LONGEST = 18
"""Characters of names in charts; longer ones are cut."""
DOTS = 60
"""Up to this many scores, each one has a dot."""
POINTS = 600
"""Number of points of a curve; more cannot be distinguished on a screen."""


# ---- axes ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Axis:
    """One axis."""

    title: str  # what is drawn, with its unit
    low: float  # the values at its ends
    high: float
    ticks: tuple[float, ...]  # the marked values, ascending
    labels: tuple[str, ...]
    minor: tuple[float, ...] = ()  # values that are marked without a label
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


@dataclass(frozen=True)
class Scale:
    """An axis between two positions of a chart."""

    axis: Axis
    start: float
    end: float

    def __call__(self, values: np.ndarray | float) -> Any:
        """Return the positions of values."""
        return self.start + (self.end - self.start) * self.axis.place(values)

    def ticks(self) -> Iterator[tuple[str, float]]:
        """Yield the label and the position of each tick."""
        return zip(self.axis.labels, self(np.array(self.axis.ticks)))


SMALLEST = 1e-300
"""A smaller range is none: its steps would have no digits left."""


def nice_step(span: float, count: int) -> float:
    """Return the smallest of 1, 2, 5 times a power of ten that divides `span` `count` times."""
    raw = span / count
    power = 10.0 ** math.floor(math.log10(raw))
    return next(m * power for m in (1, 2, 5, 10) if m * power >= raw * (1 - 1e-9))


def all_equal(low: float, high: float) -> bool:
    """Tell whether a range is a single value, up to rounding."""
    return high - low <= max(1e-12 * max(abs(low), abs(high)), SMALLEST)


def linear_axis(title: str, low: float, high: float, *, count: int = 5) -> Axis:
    """Make a linear axis from `low` to `high` that ends on round values."""
    if all_equal(low, high):
        size = max(abs(low), abs(high))
        margin = size / 2 if size > SMALLEST else 1.0
        low, high = low - margin, high + margin
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
            # in at most four characters: 100, 10k, 1M
            tuple(f"{10 ** (p % 3)}{('', 'k', 'M', 'G', 'T')[p // 3]}" for p in powers),
            minor=tuple(value for value in minor if value <= m),
            log=True,
        )
    step = max(1, round(nice_step(m, 6)))
    ticks = sorted({1, *range(step, m + 1, step)})
    return Axis("rank", 0.5, m + 0.5, tuple(map(float, ticks)), tuple(f"{t:,}" for t in ticks))


def tick_labels(ticks: list[float], step: float) -> tuple[list[str], int]:
    """Label multiples of `step` with as many decimals as they need to differ.

    Returns the labels of the ticks divided by 10**exponent, and the exponent: 0 unless the largest
    tick is a million or more, or below a thousandth.
    """
    size = math.floor(math.log10(max(max(map(abs, ticks)), step)) + 1e-9)
    exponent = size if size >= 6 or size < -3 else 0
    decimals = max(0, exponent - math.floor(math.log10(step) + 1e-9))
    scaled = (Decimal(repr(tick)).scaleb(-exponent) for tick in ticks)
    return [f"{value:,.{decimals}f}".replace("-", "−") for value in scaled], exponent


# ---- SVG -----------------------------------------------------------------------------------------


def element(name: str, *children: str, hint: str = "", **attributes: object) -> str:
    """Write an element.

    The children are markup; `hint` is shown under the pointer; a trailing underscore of an
    attribute is dropped.
    """
    title = (element("title", escape(hint)),) if hint else ()
    written = ""
    for key, value in attributes.items():
        shown = f"{value:.1f}" if isinstance(value, float) else str(value)
        written += f' {key.rstrip("_").replace("_", "-")}="{escape(shown)}"'
    return f"<{name}{written}>{''.join((*title, *children))}</{name}>"


def short(name: str, most: int = LONGEST) -> str:
    """Cut a name that is too long for a chart; blanks and line breaks become single blanks."""
    name = " ".join(name.split())
    return name if len(name) <= most else f"{name[: most - 1]}…"


class Drawing:
    """A chart as it is drawn: part after part, and an SVG element in the end.

    A `hint` of a part is shown under the pointer.
    """

    def __init__(self, width: float = WIDTH, height: float = HEIGHT) -> None:
        self.width, self.height = width, height
        self.parts: list[str] = []

    def add(self, name: str, *children: str, hint: str = "", **attributes: object) -> None:
        """Draw an element."""
        self.parts.append(element(name, *children, hint=hint, **attributes))

    def text(self, words: str, x: float, y: float, **attributes: str) -> None:
        """Write words at a point."""
        self.add("text", escape(words), x=x, y=y, **attributes)

    def name(
        self,
        name: str,
        x: float,
        y: float,
        *,
        hint: str = "",
        most: int = LONGEST,
        class_: str = "end",
    ) -> None:
        """Write a name, cut where it is too long; the `hint` or all of it is under the pointer."""
        self.text(short(name, most), x, y, hint=hint or name, dy="0.35em", class_=class_)

    def line(self, x1: float, y1: float, x2: float, y2: float, class_: str) -> None:
        """Draw a line."""
        self.add("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=class_)

    def rectangle(
        self, x1: float, y1: float, x2: float, y2: float, class_: str, hint: str = ""
    ) -> None:
        """Draw a rectangle between two corners."""
        x, y, width, height = min(x1, x2), min(y1, y2), abs(x2 - x1), abs(y2 - y1)
        self.add("rect", hint=hint, x=x, y=y, width=width, height=height, class_=class_)

    def dot(self, x: float, y: float, class_: str, hint: str = "", radius: float = 3.5) -> None:
        """Draw a dot."""
        self.add("circle", hint=hint, cx=x, cy=y, r=radius, class_=class_)

    def path(self, d: str, class_: str, hint: str = "") -> None:
        """Draw a path."""
        self.add("path", hint=hint, d=d, class_=class_)

    def grid_across(self, scale: Scale, left: float, right: float, beside: float) -> None:
        """Draw the horizontal lines of a grid, with their labels so far to the left of it."""
        for label, y in scale.ticks():
            self.line(left, y, right, y, "grid")
            self.text(label, left - beside, y, dy="0.35em", class_="tick end")

    def svg(self, name: str, title: str, description: str, class_: str = "chart") -> str:
        """Return the chart, with a title and a description for screen readers.

        The name begins its ids and is different for each chart of a page.
        """
        return element(
            "svg",
            element("title", escape(title), id=f"{name}-title"),
            element("desc", escape(description), id=f"{name}-desc"),
            *self.parts,
            viewBox=f"0 0 {self.width:.0f} {self.height:.0f}",
            role="img",
            aria_labelledby=f"{name}-title",
            aria_describedby=f"{name}-desc",
            class_=class_,
        )


class Frame(Drawing):
    """A chart between two axes, which are drawn: values have positions on `x` and `y`."""

    def __init__(self, horizontal: Axis, vertical: Axis, height: float = HEIGHT) -> None:
        super().__init__(height=height)
        half = horizontal.label_width / 2
        self.left = left = max(40.0, vertical.label_width + 12, half)
        self.right = right = WIDTH - max(RIGHT, half)
        self.bottom = bottom = height - BOTTOM
        self.x, self.y = Scale(horizontal, left, right), Scale(vertical, bottom, TOP)
        self.grid_across(self.y, left, right, 8)
        self.line(left, bottom, right, bottom, "axis")
        for label, x in self.x.ticks():
            self.line(x, bottom, x, bottom + 6, "axis")
            self.text(label, x, bottom + 8, dy="0.9em", class_="tick middle")
        for x in self.x(np.array(horizontal.minor)):
            self.line(x, bottom, x, bottom + 3, "axis")
        self.text(vertical.title, 2, 16, class_="axis-title")
        self.text(horizontal.title, (left + right) / 2, height - 6, class_="axis-title middle")


# ---- charts --------------------------------------------------------------------------------------


def drawable(scores: np.ndarray) -> np.ndarray:
    """Return the scores that fit on an axis (not NaN, infinite or beyond 1e300)."""
    scores = np.asarray(scores, dtype=np.float64)
    fits = np.abs(scores) <= LARGEST
    return scores if fits.all() else scores[fits]


def score_curve(scores: np.ndarray, *, larger_is_better: bool) -> str:
    """Draw finite scores, shape (m,), from best to worst against rank; return SVG."""
    m = len(scores)
    axis = rank_axis(m)
    kept = downsample(scores, log=axis.log)
    shown = scores[kept]
    better = "larger" if larger_is_better else "smaller"
    title = f"score ({better} is better)"
    frame = Frame(axis, linear_axis(title, float(shown.min()), float(shown.max())))
    x, y = frame.x(kept + 1.0), frame.y(shown)
    frame.add("polyline", points=" ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y)), class_="curve")
    for a, b, rank, score in zip(x, y, kept + 1, shown) if m <= DOTS else ():
        frame.dot(a, b, "dot", f"rank {rank}: {significant(score)}")
    described = f"{counted(m, 'score')} from {significant(scores[0])} to {significant(scores[-1])}."
    return frame.svg("score-curve", "Score against rank", described)


def downsample(scores: np.ndarray, *, log: bool = False, limit: int = POINTS) -> np.ndarray:
    """Choose the points of a sorted curve that show its shape: a million points become hundreds.

    One half is evenly spaced along the rank axis, the other along the score axis, so that neither
    a long flat part nor a steep step loses its corners.

    Of sorted scores, shape (m,), it returns about `limit` ascending positions, all of them where m
    is not larger; the first and the last are among them.
    """
    m = len(scores)
    if m <= limit:
        return np.arange(m)
    half = limit // 2
    along = np.geomspace(1, m, half) - 1 if log else np.linspace(0, m - 1, half)
    rising = scores if scores[-1] >= scores[0] else -scores
    levels = np.linspace(rising[0], rising[-1], half // 2)
    corners = np.searchsorted(rising, levels)
    chosen = np.concatenate([along.round(), corners, corners - 1, [0, m - 1]])
    return np.unique(np.clip(chosen, 0, m - 1).astype(np.intp))
