"""Figures: true to the numbers, the same bytes each time, harmless, and readable in every page."""

from __future__ import annotations

import logging
import re
import struct
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from sfs_cli.report import figures
from sfs_cli.report.drawing import COLORS, LIGHT, TWO, Chart, Figure, drawing, inline, mpl, quiet
from sfs_cli.report.model import Heatmap, Pictures, Plane, ReportData, SampleNotes, Strip, Table
from sfs_cli.report.page import figures_of, render
from sfs_cli.report.words import plane_caption
from tests.unit.report.conftest import HOSTILE

pytestmark = pytest.mark.figures

ODD = [
    *HOSTILE[:3],
    "_hidden",
    "$x$_{2}",
    "a" * 40,
    "x</title></svg><script>",
    'a" onload="x',
    "שלום",
    "😀\uffff",
]


def notes(n: int, classes: int = 0, names: list[str] | None = None) -> SampleNotes:
    if not classes:
        return SampleNotes(n=n)
    names = names or [f"class {k}" for k in range(classes)]
    return SampleNotes(n=n, classes=names, codes=np.arange(n) % classes, used=True)


def heatmap(known: SampleNotes, g: int, c: int, **changed: Any) -> Heatmap:
    codes = None if known.codes is None else np.sort(np.arange(c) % len(known.classes))
    found = Heatmap(
        features=[f"GENE{i}" for i in range(g)],
        ranks=list(range(1, g + 1)),
        cells=np.random.default_rng(3).normal(size=(g, c)),
        sizes=np.full(c, known.n // c),
        codes=codes,
        outcome=None if known.outcome is None else known.outcome[:c],
        samples=[f"s{j}" for j in range(c)] if c == known.n else None,
        ordered="in some order",
        by_class=codes is not None,
    )
    return replace(found, **changed)


def plane(known: SampleNotes, count: int, **changed: Any) -> Plane:
    found = Plane(
        points=np.random.default_rng(4).normal(size=(count, 2)),
        codes=None if known.codes is None else known.codes[:count],
        outcome=None if known.outcome is None else known.outcome[:count],
        samples=[f"s{j}" for j in range(count)],
        axes=("one", "two"),
        where="a plane",
        drawn="",
    )
    return replace(found, **changed)


def strips(*groups: list[float], name: str = "A", count: int = 1) -> list[Strip]:
    of = [(np.array(values), float(np.median(values))) for values in groups]
    return [Strip(feature=name, rank=i + 1, groups=of) for i in range(count)]


def lines(chart: Chart) -> list[Any]:
    return list(chart.figure.axes[0].lines)


def texts(chart: Chart) -> list[str]:
    return [text.get_text() for text in chart.figure.findobj(mpl.text.Text)]


OUTCOME = SampleNotes(n=6, outcome=np.array([1.0, np.nan, 3.0, 2.0, 5.0, 4.0]), used=True)


def drawn() -> np.random.Generator:
    return np.random.default_rng(1)


CASES: dict[str, Callable[[], Chart]] = {
    "heatmap": lambda: figures.heatmap(heatmap(notes(60, 3), 5, 60), notes(60, 3)),
    "heatmap of 30 classes": lambda: figures.heatmap(
        heatmap(notes(240, 30), 5, 240), notes(240, 30)
    ),
    "heatmap of no class": lambda: figures.heatmap(heatmap(notes(2), 1, 2), notes(2)),
    "heatmap of an outcome": lambda: figures.heatmap(heatmap(OUTCOME, 2, 6), OUTCOME),
    "plane": lambda: figures.plane(plane(notes(60, 3), 60), notes(60, 3)),
    "plane of one place": lambda: figures.plane(
        plane(notes(2, 2), 2, points=np.ones((2, 2))), notes(2, 2)
    ),
    "plane of an outcome": lambda: figures.plane(plane(OUTCOME, 6), OUTCOME),
    "strips": lambda: figures.features(strips([1.0, 2.0], [3.0], count=4), notes(3, 2)),
    "strip of huge values": lambda: figures.features(strips([1e9, 2e12], [-3e9]), notes(3, 2)),
    "strip of one value": lambda: figures.features(strips([7.0]), notes(1)),
    "strip of an outcome": lambda: figures.features(
        [Strip(feature="A", rank=1, pairs=np.array([[1.0, 2.0], [2.0, 2.0]]))], OUTCOME
    ),
    "p-values": lambda: figures.p_values(drawn().random(50)),
    "volcano": lambda: figures.volcano(
        drawn().normal(size=50), drawn().random(50), ["A", "B"], "b less a"
    ),
    "bars": lambda: figures.bars("sources", "weight", ["a", "b"], np.array([0.5, 2.0])),
    "curves": lambda: figures.curves(
        "accuracy", {"a": [(5, 0.5, 0.4, 0.6), (10, 0.6, np.nan, np.nan)]}
    ),
}
SCORES = {
    "one": [0.5],
    "three": [9e-300, 2e-300, 1e-300],
    "equal": [7.0] * 20,
    "zeros": [0.0] * 4,
    "huge": [1e300, 1.0, -1e300],
    "negative": [-1.0, -2.0, -3.0],
    "offset": np.linspace(1e6 + 1e-3, 1e6, 900),
    "last digits": 1.0 + np.arange(5)[::-1] * np.finfo(float).eps,
    "rising": np.arange(3000.0),
}
for name, scores in SCORES.items():
    CASES[f"scores: {name}"] = lambda s=scores: figures.score_curve(
        np.array(s), larger_is_better=True
    )


@pytest.mark.parametrize("case", CASES)
def test_every_figure_is_named_inside_its_frame_and_in_colors_of_the_page(case: str) -> None:
    svg = inline(CASES[case]())
    root = ElementTree.fromstring(svg)
    assert root.get("role") == "img"
    said = {child.get("id"): child.text for child in root if child.tag in ("title", "desc")}
    assert said[root.get("aria-labelledby")]
    assert said[root.get("aria-describedby")]
    ids = [each.attrib["id"] for each in root.iter() if "id" in each.attrib]
    assert len(ids) == len({*ids})
    assert not re.search(r"#[0-9a-f]{6}\b", re.sub('"#m', "", svg))
    assert {*re.findall(r"var\(--(\w+)\)", svg)} <= {*COLORS}
    width, height = map(float, root.attrib["viewBox"].split()[2:])
    for each in root.iter("text"):
        assert 0 <= float(each.get("x", 0)) <= width  # else it is turned
        assert 0 <= float(each.get("y", 0)) <= height


def test_colors_differ_and_so_do_classes_by_color_or_shape() -> None:
    assert len({*LIGHT.values()}) == len(COLORS)
    looks = [(figures.dot(k)["color"], figures.dot(k)["marker"]) for k in range(30)]
    assert len({*looks}) == 30


@pytest.mark.parametrize("c", [1, 60])
def test_every_cell_has_the_color_of_its_value_once(c: int) -> None:
    found = heatmap(notes(c), 7, c)
    axes = figures.heatmap(found, notes(c)).figure.axes[0]
    middle = figures.LEVELS
    shown = np.full((7, c), middle)
    levels = {LIGHT[f"h{k}"]: k for k in range(11)}
    for patch in axes.artists + axes.patches:
        ends = patch.get_path().vertices.reshape(-1, 2, 2)
        for (start, y), (end, _) in ends.tolist():
            part = shown[int(y), round(start) : round(end)]
            assert (part == middle).all()
            part[:] = levels[mpl.colors.to_hex(patch.get_edgecolor())]
    expected = np.clip(np.round(found.cells / figures.LEVEL), -middle, middle)
    np.testing.assert_array_equal(shown, expected + middle)


def test_the_heatmap_names_features_ranks_classes_and_samples() -> None:
    known = notes(6, 2, ["normal", "b" * 30])
    chart = figures.heatmap(heatmap(known, 2, 6, ranks=[2, 11]), known)
    assert {"normal", f"{'b' * 15}…"} <= {*texts(chart)}
    assert [w.split() for w in texts(chart) if "GENE" in w] == [["GENE0", "2"], ["GENE1", "11"]]
    (_, boxes, hints), (_, _, rows) = chart.hints
    assert hints[0] == "s0: normal"
    assert boxes[:, 0, 0].tolist() == [*range(6)]
    assert rows == ["GENE0, rank 2", "GENE1, rank 11"]


def test_a_strip_draws_every_value_of_every_class_and_the_medians() -> None:
    groups = [0.0, 1.0], [2.0], [3.0, 4.0]
    drawn = lines(figures.features(strips(*groups), notes(5, 3)))
    assert [line.get_xdata().tolist() for line in drawn[::2]] == [*groups]
    assert [line.get_xdata()[0] for line in drawn[1::2]] == [0.5, 2.0, 3.5]


def test_of_many_classes_a_strip_has_those_with_the_highest_medians() -> None:
    chart = figures.features(strips(*([float(k)] for k in range(30))), notes(30, 30))
    named = [word for word in texts(chart) if word.startswith("class ")]
    assert named == [f"class {k}" for k in range(29, 19, -1)]


def test_samples_without_an_outcome_are_drawn_in_the_color_of_none() -> None:
    chart = figures.plane(plane(OUTCOME, 6), OUTCOME)
    shown = {line.get_color(): len(line.get_xdata()) for line in lines(chart)}
    assert shown.pop(LIGHT["none"]) == 1
    assert sum(shown.values()) == 5


def test_the_plane_ends_near_its_points() -> None:
    """Eigenvectors reach 1: round limits beyond it would leave half of the plane empty."""
    points = np.column_stack([[-1.0, 1.0, 0.2], [1.0, -0.6, 0.0]])
    (axes,) = figures.plane(plane(notes(3), 3, points=points), notes(3)).figure.axes
    assert np.abs([*axes.get_xlim(), *axes.get_ylim()]).max() < 1.2


@pytest.mark.parametrize(
    ("known", "does"), [(OUTCOME, "follow the outcome"), (notes(9, 3), "separate the classes")]
)
def test_the_caption_of_the_plane_says_what_selected_features_do(
    known: SampleNotes, does: str
) -> None:
    found = plane(known, 6, where="the plane of the best features")
    assert f"they {does} better here" in plane_caption(found, replace(known, used=True))


def test_the_bars_of_p_values_count_all_of_them_and_chance_is_marked() -> None:
    p = np.concatenate([drawn().random(1000), np.zeros(300), [1.0]])
    chart = figures.p_values(p)
    hints = chart.hints[0][2]
    assert sum(int(h.split(": ")[1].split()[0].replace(",", "")) for h in hints) == 1301
    assert lines(chart)[0].get_ydata()[0] == pytest.approx(1301 / 20)


def test_the_volcano_shows_the_best_by_name_and_thins_the_others() -> None:
    m = 300_000
    p = np.sort(drawn().random(m))
    p[0] = 0.0  # whose logarithm is infinite
    chart = figures.volcano(drawn().normal(size=m), p, [f"GENE{i}" for i in range(50)], "")
    rest, best, _zero = lines(chart)
    assert len(best.get_xdata()) == len(chart.hints[0][2]) == 50
    assert 100 < len(rest.get_xdata()) < 10_000
    assert "GENE0" in texts(chart)
    assert len(inline(chart)) < 400_000


def test_the_curve_goes_through_its_scores_on_an_axis_of_ranks() -> None:
    for m in (4, 3000):
        scores = np.linspace(4, -1, m)
        chart = figures.score_curve(scores, larger_is_better=True)
        x, y = lines(chart)[0].get_data()
        assert np.allclose(y, scores[np.asarray(x) - 1])
        assert chart.figure.axes[0].get_xscale() == ("log" if m == 3000 else "linear")


@pytest.mark.parametrize(("log", "direction"), [(False, 1), (True, -1)])
def test_downsampling_keeps_ends_and_shape(log: bool, direction: int) -> None:
    m = 200_000
    x = np.arange(m)
    scores = direction * np.where(x < 777, 5 - x / 5000, np.exp(-x / 20_000))
    kept = figures.downsample(scores, log=log)
    assert {0, m - 1, 776, 777} <= set(kept.tolist())
    assert (np.diff(kept) > 0).all()
    assert len(kept) <= 610
    drawn = np.interp(np.log1p(x) if log else x, np.log1p(kept) if log else kept, scores[kept])
    assert np.abs(drawn - scores).max() < 0.01 * np.ptp(scores)


def test_names_that_are_markup_stay_text() -> None:
    known = notes(20, 10, ODD)
    for chart in (
        figures.heatmap(heatmap(known, 10, 20, features=ODD), known),
        figures.plane(plane(known, 20, samples=ODD * 2), known),
        figures.features(strips(*([1.0, 2.0] for _ in ODD), name=ODD[3]), known),
        figures.volcano(drawn().normal(size=20), drawn().random(20), ODD, ODD[0]),
        figures.curves("$m$", {name: [(5, 0.5, 0.4, 0.6)] for name in ODD}),
    ):
        assert any("_hidden" in word for word in texts(chart))
        root = ElementTree.fromstring(inline(chart))
        known_tags = {"svg", "title", "desc", "g", "defs", "path", "rect", "use", "text"}
        assert {each.tag for each in root.iter()} <= known_tags
        assert not [each for each in root.iter() if "onload" in each.attrib]
    root = ElementTree.fromstring(
        inline(figures.heatmap(heatmap(known, 10, 20, features=ODD), known))
    )
    shown = {"".join((each.text or "").split()) for each in root.iter("text")}
    assert {"$x$_{2}5", f"{'a' * 17}…6", "שלום9", "😀\ufffd10"} <= shown
    page = [Figure("", "", [figures.heatmap(heatmap(known, 10, 20, features=ODD), known)])]
    assert "遺" in figures.without_glyph(page)


@pytest.fixture
def all_figures(usual: ReportData) -> ReportData:
    known = notes(9, 3)
    pictures = Pictures(
        notes=known,
        heatmap=heatmap(known, 4, 9),
        plane=plane(known, 9),
        strips=strips([1.0], [2.0], [3.0, 4.0], count=5),
    )
    sources = Table(heading="", columns=("source", "weight"), rows=[("a", 0.25), ("b", 0.75)])
    top = [row | {"frequency": 0.5} for row in usual.top]
    return replace(usual, pictures=pictures, tables=[sources], top=top)


NAMES = ["heatmap", "features", "stability", "plane", "sources", "score-curve"]


def test_the_page_and_the_files_have_the_same_figures(all_figures: ReportData) -> None:
    drawn = figures_of(all_figures)
    assert [figure.charts[0].name for figure in drawn] == NAMES
    page = render(all_figures)
    for name in NAMES:
        assert f'id="{name.replace("features", "strip-1")}-title"' in page
    ids = re.findall(r' id="([^"]+)"', page)
    assert len(ids) == len({*ids})


def test_files_have_equal_bytes_whatever_the_settings(all_figures: ReportData) -> None:
    formats = ("svg", "pdf", "png")
    files = figures.figure_files(figures_of(all_figures)[:2], formats)
    assert [*files] == [f"{name}.{end}" for name in NAMES[:2] for end in formats]
    with mpl.rc_context({"font.size": 30, "axes.grid": True, "figure.dpi": 50}):
        again = figures.figure_files(figures_of(all_figures)[:2], formats)
    assert files == again
    pdf, png = files["heatmap.pdf"], files["heatmap.png"]
    assert b"/FontFile2" in pdf  # the font is in it, as TrueType
    assert b"/Type3" not in pdf
    assert not re.search(rb"Date", pdf)
    assert b"dc:date" not in files["heatmap.svg"]
    assert b">GENE0 " in files["heatmap.svg"]
    width, _ = struct.unpack(">II", png[16:24])
    assert width == pytest.approx(TWO / 72 * 300, abs=1)
    at = png.index(b"pHYs") + 4
    assert struct.unpack(">II", png[at : at + 8]) == (round(300 / 0.0254),) * 2


def test_nothing_of_matplotlib_is_told(capfd: pytest.CaptureFixture[str]) -> None:
    """As that it builds its font cache; its own settings are back afterwards."""
    log, before = logging.getLogger("matplotlib"), logging.getLogger("matplotlib").level
    size = mpl.rcParams["font.size"]
    with quiet(), drawing():
        logging.getLogger("matplotlib.font_manager").warning("building the font cache")
        warnings.warn("Glyph missing", stacklevel=1)
        assert mpl.rcParams["font.size"] == figures.LETTERS
    assert capfd.readouterr() == ("", "")
    assert log.level == before
    assert mpl.rcParams["font.size"] == size
