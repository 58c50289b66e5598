"""Figures: true to the numbers, the same bytes each time, harmless, and readable in every page."""

from __future__ import annotations

import logging
import re
import struct
import warnings
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from sfs_cli.report import figures
from sfs_cli.report.drawing import COLORS, LIGHT, TWO, Chart, drawing, inline, mpl, quiet, saved
from sfs_cli.report.figures import draw
from sfs_cli.report.model import Page, Part
from sfs_cli.report.page import render
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


def drawn(figure: str, **facts: Any) -> Chart:
    return draw(Part(heading="", figure=figure, facts=facts))


def looks(n: int, classes: int = 0, names: list[str] | None = None) -> dict[str, Any]:
    names = names or [f"class {k}" for k in range(classes)]
    codes = np.sort(np.arange(n) % classes) if classes else None
    return {"classes": names, "sizes": [9] * classes + [0], "codes": codes, "outcome": None}


OUTCOME = {"classes": (), "sizes": None, "codes": [0, -1, 3, 2, 6, 5], "outcome": (1.0, 5.0)}


def heatmap(g: int, c: int, look: dict[str, Any], **changed: Any) -> dict[str, Any]:
    facts = {
        "features": [f"GENE{i}" for i in range(g)],
        "ranks": [*range(1, g + 1)],
        "cells": np.random.default_rng(3).normal(size=(g, c)),
        "columns": [f"s{j}" for j in range(c)],
        "by_class": bool(look["classes"]),
        "described": "a heatmap",
    }
    return {"figure": "heatmap", **facts, **look, **changed}


def plane(count: int, look: dict[str, Any], **changed: Any) -> dict[str, Any]:
    points = np.random.default_rng(4).normal(size=(count, 2))
    facts = {"points": points, "titles": ("one", "two"), "described": "a plane"}
    facts["hints"] = [f"s{j}" for j in range(count)]
    return {"figure": "plane", **facts, **look, **changed}


def strips(*groups: list[float], name: str = "A", count: int = 1, **changed: Any) -> dict[str, Any]:
    of = [(k, values, float(np.median(values))) for k, values in enumerate(groups)]
    strip = {"feature": name, "groups": of, "points": []}
    facts = {"strips": [strip | {"rank": i + 1} for i in range(count)], "xlabel": ""}
    facts["classes"] = [f"class {k}" for k in range(len(groups))]
    return {"figure": "features", **facts, **changed}


def along(points: list[list[float]]) -> dict[str, Any]:
    strip = {"feature": "A", "rank": 1, "groups": [], "points": points, "described": "Sorted."}
    return {"figure": "features", "strips": [strip], "classes": [], "xlabel": "outcome"}


def volcano(m: int, names: list[str], xlabel: str = "b less a") -> dict[str, Any]:
    points = np.abs(np.random.default_rng(1).normal(size=(m, 2)))
    k = len(names)
    facts = {"best": points[:k], "others": points[k:], "names": names, "hints": names}
    return {"figure": "volcano", **facts, "xlabel": xlabel, "m": m}


def scores(*values: float, log: bool = False) -> dict[str, Any]:
    facts = {"ranks": [*range(1, len(values) + 1)], "scores": values, "log": log}
    return {"figure": "score-curve", **facts, "larger_is_better": True}


def lines(chart: Chart) -> list[Any]:
    return list(chart.figure.axes[0].lines)


def texts(chart: Chart) -> list[str]:
    return [text.get_text() for text in chart.figure.findobj(mpl.text.Text)]


CASES: dict[str, dict[str, Any]] = {
    "heatmap": heatmap(5, 60, looks(60, 3)),
    "heatmap of 30 classes": heatmap(5, 240, looks(240, 30)),
    "heatmap of no class": heatmap(1, 2, looks(2)),
    "heatmap of an outcome": heatmap(2, 6, OUTCOME),
    "plane": plane(60, looks(60, 3)),
    "plane of one place": plane(2, looks(2, 2), points=np.ones((2, 2))),
    "plane of an outcome": plane(6, OUTCOME),
    "strips": strips([1.0, 2.0], [3.0], count=4),
    "strip of huge values": strips([1e9, 2e12], [-3e9]),
    "strip of one point": along([[50.0, 7.0]]),
    "strip of an outcome": along([[1.0, 2.0], [2.0, 2.0]]),
    "p-values": {"figure": "p-values", "counts": [30, *range(19)]},
    "volcano": volcano(50, ["A", "B"]),
    "bars": {"figure": "bars", "name": "a", "title": "b", "names": "ab", "shares": [0.5, 2.0]},
    "curves": {
        "figure": "curves",
        "measure": "accuracy",
        "found": {"a": [(5, 0.5, 0.4, 0.6), (10, 0.6, None, None)]},
    },
    "one score": scores(0.5),
    "three scores": scores(9e-300, 2e-300, 1e-300),
    "equal scores": scores(*[7.0] * 20),
    "zero scores": scores(*[0.0] * 4),
    "huge scores": scores(1e300, 1.0, -1e300),
    "offset scores": scores(*np.linspace(1e6 + 1e-3, 1e6, 900)),
    "last digits": scores(*(1.0 + np.arange(5)[::-1] * np.finfo(float).eps)),
    "many scores": scores(*np.arange(3000.0), log=True),
}


