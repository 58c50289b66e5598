"""The charts of a page as files for publications: PDF, SVG and PNG, drawn by Matplotlib.

Nothing is computed or laid out again: each element of a chart of the page (`charts`, `gene_charts`)
is drawn at its place, with the colors, widths and letters that the style of the page on paper gives
its class. Text stays text, and equal charts have equal bytes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from io import BytesIO
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import numpy as np

from sfs_cli.report.gene_charts import WIDE
from sfs_cli.report.page import TEMPLATE, Figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

POINT = 180 / 25.4 * 72 / WIDE
"""Points of a unit of a chart: the heatmap fills two columns of a journal (180 mm), and the letters
of most charts, of 12 units, have 7 points."""
DOTS_PER_INCH = 300
ACROSS, GAP = 3, 20.0
"""Charts of single features side by side, and units between them."""
SEAM = 0.25
"""Points of the edge of heatmap cells, of their own color: else viewers leave gaps."""
DOT = 0.01
"""Length of a line whose round ends are a dot: without any, a PNG would not have it."""
FONT = "DejaVu Sans"
"""It comes with Matplotlib: figures are the same everywhere."""
PARAMETERS = {
    "svg.fonttype": "none",
    "svg.hashsalt": "sfs",
    "pdf.fonttype": 42,
    "font.family": FONT,
    "lines.scale_dashes": False,
    "text.parse_math": False,
    "path.snap": False,  # to whole dots, where short lines would vanish
}
_METADATA = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {"Software": None}}
SHAPES = {
    "path": "{d}",
    "line": "M{x1} {y1}L{x2} {y2}",
    "rect": "M{x} {y}h{width}v{height}h-{width}z",
    "polyline": "M{points}",
}
"""Each shape as a path; `format_map` fills in its attributes."""
_ENDS = {"start": "left", "middle": "center", "end": "right"}
_CAPS = {"round": "round", "square": "projecting"}
_NO_XML = re.compile("[\ud800-\udfff\ufffe\uffff]")
_NUMBER = re.compile(r"-?\d*\.?\d+")


def figure_files(figures: Sequence[Figure], formats: Sequence[str]) -> dict[str, bytes]:
    """Draw figures of a page, each in all formats.

    Parameters
    ----------
    figures : sequence of Figure
        Those of the page; the charts of one are arranged as its grid.
    formats : sequence of str
        ``svg``, ``pdf`` or ``png`` (300 dots per inch).

    Returns
    -------
    dict
        The contents of each file, by its name: that of the chart, such as ``heatmap.pdf``.
    """
    import matplotlib as mpl

    files = {}
    with mpl.rc_context():
        mpl.rcdefaults()  # not those of the reader
        mpl.rcParams.update(PARAMETERS)
        for figure in figures:
            charts = list(map(_parsed, figure.charts))
            name = charts[0].attrib["aria-labelledby"].removesuffix("-title")
            name = name.replace("strip-1", "features")
            for format in formats:
                files[f"{name}.{format}"] = _drawn(charts, format)
    return files


def without_glyph(figures: Sequence[Figure]) -> list[str]:
    """Return the letters of figures that their font lacks: pdf and png show boxes for them."""
    from matplotlib.font_manager import findfont, get_font

    known = get_font(findfont(FONT)).get_charmap()
    words = "".join(word for each in figures for c in each.charts for word in _parsed(c).itertext())
    return [letter for letter in sorted(set(words)) if ord(letter) not in known]


def _parsed(chart: str) -> ElementTree.Element:
    """Return a chart; characters that XML cannot have are replaced."""
    return ElementTree.fromstring(_NO_XML.sub("\ufffd", chart))


def _drawn(charts: Sequence[ElementTree.Element], format: str) -> bytes:
    """Return a file of charts, side by side where they are more than one."""
    from matplotlib.figure import Figure as Sheet

    sizes = np.array([_numbers(chart.attrib["viewBox"])[2:] for chart in charts])
    step = sizes.max(axis=0) + GAP
    across = min(len(charts), ACROSS)
    width, height = step * (across, -(-len(charts) // across)) - GAP
    sheet = Sheet(figsize=(width * POINT / 72, height * POINT / 72), facecolor="white")
    axes = sheet.add_axes((0, 0, 1, 1), xlim=(0, width), ylim=(height, 0))
    axes.set_axis_off()
    for i, chart in enumerate(charts):
        at = np.array([step * (i % across, i // across), (1.0, 1.0)])
        for element in chart:
            _draw(axes, element, chart.attrib["class"], at)
    file = BytesIO()
    sheet.savefig(file, format=format, dpi=DOTS_PER_INCH, metadata=_METADATA[format])
    return file.getvalue()


def _draw(axes: Axes, element: ElementTree.Element, page: str, at: np.ndarray) -> None:
    """Draw an element of a chart of the classes `page`, and what is in it.

    `at` are the shift and the factors of its positions.
    """
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    tag, of = element.tag, element.attrib
    if tag == "g":
        moved = np.reshape(_numbers(of["transform"]), (2, 2))
        for child in element:
            _draw(axes, child, page, np.array([at[0] + moved[0] * at[1], moved[1] * at[1]]))
    looks = look(f"{page} {of.get('class', '')} {tag}")
    if tag in ("g", "title", "desc") or looks["fill"] == "transparent":
        return
    if tag == "text":
        _write(axes, element, looks, at[0])
        return
    points, codes = _outline(tag, of)
    fill, edge = (_color(looks, name) for name in ("fill", "stroke"))
    width = float(looks.get("stroke-width", 1)) * POINT
    if at[1, 0] != 1:  # a cell
        edge, width = fill, SEAM
    dashes = [float(x) * POINT for x in looks.get("stroke-dasharray", "").split()]
    patch = PathPatch(
        Path(at[0] + points * at[1], codes),
        facecolor=fill,
        edgecolor=edge,
        linewidth=width,
        linestyle=(0.0, dashes) if dashes else "solid",
        joinstyle=looks.get("stroke-linejoin", "miter"),
        capstyle=_CAPS.get(looks.get("stroke-linecap", ""), "butt"),
    )
    axes.add_artist(patch)


def _write(
    axes: Axes, element: ElementTree.Element, looks: Mapping[str, str], corner: np.ndarray
) -> None:
    """Write the words of an element, on a light ground where they may lie on points."""
    of, size = element.attrib, float(looks["font-size"])
    turn = _numbers(of.get("transform", "0"))[0]
    shift = [0.0, float(of.get("dy", "0em")[:-2]) * size]
    x, y = corner + [float(of["x"]), float(of["y"])] + (shift[::-1] if turn else shift)
    hint = element.find("title")
    ground = {"facecolor": "white", "edgecolor": "none", "alpha": 0.75, "pad": 0.3}
    axes.text(
        x,
        y,
        (element.text if hint is None else hint.tail) or "",
        ha=_ENDS[looks.get("text-anchor", "start")],
        rotation=-turn,
        rotation_mode="anchor",
        fontsize=size * POINT,
        fontweight="bold" if "font-weight" in looks else "normal",
        color=_color(looks, "fill"),
        bbox=ground if "paint-order" in looks else None,
        zorder=1,
    )


def _outline(tag: str, of: dict[str, str]) -> tuple[np.ndarray, np.ndarray]:
    """Return the vertices of a shape (p, 2), and what Matplotlib calls the steps to them (p,)."""
    from matplotlib.path import Path

    if tag == "circle":
        circle = Path.circle((float(of["cx"]), float(of["cy"])), float(of["r"]))
        return np.asarray(circle.vertices), np.asarray(circle.codes)
    d = SHAPES[tag].format_map({"x": 0, "y": 0} | of)
    if tag == "polyline":
        d = d.replace(" ", "L")
    known = {"M": Path.MOVETO, "z": Path.CLOSEPOLY}
    points, codes, here = [], [], np.zeros(2)
    for step, text in re.findall(r"([A-Za-z])([^A-Za-z]*)", d):
        given = _numbers(text)
        if step in "hv":
            given = [given[0] or DOT, 0.0][:: 1 if step == "h" else -1]
        here = here + given if step in "lhv" else np.array(given or here)
        points.append(here)
        codes.append(known.get(step, Path.LINETO))
    return np.array(points), np.array(codes, np.uint8)


def _numbers(text: str) -> list[float]:
    return [float(number) for number in _NUMBER.findall(text)]


# ---- style ---------------------------------------------------------------------------------------


@cache
def rules() -> list[tuple[set[str], dict[str, str]]]:
    """Return the page's style of charts on light paper, in the order in which it is applied.

    They are the classes and tags that a rule is for, and what it declares.
    """
    css = TEMPLATE.environment.get_template("style.html.j2").render().partition("@media screen")
    rest = css[2].partition("* { box-sizing")[2].partition("@media (max-width")[0]
    values = dict(re.findall(r"(--[\w-]+): ([^;]+);", css[0]))
    found = re.findall(r"^(\.chart(?![\w-])[^{:,]*)\{([^}]*)\}", rest, re.M)
    # the more classes, the more a rule weighs; the later one of those that weigh the same
    found.sort(key=lambda rule: rule[0].count("."))
    return [
        (
            set(selector.replace(".", " ").split()),
            {
                name: values.get(value[4:-1], value.removesuffix("px"))  # var(--ink)
                for name, value in re.findall(r"([\w-]+): ([^;]+);", body)
            },
        )
        for selector, body in found
    ]


@cache
def look(names: str) -> dict[str, str]:
    """Return what the style says of an element: of its tag, its classes and those of its chart."""
    looks = {"fill": "#000000", "stroke": "none"}
    for of, declared in rules():
        if of <= set(names.split()):
            looks |= declared
    return looks


def _color(looks: Mapping[str, str], name: str) -> Any:
    """Return a color as Matplotlib takes it."""
    opacity = looks.get(f"{name}-opacity")
    return looks[name] if opacity is None else (looks[name], float(opacity))
