"""The figures of a page, each a function of the facts that its part of the page has.

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
    Piece,
    drawing,
    mpl,
    sheet,
)
from sfs_cli.report.model import Part, significant

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
NAMED_GENES = 10
"""Features that the volcano plot names."""
DOTS = 60
"""Up to so many scores each has a dot."""
CLASSES = 8
"""Colors of classes; more classes differ by the shape of their points."""
SHAPES = "os^Dv"
EXPONENT = re.compile(r"e\+?(-?)0?")
GROUND = {"facecolor": LIGHT["paper"], "edgecolor": "none", "alpha": 0.75, "pad": 0.3}
"""That of words which may lie on points."""


def draw(part: Part) -> Chart:
    """Draw the figure of a part."""
    with drawing():
        return FIGURES[part.figure](**part.facts)


def without_glyph(charts: Sequence[Chart]) -> list[str]:
    """Return the letters of figures that their font lacks: pdf and png show boxes for them."""
    with drawing():
        font = mpl.font_manager.findfont(mpl.rcParams["font.family"][0])
    known = mpl.font_manager.get_font(font).get_charmap()
    texts = [text for chart in charts for text in chart.figure.findobj(mpl.text.Text)]
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


def placed(axes: Any, names: Sequence[str], points: np.ndarray, **how: Any) -> None:
    """Write names at points (k, 2), but none that would cover an earlier one or leave the figure.

    `how` has what all texts share, or a list of what each has.
    """
    texts = []
    for i, (name, point) in enumerate(zip(names, points)):
        own = {key: value[i] if isinstance(value, list) else value for key, value in how.items()}
        texts.append(axes.annotate(name, point, textcoords="offset points", bbox=GROUND, **own))
        texts[-1].set_in_layout(False)
    axes.figure.get_layout_engine().execute(axes.figure)
    taken: list[Any] = []
    for text in texts:
        box = text.get_window_extent()
        if box.count_overlaps(taken) or box.x0 < 0 or box.x1 > axes.figure.bbox.width:
            text.remove()
        else:
            taken.append(box)


def color(kind: int, letter: str = "k") -> str:
    """Return the color of a class, or of a level of the outcome (letter q)."""
    return LIGHT[
        "none" if kind < 0 else f"{letter}{kind % (CLASSES if letter == 'k' else OUTCOMES)}"
    ]


def dot(kind: int, letter: str = "k") -> dict[str, Any]:
    """Return how the points of a class look: it has a color and a shape."""
    return {
        "linestyle": "none",
        "marker": SHAPES[kind % len(SHAPES)] if letter == "k" and kind >= 0 else "o",
        "color": color(kind, letter),
        "markeredgecolor": LIGHT["paper" if letter == "k" else "quiet"],
        "markeredgewidth": 0.4,
    }


def legend(
    classes: Sequence[str], sizes: Sequence[int], width: float
) -> tuple[dict[str, Any], int]:
    """Return a legend of classes with their sizes, as arguments, and its number of rows.

    The last size is that of samples without a class.
    """
    named = [*enumerate(classes), *([(-1, "no label")] if sizes[-1] else [])]
    labels = [f"{short(name, LONGEST_CLASS)} ({sizes[k]:,})" for k, name in named]
    columns = max(1, int(width / (width_of(labels) + 20)))
    handles = [mpl.lines.Line2D([], [], markersize=4.5, **dot(k)) for k, _ in named]
    key = {"handles": handles, "labels": labels, "ncols": columns}
    return key | {"columnspacing": 1, "handlelength": 1.2}, -(-len(labels) // columns)


def scale(cax: Any, letter: str, count: int, ends: Sequence[float], words: str) -> None:
    """Draw a scale of colors between numbers into axes, with words beside it."""
    colors = mpl.colors.ListedColormap([LIGHT[f"{letter}{level}"] for level in range(count)])
    values = mpl.cm.ScalarMappable(mpl.colors.Normalize(vmin=ends[0], vmax=ends[1]), colors)
    bar = cax.figure.colorbar(values, cax=cax, orientation="horizontal")
    bar.outline.set_visible(False)
    cax.tick_params(size=0, pad=2)
    cax.set_xticks(ends, [number(float(f"{end:.4g}")) for end in ends])
    cax.text(1.04, 0.5, words, va="center", transform=cax.transAxes)


# ---- samples -------------------------------------------------------------------------------------


def heatmap(
    *,
    features: Sequence[str],
    ranks: Sequence[int],
    cells: Any,
    columns: Sequence[str],
    classes: Sequence[str],
    sizes: Sequence[int],
    codes: Sequence[int] | None,
    outcome: Sequence[float] | None,
    by_class: bool,
    described: str,
) -> Chart:
    """Draw `cells` (g, c): features in samples, or in `columns` of the means of neighbors.

    `codes` are the classes of the columns, or the levels of the outcome, which `outcome` has the
    ends of.
    """
    cells = np.asarray(cells, float)
    g, c = cells.shape
    digits = len(str(max(ranks)))
    names = [f"{short(n)}   {r:\u2007>{digits}}" for n, r in zip(features, ranks)]
    left = width_of(names) + 6
    step = (TWO - left - 2) / c
    kinds = np.zeros(c, int) if codes is None else np.asarray(codes)
    starts = np.flatnonzero(np.diff(kinds, prepend=-2)) if by_class else np.zeros(0, int)
    ends = np.append(starts[1:], c)
    labels = [short([*classes, "no label"][kinds[at]], LONGEST_CLASS) for at in starts]
    room = (ends - starts) * step
    flat = all(width_of([label]) + 3 <= wide for label, wide in zip(labels, room))
    shown = [flat or wide >= LETTERS for wide in room]
    bar = (BAR + 2) * (codes is not None)
    head = bar + 3 + (0 if not labels else LETTERS + 3 if flat else width_of(labels) + 5)
    named = not classes or (labels and all(shown))
    key, rows = ({}, 0) if named else legend(classes, sizes, TWO - left)
    foot = 24 + 10 * rows
    height = head + g * ROW + foot
    figure = sheet(TWO, height)
    axes = figure.add_axes((left / TWO, foot / height, c * step / TWO, g * ROW / height))
    axes.set(xlim=(0, c), ylim=(g, 0), xticks=[], facecolor=LIGHT[f"h{LEVELS}"])
    name_rows(axes, names, np.arange(g) + 0.5)
    axes.spines[:].set_visible(False)
    levels = np.clip(np.round(cells / LEVEL), -LEVELS, LEVELS).astype(int) + LEVELS
    tiles(axes, levels, 0.0, ROW, SEAM / step, {k: LIGHT[f"h{k}"] for k in {*range(11)} - {LEVELS}})
    top = -bar / ROW
    if codes is not None:
        letter = "k" if outcome is None else "q"
        colors = {kind: color(kind, letter) for kind in np.unique(kinds).tolist()}
        tiles(axes, kinds[None], top - 0.5 + BAR / 2 / ROW, BAR, SEAM / step, colors)
    for at, end, label, fits in zip(starts, ends, labels, shown):
        how = {"ha": "center", "va": "bottom", "rotation": 0 if flat else 90}
        axes.text((at + end) / 2, top - 2.5 / ROW, label if fits else "", **how)
    axes.vlines(starts[1:], top, g, LIGHT["paper"], linewidth=0.9)

    def cax(x: float, width: float) -> Any:
        return figure.add_axes(((left + x) / TWO, (foot - 12) / height, width / TWO, 5.5 / height))

    words = "standard deviations from the mean of the row"
    scale(cax(0, 90), "h", 2 * LEVELS + 1, (-LEVELS * LEVEL, LEVELS * LEVEL), words)
    if outcome is not None:
        scale(cax(275, 70), "q", OUTCOMES, outcome, "outcome")
    if key:
        figure.legend(**key, loc="lower left", bbox_to_anchor=(left / TWO, 0), borderaxespad=0)
    i, j = np.arange(g), np.arange(c)
    ranked = [f"{name}, rank {rank}" for name, rank in zip(features, ranks)]
    beside = axes, boxes(-left / step, i, 0, i + 1), ranked
    hints = [(axes, boxes(j, 0, j + 1, g), columns), beside]
    return Chart("heatmap", "The best features in the samples", described, figure, hints)


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


def plane(
    *,
    points: Any,
    titles: Sequence[str],
    hints: Sequence[str],
    classes: Sequence[str],
    sizes: Sequence[int],
    codes: Sequence[int] | None,
    outcome: Sequence[float] | None,
    described: str,
) -> Chart:
    """Draw samples as points (p, 2), with the names of classes at their centers.

    `hints` are the names of few. `codes` and `outcome` are as in `heatmap`.
    """
    points = np.asarray(points, float)
    kinds = np.zeros(len(points), int) if codes is None else np.asarray(codes)
    key, rows = legend(classes, sizes, ONE - 20) if classes else ({}, 0)
    height = 185.0 + 9 * rows + 30 * (outcome is not None)
    figure, axes = framed(titles[1], titles[0], height)
    # not to round numbers: eigenvectors reach 1; above is room for names
    axes.margins(0.04, 0.1, tight=True)
    letter = "k" if outcome is None else "q"
    for kind in np.unique(kinds).tolist():
        own = points[kinds == kind]
        axes.plot(*own.T, markersize=4.6 if hints else 3.0, **dot(kind, letter))
    if key:
        figure.legend(**key, loc="outside lower left")
        there = np.unique(kinds[kinds >= 0], return_counts=True)
        order = there[0][np.argsort(-there[1], kind="stable")]
        names = [short(classes[k], LONGEST_CLASS) for k in order]
        extent = np.ptp(points, axis=0)
        extent[extent == 0] = 1
        middles = np.array([center(points[kinds == k], extent) for k in order]).reshape(-1, 2)
        placed(axes, names, middles, xytext=(0, 5), ha="center", weight="bold")
    if outcome is not None:
        below = 26 / height
        figure.get_layout_engine().set(rect=(0, below, 1, 1 - below))
        cax = figure.add_axes((0.1, 0.55 * below, 0.4, 0.2 * below))
        scale(cax, "q", OUTCOMES, outcome, "outcome")
    shown = [(axes, points[: len(hints)], hints)]
    return Chart("plane", "The samples", described, figure, shown)


def center(own: np.ndarray, extent: np.ndarray) -> tuple[float, float]:
    """Return where a class has its name: above most of the points around the middle one."""
    # nearest to the medians, which may lie between the parts of a class
    middle = own[np.abs((own - np.median(own, axis=0)) / extent).sum(axis=1).argmin()]
    near = own[np.hypot(*((own - middle) / extent).T) <= 0.12]
    return middle[0], np.quantile(near[:, 1], 0.9)


def features(*, strips: Sequence[Mapping[str, Any]], classes: Sequence[str], xlabel: str) -> Chart:
    """Draw the values of features, each by class, or as points where `classes` are none.

    A strip has ``feature``, ``rank`` and ``groups`` of a class, its values and their median, or
    ``points`` (p, 2), whose first number is what `xlabel` says, and what is ``described``.
    """
    k = max(len(strip["groups"]) for strip in strips)
    inner = k * (15.0 if k < 5 else 11.0) or 52.0
    above, under = 16.0, 12.0 if k else 22.0
    across = min(len(strips), ACROSS)
    wide = (TWO - GAP * (ACROSS - 1)) / ACROSS
    high = above + inner + under
    width = across * (wide + GAP) - GAP
    height = -(-len(strips) // across) * (high + 4) - 4
    figure, pieces = sheet(width, height), []
    for i, strip in enumerate(strips):
        x, y = i % across * (wide + GAP), i // across * (high + 4)
        axes = figure.add_subplot()
        axes.tick_params(labelsize=SMALL, size=0, pad=2.5)
        axes.spines[:].set_visible(False)
        axes.grid(axis="x" if k else "y")
        numbered(axes, 5, 4)
        beside = [short(classes[code], NARROW) for code, *_ in strip["groups"]]
        if k:
            in_classes(axes, strip["groups"])
            name_rows(axes, beside, np.arange(k), size=SMALL, color=LIGHT["quiet"])
        else:
            points = np.asarray(strip["points"], float)
            axes.plot(*points.T, "o", color=color(0), markersize=2.9, mew=0, alpha=0.75)
            axes.set_xlabel(xlabel, size=SMALL, color=LIGHT["quiet"], labelpad=2)
        left = 6 + width_of(beside or [*map(number, axes.get_yticks())], SMALL)
        box = np.array((x + left, height - y - above - inner, wide - left - 12, inner))
        axes.set_position(box / (width, height, width, height))
        name = f"{strip['rank']}. {short(strip['feature'], 28)}"
        title = {"xytext": (-left, 8), "textcoords": "offset points", "weight": "bold"}
        axes.annotate(name, (0, 1), xycoords="axes fraction", annotation_clip=False, **title)
        medians = [
            f"{short(classes[code], LONGEST_CLASS)} {significant(median, 4)}"
            for code, _, median in strip["groups"]
        ]
        described = f"Medians: {', '.join(medians)}." if k else strip["described"]
        pieces.append(Piece(f"Values of {strip['feature']}", described, (x, y, wide, high)))
    words = f"Values of {', '.join(strip['feature'] for strip in strips)}."
    return Chart("features", "The best features, one by one", words, figure, pieces=pieces)


def in_classes(axes: Any, groups: Sequence[tuple[int, Sequence[float], float]]) -> None:
    """Draw values of a feature by class, with medians."""
    for row, (kind, values, median) in enumerate(groups):
        # spread by the golden ratio, which fills a strip evenly, and the same way each time
        aside = ((np.arange(len(values)) * 0.6180339887) % 1 - 0.5) * 0.62
        axes.plot(values, row + aside, "o", color=color(kind), markersize=2.9, mew=0, alpha=0.75)
        axes.plot([median] * 2, [row - 0.38, row + 0.38], color=LIGHT["ink"], linewidth=1.2)
    axes.set_ylim(len(groups) - 0.5, -0.5)


# ---- evidence ------------------------------------------------------------------------------------


def p_values(*, counts: Sequence[int]) -> Chart:
    """Draw a histogram of p-values, with what is expected where nothing is to be found."""
    edges, total = np.linspace(0, 1, len(counts) + 1), sum(counts)
    expected = total / len(counts)
    figure, axes = framed("number of features", "p-value")
    axes.yaxis.get_major_locator().set_params(integer=True)
    least = 0.008 * max(*counts, expected)  # of a single one is visible
    heights = [max(count, least) if count else 0 for count in counts]
    edge = {"edgecolor": LIGHT["paper"], "linewidth": 0.6}
    axes.bar(edges[:-1], heights, edges[1], align="edge", color=color(0), **edge)
    dashes = {"linewidth": 0.9, "dashes": (4, 3), "label": "as many by chance"}
    axes.axhline(expected, color=LIGHT["mark"], **dashes)
    axes.legend(loc="lower right", bbox_to_anchor=(1, 1), labelcolor=LIGHT["mark"])
    axes.set(xlim=(0, 1))
    hints = [
        f"{a:.2f} to {b:.2f}: {counted(k, 'feature')}" for a, b, k in zip(edges, edges[1:], counts)
    ]
    described = f"{counts[0]:,} of {counted(total, 'p-value')} are below {edges[1]:.2f}."
    bars = axes, boxes(edges[:-1], 0, edges[1:], heights), hints
    return Chart("p-values", "Distribution of the p-values", described, figure, [bars])


def volcano(
    *, best: Any, others: Any, names: Sequence[str], hints: Sequence[str], xlabel: str, m: int
) -> Chart:
    """Draw -log10 of p-values against changes, (k, 2) of the best features and of the others."""
    best, others = (np.asarray(points, float).reshape(-1, 2) for points in (best, others))
    figure, axes = framed("−log10 of the p-value", short(xlabel, 60), 175.0)
    axes.margins(x=0.03, tight=False)
    axes.plot(*others.T, "o", color=LIGHT["quiet"], markersize=1.8, mew=0, alpha=0.5)
    axes.plot(*best.T, markersize=4, **dot(0))
    axes.set_ylim(bottom=0)
    low, high = axes.get_xlim()
    if low <= 0 <= high:
        axes.axvline(0, color=LIGHT["quiet"], linewidth=0.6, dashes=(2, 3), zorder=0)
    left = (best[:, 0] > (low + high) / 2).tolist()
    how = {"xytext": [(-4 if each else 4, -2.5) for each in left], "size": SMALL}
    sides = ["right" if each else "left" for each in left]
    placed(axes, [short(name, 14) for name in names[:NAMED_GENES]], best, ha=sides, **how)
    largest = max(points[:, 1].max(initial=0) for points in (best, others))
    described = f"The largest of {m:,} values is {largest:.3g}."
    return Chart("volcano", "Change and p-value", described, figure, [(axes, best, hints)])


def score_curve(
    *, ranks: Sequence[int], scores: Sequence[float], log: bool, larger_is_better: bool
) -> Chart:
    """Draw scores against ranks, best first, on an axis of logarithms with `log`."""
    m, few = ranks[-1], len(ranks) <= DOTS
    better = "larger" if larger_is_better else "smaller"
    words = f"rank, 1 to {m:,} (logarithmic)" if log else "rank"
    figure, axes = framed(f"score ({better} is better)", words)
    style = {"color": color(0), "linewidth": 1.2, "marker": "o" if few else ""}
    axes.plot(ranks, scores, **style, markersize=4, markeredgecolor=LIGHT["paper"])
    if log:
        axes.set(xscale="log", xlim=(1, m))
        axes.xaxis.set_major_formatter(mpl.ticker.EngFormatter(sep=""))
        axes.minorticks_off()  # one line of marks in their place is quicker
        minor = [k * 10**power for power in range(len(str(m))) for k in range(2, 10)]
        minor = [value for value in minor if value < m]
        marks = {"linestyle": "none", "marker": 3, "markersize": 2, "mew": 0.6, "clip_on": False}
        bottom = {"color": LIGHT["quiet"], "transform": axes.get_xaxis_transform()}
        axes.plot(minor, [0] * len(minor), **marks, **bottom)
    else:
        axes.xaxis.get_major_locator().set_params(integer=True)
        axes.set_xlim(0.5, m + 0.5)
    hints = [f"rank {k}: {significant(s)}" for k, s in zip(ranks, scores) if few]
    at = np.column_stack([ranks, scores])[: len(hints)]
    described = f"{counted(m, 'score')} from {significant(scores[0])} to {significant(scores[-1])}."
    return Chart("score-curve", "Score against rank", described, figure, [(axes, at, hints)])


def bars(*, name: str, title: str, names: Sequence[str], shares: Sequence[float]) -> Chart:
    """Draw a share (k,), from 0 on, of each name."""
    figure, axes = framed("", "", 30 + 10.0 * len(names), grid="x")
    axes.barh(np.arange(len(names)), shares, 0.7, color=color(0))
    name_rows(axes, [short(each) for each in names], np.arange(len(names)))
    axes.set(ylim=(len(names) - 0.5, -0.5), xlim=(0, max(1.0, *shares)), xlabel=title)
    parts = [f"{each} {share:.3g}" for each, share in zip(names, shares)]
    return Chart(name, title, f"{'; '.join(parts)}.", figure)


def curves(*, measure: str, found: Mapping[str, Sequence[Sequence[float | None]]]) -> Chart:
    """Draw a measure of each list by its length, with intervals.

    A list has lengths, its measure, and the limits of an interval, None where there is none.
    Lengths are at equal distances. Lists differ by color and by the shape of their points.
    """
    of_lists = [np.array(curve, float) for curve in found.values()]
    lengths = np.unique(np.concatenate([curve[:, 0] for curve in of_lists]))
    figure, axes = framed(measure, "features", 145.0 + 9 * -(-len(found) // 2))
    hints: list[Any] = []
    for i, (name, curve) in enumerate(zip(found, of_lists)):
        k, value, low, high = curve.T
        x = np.searchsorted(lengths, k) + 0.3 * ((i + 0.5) / len(found) - 0.5)
        axes.vlines(x, low, high, color(i), alpha=0.5, linewidth=1.6)
        style = dot(i) | {"linestyle": "solid", "linewidth": 1.2, "markersize": 4.6}
        axes.plot(x, value, **style)
        texts = [f"{name}, {length:,.0f}: {v:.3f}" for length, v in zip(k, value)]
        hints.append((axes, np.column_stack([x, value]), texts))
    axes.set_xticks(range(len(lengths)), [f"{k:,.0f}" for k in lengths])
    axes.set_xlim(-0.5, len(lengths) - 0.5)
    labels = [short(name, 34) for name in found]  # given so, for else those with a _ are left out
    figure.legend(axes.lines, labels, loc="outside lower left", ncols=2)
    described = f"{measure} of {'; '.join(found)}."
    return Chart("curves", f"{measure} by length", described, figure, hints)


FIGURES: Mapping[str, Any] = {
    "heatmap": heatmap,
    "features": features,
    "plane": plane,
    "p-values": p_values,
    "volcano": volcano,
    "score-curve": score_curve,
    "bars": bars,
    "curves": curves,
}
"""What draws each figure that a part of a page can have."""
