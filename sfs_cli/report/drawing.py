"""How figures look, and how they become SVG in a page.

They are drawn by Matplotlib in light colors, of which the page has dark ones, too: each color is
one of `COLORS`, and in the page its name takes its place. Equal figures have equal bytes with the
same release of Matplotlib, whatever the reader's settings of it are.
"""

from __future__ import annotations

import logging
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape
from io import BytesIO
from threading import RLock
from typing import Any, NamedTuple

import numpy as np
from markupsafe import Markup

_LOCK = RLock()


@contextmanager
def quiet() -> Iterator[None]:
    """Keep Matplotlib from telling that it builds its font cache, or where, or lacks a letter.

    The settings are those of the process, so one thread at a time is here.
    """
    log = logging.getLogger("matplotlib")
    with _LOCK, warnings.catch_warnings():
        level = log.level
        warnings.simplefilter("ignore")
        log.setLevel(logging.CRITICAL)
        try:
            yield
        finally:
            log.setLevel(level)


with quiet():
    import matplotlib as mpl
    import matplotlib.backends.backend_svg
    import matplotlib.figure

ONE, TWO = 89 / 25.4 * 72, 180 / 25.4 * 72
"""Points of one and of two columns of a journal."""
LETTERS, SMALL = 7.0, 6.5
"""Points of the letters of figures, and of those of single features."""
LEVELS, OUTCOMES = 5, 7
"""Colors above and below the mean in a heatmap, and of outcomes."""
COLORS = {
    "paper": ("#ffffff", "#15181c"),
    "ink": ("#1c2127", "#e4e7ea"),
    "quiet": ("#59636e", "#9aa4af"),
    "rule": ("#dde1e5", "#333a42"),
    "mark": ("#b84a00", "#f0a04b"),
    "none": ("#b4bac1", "#5b646e"),
    "k0": ("#0072b2", "#5aa9e6"),
    "k1": ("#e69f00", "#f0b13a"),
    "k2": ("#009e73", "#3dc79a"),
    "k3": ("#cc79a7", "#e39ac6"),
    "k4": ("#d55e00", "#f2793d"),
    "k5": ("#56b4e9", "#a5dcff"),
    "k6": ("#0a0a0a", "#f4f6f8"),  # Matplotlib writes no black
    "k7": ("#c2b000", "#f6ee7a"),
    "h0": ("#14437f", "#b5d9ff"),
    "h1": ("#2f6fb4", "#83bdf5"),
    "h2": ("#5f9bd0", "#5498dd"),
    "h3": ("#97c1e2", "#3a70ab"),
    "h4": ("#cfe1f0", "#2a4968"),
    "h5": ("#f3f4f4", "#22272d"),
    "h6": ("#fde2c4", "#57342a"),
    "h7": ("#f9bf85", "#8c4c32"),
    "h8": ("#ea9440", "#c66c3f"),
    "h9": ("#c2620e", "#ef9458"),
    "h10": ("#833c04", "#ffc79e"),
    "q0": ("#e3e6ec", "#2b3440"),
    "q1": ("#c3cfe2", "#35506e"),
    "q2": ("#9db6d6", "#3f6d9c"),
    "q3": ("#749bc7", "#4f8cc6"),
    "q4": ("#4c80b5", "#6dabe3"),
    "q5": ("#2b639b", "#98c9f5"),
    "q6": ("#124575", "#cbe5ff"),
}
"""Each color in light and in dark pages; the light ones differ.

Classes (k) have those of Okabe and Ito, of which the yellow is darker here, to be seen on white;
cells of a heatmap (h) have two ramps from the middle.
"""
LIGHT = {name: light for name, (light, _) in COLORS.items()}
SETTINGS = {
    "font.family": "DejaVu Sans",  # it comes with Matplotlib: figures are the same everywhere
    "font.size": LETTERS,
    **dict.fromkeys(("axes.titlesize", "axes.labelsize", "legend.fontsize"), LETTERS),
    **dict.fromkeys(("xtick.labelsize", "ytick.labelsize"), SMALL),
    **dict.fromkeys(("text.color", "axes.labelcolor", "axes.titlecolor"), LIGHT["ink"]),
    **dict.fromkeys(("xtick.color", "ytick.color", "axes.edgecolor"), LIGHT["quiet"]),
    **dict.fromkeys(("axes.spines.top", "axes.spines.left", "axes.spines.right"), False),
    **dict.fromkeys(("xtick.major.width", "xtick.minor.width", "axes.linewidth"), 0.6),
    "ytick.major.size": 0,
    "axes.facecolor": "none",
    "axes.titlelocation": "left",
    "axes.axisbelow": True,
    "axes.autolimit_mode": "round_numbers",
    "axes.xmargin": 0,
    "axes.ymargin": 0,
    "grid.color": LIGHT["rule"],
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "legend.borderpad": 0,
    "legend.handletextpad": 0.2,
    "text.parse_math": False,
    "svg.fonttype": "none",
    "pdf.fonttype": 42,
}
_NAMED = {light: f"var(--{name})" for name, light in LIGHT.items()}
_IN_TAGS = [
    (re.compile(pattern), shorter)
    for pattern, shorter in (
        (r"[ \n]+", " "),
        (r' id="(?!m[0-9a-f]{10}")[^"]*"', ""),  # but those of markers
        (" font-family: 'DejaVu Sans';", ""),
        ("'DejaVu Sans'", "system-ui, sans-serif"),
        (' clip-path="[^"]*"', ""),  # nothing is outside
        (r' transform="rotate\(-0 [^"]*"', ""),
        (r"M ([\d.]+) ([\d.]+) L ([\d.]+) \2 ", r"M\1 \2H\3"),
        (r"(\.\d\d)\d+", r"\1"),
        ("xlink:href", "href"),
        ("|".join(_NAMED), lambda color: _NAMED[color[0]]),
    )
]
"""What in the tags of Matplotlib's SVG is replaced by what: it becomes smaller, and as the page."""
_POINTS = re.compile(r'<g([^>]*)>((?:<use [^>]*?( style="[^"]*")/>)+)</g>')
NO_XML = re.compile("[\0-\x1f\ud800-\udfff\ufffe\uffff]")


