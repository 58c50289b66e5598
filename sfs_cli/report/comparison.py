"""The page of `sfs compare`: verdicts, accuracy by the length of the list, and tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from sfs_cli.report.charts import Axis, Frame, linear_axis, short
from sfs_cli.report.gene_charts import color, marker
from sfs_cli.report.model import Table
from sfs_cli.report.page import Figure, compiled, grids

LEGEND = 160.0
"""Room for a name in the legend of the curves."""


class Point(NamedTuple):
    """A mean of a measure and its interval, NaN where there is none."""

    value: float
    low: float
    high: float


def curves_chart(measure: str, curves: Mapping[str, Mapping[int, Point]]) -> str:
    """Draw a measure of each list by its length, with intervals; return SVG.

    Lengths are at equal distances. Lists differ by color and by the shape of their points.
    """
    lengths = sorted({k for curve in curves.values() for k in curve})
    numbers = [x for curve in curves.values() for point in curve.values() for x in point if x == x]
    ticks = tuple(map(float, range(len(lengths))))
    axis = Axis("features", -0.5, len(lengths) - 0.5, ticks, tuple(f"{k:,}" for k in lengths))
    rows = -(-len(curves) // 3)
    frame = Frame(axis, linear_axis(measure, min(numbers), max(numbers)))
    frame.height += 20.0 * rows + 8
    for i, (name, curve) in enumerate(curves.items()):
        style, aside = color(i), 0.3 * ((i + 0.5) / len(curves) - 0.5)
        at = {k: frame.x(lengths.index(k) + aside) for k in curve}
        line = "L".join(f"{at[k]:.1f} {frame.y(curve[k].value):.1f}" for k in curve)
        frame.path(f"M{line}", f"dots small s-{style}")
        for k, point in curve.items():
            hint = f"{name}, {k:,} features: {point.value:.3f}"
            if point.low == point.low:
                hint += f" ({point.low:.3f} to {point.high:.3f})"
                ends = f"M{at[k]:.1f} {frame.y(point.low):.1f}V{frame.y(point.high):.1f}"
                frame.path(ends, f"dots small s-{style}", hint)
            marker(frame, at[k], frame.y(point.value), i, style, hint)
        x, y = frame.left + LEGEND * (i % 3), frame.height - 20.0 * (rows - i // 3) + 8
        marker(frame, x, y - 4, i, style, name)
        frame.text(short(name, 20), x + 10, y, class_="start")
    described = f"{measure} of {', '.join(curves)}, by the number of features."
    return frame.svg("curves", f"{measure} by length", described)


def render_comparison(
    title: str,
    sentences: Sequence[str],
    warnings: Sequence[str],
    curves: Mapping[str, Mapping[int, Point]],
    measure: str,
    tables: Iterable[Table],
    command: str,
    files: Iterable[tuple[str, str]],
    version: str,
) -> str:
    """Return the page, without external resources and without dates. All text is escaped."""
    caption = (
        "Mean over the folds, with 95% intervals that are corrected for the overlap of the folds "
        "(Nadeau and Bengio, 2003) where samples are held out."
    )
    figures = []
    if any(curves.values()):
        heading = f"{measure[0].upper()}{measure[1:]} by the length of the list"
        figures.append(Figure(heading, caption, curves_chart(measure, curves)))
    return compiled("compare.html.j2").render(
        title=title,
        sentences=sentences,
        warnings=warnings,
        figures=figures,
        tables=grids(tables),
        command=command,
        files=files,
        version=version,
    )
