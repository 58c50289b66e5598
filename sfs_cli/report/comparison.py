"""The chart of `sfs compare`: a measure of several lists by their length."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sfs_cli.report.charts import Axis, Frame, linear_axis, short
from sfs_cli.report.gene_charts import color, marker

LEGEND, ROW, IN_ROW = 260.0, 20.0, 2
"""Room for a name in the legend, a row of it, and the names in one."""
Curve = Sequence[tuple[int, float, float, float]]
"""Lengths of a list, its measure, and the limits of an interval, NaN where there is none."""


def curves_chart(measure: str, curves: Mapping[str, Curve]) -> str:
    """Draw a measure of each list by its length, with intervals; return SVG.

    Lengths are at equal distances. Lists differ by color and by the shape of their points.
    """
    lengths = sorted({k for curve in curves.values() for k, *_ in curve})
    numbers = [x for curve in curves.values() for _, *of in curve for x in of if x == x]
    ticks = tuple(map(float, range(len(lengths))))
    axis = Axis("features", -0.5, len(lengths) - 0.5, ticks, tuple(f"{k:,}" for k in lengths))
    frame = Frame(axis, linear_axis(measure, min(numbers), max(numbers)))
    frame.height += 8
    for i, (name, curve) in enumerate(curves.items()):
        style, aside = color(i), 0.3 * ((i + 0.5) / len(curves) - 0.5)
        points = []
        for k, value, low, high in curve:
            x, y = frame.x(lengths.index(k) + aside), frame.y(value)
            points.append(f"{x:.1f} {y:.1f}")
            marker(frame, x, y, i, style, f"{name}, {k:,}: {value:.3f}")
            if low == low:
                frame.line(x, frame.y(low), x, frame.y(high), f"dots small s-{style}")
        frame.path(f"M{'L'.join(points)}", f"dots small s-{style}")
        frame.height += ROW * (i % IN_ROW == 0)
        x, y = frame.left + LEGEND * (i % IN_ROW), frame.height - 8
        marker(frame, x, y - 4, i, style, name)
        frame.text(short(name, 34), x + 10, y, hint=name, class_="start")
    return frame.svg("curves", f"{measure} by length", f"{measure} of {'; '.join(curves)}.")