@pytest.mark.parametrize("case", CASES)
def test_every_figure_is_named_inside_its_frame_and_in_colors_of_the_page(case: str) -> None:
    svg = str(inline(drawn(**CASES[case])))
    root = ElementTree.fromstring(svg.split("</svg>")[0] + "</svg>")
    assert root.get("role") == "img"
    said = {child.get("id"): child.text for child in root if child.tag in ("title", "desc")}
    assert said[root.get("aria-labelledby")]
    assert said[root.get("aria-describedby")]
    ids = [each.attrib["id"] for each in root.iter() if "id" in each.attrib]
    assert len(ids) == len({*ids})
    assert not re.search(r"#[0-9a-f]{6}\b", re.sub('"#m', "", svg))
    assert {*re.findall(r"var\(--(\w+)\)", svg)} <= {*COLORS}
    _, _, width, height = map(float, root.attrib["viewBox"].split())
    for each in root.iter("text"):
        assert 0 <= float(each.get("x", 0)) <= width  # else it is turned
        assert 0 <= float(each.get("y", 0)) <= height


def test_colors_differ_and_so_do_classes_by_color_or_shape() -> None:
    assert len({*LIGHT.values()}) == len(COLORS)
    looks = [(figures.dot(k)["color"], figures.dot(k)["marker"]) for k in range(30)]
    assert len({*looks}) == 30


@pytest.mark.parametrize("c", [1, 60])
def test_every_cell_has_the_color_of_its_value_once(c: int) -> None:
    found = heatmap(7, c, looks(c))
    axes = drawn(**found).figure.axes[0]
    middle = figures.LEVELS
    shown = np.full((7, c), middle)
    levels = {LIGHT[f"h{k}"]: k for k in range(11)}
    for patch in axes.artists + axes.patches:
        ends = patch.get_path().vertices.reshape(-1, 2, 2)
        for (start, y), (end, _) in ends.tolist():
            part = shown[int(y), round(start) : round(end)]
            assert (part == middle).all()
            part[:] = levels[mpl.colors.to_hex(patch.get_edgecolor())]
    expected = np.clip(np.round(found["cells"] / figures.LEVEL), -middle, middle)
    np.testing.assert_array_equal(shown, expected + middle)


def test_the_heatmap_names_features_ranks_classes_and_samples() -> None:
    chart = drawn(**heatmap(2, 6, looks(6, 2, ["normal", "b" * 30]), ranks=[2, 11]))
    assert {"normal", f"{'b' * 15}…"} <= {*texts(chart)}
    assert [w.split() for w in texts(chart) if "GENE" in w] == [["GENE0", "2"], ["GENE1", "11"]]
    (_, boxes, hints), (_, _, rows) = chart.hints
    assert hints[0] == "s0"
    assert boxes[:, 0, 0].tolist() == [*range(6)]
    assert rows == ["GENE0, rank 2", "GENE1, rank 11"]


def test_a_strip_draws_every_value_of_every_class_and_the_medians() -> None:
    groups = [0.0, 1.0], [2.0], [3.0, 4.0]
    chart = drawn(**strips(*groups))
    assert [line.get_xdata().tolist() for line in lines(chart)[::2]] == [*groups]
    assert [line.get_xdata()[0] for line in lines(chart)[1::2]] == [0.5, 2.0, 3.5]
    assert "class 1 2.000" in chart.pieces[0].description


def test_a_page_has_each_strip_as_a_chart_of_its_own() -> None:
    chart = drawn(**strips([1.0, 2.0], [3.0], count=5))
    roots = [*ElementTree.fromstring(f"<p>{inline(chart)}</p>")]
    for i, root in enumerate(roots, 1):
        words = ["".join(each.itertext()) for each in root.iter("text")]
        assert f"{i}. A" in words
        assert {"class 0", "class 1"} <= {*words}
        x, y, width, height = map(float, root.attrib["viewBox"].split())
        for each in root.iter("text"):
            assert x - 0.01 <= float(each.attrib["x"]) <= x + width
            assert y <= float(each.attrib["y"]) <= y + height
    assert len(roots) == 5


