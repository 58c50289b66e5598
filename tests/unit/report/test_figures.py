"""Figures as files: what the charts of the page have, at the same places, with text as text."""

from __future__ import annotations

import re
import struct
import zlib
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

from sfs_cli.report.model import Heatmap, Pictures, Plane, ReportData, SampleNotes, Strip
from sfs_cli.report.page import Figure, figures_of

pytest.importorskip("matplotlib")


from sfs_cli.report import figures
from sfs_cli.report.charts import Drawing

SVG = "{http://www.w3.org/2000/svg}"
NAMES = ["heatmap", "features", "plane", "score-curve"]


@pytest.fixture
def drawn(usual: ReportData) -> list[Figure]:
    rng = np.random.default_rng(3)
    codes = np.arange(9) % 3
    notes = SampleNotes(n=9, classes=["a & b", "$x$", "c"], codes=codes, used=True)
    columns = np.sort(codes)
    heatmap = Heatmap(
        features=[f"g{i}" for i in range(4)],
        ranks=[1, 2, 3, 4],
        cells=rng.normal(size=(4, 9)),
        sizes=np.ones(9, int),
        codes=columns,
        outcome=None,
        samples=[f"s{i}" for i in range(9)],
        ordered="by class",
        by_class=True,
    )
    plane = Plane(
        points=rng.normal(size=(9, 2)),
        codes=codes,
        outcome=None,
        samples=[f"s{i}" for i in range(9)],
        axes=("one", "two"),
        where="a plane",
        drawn="",
    )
    groups = [(np.sort(rng.normal(size=3)), 0.0) for _ in range(3)]
    strips = [Strip(feature=f"g{i}", rank=i + 1, groups=groups) for i in range(5)]
    pictures = Pictures(notes=notes, heatmap=heatmap, plane=plane, strips=strips)
    return figures_of(replace(usual, pictures=pictures))


def words_of(root: ElementTree.Element, space: str = "") -> list[str]:
    found = []
    for text in root.iter(f"{space}text"):
        hint = text.find("title")
        whole = "".join(text.itertext())
        found.append(whole.removeprefix((hint.text or "") if hint is not None else ""))
    return sorted(found)


@pytest.mark.filterwarnings("ignore:Glyph")
def test_letters_without_a_glyph_and_those_that_xml_cannot_have() -> None:
    drawing = Drawing(width=90, height=40)
    drawing.text("naïve 細胞 α\uffff", 2.0, 20.0)
    shown = Figure("", "", drawing.svg("words", "", ""))
    assert figures.without_glyph([shown]) == ["細", "胞"]
    assert "細胞 α\ufffd".encode() in figures.figure_files([shown], ("svg",))["words.svg"]


def test_each_figure_is_a_file_of_each_format(drawn: list[Figure]) -> None:
    files = figures.figure_files(drawn[1:2], ("svg", "pdf", "png"))
    assert list(files) == [f"{name}.{end}" for name in NAMES[1:2] for end in ("svg", "pdf", "png")]
    again = figures.figure_files(drawn[1:2], ("png", "pdf", "svg"))
    assert files == again


def test_words_are_those_of_the_page_and_stay_text(drawn: list[Figure]) -> None:
    files = figures.figure_files(drawn, ("svg", "pdf"))
    for name, figure in zip(NAMES, drawn, strict=True):
        wanted = sorted(w for c in figure.charts for w in words_of(ElementTree.fromstring(str(c))))
        assert words_of(ElementTree.fromstring(files[f"{name}.svg"]), SVG) == wanted
        assert b"DejaVuSans" in files[f"{name}.pdf"]  # its font is in it, as TrueType
        assert b"/FontFile2" in files[f"{name}.pdf"]
        assert b"/Type3" not in files[f"{name}.pdf"]
        assert not re.search(rb"Date", files[f"{name}.pdf"])
        assert b"dc:date" not in files[f"{name}.svg"]


def test_a_png_has_300_dots_per_inch_and_two_columns_of_a_journal(drawn: list[Figure]) -> None:
    png = figures.figure_files(drawn[:1], ("png",))["heatmap.png"]
    width, _ = struct.unpack(">II", png[16:24])
    assert width == pytest.approx(180 / 25.4 * 300, abs=1)
    at = png.index(b"pHYs") + 4
    dots, _, unit = struct.unpack(">IIB", png[at : at + 9])
    assert (dots, unit) == (round(300 / 0.0254), 1)
    assert zlib.crc32(png[at - 4 : at + 9]) == struct.unpack(">I", png[at + 9 : at + 13])[0]
    assert b"Software" not in png
