"""The frame of a chart and the few SVG elements that charts are drawn with."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

import numpy as np

from sfs_cli.report.axes import Axis

WIDTH, HEIGHT = 560.0, 300.0
TOP, RIGHT, BOTTOM = 36.0, 26.0, 52.0


def element(name: str, *children: str, **attributes: object) -> str:
    """Write an element; `children` are markup, attribute names lose a trailing underscore."""
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
    """Wrap the parts of a chart, with a title and a description for those who cannot see it.

    Parameters
    ----------
    name : str
        Prefix of the ids, different for each chart of a page.
    title, description : str
        What the chart is, and what there is to see.
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
    """Where two axes lie, and so where a pair of values is drawn."""

    horizontal: Axis
    vertical: Axis

    @property
    def left(self) -> float:
        """Position of the vertical axis: labels of every length fit beside and below it."""
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
