"""The charts of genes: well-formed, true to the numbers, small for many samples, harmless."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from sfs_cli.report import gene_charts as charts
from sfs_cli.report.model import Heatmap, Plane, SampleNotes, Strip
from tests.unit.report.conftest import HOSTILE, assert_named, with_class


def notes(n: int, classes: int = 0, *, names: list[str] | None = None) -> SampleNotes:
    if not classes:
        return SampleNotes(n=n)
    names = names or [f"class {k}" for k in range(classes)]
    return SampleNotes(n=n, classes=names, codes=np.arange(n) % classes, used=True)


def heatmap(known: SampleNotes, g: int, c: int, *, by_class: bool = True) -> Heatmap:
    sizes = np.full(c, known.n // c)
    sizes[0] += known.n - sizes.sum()
    codes = None if known.codes is None else np.sort(np.arange(c) % len(known.classes))
    return Heatmap(
        features=[f"GENE{i}" for i in range(g)],
        ranks=list(range(1, g + 1)),
        cells=np.random.default_rng(3).normal(size=(g, c)),
        sizes=sizes,
        codes=codes,
        outcome=None,
        samples=[f"s{j}" for j in range(c)] if c == known.n else None,
        ordered="in some order",
        by_class=by_class and codes is not None,
    )


def plane(known: SampleNotes, count: int, *, named: bool = True) -> Plane:
    return Plane(
        points=np.random.default_rng(4).normal(size=(count, 2)),
        codes=None if known.codes is None else known.codes[:count],
        outcome=None if known.outcome is None else known.outcome[:count],
        samples=[f"s{j}" for j in range(count)] if named else None,
        axes=("one", "two"),
        where="a plane",
        drawn="",
    )


@pytest.mark.parametrize(("n", "classes"), [(2, 0), (2, 2), (60, 3), (240, 30), (5, 1)])
def test_every_chart_is_well_formed_and_named(
    n: int, classes: int, rng: np.random.Generator
) -> None:
    known = notes(n, classes)
    groups = [(np.sort(rng.normal(size=4)), 0.1)] * max(1, classes)
    for chart in (
        charts.heatmap_chart(heatmap(known, 5, n), known),
        charts.plane_chart(plane(known, n), known),
        charts.strip_chart(Strip(feature="A", rank=1, groups=groups), known),
        charts.p_value_chart(rng.random(50)),
        charts.volcano_chart(rng.normal(size=50), rng.random(50), ["A", "B"], "b less a"),
    ):
        assert_named(chart)


@pytest.mark.parametrize("c", [1, 60])
def test_every_cell_has_the_color_of_its_value_once(c: int) -> None:
    found = heatmap(notes(c), 7, c)
    root = ET.fromstring(charts.heatmap_chart(found, notes(c)))
    (cells,) = (e for e in root.iter() if e.get("class") == "cells")
    shown = np.full((7, c), charts.LEVELS)  # the ground
    for path in cells.iter("path"):
        level = int(path.get("class", "")[1:])
        for x, y, width in re.findall(r"M(\d+) (\d+)h(\d+)v1h-\d+z", path.get("d", "")):
            part = shown[int(y), int(x) : int(x) + int(width)]
            assert (part == charts.LEVELS).all()
            part[:] = level
    expected = np.clip(np.round(found.cells / charts.LEVEL), -charts.LEVELS, charts.LEVELS)
    np.testing.assert_array_equal(shown, expected + charts.LEVELS)


def test_a_strip_draws_every_value_of_every_class_at_its_place() -> None:
    known = notes(9, 3)
    groups = [(np.array([0.0, 1.0]), 0.5), (np.array([2.0]), 2.0), (np.array([3.0, 4.0]), 3.5)]
    chart = charts.strip_chart(Strip(feature="A", rank=1, groups=groups), known)
    drawn = [
        [float(x) for x in re.findall(r"M([\d.]+) [\d.]+h0", e.get("d", ""))]
        for e in with_class(chart, "dots")
    ]
    assert [len(each) for each in drawn] == [2, 1, 2]
    (a, b), (c,), (d, e) = drawn
    assert np.allclose(np.diff([a, b, c, d, e]), b - a, atol=0.21)
    medians = [float(m.get("x1", "")) for m in with_class(chart, "median")]
    assert medians == pytest.approx([(a + b) / 2, c, (d + e) / 2], abs=0.2)


def test_the_bars_of_p_values_count_all_of_them_and_chance_is_marked(
    rng: np.random.Generator,
) -> None:
    chart = charts.p_value_chart(np.concatenate([rng.random(1000), np.zeros(300), [1.0]]))
    hints = [bar[0].text or "" for bar in with_class(chart, "bar")]
    assert sum(int(h.split(": ")[1].split()[0].replace(",", "")) for h in hints) == 1301
    assert len(with_class(chart, "mark")) == 1


def test_the_volcano_shows_the_best_by_name_and_thins_the_others(rng: np.random.Generator) -> None:
    m = 300_000
    p = np.sort(rng.random(m))
    p[0] = 0.0  # whose logarithm is infinite
    chart = charts.volcano_chart(rng.normal(size=m), p, [f"GENE{i}" for i in range(50)], "")
    hints = [e[0].text or "" for e in with_class(chart, "dot")]
    assert len(hints) == 50
    assert hints[3].startswith("GENE3: ")
    assert "GENE0" in [e.text for e in with_class(chart, "point-name")]
    assert len(chart) < 300_000


def test_many_cells_and_points_stay_small() -> None:
    known = notes(10_000, 30)
    assert len(charts.heatmap_chart(heatmap(known, 40, 240), known)) < 300_000
    assert len(charts.plane_chart(plane(known, 4000, named=False), known)) < 100_000


def test_hostile_names_add_no_element(rng: np.random.Generator) -> None:
    evil = ["x</title></svg><script>", 'a" onload="x', *HOSTILE]
    known = notes(14, 7, names=evil[:7])
    found = heatmap(known, 7, 14)
    named = Heatmap(**{**found.__dict__, "features": evil[:7], "samples": evil * 2})
    groups = [(np.array([1.0, 2.0]), 1.5)] * 7
    for chart in (
        charts.heatmap_chart(named, known),
        charts.plane_chart(plane(known, 14), known),
        charts.strip_chart(Strip(feature=evil[0], rank=1, groups=groups), known),
        charts.volcano_chart(rng.normal(size=9), rng.random(9), evil, evil[0]),
    ):
        tags = {e.tag for e in ET.fromstring(chart).iter()}
        assert tags <= {"svg", "title", "desc", "g", "path", "rect", "circle", "line", "text"}
        assert not [e for e in ET.fromstring(chart).iter() if "onload" in e.attrib]