@contextmanager
def drawing(name: str = "") -> Iterator[None]:
    """Draw as all figures are drawn; `name` makes ids in SVG differ from those of other figures."""
    with quiet(), mpl.rc_context():
        mpl.rcdefaults()  # not those of the reader
        mpl.rcParams.update(SETTINGS | {"svg.hashsalt": f"sfs {name}"})
        yield


class Piece(NamedTuple):
    """Axes of a figure that a page has as a chart of its own, and its words."""

    title: str
    description: str
    box: tuple[float, float, float, float]  # left, top, width and height, in points


@dataclass(frozen=True)
class Chart:
    """A figure with its words for screen readers."""

    name: str  # of its files
    title: str
    description: str
    figure: Any  # of Matplotlib
    # what is shown under the pointer: axes, points (p, 2) or corners of boxes (p, 2, 2) in their
    # units, and a text for each
    hints: Sequence[tuple[Any, np.ndarray, Sequence[str]]] = ()
    pieces: Sequence[Piece] = ()  # of each axes, in a page; without any it has the figure


def sheet(width: float, height: float, layout: Any = None) -> Any:
    """Return an empty figure of so many points."""
    figure = mpl.figure.Figure(figsize=(width / 72, height / 72), layout=layout)
    mpl.backends.backend_svg.FigureCanvasSVG(figure)
    return figure


def saved(chart: Chart, format: str, **how: Any) -> bytes:
    """Return the bytes of a file: of svg, pdf or png."""
    file = BytesIO()
    undated = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {"Software": None}}
    with drawing(chart.name):
        chart.figure.savefig(file, format=format, metadata=undated[format], **how)
    return file.getvalue()


def inline(chart: Chart) -> Markup:
    """Return a chart as SVG elements of the page, whose colors and letters they have."""
    text = saved(chart, "svg").decode()
    text = text[text.index('<g id="figure_1"') : text.rindex("</g>")]  # after it are clips
    first, *others = re.split('(?=<g id="axes_)', text)
    drawn = others if chart.pieces else [f"{first}{''.join(others)}</g>"]
    width, height = 72 * chart.figure.get_size_inches()
    whole = Piece(chart.title, chart.description, (0, 0, width, height))
    hits = "".join(_hits(chart, width, height))
    elements = []
    for i, (piece, axes) in enumerate(zip(chart.pieces or [whole], drawn), 1):
        name = f"{chart.name}-{i}"
        elements.append(
            f'<svg viewBox="{" ".join(f"{side:.2f}" for side in piece.box)}" role="img" '
            f'class="chart" aria-labelledby="{name}-title" aria-describedby="{name}-desc">'
            f'<title id="{name}-title">{_clean(piece.title)}</title>'
            f'<desc id="{name}-desc">{_clean(piece.description)}</desc>{_themed(axes)}{hits}</svg>'
        )
    return Markup("".join(elements))


def _themed(svg: str) -> str:
    """Return SVG of Matplotlib with the colors and the letters of the page."""

    def tag(found: re.Match[str]) -> str:
        words = found[0]
        for pattern, shorter in _IN_TAGS:
            words = pattern.sub(shorter, words)
        return words

    def with_one_style(points: re.Match[str]) -> str:
        return f"<g{points[1]}{points[3]}>{points[2].replace(points[3], '')}</g>"

    text = re.sub(r">\n\s*", ">", re.sub("<[^>]*>", tag, svg)).replace("<g/>", "")
    return _POINTS.sub(with_one_style, text)


def _hits(chart: Chart, width: float, height: float) -> Iterator[str]:
    """Yield what is under the pointer."""
    for axes, boxes, hints in chart.hints:
        to_share = axes.transData + chart.figure.transFigure.inverted()
        corners = to_share.transform(boxes.reshape(-1, 2)) * (width, height)
        corners = corners.reshape(-1, max(1, boxes.ndim - 1), 2)
        for (x0, y0), (x1, y1), hint in zip(corners.min(axis=1), corners.max(axis=1), hints):
            pad = 2.5 if x0 == x1 else 0.0  # of a point
            yield (
                f'<rect class="hit" x="{x0 - pad:.1f}" y="{height - y1 - pad:.1f}" '
                f'width="{x1 - x0 + 2 * pad:.1f}" height="{y1 - y0 + 2 * pad:.1f}">'
                f"<title>{_clean(hint)}</title></rect>"
            )


def _clean(text: str) -> str:
    """Escape a text, with what XML cannot have replaced."""
    return escape(NO_XML.sub("\ufffd", text))
