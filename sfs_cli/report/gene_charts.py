"""The charts of genes: heatmap, samples in a plane, values of single features, p-values, stability.

As in `charts`, each is SVG whose colors come from the style of the page, by class. Many cells or
points of one color are one path, so that pages stay small.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from sfs_cli.errors import counted
from sfs_cli.report.charts import (
    CHARACTER,
    LONGEST,
    TOP,
    WIDTH,
    Axis,
    Drawing,
    Frame,
    Scale,
    element,
    fitted_axis,
    linear_axis,
    short,
)
from sfs_cli.report.model import Heatmap, Plane, SampleNotes, Strip
from sfs_cli.report.words import COLORS, MOST_GROUPS, significant

WIDE = 880.0
"""Width of the heatmap."""
ROW = 15.0
LEVELS, LEVEL = 5, 0.5
"""Colors above and below the mean, and standard deviations for each."""
OUTCOME_LEVELS = 7
LONGEST_CLASS = 16
"""Characters of names of classes in charts; longer ones are cut."""
LETTER = 7.2
"""Width of a character of a name in wide charts, whose letters stay small in narrow windows."""
PANEL, NARROW = 280.0, 14
"""Width of the chart of one feature, and characters of the names of classes in it."""
NAMED_GENES = 10
"""Features that the volcano plot names."""
SQUARE = 3.0
"""Side of the squares of which it draws one point each."""
SMALLEST = 1e-320
"""Smaller p-values are drawn as this one."""


def brief(value: float) -> str:
    """Write a position with at most one digit after the point."""
    shown = f"{value:.1f}"
    return shown.removesuffix(".0")


class Words:
    """Words beside points, of which none covers another one or leaves the chart."""

    def __init__(self, height: float) -> None:
        self.height = height
        self._taken: list[tuple[float, float, float]] = []

    def fit(self, left: float, right: float, y: float) -> bool:
        """Take a place where it is free, and tell whether it was."""
        if left < 0 or right > WIDTH:
            return False
        if any(left < b and a < right and abs(y - c) < self.height for a, b, c in self._taken):
            return False
        self._taken.append((left, right, y))
        return True


# ---- heatmap -------------------------------------------------------------------------------------


def heatmap_chart(found: Heatmap, notes: SampleNotes) -> str:
    """Draw the features in the samples; a column is a sample, or the mean of neighbors."""
    g, c = found.cells.shape
    drawing = Drawing(width=WIDE)
    left, right = 12 + LETTER * (LONGEST + 5), WIDE - 4
    step = (right - left) / c
    blocks = _blocks(found.codes) if found.by_class and found.codes is not None else []
    head, all_named = _block_names(drawing, blocks, notes, left, step)
    top = head
    kinds, letter = kinds_of(found)
    if kinds is not None:
        for a, b, kind in _blocks(kinds):
            style = color(kind, letter)
            drawing.rectangle(left + a * step, head, left + b * step, head + 9, style)
        top += 13
    bottom = top + g * ROW
    levels = np.clip(np.round(found.cells / LEVEL), -LEVELS, LEVELS).astype(int) + LEVELS
    drawing.add(
        "g",
        *_cells(levels),
        transform=f"translate({left:.1f} {top:.1f}) scale({step:.5f} {ROW:.0f})",
        class_="cells",
    )
    for i, (name, rank) in enumerate(zip(found.features, found.ranks)):
        y = top + (i + 0.5) * ROW
        drawing.name(name, left - 30, y, hint=f"{name}, rank {rank}", class_="name end")
        drawing.text(str(rank), left - 6, y, dy="0.35em", class_="end")
    for at, _, _ in blocks[1:]:
        drawing.line(left + at * step, head, left + at * step, bottom, "gap")
    for j, hint in enumerate(_hints(found, notes)):
        x = left + j * step
        drawing.rectangle(x, top, x + step, bottom, "hit", hint)
    most = LEVELS * LEVEL
    ends = f"−{most:g} sd", f"+{most:g} sd from the mean of the row"
    styles = [f"h{level}" for level in range(2 * LEVELS + 1)]
    color_scale(drawing, ends, styles, left, left + 58, bottom + 24)
    y = bottom + 48
    if found.codes is not None and not all_named:
        y = legend(drawing, notes, left, y, letter=LETTER)
    if found.outcome is not None:
        _outcome_legend(drawing, notes, left, y)
        y += 20
    drawing.height = y
    what = "samples" if found.samples is not None else f"columns of {counted(notes.n, 'sample')}"
    described = f"Heatmap of {counted(g, 'feature')} in {c:,} {what}, ordered {found.ordered}."
    title = "The best features in the samples"
    return drawing.svg("heatmap", title, described, class_="chart wide")


def _blocks(codes: np.ndarray) -> list[tuple[int, int, int]]:
    """Return first column, end and class of each run of columns of one class."""
    starts = [0, *(np.flatnonzero(np.diff(codes)) + 1).tolist()]
    return [(a, b, int(codes[a])) for a, b in zip(starts, [*starts[1:], len(codes)])]


def _block_names(
    drawing: Drawing,
    blocks: list[tuple[int, int, int]],
    notes: SampleNotes,
    left: float,
    step: float,
) -> tuple[float, bool]:
    """Write the names of classes above their columns.

    Returns the room that they take, and whether all classes are named so.
    """
    if not blocks:
        return 8.0, False
    named = [
        (short(class_name(notes, code), LONGEST_CLASS), left + (a + b) / 2 * step, (b - a) * step)
        for a, b, code in blocks
    ]
    if all(LETTER * len(name) + 4 <= width for name, _, width in named):
        for name, x, _ in named:
            drawing.text(name, x, 14, class_="middle")
        return 22.0, True
    # capitals are wider
    letters = max(0.94 * len(name) + 0.3 * sum(map(str.isupper, name)) for name, _, _ in named)
    high = LETTER * letters + 10
    wide = [(name, x) for name, x, width in named if width >= 11]
    for name, x in wide:
        at = f"rotate(-90 {x:.1f} {high - 6:.1f})"
        drawing.text(name, x, high - 6, dy="0.35em", transform=at, class_="start")
    return high, len(wide) == len(blocks)


def class_name(notes: SampleNotes, code: int) -> str:
    """Name a class, or what is in none."""
    return notes.classes[code] if code >= 0 else "no label"


def kinds_of(found: Heatmap | Plane) -> tuple[np.ndarray | None, str]:
    """Return what samples are drawn by, and the letter of its colors: k of classes, q of levels."""
    if found.outcome is None:
        return found.codes, "k"
    return outcome_levels(found.outcome), "q"


def outcome_levels(outcome: np.ndarray) -> np.ndarray:
    """Return the level of each outcome, 0 to `OUTCOME_LEVELS` - 1; -1 where there is none."""
    known = np.isfinite(outcome)
    levels, numbers = np.full(len(outcome), -1), outcome[known]
    if len(numbers):
        share = (numbers - numbers.min()) / (np.ptp(numbers) or 1.0)
        levels[known] = np.minimum(share * OUTCOME_LEVELS, OUTCOME_LEVELS - 1)
    return levels


def _cells(levels: np.ndarray) -> list[str]:
    """Draw the cells: a path for each color, neighbors of one color in one piece."""
    g, c = levels.shape
    drawn = [""] * (2 * LEVELS + 1)
    for i, row in enumerate(levels):
        for a, b, level in _blocks(row):
            drawn[level] += f"M{a} {i}h{b - a}v1h{a - b}z"
    drawn[LEVELS] = ""  # the middle color is the ground
    return [
        element("rect", width=c, height=g, class_=f"h{LEVELS}"),
        *(element("path", d=d, class_=f"h{level}") for level, d in enumerate(drawn) if d),
    ]


def _hints(found: Heatmap, notes: SampleNotes) -> Iterator[str]:
    """Yield what is shown under the pointer: the sample of a column, or how many there are."""
    for j, (end, size) in enumerate(zip(np.cumsum(found.sizes).tolist(), found.sizes.tolist())):
        hint = f"samples {end - size + 1:,} to {end:,} in this order"
        if found.samples is not None:
            hint = found.samples[j]
        if found.codes is not None:
            hint += f": {'' if size == 1 else 'most of them '}{class_name(notes, found.codes[j])}"
        yield hint


def color_scale(
    drawing: Drawing,
    ends: tuple[str, str],
    styles: Iterable[str],
    left: float,
    start: float,
    y: float,
) -> None:
    """Draw a scale of colors from `start` on, between the words for its ends."""
    drawing.text(ends[0], left, y, class_="start")
    for style in styles:
        drawing.rectangle(start, y - 10, start + 16, y, style)
        start += 16
    drawing.text(ends[1], start + 6, y, class_="start")


def color(kind: int, letter: str = "k") -> str:
    """Return the style of a class, or of a level of the outcome."""
    return f"{letter}{kind % COLORS}" if kind >= 0 else "none"


def legend(
    drawing: Drawing, notes: SampleNotes, left: float, y: float, letter: float = CHARACTER
) -> float:
    """Draw the classes with their points and sizes, in lines; return where it ends."""
    assert notes.codes is not None
    none, *sizes = np.bincount(notes.codes + 1, minlength=len(notes.classes) + 1).tolist()
    x = left
    for code, size in [*enumerate(sizes), *([(-1, none)] if none else [])]:
        name = class_name(notes, code)
        words = f"{short(name, LONGEST_CLASS)} ({size:,})"
        width = 18 + letter * len(words) + 12
        if x > left and x + width > drawing.width:
            x, y = left, y + 20
        marker(drawing, x + 6, y - 4, code, color(code), name)
        drawing.text(words, x + 15, y, class_="start")
        x += width
    return y + 20


def _outcome_legend(drawing: Drawing, notes: SampleNotes, left: float, y: float) -> None:
    assert notes.outcome is not None
    known = notes.outcome[np.isfinite(notes.outcome)]
    low, high = (significant(float(v), 4) for v in (known.min(), known.max()))
    start = left + 8 + CHARACTER * 0.8 * (len(low) + 8)
    styles = [f"q{level}" for level in range(OUTCOME_LEVELS)]
    color_scale(drawing, (f"outcome {low}", high), styles, left, start, y)


# ---- samples in a plane --------------------------------------------------------------------------


def marker(drawing: Drawing, x: float, y: float, shape: int, style: str, hint: str) -> None:
    """Draw the point of a class: a disc, a square or a triangle."""
    style = f"point {style}"
    if shape < 0 or shape % 3 == 0:
        drawing.dot(x, y, style, hint, radius=4.0)
    elif shape % 3 == 1:
        drawing.rectangle(x - 3.6, y - 3.6, x + 3.6, y + 3.6, style, hint)
    else:
        drawing.path(f"M{x:.1f} {y - 4.6:.1f}l4.6 8.2h-9.2z", style, hint)


def _markers(drawing: Drawing, x: np.ndarray, y: np.ndarray, shape: int, style: str) -> None:
    """Draw many points of a class, smaller ones of the shapes of `marker`."""
    if shape >= 0 and shape % 3 == 2:
        d = "".join(f"M{brief(a)} {brief(b - 3)}l3 5.4h-6z" for a, b in zip(x, y))
        drawing.path(d, f"point {style}")
    else:
        square = " square" if shape >= 0 and shape % 3 == 1 else ""
        drawing.path(_dots(x, y), f"dots{square} s-{style}")


def plane_chart(found: Plane, notes: SampleNotes) -> str:
    """Draw the samples as points, with the names of classes at their centers."""
    x_all, y_all = found.points.T
    horizontal = fitted_axis(found.axes[0], *_range(x_all), WIDTH - 100)
    frame = Frame(horizontal, linear_axis(found.axes[1], *_range(y_all)), 400.0)
    x, y = frame.x(x_all), frame.y(y_all)
    kinds, letter = kinds_of(found)
    if kinds is None:
        kinds = np.zeros(len(x), int)
    shapes = kinds if letter == "k" else np.zeros(len(x), int)
    for j, hint in enumerate(found.samples or ()):
        if found.codes is not None:
            hint += f": {class_name(notes, int(kinds[j]))}"
        if found.outcome is not None:
            hint += f": {significant(float(found.outcome[j]), 4)}"
        marker(frame, x[j], y[j], int(shapes[j]), color(int(kinds[j]), letter), hint)
    for kind in np.unique(kinds).tolist() if found.samples is None else ():
        at = np.flatnonzero(kinds == kind)
        _markers(frame, x[at], y[at], int(shapes[at[0]]), color(kind, letter))
    if found.codes is not None:
        _centers(frame, x, y, kinds, notes)
        frame.height = legend(frame, notes, frame.left, frame.height + 20)
    if found.outcome is not None:
        _outcome_legend(frame, notes, frame.left, frame.height + 20)
        frame.height += 30
    return frame.svg("plane", "The samples", f"{counted(len(x), 'sample')} in {found.where}.")


def _range(values: np.ndarray) -> tuple[float, float]:
    """Return the range of values with a margin, so that no point lies on the frame."""
    low, high = float(values.min()), float(values.max())
    margin = 0.03 * (high - low)
    return low - margin, high + margin


def _centers(
    frame: Frame, x: np.ndarray, y: np.ndarray, codes: np.ndarray, notes: SampleNotes
) -> None:
    """Write the names of classes above the middle of their points, where they do not collide."""
    places = Words(18)
    sizes = np.bincount(codes[codes >= 0], minlength=len(notes.classes))
    for code in np.argsort(-sizes, kind="stable")[: np.count_nonzero(sizes)].tolist():
        at = np.flatnonzero(codes == code)
        name = short(notes.classes[code], LONGEST_CLASS)
        half = CHARACTER * 0.5 * len(name)
        # the point nearest to the medians, which may lie between the parts of a class
        away = np.abs(x[at] - np.median(x[at])) + np.abs(y[at] - np.median(y[at]))
        middle = at[np.argmin(away)]
        center = min(max(float(x[middle]), half + 4), WIDTH - half - 4)
        # above most of the points around it, so that they are seen
        near = at[np.hypot(x[at] - x[middle], y[at] - y[middle]) <= half + 24]
        height = max(TOP, float(np.quantile(y[near], 0.1)) - 12)
        if places.fit(center - half, center + half, height):
            frame.text(name, center, height, dy="0.35em", class_="center-label middle")


# ---- single features -----------------------------------------------------------------------------


def strip_chart(found: Strip, notes: SampleNotes) -> str:
    """Draw the values of one feature by class, against the outcome, or sorted."""
    drawing = Drawing(width=PANEL)
    words = f"{found.rank}. {short(found.feature, 28)}"
    drawing.text(words, 2.0, 14.0, hint=found.feature, class_="axis-title strong")
    if found.pairs is not None:
        _scatter(drawing, found.pairs, "outcome")
        described = "Values against the outcome."
    elif notes.codes is not None:
        _by_class(drawing, found, notes)
        medians = ", ".join(
            f"{short(c, LONGEST_CLASS)} {significant(m, 4)}"
            for c, (_, m) in zip(notes.classes, found.groups)
        )
        described = f"Medians: {medians}."
    else:
        ((values, median),) = found.groups
        place = np.linspace(0, 1, len(values)) if len(values) > 1 else np.array([0.5])
        pairs = np.column_stack([100 * place, values])
        _scatter(drawing, pairs, "samples in ascending order, %")
        described = f"Sorted values, median {significant(median, 4)}."
    name = f"strip-{found.rank}"
    return drawing.svg(name, f"Values of {found.feature}", described, class_="chart panel")


def _by_class(drawing: Drawing, found: Strip, notes: SampleNotes) -> None:
    shown = list(enumerate(found.groups))
    if len(shown) > MOST_GROUPS:
        shown = sorted(shown, key=lambda each: (-each[1][1], each[0]))[:MOST_GROUPS]
    low = min(float(values[0]) for _, (values, _) in shown)
    high = max(float(values[-1]) for _, (values, _) in shown)
    longest = max(len(short(notes.classes[k], NARROW)) for k, _ in shown)
    left, top = 18 + LETTER * longest, 24.0
    step = 26.0 if len(shown) < 5 else 19.0
    bottom = top + step * len(shown)
    axis = fitted_axis("", low, high, PANEL - 12 - left)
    place = Scale(axis, left, _right(axis))
    for label, x in place.ticks():
        drawing.line(x, top, x, bottom, "grid")
        drawing.text(label, x, bottom + 15, class_="tick middle")
    for row, (k, (values, median)) in enumerate(shown):
        y = top + (row + 0.5) * step
        drawing.name(notes.classes[k], left - 8, y, most=NARROW)
        # spread by the golden ratio, which fills a strip evenly, and the same way each time
        jitter = ((np.arange(len(values)) * 0.6180339887) % 1 - 0.5) * 0.62 * step
        drawing.path(_dots(place(values), y + jitter), f"dots s-{color(k)}")
        x = place(median)
        drawing.line(x, y - 0.38 * step, x, y + 0.38 * step, "median")
    drawing.height = bottom + 22


def _scatter(drawing: Drawing, pairs: np.ndarray, title: str) -> None:
    drawing.height, bottom = 150.0, 114.0
    (low, lowest), (high, highest) = pairs.min(axis=0).tolist(), pairs.max(axis=0).tolist()
    x_axis = fitted_axis(title, low, high, PANEL - 60)
    y_axis = linear_axis("", lowest, highest, count=3)
    left, right = max(30.0, LETTER * max(map(len, y_axis.labels)) + 14), _right(x_axis)
    x, y = Scale(x_axis, left, right), Scale(y_axis, bottom, 26.0)
    drawing.grid_across(y, left, right, 6)
    for label, at in x.ticks():
        drawing.text(label, at, bottom + 14, class_="tick middle")
    drawing.path(_dots(x(pairs[:, 0]), y(pairs[:, 1])), "dots s-k0")
    drawing.text(x_axis.title, (left + right) / 2, drawing.height - 6, class_="middle")


def _right(axis: Axis) -> float:
    """Return the right end of the axis of a panel, with room for half of its last label."""
    return PANEL - max(12.0, LETTER * len(axis.labels[-1]) / 2 + 3)


# ---- evidence ------------------------------------------------------------------------------------


def p_value_chart(p: np.ndarray) -> str:
    """Draw a histogram of p-values (m,), with what is expected where nothing is to be found."""
    bins = 20
    counts, edges = np.histogram(p, bins, range=(0, 1))
    expected = len(p) / bins
    axis = linear_axis("p-value", 0.0, 1.0)
    most = max(int(counts.max()), expected)
    frame = Frame(axis, linear_axis("number of features", 0.0, most, count=min(5, math.ceil(most))))
    at = frame.y(expected)
    x, base = frame.x(edges), frame.bottom - 0.5
    y = np.minimum(frame.y(counts), base - 1.5)  # that of a single feature is visible
    for i in np.flatnonzero(counts).tolist():
        hint = f"{edges[i]:.2f} to {edges[i + 1]:.2f}: {counted(counts[i], 'feature')}"
        frame.rectangle(x[i] + 0.5, y[i], x[i + 1] - 0.5, base, "bar", hint)
    frame.line(frame.left, at, frame.right, at, "mark")
    frame.text("as many by chance", frame.right, at - 6, class_="mark-label end")
    described = f"{counts[0]:,} of {counted(len(p), 'p-value')} are below {edges[1]:.2f}."
    return frame.svg("p-values", "Distribution of the p-values", described)


def volcano_chart(changes: np.ndarray, p: np.ndarray, names: Sequence[str], title: str) -> str:
    """Draw -log10 of p-values (m,) against changes (m,); `names` are of the first ones.

    `title` is that of the axis of the changes.
    """
    height = -np.log10(np.maximum(p, SMALLEST))
    low, high = _range(changes)
    horizontal = fitted_axis(title, low, high, WIDTH - 100)
    frame = Frame(horizontal, linear_axis("−log10 of the p-value", 0.0, float(height.max())), 360.0)
    x, y = frame.x(changes), frame.y(height)
    first = np.arange(min(len(names), len(x)))
    # one point of each small square is enough: a million points become a few thousand
    across = int(WIDTH / SQUARE) + 2
    squares = (y / SQUARE).astype(np.int32) * across + (x / SQUARE).astype(np.int32)
    seen = np.full(int(squares.max()) + 1, -1)
    seen[squares[::-1]] = np.arange(len(x) - 1, -1, -1)  # the best of each square is last
    rest = np.setdiff1d(seen[seen >= 0], first)
    if horizontal.low <= 0 <= horizontal.high:
        zero = frame.x(0.0)
        frame.line(zero, TOP, zero, frame.bottom, "grid strong")
    frame.path(_dots(x[rest], y[rest]), "dots small s-quiet")
    for j in first.tolist():
        hint = f"{names[j]}: {significant(float(changes[j]), 3)}, p = {significant(float(p[j]), 3)}"
        frame.dot(x[j], y[j], "dot", hint)
    _name_points(frame, x, y, names[:NAMED_GENES])
    described = f"The largest of {len(p):,} values is {height.max():.3g}."
    return frame.svg("volcano", "Change and p-value", described)


def _dots(x: np.ndarray, y: np.ndarray) -> str:
    return "".join(f"M{brief(a)} {brief(b)}h0" for a, b in zip(x, y))


def _name_points(frame: Frame, x: np.ndarray, y: np.ndarray, names: Iterable[str]) -> None:
    """Write names beside points, where they do not collide and stay inside."""
    places = Words(13)
    for a, b, name in zip(x.tolist(), y.tolist(), names):
        words = short(name, 14)
        width = CHARACTER * 0.75 * len(words)
        if a > WIDTH / 2:
            side, at, start = "end", a - 7, a - 7 - width
        else:
            side, at, start = "start", a + 7, a + 7
        if places.fit(start, start + width, b):
            frame.text(words, at, b, dy="0.35em", class_=f"point-name {side}")
