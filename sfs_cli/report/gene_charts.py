"""The charts of genes: heatmap, samples in a plane, values of single features, p-values, stability.

As in `charts`, each is SVG whose colors come from the style of the page, by class. Many cells or
points of one color are one path, so that pages stay small.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from sfs_cli.errors import counted
from sfs_cli.report.charts import (
    CHARACTER,
    TOP,
    WIDTH,
    Axis,
    Frame,
    Scale,
    dot,
    element,
    fitted_axis,
    line,
    linear_axis,
    rectangle,
    svg,
    text,
)
from sfs_cli.report.model import Heatmap, Plane, SampleNotes, Strip
from sfs_cli.report.words import COLORS, MOST_GROUPS, significant

WIDE = 880.0
"""Width of the heatmap."""
ROW = 15.0
LEVELS, LEVEL = 5, 0.5
"""Colors above and below the mean, and standard deviations for each."""
OUTCOME_LEVELS = 7
LONGEST, LONGEST_CLASS = 18, 16
"""Characters of names in charts; longer ones are cut."""
LETTER = 7.2
"""Width of a character of a name in wide charts, whose letters stay small in narrow windows."""
PANEL, NARROW = 280.0, 14
"""Width of the chart of one feature, and characters of the names of classes in it."""
SELECTED = "selected in"
"""The title of the axis of frequencies, beside its first label."""
NAMED_GENES = 10
"""Features that the volcano plot names."""
SQUARE = 3.0
"""Side of the squares of which it draws one point each."""
SMALLEST = 1e-320
"""Smaller p-values are drawn as this one."""


def short(name: str, most: int = LONGEST) -> str:
    """Cut a name that is too long for a chart; blanks and line breaks become single blanks."""
    name = " ".join(name.split())
    return name if len(name) <= most else f"{name[: most - 1]}…"


def named(
    name: str, x: float, y: float, *, hint: str = "", most: int = LONGEST, class_: str = "end"
) -> str:
    """Write a name, cut where it is too long; the `hint` or all of it is under the pointer."""
    return text(short(name, most), x, y, hint=hint or name, dy="0.35em", class_=class_)


def path(d: str, class_: str, hint: str = "") -> str:
    """Draw a path."""
    return element("path", hint=hint, d=d, class_=class_)


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
    left, right = 12 + LETTER * (LONGEST + 5), WIDE - 4
    step = (right - left) / c
    parts: list[str] = []
    blocks = _blocks(found.codes) if found.by_class and found.codes is not None else []
    head, names = _block_names(blocks, notes, left, step)
    parts += names
    top = head
    kinds, letter = kinds_of(found)
    if kinds is not None:
        parts += [
            rectangle(left + a * step, head, left + b * step, head + 9, color(kind, letter))
            for a, b, kind in _blocks(kinds)
        ]
        top += 13
    levels = np.clip(np.round(found.cells / LEVEL), -LEVELS, LEVELS).astype(int) + LEVELS
    bottom = top + g * ROW
    parts.append(_cells(levels, left, top, step))
    for i, (name, rank) in enumerate(zip(found.features, found.ranks)):
        y = top + (i + 0.5) * ROW
        parts.append(named(name, left - 30, y, hint=f"{name}, rank {rank}", class_="name end"))
        parts.append(text(str(rank), left - 6, y, dy="0.35em", class_="end"))
    for at, _, _ in blocks[1:]:
        x = left + at * step
        parts.append(line(x, head, x, bottom, "gap"))
    parts += _columns(found, notes, left, top, bottom, step)
    y = bottom + 24
    most = LEVELS * LEVEL
    styles = [f"h{level}" for level in range(2 * LEVELS + 1)]
    low, high = f"−{most:g} sd", f"+{most:g} sd from the mean of the row"
    parts += color_scale(low, styles, high, left, left + 58, y)
    y += 24
    if found.codes is not None and not (found.by_class and len(names) == len(blocks)):
        more, y = legend(notes, left, y, WIDE, letter=LETTER)
        parts += more
    if found.outcome is not None:
        parts += _outcome_legend(notes, left, y)
        y += 20
    what = "samples" if found.samples is not None else f"columns of {counted(notes.n, 'sample')}"
    described = f"Heatmap of {counted(g, 'feature')} in {c:,} {what}, ordered {found.ordered}."
    title = "The best features in the samples"
    return svg("heatmap", title, described, *parts, width=WIDE, height=y, class_="chart wide")


def _blocks(codes: np.ndarray) -> list[tuple[int, int, int]]:
    """Return first column, end and class of each run of columns of one class."""
    starts = [0, *(np.flatnonzero(np.diff(codes)) + 1).tolist()]
    return [(a, b, int(codes[a])) for a, b in zip(starts, [*starts[1:], len(codes)])]


def _block_names(
    blocks: list[tuple[int, int, int]], notes: SampleNotes, left: float, step: float
) -> tuple[float, list[str]]:
    """Write the names of classes above their columns; return the room they take, and the names."""
    if not blocks:
        return 8.0, []
    names = [short(class_name(notes, code), LONGEST_CLASS) for _, _, code in blocks]
    widths = [(b - a) * step for a, b, _ in blocks]
    if all(LETTER * len(name) + 4 <= width for name, width in zip(names, widths)):
        written = [
            text(name, left + (a + b) / 2 * step, 14, class_="middle")
            for name, (a, b, _) in zip(names, blocks)
        ]
        return 22.0, written
    # capitals are wider
    letters = max(0.94 * len(name) + 0.3 * sum(map(str.isupper, name)) for name in names)
    high = LETTER * letters + 10
    written = []
    for name, (a, b, _), width in zip(names, blocks, widths):
        if width < 11:
            continue
        x = left + (a + b) / 2 * step
        at = f"rotate(-90 {x:.1f} {high - 6:.1f})"
        written.append(text(name, x, high - 6, dy="0.35em", transform=at, class_="start"))
    return high, written


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
    if not known.any():
        return np.full(len(outcome), -1)
    low, high = outcome[known].min(), outcome[known].max()
    share = (np.where(known, outcome, low) - low) / ((high - low) or 1.0)
    levels = np.minimum((share * OUTCOME_LEVELS).astype(int), OUTCOME_LEVELS - 1)
    return np.where(known, levels, -1)


def _cells(levels: np.ndarray, left: float, top: float, step: float) -> str:
    """Draw the cells: a path for each color, neighbors of one color in one piece."""
    g, c = levels.shape
    drawn: list[list[str]] = [[] for _ in range(2 * LEVELS + 1)]
    for i, row in enumerate(levels):
        for a, b, level in _blocks(row):
            drawn[level].append(f"M{a} {i}h{b - a}v1h{a - b}z")
    # the middle color is the ground
    parts = [element("rect", width=c, height=g, class_=f"h{LEVELS}")]
    parts += [
        path("".join(pieces), f"h{level}")
        for level, pieces in enumerate(drawn)
        if pieces and level != LEVELS
    ]
    place = f"translate({left:.1f} {top:.1f}) scale({step:.5f} {ROW:.0f})"
    return element("g", *parts, transform=place, class_="cells")


def _columns(
    found: Heatmap, notes: SampleNotes, left: float, top: float, bottom: float, step: float
) -> list[str]:
    """Return what is shown under the pointer: the sample of a column, or how many there are."""
    parts = []
    ends = np.cumsum(found.sizes)
    for j, size in enumerate(found.sizes.tolist()):
        if found.samples is not None:
            hint = found.samples[j]
        else:
            first = int(ends[j]) - size + 1
            hint = f"samples {first:,} to {int(ends[j]):,} in this order"
        if found.codes is not None:
            hint += f": {'' if size == 1 else 'most of them '}{class_name(notes, found.codes[j])}"
        x = left + j * step
        parts.append(rectangle(x, top, x + step, bottom, "hit", hint))
    return parts


def color_scale(
    low: str, styles: Iterable[str], high: str, left: float, start: float, y: float
) -> list[str]:
    """Draw a scale of colors from `start` on, between the words for its ends."""
    parts, x = [text(low, left, y, class_="start")], start
    for style in styles:
        parts.append(rectangle(x, y - 10, x + 16, y, style))
        x += 16
    return [*parts, text(high, x + 6, y, class_="start")]


def color(kind: int, letter: str = "k") -> str:
    """Return the style of a class, or of a level of the outcome."""
    return f"{letter}{kind % COLORS}" if kind >= 0 else "none"


def legend(
    notes: SampleNotes, left: float, y: float, right: float, letter: float = CHARACTER
) -> tuple[list[str], float]:
    """Draw the classes with their points and sizes, in lines; return also where it ends."""
    assert notes.codes is not None
    entries = [(k, int((notes.codes == k).sum())) for k in range(len(notes.classes))]
    if (notes.codes < 0).any():
        entries.append((-1, int((notes.codes < 0).sum())))
    parts, x = [], left
    for code, size in entries:
        name = class_name(notes, code)
        words = f"{short(name, LONGEST_CLASS)} ({size:,})"
        width = 18 + letter * len(words) + 12
        if x > left and x + width > right:
            x, y = left, y + 20
        parts.append(marker(x + 6, y - 4, code, color(code), name))
        parts.append(text(words, x + 15, y, class_="start"))
        x += width
    return parts, y + 20


def _outcome_legend(notes: SampleNotes, left: float, y: float) -> list[str]:
    assert notes.outcome is not None
    known = notes.outcome[np.isfinite(notes.outcome)]
    low, high = (significant(float(v), 4) for v in (known.min(), known.max()))
    start = left + 8 + CHARACTER * 0.8 * (len(low) + 8)
    styles = [f"q{level}" for level in range(OUTCOME_LEVELS)]
    return color_scale(f"outcome {low}", styles, high, left, start, y)


# ---- samples in a plane --------------------------------------------------------------------------


def marker(x: float, y: float, shape: int, style: str, hint: str) -> str:
    """Draw the point of a class: a disc, a square or a triangle."""
    style = f"point {style}"
    if shape < 0 or shape % 3 == 0:
        return element("circle", hint=hint, cx=x, cy=y, r=4.0, class_=style)
    if shape % 3 == 1:
        return rectangle(x - 3.6, y - 3.6, x + 3.6, y + 3.6, style, hint)
    return path(f"M{x:.1f} {y - 4.6:.1f}l4.6 8.2h-9.2z", style, hint)


def _markers(x: np.ndarray, y: np.ndarray, shape: int, style: str) -> str:
    """Draw many points of a class, smaller ones of the shapes of `marker`."""
    if shape >= 0 and shape % 3 == 2:
        d = "".join(f"M{brief(a)} {brief(b - 3)}l3 5.4h-6z" for a, b in zip(x, y))
        return path(d, f"point {style}")
    square = " square" if shape >= 0 and shape % 3 == 1 else ""
    return path(_dots(x, y), f"dots{square} s-{style}")


def plane_chart(found: Plane, notes: SampleNotes) -> str:
    """Draw the samples as points, with the names of classes at their centers."""
    x_all, y_all = found.points.T
    horizontal = fitted_axis(found.axes[0], *_range(x_all), WIDTH - 100)
    frame = Frame(horizontal, linear_axis(found.axes[1], *_range(y_all)), 400.0)
    x, y = frame.x(x_all), frame.y(y_all)
    parts, bottom = [frame.draw()], frame.height
    kinds, letter = kinds_of(found)
    if kinds is None:
        kinds = np.zeros(len(x), int)
    shapes = kinds if letter == "k" else np.zeros(len(x), int)
    if found.samples is not None:
        for j, hint in enumerate(found.samples):
            if found.codes is not None:
                hint += f": {class_name(notes, int(kinds[j]))}"
            if found.outcome is not None:
                hint += f": {significant(float(found.outcome[j]), 4)}"
            parts.append(marker(x[j], y[j], int(shapes[j]), color(int(kinds[j]), letter), hint))
    else:
        for kind in np.unique(kinds).tolist():
            at = np.flatnonzero(kinds == kind)
            parts.append(_markers(x[at], y[at], int(shapes[at[0]]), color(kind, letter)))
    if found.codes is not None:
        parts += _centers(x, y, kinds, notes)
        more, bottom = legend(notes, frame.left, bottom + 20, WIDTH)
        parts += more
    if found.outcome is not None:
        parts += _outcome_legend(notes, frame.left, bottom + 20)
        bottom += 30
    described = f"{counted(len(x), 'sample')} in {found.where}."
    return svg("plane", "The samples", described, *parts, height=bottom)


def _range(values: np.ndarray) -> tuple[float, float]:
    """Return the range of values with a margin, so that no point lies on the frame."""
    low, high = float(values.min()), float(values.max())
    margin = 0.03 * (high - low)
    return low - margin, high + margin


def _centers(x: np.ndarray, y: np.ndarray, codes: np.ndarray, notes: SampleNotes) -> list[str]:
    """Write the names of classes above the middle of their points, where they do not collide."""
    parts: list[str] = []
    places = Words(18)
    sizes = np.bincount(codes[codes >= 0], minlength=len(notes.classes))
    for code in np.argsort(-sizes, kind="stable").tolist():
        at = np.flatnonzero(codes == code)
        if not len(at):
            continue
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
            parts.append(text(name, center, height, dy="0.35em", class_="center-label middle"))
    return parts


# ---- single features -----------------------------------------------------------------------------


def strip_chart(found: Strip, notes: SampleNotes) -> str:
    """Draw the values of one feature by class, against the outcome, or sorted."""
    name = f"strip-{found.rank}"
    words = f"{found.rank}. {short(found.feature, 28)}"
    parts = [text(words, 2.0, 14.0, hint=found.feature, class_="axis-title strong")]
    if found.pairs is not None:
        drawn, height = _scatter(found.pairs, "outcome")
        described = "Values against the outcome."
    elif notes.codes is not None:
        drawn, height = _by_class(found, notes)
        medians = ", ".join(
            f"{short(c, LONGEST_CLASS)} {significant(m, 4)}"
            for c, (_, m) in zip(notes.classes, found.groups)
        )
        described = f"Medians: {medians}."
    else:
        values = found.groups[0][0]
        place = np.linspace(0, 1, len(values)) if len(values) > 1 else np.array([0.5])
        pairs = np.column_stack([100 * place, values])
        drawn, height = _scatter(pairs, "samples in ascending order, %")
        described = f"Sorted values, median {significant(found.groups[0][1], 4)}."
    title = f"Values of {found.feature}"
    every = (*parts, *drawn)
    return svg(name, title, described, *every, width=PANEL, height=height, class_="chart panel")


def _by_class(found: Strip, notes: SampleNotes) -> tuple[list[str], float]:
    shown = list(range(len(found.groups)))
    if len(shown) > MOST_GROUPS:
        shown = sorted(shown, key=lambda k: (-found.groups[k][1], k))[:MOST_GROUPS]
    low = min(float(found.groups[k][0][0]) for k in shown)
    high = max(float(found.groups[k][0][-1]) for k in shown)
    longest = max(len(short(notes.classes[k], NARROW)) for k in shown)
    left, top = 18 + LETTER * longest, 24.0
    step = 26.0 if len(shown) < 5 else 19.0
    bottom = top + step * len(shown)
    axis = fitted_axis("", low, high, PANEL - 12 - left)
    place = Scale(axis, left, _right(axis))
    parts = _grid(place, top, bottom, 15)
    for row, k in enumerate(shown):
        values, median = found.groups[k]
        y = top + (row + 0.5) * step
        parts.append(named(notes.classes[k], left - 8, y, most=NARROW))
        # spread by the golden ratio, which fills a strip evenly, and the same way each time
        jitter = ((np.arange(len(values)) * 0.6180339887) % 1 - 0.5) * 0.62 * step
        parts.append(path(_dots(place(values), y + jitter), f"dots s-{color(k)}"))
        x = place(median)
        parts.append(line(x, y - 0.38 * step, x, y + 0.38 * step, "median"))
    return parts, bottom + 22


def _scatter(pairs: np.ndarray, title: str) -> tuple[list[str], float]:
    height, top = 150.0, 26.0
    bottom = height - 36
    x_axis = fitted_axis(title, *_ends(pairs[:, 0]), PANEL - 60)
    y_axis = linear_axis("", *_ends(pairs[:, 1]), count=3)
    left, right = max(30.0, LETTER * max(map(len, y_axis.labels)) + 14), _right(x_axis)
    along, up = Scale(x_axis, left, right), Scale(y_axis, bottom, top)
    parts = []
    for label, at in up.ticks():
        parts.append(line(left, at, right, at, "grid"))
        parts.append(text(label, left - 6, at, dy="0.35em", class_="tick end"))
    parts += [text(label, at, bottom + 14, class_="tick middle") for label, at in along.ticks()]
    parts.append(path(_dots(along(pairs[:, 0]), up(pairs[:, 1])), "dots s-k0"))
    parts.append(text(x_axis.title, (left + right) / 2, height - 6, class_="middle"))
    return parts, height


def _grid(place: Scale, top: float, bottom: float, below: float) -> list[str]:
    """Draw the vertical lines of a grid, with their labels so far below it."""
    parts = []
    for label, x in place.ticks():
        parts.append(line(x, top, x, bottom, "grid"))
        parts.append(text(label, x, bottom + below, class_="tick middle"))
    return parts


def _right(axis: Axis) -> float:
    """Return the right end of the axis of a panel, with room for half of its last label."""
    return PANEL - max(12.0, LETTER * len(axis.labels[-1]) / 2 + 3)


def _ends(values: np.ndarray) -> tuple[float, float]:
    return float(values.min()), float(values.max())


# ---- evidence ------------------------------------------------------------------------------------


def p_value_chart(p: np.ndarray) -> str:
    """Draw a histogram of p-values (m,), with what is expected where nothing is to be found."""
    bins = 20
    counts, edges = np.histogram(p, bins, range=(0, 1))
    expected = len(p) / bins
    axis = linear_axis("p-value", 0.0, 1.0)
    most = max(int(counts.max()), expected)
    frame = Frame(axis, linear_axis("number of features", 0.0, most, count=min(5, math.ceil(most))))
    hints = [
        f"{a:.2f} to {b:.2f}: {counted(int(count), 'feature')}"
        for a, b, count in zip(edges, edges[1:], counts)
    ]
    at = frame.y(expected)
    parts = [
        frame.draw(),
        *frame.bars(edges, counts, hints),
        line(frame.left, at, frame.right, at, "mark"),
        text("as many by chance", frame.right, at - 6, class_="mark-label end"),
    ]
    described = f"{counts[0]:,} of {counted(len(p), 'p-value')} are below {edges[1]:.2f}."
    return svg("p-values", "Distribution of the p-values", described, *parts)


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
    parts = [frame.draw()]
    if horizontal.low <= 0 <= horizontal.high:
        zero = frame.x(0.0)
        parts.append(line(zero, TOP, zero, frame.bottom, "grid strong"))
    parts.append(path(_dots(x[rest], y[rest]), "dots small s-quiet"))
    for j in first.tolist():
        hint = f"{names[j]}: {significant(float(changes[j]), 3)}, p = {significant(float(p[j]), 3)}"
        parts.append(dot(x[j], y[j], "dot", hint))
    parts += _point_names(x, y, names[:NAMED_GENES])
    described = f"The largest of {len(p):,} values is {height.max():.3g}."
    return svg("volcano", "Change and p-value", described, *parts, height=360.0)


def _dots(x: np.ndarray, y: np.ndarray) -> str:
    return "".join(f"M{brief(a)} {brief(b)}h0" for a, b in zip(x, y))


def _point_names(x: np.ndarray, y: np.ndarray, names: Iterable[str]) -> list[str]:
    """Write names beside points, where they do not collide and stay inside."""
    parts: list[str] = []
    places = Words(13)
    for a, b, name in zip(x.tolist(), y.tolist(), names):
        words = short(name, 14)
        width = CHARACTER * 0.75 * len(words)
        side, at, start = ("start", a + 7, a + 7)
        if a > WIDTH / 2:
            side, at, start = ("end", a - 7, a - 7 - width)
        if places.fit(start, start + width, b):
            parts.append(text(words, at, b, dy="0.35em", class_=f"point-name {side}"))
    return parts


def frequency_chart(names: Sequence[str], frequency: np.ndarray) -> str:
    """Draw how often each of the best features (b,) was selected, from 0 to 1."""
    longest = max(len(SELECTED), *(len(short(name)) for name in names))
    left, right, top, step = 18 + CHARACTER * longest, WIDTH - 30, 8.0, 17.0
    bottom = top + step * len(names)
    ticks = (0.0, 0.25, 0.5, 0.75, 1.0)
    place = Scale(Axis("", 0.0, 1.0, ticks, tuple(f"{t:.0%}" for t in ticks)), left, right)
    parts = _grid(place, top, bottom, 16)
    for i, (name, share) in enumerate(zip(names, frequency.tolist())):
        y = top + (i + 0.5) * step
        parts.append(named(name, left - 8, y))
        if not math.isnan(share):
            end = max(place(min(max(share, 0.0), 1.0)), left + 1)
            parts.append(rectangle(left, y - 5.5, end, y + 5.5, "bar", f"{name}: {share:.0%}"))
    parts.append(text(SELECTED, 2, bottom + 16, class_="start"))
    described = f"How often each of the {counted(len(names), 'best feature')} was selected."
    return svg("frequency", "Stability", described, *parts, height=bottom + 26)
