"""The figures of a page, each a function of what it shows.

Nothing in a figure depends on color alone. All are of the size that they have in a journal: of one
column (89 mm), or of two (180 mm), with letters of 6.5 and 7 points.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sfs_cli.errors import counted
from sfs_cli.report.drawing import (
    LETTERS,
    LEVELS,
    LIGHT,
    NO_XML,
    ONE,
    OUTCOMES,
    SMALL,
    TWO,
    Chart,
    Figure,
    Hints,
    drawn,
    mpl,
    saved,
    sheet,
)
from sfs_cli.report.model import Heatmap, Plane, SampleNotes, Strip
from sfs_cli.report.words import CLASSES, LOG_ABOVE, MOST_GROUPS, significant

LEVEL = 0.5
"""Standard deviations for each color of the heatmap."""
ROW, BAR = 8.7, 6.0
"""Points of a row of the heatmap, and of the bar of the classes."""
SEAM = 0.12
"""Points by which cells overlap: else viewers leave gaps."""
LONGEST, LONGEST_CLASS, NARROW = 18, 16, 14
"""Characters of names, of names of classes, and of these beside single features; longer ones are
cut."""
ACROSS, GAP = 3, 14.0
"""Single features side by side in a file, and points between them."""
NAMED_GENES, BARS = 10, 20
"""Features that the volcano plot names, and whose stability is drawn."""
SMALLEST, LARGEST = 1e-320, 1e300
"""Smaller p-values are drawn as this one; larger scores, and infinite ones, are not drawn."""
DOTS, POINTS = 60, 600
"""Up to so many scores each has a dot; points of a curve, for more cannot be distinguished."""
SHAPES = "os^Dv"
EXPONENT = re.compile(r"e\+?(-?)0?")
GROUND = {"facecolor": LIGHT["paper"], "edgecolor": "none", "alpha": 0.75, "pad": 0.3}
"""That of words which may lie on points."""


# ---- files ---------------------------------------------------------------------------------------


def figure_files(figures: Sequence[Figure], formats: Sequence[str]) -> dict[str, bytes]:
    """Return figures of a page as files.

    Parameters
    ----------
    figures : sequence of Figure
        Those of the page, each with one chart.
    formats : sequence of str
        ``svg``, ``pdf`` or ``png`` (300 dots per inch).

    Returns
    -------
    dict
        The contents of each file, by its name: that of the chart, such as ``heatmap.pdf``.
    """
    charts = [figure.charts[0] for figure in figures]
    return {f"{c.name}.{format}": saved(c, format, dpi=300) for c in charts for format in formats}


@drawn
def without_glyph(figures: Sequence[Figure]) -> list[str]:
    """Return the letters of figures that their font lacks: pdf and png show boxes for them."""
    font = mpl.font_manager.findfont(mpl.rcParams["font.family"][0])
    known = mpl.font_manager.get_font(font).get_charmap()
    texts = [t for figure in figures for t in figure.charts[0].figure.findobj(mpl.text.Text)]
    letters = {*"".join(text.get_text() for text in texts)}
    return sorted(letter for letter in letters if ord(letter) not in known)


# ---- what figures share --------------------------------------------------------------------------


def short(name: object, most: int = LONGEST) -> str:
    """Cut a name that is too long for a figure, with blanks and what XML cannot have replaced."""
    name = NO_XML.sub("\ufffd", " ".join(str(name).split()))
    return name if len(name) <= most else f"{name[: most - 1]}…"


def width_of(names: Sequence[str], size: float = LETTERS) -> float:
    """Return the width of the widest of some names, in points."""
    font = mpl.font_manager.FontProperties(size=size)
    measure = mpl.textpath.text_to_path.get_text_width_height_descent
    return max(measure(name, font, False)[0] for name in names)


def framed(title: str, xlabel: str, height: float = 140.0, grid: str = "y") -> tuple[Any, Any]:
    """Return a figure of one column, and its axes with a grid and a title above."""
    figure = sheet(ONE, height, "constrained")
    axes = figure.add_subplot(title=title, xlabel=xlabel)
    axes.grid(axis=grid)
    numbered(axes, 6, 6)
    return figure, axes


def numbered(axes: Any, x: int, y: int) -> None:
    """Let axes have round numbers, at most so many and one more."""
    for axis, most in ((axes.xaxis, x), (axes.yaxis, y)):
        axis.set_major_locator(mpl.ticker.MaxNLocator(most, steps=[1, 2, 5, 10]))
        axis.set_major_formatter(number)


def number(value: float, _position: int = 0) -> str:
    """Return the label of a tick, with an exponent where that is short, else with all digits."""
    brief, whole = f"{value:.6g}", f"{value:.13g}"
    if "e" not in brief or float(brief) != float(whole):
        brief = f"{value:,.13g}"
    return EXPONENT.sub(r"e\1", brief).replace("-", "−")


def boxes(*sides: Any) -> np.ndarray:
    """Return boxes (p, 2, 2) of their left and lower, right and upper sides, one or p of each."""
    return np.stack(np.broadcast_arrays(*sides), axis=-1).reshape(-1, 2, 2)


def name_rows(axes: Any, names: Sequence[str], at: np.ndarray, **how: Any) -> None:
    """Write names left of axes, at heights (k,), which takes less time than ticks."""
    axes.set_yticks([])
    for name, y in zip(names, at):
        left = {"xytext": (-2.5, 0), "textcoords": "offset points", "ha": "right", "va": "center"}
        axes.annotate(name, (0, y), xycoords=axes.get_yaxis_transform(), **left, **how)


def place(texts: Sequence[Any], figure: Any) -> None:
    """Leave out texts that would cover an earlier one, or leave the figure."""
    figure.get_layout_engine().execute(figure)
    taken: list[Any] = []
    for text in texts:
        box = text.get_window_extent()
        if box.count_overlaps(taken) or box.x0 < 0 or box.x1 > figure.bbox.width:
            text.remove()
        else:
            taken.append(box)


def color(kind: int, letter: str = "k") -> str:
    """Return the color of a class, or of a level of the outcome (letter q)."""
    return LIGHT[
        f"{letter}{kind % (CLASSES if letter == 'k' else OUTCOMES)}" if kind >= 0 else "none"
    ]


def class_name(notes: SampleNotes, code: int) -> str:
    """Name a class, or what is in none."""
    return notes.classes[code] if code >= 0 else "no label"


def kinds_of(found: Heatmap | Plane, n: int) -> tuple[np.ndarray, str]:
    """Return what n samples are drawn by, and the letter of its colors: k of classes, q of levels.

    It is -1 where there is no class or outcome.
    """
    if found.outcome is None:
        return np.zeros(n, int) if found.codes is None else found.codes, "k"
    known = np.isfinite(found.outcome)
    levels, numbers = np.full(n, -1), found.outcome[known]
    if len(numbers):
        share = (numbers - numbers.min()) / (np.ptp(numbers) or 1.0)
        levels[known] = np.minimum(share * OUTCOMES, OUTCOMES - 1)
    return levels, "q"


def dot(kind: int, letter: str = "k") -> dict[str, Any]:
    """Return how the points of a class look: it has a color and a shape."""
    return {
        "linestyle": "none",
        "marker": SHAPES[kind % len(SHAPES)] if letter == "k" and kind >= 0 else "o",
        "color": color(kind, letter),
        "markeredgecolor": LIGHT["paper" if letter == "k" else "quiet"],
        "markeredgewidth": 0.4,
    }


def legend(notes: SampleNotes, width: float) -> tuple[dict[str, Any], int]:
    """Return a legend of the classes with their sizes, as arguments, and its number of rows."""
    codes = np.asarray(notes.codes)
    none, *sizes = np.bincount(codes + 1, minlength=len(notes.classes) + 1).tolist()
    shown = [*enumerate(sizes), *([(-1, none)] if none else [])]
    labels = [f"{short(class_name(notes, k), LONGEST_CLASS)} ({size:,})" for k, size in shown]
    columns = max(1, int(width / (width_of(labels) + 20)))
    handles = [mpl.lines.Line2D([], [], markersize=4.5, **dot(k)) for k, _ in shown]
    key = {"handles": handles, "labels": labels, "ncols": columns}
    return key | {"columnspacing": 1, "handlelength": 1.2}, -(-len(labels) // columns)


def scale(cax: Any, letter: str, count: int, ends: tuple[float, float], words: str) -> None:
    """Draw a scale of colors between numbers into axes, with words beside it."""
    colors = mpl.colors.ListedColormap([LIGHT[f"{letter}{level}"] for level in range(count)])
    values = mpl.cm.ScalarMappable(mpl.colors.Normalize(*ends), colors)
    bar = cax.figure.colorbar(values, cax=cax, orientation="horizontal")
    bar.outline.set_visible(False)
    cax.tick_params(size=0, pad=2)
    cax.set_xticks(ends, [number(float(f"{end:.4g}")) for end in ends])
    cax.text(1.04, 0.5, words, va="center", transform=cax.transAxes)


def outcome_scale(cax: Any, notes: SampleNotes) -> None:
    """Draw the colors of the outcomes into axes."""
    outcome = np.asarray(notes.outcome)
    known = outcome[np.isfinite(outcome)]
    low, high = float(known.min()), float(known.max())
    scale(cax, "q", OUTCOMES, (low, high if high > low else low + 1), "outcome")


# ---- heatmap -------------------------------------------------------------------------------------


@drawn
def heatmap(found: Heatmap, notes: SampleNotes) -> Chart:
    """Draw the features in the samples; a column is a sample, or the mean of neighbors."""
    g, c = found.cells.shape
    digits = len(str(max(found.ranks)))
    names = [f"{short(n)}   {r:\u2007>{digits}}" for n, r in zip(found.features, found.ranks)]
    left = width_of(names) + 6
    step = (TWO - left - 2) / c
    kinds, letter = kinds_of(found, c)
    starts = np.flatnonzero(np.diff(kinds, prepend=-2)) if found.by_class else np.zeros(0, int)
    ends = np.append(starts[1:], c)
    labels = [short(class_name(notes, kinds[at]), LONGEST_CLASS) for at in starts]
    room = (ends - starts) * step
    flat = all(width_of([label]) + 3 <= wide for label, wide in zip(labels, room))
    shown = [flat or wide >= LETTERS for wide in room]
    drawn_by = found.codes is not None or found.outcome is not None
    bar = (BAR + 2) * drawn_by
    head = bar + 3 + (0 if not labels else LETTERS + 3 if flat else width_of(labels) + 5)
    named = found.codes is None or (labels and all(shown))
    key, rows = ({}, 0) if named else legend(notes, TWO - left)
    foot = 24 + 10 * rows
    height = head + g * ROW + foot
    figure = sheet(TWO, height)
    axes = figure.add_axes((left / TWO, foot / height, c * step / TWO, g * ROW / height))
    axes.set(xlim=(0, c), ylim=(g, 0), xticks=[], facecolor=LIGHT[f"h{LEVELS}"])
    name_rows(axes, names, np.arange(g) + 0.5)
    axes.spines[:].set_visible(False)
    levels = np.clip(np.round(found.cells / LEVEL), -LEVELS, LEVELS).astype(int) + LEVELS
    tiles(axes, levels, 0.0, ROW, SEAM / step, {k: LIGHT[f"h{k}"] for k in {*range(11)} - {LEVELS}})
    top = -bar / ROW
    if drawn_by:
        colors = {int(kind): color(int(kind), letter) for kind in np.unique(kinds)}
        tiles(axes, kinds[None], top - 0.5 + BAR / 2 / ROW, BAR, SEAM / step, colors)
    for at, end, label, fits in zip(starts, ends, labels, shown):
        how = {"ha": "center"} if flat else {"ha": "center", "rotation": 90}
        axes.text((at + end) / 2, top - 2.5 / ROW, label if fits else "", va="bottom", **how)
    axes.vlines(starts[1:], top, g, LIGHT["paper"], linewidth=0.9)
    line = (foot - 12) / height
    words = "standard deviations from the mean of the row"
    cax = figure.add_axes((left / TWO, line, 90 / TWO, 5.5 / height))
    scale(cax, "h", 2 * LEVELS + 1, (-LEVELS * LEVEL, LEVELS * LEVEL), words)
    if found.outcome is not None:
        cax = figure.add_axes(((left + 275) / TWO, line, 70 / TWO, 5.5 / height))
        outcome_scale(cax, notes)
    if key:
        figure.legend(**key, loc="lower left", bbox_to_anchor=(left / TWO, 0), borderaxespad=0)
    i, j = np.arange(g), np.arange(c)
    columns, beside = boxes(j, 0, j + 1, g), boxes(-left / step, i, 0, i + 1)
    ranked = [f"{name}, rank {rank}" for name, rank in zip(found.features, found.ranks)]
    what = "samples" if found.samples is not None else f"columns of {counted(notes.n, 'sample')}"
    return Chart(
        "heatmap",
        "The best features in the samples",
        f"Heatmap of {counted(g, 'feature')} in {c:,} {what}, ordered {found.ordered}.",
        figure,
        [(axes, columns, column_hints(found, notes)), (axes, beside, ranked)],
    )


def tiles(
    axes: Any, values: np.ndarray, y: float, height: float, seam: float, colors: Mapping[int, str]
) -> None:
    """Draw cells (g, c) in rows from `y` on, a path for each color: neighbors are one line."""
    edges = np.ones((len(values), values.shape[1] + 1), bool)
    edges[:, 1:-1] = values[:, 1:] != values[:, :-1]
    rows, starts = np.nonzero(edges[:, :-1])
    ends = np.nonzero(edges[:, 1:])[1] + 1
    for value, look in colors.items():
        at = values[rows, starts] == value
        if at.any():
            middle = rows[at] + y + 0.5
            lines = np.column_stack([starts[at], middle, ends[at] + seam, middle]).reshape(-1, 2)
            path = mpl.path.Path(lines, np.resize([1, 2], len(lines)))  # to, and on to
            how = {"linewidth": height + SEAM, "capstyle": "butt", "facecolor": "none"}
            axes.add_artist(mpl.patches.PathPatch(path, edgecolor=look, clip_on=False, **how))


def column_hints(found: Heatmap, notes: SampleNotes) -> list[str]:
    """Return what columns are: the sample of each, or how many there are."""
    ends = np.cumsum(found.sizes)
    hints = [f"samples {a + 1:,} to {b:,} in this order" for a, b in zip(ends - found.sizes, ends)]
    if found.samples is not None:
        hints = list(found.samples)
    if found.codes is None:
        return hints
    most = ["" if size == 1 else "most of them " for size in found.sizes]
    named = [class_name(notes, code) for code in found.codes]
    return [f"{hint}: {part}{name}" for hint, part, name in zip(hints, most, named)]


# ---- samples in a plane --------------------------------------------------------------------------


@drawn
def plane(found: Plane, notes: SampleNotes) -> Chart:
    """Draw the samples as points, with the names of classes at their centers."""
    n = len(found.points)
    kinds, letter = kinds_of(found, n)
    key, rows = ({}, 0) if found.codes is None else legend(notes, ONE - 20)
    height = 185.0 + 9 * rows + 30 * (found.outcome is not None)
    figure, axes = framed(found.axes[1], found.axes[0], height)
    # not to round numbers: eigenvectors reach 1; above is room for names
    axes.margins(0.04, 0.1, tight=True)
    for kind in np.unique(kinds).tolist():
        size = 4.6 if found.samples is not None else 3.0
        axes.plot(*found.points[kinds == kind].T, markersize=size, **dot(kind, letter))
    if key:
        figure.legend(**key, loc="outside lower left")
        place(centers(axes, found.points, kinds, notes), figure)
    if found.outcome is not None:
        below = 26 / height
        figure.get_layout_engine().set(rect=(0, below, 1, 1 - below))
        outcome_scale(figure.add_axes((0.1, 0.55 * below, 0.4, 0.2 * below)), notes)
    hints = list(found.samples or ())
    if found.codes is not None:
        hints = [f"{hint}: {class_name(notes, k)}" for hint, k in zip(hints, kinds)]
    if found.outcome is not None:
        hints = [f"{hint}: {significant(float(v), 4)}" for hint, v in zip(hints, found.outcome)]
    return Chart(
        "plane",
        "The samples",
        f"{counted(n, 'sample')} in {found.where}.",
        figure,
        [(axes, found.points[: len(hints)], hints)],
    )


def centers(axes: Any, points: np.ndarray, codes: np.ndarray, notes: SampleNotes) -> list[Any]:
    """Write the names of classes above the middle of their points; return the texts."""
    sizes = np.bincount(codes[codes >= 0], minlength=len(notes.classes))
    extent = np.ptp(points, axis=0)
    extent[extent == 0] = 1
    texts = []
    for code in np.argsort(-sizes, kind="stable")[: np.count_nonzero(sizes)].tolist():
        own = points[codes == code]
        # the point nearest to the medians, which may lie between the parts of a class
        away = np.abs((own - np.median(own, axis=0)) / extent).sum(axis=1)
        x, _ = middle = own[np.argmin(away)]
        # above most of the points around it, so that they are seen
        near = own[np.hypot(*((own - middle) / extent).T) <= 0.12]
        text = axes.annotate(
            short(notes.classes[code], LONGEST_CLASS),
            (x, np.quantile(near[:, 1], 0.9)),
            (0, 5),
            textcoords="offset points",
            ha="center",
            weight="bold",
            bbox=GROUND,
        )
        text.set_in_layout(False)
        texts.append(text)
    return texts


# ---- single features -----------------------------------------------------------------------------


@drawn
def features(strips: Sequence[Strip], notes: SampleNotes) -> Chart:
    """Draw the values of features, each by class, against the outcome, or sorted."""
    by_class = strips[0].pairs is None and notes.codes is not None
    k = min(len(strips[0].groups), MOST_GROUPS)
    inner = k * (15.0 if k < 5 else 11.0) if by_class else 52.0
    above, under = 16.0, 12.0 if by_class else 22.0
    across = min(len(strips), ACROSS)
    wide = (TWO - GAP * (ACROSS - 1)) / ACROSS
    high = above + inner + under
    width = across * (wide + GAP) - GAP
    height = -(-len(strips) // across) * (high + 4) - 4
    figure = sheet(width, height)
    for i, strip in enumerate(strips):
        x, y = i % across * (wide + GAP), height - i // across * (high + 4)
        axes = figure.add_subplot()
        figure.text(
            x / width, (y - 8) / height, f"{strip.rank}. {short(strip.feature, 28)}", weight="bold"
        )
        axes.tick_params(labelsize=SMALL, size=0, pad=2.5)
        axes.spines[:].set_visible(False)
        axes.grid(axis="x" if by_class else "y")
        numbered(axes, 5, 4)
        described = in_classes(axes, strip, notes) if by_class else as_points(axes, strip)
        beside = [short(name, NARROW) for name in notes.classes]
        left = 6 + width_of(beside if by_class else [*map(number, axes.get_yticks())], SMALL)
        box = np.array((x + left, y - above - inner, wide - left - 12, inner))
        axes.set_position(box / (width, height, width, height))
    one = strips[0]
    if len(strips) == 1:
        return Chart(f"strip-{one.rank}", f"Values of {one.feature}", described, figure)
    words = f"Values of {', '.join(strip.feature for strip in strips)}."
    return Chart("features", "The best features, one by one", words, figure)


def in_classes(axes: Any, found: Strip, notes: SampleNotes) -> str:
    """Draw values of a feature by class, with medians; return these in words."""
    shown = list(enumerate(found.groups))
    if len(shown) > MOST_GROUPS:
        shown = sorted(shown, key=lambda each: (-each[1][1], each[0]))[:MOST_GROUPS]
    for row, (k, (values, median)) in enumerate(shown):
        # spread by the golden ratio, which fills a strip evenly, and the same way each time
        aside = ((np.arange(len(values)) * 0.6180339887) % 1 - 0.5) * 0.62
        axes.plot(values, row + aside, "o", color=color(k), markersize=2.9, mew=0, alpha=0.75)
        axes.plot([median] * 2, [row - 0.38, row + 0.38], color=LIGHT["ink"], linewidth=1.2)
    names = [short(notes.classes[k], NARROW) for k, _ in shown]
    name_rows(axes, names, np.arange(len(shown)), size=SMALL, color=LIGHT["quiet"])
    axes.set_ylim(len(shown) - 0.5, -0.5)
    medians = [
        f"{short(c, LONGEST_CLASS)} {significant(m, 4)}"
        for c, (_, m) in zip(notes.classes, found.groups)
    ]
    return f"Medians: {', '.join(medians)}."


def as_points(axes: Any, found: Strip) -> str:
    """Draw values of a feature against the outcome, or sorted; return words about them."""
    pairs, title, described = found.pairs, "outcome", "Values against the outcome."
    if pairs is None:
        ((values, median),) = found.groups
        share = np.linspace(0, 100, len(values)) if len(values) > 1 else np.array([50.0])
        pairs, title = np.column_stack([share, values]), "samples in ascending order, %"
        described = f"Sorted values, median {significant(median, 4)}."
    axes.plot(*pairs.T, "o", color=color(0), markersize=2.9, mew=0, alpha=0.75)
    axes.set_xlabel(title, size=SMALL, color=LIGHT["quiet"], labelpad=2)
    return described


# ---- evidence ------------------------------------------------------------------------------------


@drawn
def p_values(p: np.ndarray) -> Chart:
    """Draw a histogram of p-values (m,), with what is expected where nothing is to be found."""
    counts, edges = np.histogram(p, 20, range=(0, 1))
    expected = len(p) / len(counts)
    figure, axes = framed("number of features", "p-value")
    axes.yaxis.get_major_locator().set_params(integer=True)
    most = max(counts.max(), expected)
    heights = np.where(counts, np.maximum(counts, 0.008 * most), 0)  # of a single one is visible
    edge = {"edgecolor": LIGHT["paper"], "linewidth": 0.6}
    axes.bar(edges[:-1], heights, 0.05, align="edge", color=color(0), **edge)
    axes.axhline(
        expected, color=LIGHT["mark"], linewidth=0.9, dashes=(4, 3), label="as many by chance"
    )
    axes.legend(loc="lower right", bbox_to_anchor=(1, 1), labelcolor=LIGHT["mark"])
    axes.set(xlim=(0, 1))
    bars = boxes(edges[:-1], 0, edges[1:], heights)
    hints = [
        f"{a:.2f} to {a + 0.05:.2f}: {counted(b, 'feature')}"
        for a, b in zip(edges, counts.tolist())
    ]
    return Chart(
        "p-values",
        "Distribution of the p-values",
        f"{counts[0]:,} of {counted(len(p), 'p-value')} are below {edges[1]:.2f}.",
        figure,
        [(axes, bars, hints)],
    )


@drawn
def volcano(changes: np.ndarray, p: np.ndarray, names: Sequence[str], title: str) -> Chart:
    """Draw -log10 of p-values (m,) against changes (m,); `names` are of the first ones.

    `title` is that of the axis of the changes.
    """
    height = -np.log10(np.maximum(p, SMALLEST))
    figure, axes = framed("−log10 of the p-value", short(title, 60), 175.0)
    first = min(len(names), len(p))
    # one point of each small square is enough: a million points become a few thousand
    points = np.column_stack([changes, height])
    squares = np.round(
        (points - points.min(axis=0)) / (np.ptp(points, axis=0) + 1e-300) * (190, 110)
    )
    _, kept = np.unique(squares[first:].astype(int), axis=0, return_index=True)
    axes.margins(x=0.03, tight=False)
    axes.plot(*points[first + kept].T, "o", color=LIGHT["quiet"], markersize=1.8, mew=0, alpha=0.5)
    axes.plot(*points[:first].T, markersize=4, **dot(0))
    axes.set_ylim(bottom=0)
    if axes.get_xlim()[0] <= 0 <= axes.get_xlim()[1]:
        axes.axvline(0, color=LIGHT["quiet"], linewidth=0.6, dashes=(2, 3), zorder=0)
    texts, middle = [], sum(axes.get_xlim()) / 2
    for point, name in zip(points, names[:NAMED_GENES]):
        away, ha = ((-4, -2.5), "right") if point[0] > middle else ((4, -2.5), "left")
        how = {"textcoords": "offset points", "ha": ha, "size": SMALL, "bbox": GROUND}
        texts.append(axes.annotate(short(name, 14), point, away, **how))
        texts[-1].set_in_layout(False)
    place(texts, figure)
    hints = [
        f"{name}: {significant(float(change), 3)}, p = {significant(float(value), 3)}"
        for name, change, value in zip(names, changes, p)
    ]
    described = f"The largest of {len(p):,} values is {height.max():.3g}."
    of_best = axes, points[:first], hints
    return Chart("volcano", "Change and p-value", described, figure, [of_best])


@drawn
def score_curve(scores: np.ndarray, *, larger_is_better: bool) -> Chart:
    """Draw finite scores, shape (m,), from best to worst against rank."""
    m = len(scores)
    log = m > LOG_ABOVE
    kept = downsample(scores, log=log)
    better = "larger" if larger_is_better else "smaller"
    words = f"rank, 1 to {m:,} (logarithmic)" if log else "rank"
    figure, axes = framed(f"score ({better} is better)", words)
    style = {"color": color(0), "linewidth": 1.2, "marker": "o" if m <= DOTS else ""}
    axes.plot(kept + 1, scores[kept], **style, markersize=4, markeredgecolor=LIGHT["paper"])
    if log:
        axes.set(xscale="log", xlim=(1, m))
        axes.xaxis.set_major_formatter(mpl.ticker.EngFormatter(sep=""))
        axes.minorticks_off()
        minor = [k * 10**power for power in range(len(str(m))) for k in range(2, 10)]
        minor = [value for value in minor if value < m]
        # of a mark downwards
        marks = {"marker": 3, "markersize": 2, "clip_on": False}
        bottom = {"color": LIGHT["quiet"], "transform": axes.get_xaxis_transform()}
        axes.plot(minor, [0] * len(minor), linestyle="none", mew=0.6, **marks, **bottom)
    else:
        axes.xaxis.get_major_locator().set_params(integer=True)
        axes.set_xlim(0.5, m + 0.5)
    shown = kept[: m if m <= DOTS else 0]
    at = np.column_stack([shown + 1, scores[shown]])
    hints = [f"rank {rank + 1}: {significant(scores[rank])}" for rank in shown]
    return Chart(
        "score-curve",
        "Score against rank",
        f"{counted(m, 'score')} from {significant(scores[0])} to {significant(scores[-1])}.",
        figure,
        [(axes, at, hints)],
    )


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


@drawn
def bars(name: str, title: str, names: Sequence[str], shares: np.ndarray) -> Chart:
    """Draw a share (k,), from 0 on, of each name."""
    figure, axes = framed("", "", 30 + 10.0 * len(names), grid="x")
    axes.barh(np.arange(len(names)), shares, 0.7, color=color(0))
    name_rows(axes, [short(each) for each in names], np.arange(len(names)))
    axes.set(ylim=(len(names) - 0.5, -0.5), xlim=(0, max(1.0, shares.max())), xlabel=title)
    parts = [f"{each} {share:.3g}" for each, share in zip(names, shares)]
    return Chart(name, title, f"{'; '.join(parts)}.", figure)


Curve = Sequence[tuple[int, float, float, float]]
"""Lengths of a list, its measure, and the limits of an interval, NaN where there is none."""


@drawn
def curves(measure: str, found: Mapping[str, Curve]) -> Chart:
    """Draw a measure of each list by its length, with intervals.

    Lengths are at equal distances. Lists differ by color and by the shape of their points.
    """
    lengths = sorted({k for curve in found.values() for k, *_ in curve})
    figure, axes = framed(measure, "features", 145.0 + 9 * -(-len(found) // 2))
    hints = list[Hints]()
    for i, (name, curve) in enumerate(found.items()):
        aside = 0.3 * ((i + 0.5) / len(found) - 0.5)
        x = np.array([lengths.index(k) + aside for k, *_ in curve])
        _, value, low, high = np.array(curve).T
        axes.vlines(x, low, high, color(i), alpha=0.5, linewidth=1.6)
        style = dot(i) | {"linestyle": "solid", "linewidth": 1.2, "markersize": 4.6}
        axes.plot(x, value, **style)
        texts = [f"{name}, {k:,}: {v:.3f}" for k, v, *_ in curve]
        hints.append((axes, np.column_stack([x, value]), texts))
    axes.set_xticks(range(len(lengths)), [f"{k:,}" for k in lengths])
    axes.set_xlim(-0.5, len(lengths) - 0.5)
    labels = [short(name, 34) for name in found]  # given so, for else those with a _ are left out
    figure.legend(axes.lines, labels, loc="outside lower left", ncols=2)
    return Chart(
        "curves", f"{measure} by length", f"{measure} of {'; '.join(found)}.", figure, hints
    )