def test_samples_without_an_outcome_are_drawn_in_the_color_of_none() -> None:
    shown = {line.get_color(): len(line.get_xdata()) for line in lines(drawn(**plane(6, OUTCOME)))}
    assert shown.pop(LIGHT["none"]) == 1
    assert sum(shown.values()) == 5


def test_the_plane_ends_near_its_points() -> None:
    """Eigenvectors reach 1: round limits beyond it would leave half of the plane empty."""
    points = np.column_stack([[-1.0, 1.0, 0.2], [1.0, -0.6, 0.0]])
    (axes,) = drawn(**plane(3, looks(3), points=points)).figure.axes
    assert np.abs([*axes.get_xlim(), *axes.get_ylim()]).max() < 1.2


def test_chance_is_marked_in_the_bars_of_p_values() -> None:
    chart = drawn("p-values", counts=[1281, *[0] * 18, 20])
    assert lines(chart)[0].get_ydata()[0] == pytest.approx(1301 / 20)
    assert chart.hints[0][2][0] == "0.00 to 0.05: 1,281 features"


def test_the_volcano_shows_the_best_by_name() -> None:
    chart = drawn(**volcano(300, [f"GENE{i}" for i in range(50)]))
    rest, best, _zero = lines(chart)
    assert len(best.get_xdata()) == len(chart.hints[0][2]) == 50
    assert len(rest.get_xdata()) == 250
    assert "GENE0" in texts(chart)


def test_names_that_are_markup_stay_text() -> None:
    found = heatmap(10, 20, looks(20, 10, ODD), features=ODD)
    for facts in (
        found,
        plane(20, looks(20, 10, ODD), hints=ODD * 2),
        strips(*([1.0, 2.0] for _ in ODD), name=ODD[3], classes=ODD),
        volcano(20, ODD, ODD[0]),
        {"figure": "curves", "measure": "$m$", "found": {n: [(5, 0.5, 0.4, 0.6)] for n in ODD}},
    ):
        chart = drawn(**facts)
        assert any("_hidden" in word for word in texts(chart))
        root = ElementTree.fromstring(inline(chart))
        known_tags = {"svg", "title", "desc", "g", "defs", "path", "rect", "use", "text"}
        assert {each.tag for each in root.iter()} <= known_tags
        assert not [each for each in root.iter() if "onload" in each.attrib]
    root = ElementTree.fromstring(inline(drawn(**found)))
    shown = {"".join((each.text or "").split()) for each in root.iter("text")}
    assert {"$x$_{2}5", f"{'a' * 17}…6", "שלום9", "😀\ufffd10"} <= shown
    assert "遺" in figures.without_glyph([drawn(**found)])


def test_ids_of_a_page_differ(usual: Page) -> None:
    facts = (heatmap(4, 9, looks(9, 3)), strips([1.0], [2.0], count=5), plane(9, looks(9, 3)))
    parts = [Part(heading="", figure=of.pop("figure"), facts=of) for of in map(dict, facts)]
    ids = re.findall(r' id="([^"]+)"', render(replace(usual, parts=[*parts, *usual.parts])))
    assert len(ids) == len({*ids})
    assert {"heatmap-1-title", "features-5-title", "score-curve-1-desc"} <= {*ids}


def test_files_have_equal_bytes_whatever_the_settings() -> None:
    def files() -> dict[str, bytes]:
        chart = drawn(**heatmap(4, 9, looks(9, 3)))
        return {format: saved(chart, format, dpi=300) for format in ("svg", "pdf", "png")}

    found = files()
    with mpl.rc_context({"font.size": 30, "axes.grid": True, "figure.dpi": 50}):
        assert found == files()
    assert b"/FontFile2" in found["pdf"]  # the font is in it, as TrueType
    assert b"/Type3" not in found["pdf"]
    assert not re.search(rb"Date", found["pdf"])
    assert b"dc:date" not in found["svg"]
    assert b">GENE0 " in found["svg"]
    width, _ = struct.unpack(">II", found["png"][16:24])
    assert width == pytest.approx(TWO / 72 * 300, abs=1)
    at = found["png"].index(b"pHYs") + 4
    assert struct.unpack(">II", found["png"][at : at + 8]) == (round(300 / 0.0254),) * 2


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
