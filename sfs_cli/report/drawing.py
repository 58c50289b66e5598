"""How figures look, and how they become SVG in a page.

They are drawn by Matplotlib in light colors, of which the page has dark ones, too: each color is
one of `COLORS`, and in the page its name takes its place. Equal figures have equal bytes with the
same release of Matplotlib, whatever the reader's settings of it are.
"""

from __future__ import annotations

import logging
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from html import escape
from io import BytesIO
from threading import RLock
from typing import Any, NamedTuple, ParamSpec, TypeVar

import numpy as np
from markupsafe import Markup

P = ParamSpec("P")
T = TypeVar("T")
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
_TAG = re.compile(r"<[^>]*>")
_NAMED = {light: f"var(--{name})" for name, light in LIGHT.items()}
_LOOKS = re.compile("|".join(_NAMED))
_SHORTER = [
    (re.compile(pattern), shorter)
    for pattern, shorter in (
        (r"[ \n]+", " "),
        (" font-family: 'DejaVu Sans';", ""),
        ("'DejaVu Sans'", "system-ui, sans-serif"),
        (' clip-path="[^"]*"', ""),  # nothing is outside
        (r' transform="rotate\(-0 [^"]*"', ""),
        (r"M ([\d.]+) ([\d.]+) L ([\d.]+) \2 ", r"M\1 \2H\3"),
    )
]
_DIGITS = re.compile(r"(\.\d\d)\d+")
_POINTS = re.compile(r'<g([^>]*)>((?:<use [^>]*?( style="[^"]*")/>)+)</g>')
NO_XML = re.compile("[\0-\x1f\ud800-\udfff\ufffe\uffff]")


@contextmanager
def drawing(name: str = "") -> Iterator[None]:
    """Draw as all figures are drawn; `name` makes ids in SVG differ from those of other figures."""
    with quiet(), mpl.rc_context():
        mpl.rcdefaults()  # not those of the reader
        mpl.rcParams.update(SETTINGS | {"svg.hashsalt": f"sfs {name}"})
        yield


def drawn(draw: Callable[P, T]) -> Callable[P, T]:
    """Make a function draw as all figures are drawn."""

    @wraps(draw)
    def inside(*args: P.args, **kwargs: P.kwargs) -> T:
        with drawing():
            return draw(*args, **kwargs)

    return inside


Hints = tuple[Any, np.ndarray, Sequence[str]]
"""What is shown under the pointer: axes, points (p, 2) or corners of boxes (p, 2, 2) in their
units, and a text for each."""


@dataclass(frozen=True)
class Chart:
    """A figure with its words for screen readers."""

    name: str  # of its files
    title: str
    description: str
    figure: Any  # of Matplotlib
    hints: Sequence[Hints] = ()


class Figure(NamedTuple):
    """Charts with a heading and an explanation."""

    heading: str
    caption: str
    charts: Sequence[Chart]
    # ``side``, with the explanation beside it, ``wide``, or a ``grid`` of many charts
    shape: str = "side"


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
    """Return a chart as an SVG element of the page, whose colors and letters it has."""
    figure, name = chart.figure, chart.name
    text = saved(chart, "svg").decode()
    text = text[text.index('<g id="figure_1"') : text.rindex("</g>") + 4]  # after it are clips
    used = {*re.findall(r'"#(\w+)"', text)}

    def themed(tag: re.Match[str]) -> str:
        words = re.sub(r' id="([^"]+)"', lambda m: m[0] if m[1] in used else "", tag[0])
        for pattern, shorter in _SHORTER:
            words = pattern.sub(shorter, words)
        return _DIGITS.sub(r"\1", _LOOKS.sub(lambda color: _NAMED[color[0]], words))

    text = re.sub(r">\n\s*", ">", _TAG.sub(themed, text)).replace("<g/>", "")
    text = _POINTS.sub(_with_one_style, text).replace("xlink:href", "href")
    width, height = 72 * figure.get_size_inches()
    pieces = [
        f'<svg viewBox="0 0 {width:.2f} {height:.2f}" role="img" class="chart"'
        f' aria-labelledby="{name}-title" aria-describedby="{name}-desc">'
        f'<title id="{name}-title">{_clean(chart.title)}</title>'
        f'<desc id="{name}-desc">{_clean(chart.description)}</desc>{text}'
    ]
    for axes, boxes, hints in chart.hints:
        to_share = axes.transData + figure.transFigure.inverted()
        corners = to_share.transform(boxes.reshape(-1, 2)) * (width, height)
        corners = corners.reshape(-1, max(1, boxes.ndim - 1), 2)
        for (x0, y0), (x1, y1), hint in zip(corners.min(axis=1), corners.max(axis=1), hints):
            pad = 2.5 if x0 == x1 else 0.0  # of a point
            pieces.append(
                f'<rect class="hit" x="{x0 - pad:.1f}" y="{height - y1 - pad:.1f}" '
                f'width="{x1 - x0 + 2 * pad:.1f}" height="{y1 - y0 + 2 * pad:.1f}">'
                f"<title>{_clean(hint)}</title></rect>"
            )
    return Markup("".join([*pieces, "</svg>"]))


def _with_one_style(points: re.Match[str]) -> str:
    """Return the points of a line with the style that all have in one place."""
    return f"<g{points[1]}{points[3]}>{points[2].replace(points[3], '')}</g>"


def _clean(text: str) -> str:
    """Escape a text, with what XML cannot have replaced."""
    return escape(NO_XML.sub("\ufffd", text))
