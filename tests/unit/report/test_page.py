"""The page: well-formed, escaped, self-contained, the same bytes each time."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

from sfs_cli.report.model import ReportData, Table
from sfs_cli.report.page import linked, render

pytestmark = pytest.mark.figures

VOID = {"meta", "link", "br", "img", "input", "hr", "wbr"}
LOADS = {"src", "srcset", "action", "data", "poster", "xlink:href"}


class Page(HTMLParser):
    """Collects what a page holds, and fails on a tag that does not match."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[tuple[str, str]] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if data.strip():
            self.text.append((self.open[-1] if self.open else "", data.strip()))

    def words(self, tag: str) -> list[str]:
        return [text for holder, text in self.text if holder == tag]

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]


@pytest.mark.parametrize("name", ["usual", "hostile"])
def test_every_tag_is_closed_and_ids_are_unique(name: str, request: pytest.FixtureRequest) -> None:
    page = Page(render(request.getfixturevalue(name)))
    assert page.open == []
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(ids) == len(set(ids))


def test_hostile_text_adds_no_element_and_reaches_the_reader_unchanged(
    usual: ReportData, hostile: ReportData
) -> None:
    html = render(hostile)
    page = Page(html)
    assert len(page.all("script")) == len(Page(render(usual)).all("script")) == 1
    assert not page.all("b")
    shown = page.words("bdi")
    for row in hostile.top:
        assert row["feature"] in shown
    assert "7 * 7" in html
    assert not [a for _, a in page.tags if any(key.startswith("on") for key in a)]


def test_links_are_relative_or_to_a_doi(usual: ReportData, hostile: ReportData) -> None:
    targets = [a["href"] for a in Page(render(usual)).all("a")]
    assert targets == ["https://doi.org/10.1145/1273496.1273641", "ranking.tsv", "run.json"]
    for anchor in Page(render(hostile)).all("a"):
        assert not str(anchor["href"]).startswith("javascript:")


def test_nothing_is_loaded_from_elsewhere(usual: ReportData) -> None:
    html = render(usual)
    page = Page(html)
    assert all(not LOADS & set(attributes) for _, attributes in page.tags)
    assert [link["href"] for link in page.all("link")] == ["data:,"]
    assert set(re.findall(r"https?://[^/\"]*", html)) == {"https://doi.org"}
    assert "@import" not in html
    assert "url(" not in html


def test_the_table_aligns_numbers_and_keeps_six_digits(usual: ReportData) -> None:
    page = Page(render(usual))
    cells = [a for a in page.all("td") if a.get("data-key")]
    assert len(cells) == 50 * 3
    assert {a["class"] for a in cells} == {"number"}
    shown = page.words("td")
    assert f"{usual.scores[0]:#.6g}" in shown
    assert "1.00000e-60" in shown


def test_a_missing_value_is_a_dash_and_the_column_still_sorts_as_numbers(
    usual: ReportData,
) -> None:
    top = [dict(row) for row in usual.top]
    top[3]["p_value"] = None
    page = Page(render(replace(usual, top=top)))
    numbers = [a for a in page.all("td") if a.get("class") == "number" and "data-key" in a]
    assert [a["data-key"] for a in numbers].count("") == 1
    assert "–" in page.words("td")


def test_warnings_come_before_the_charts(usual: ReportData) -> None:
    html = render(replace(usual, warnings=["Five samples are identical."]))
    assert html.index("Five samples are identical.") < html.index("<svg")
    assert 'class="warnings"' not in render(usual)


@pytest.mark.parametrize(
    ("reference", "target"),
    [
        ("(https://doi.org/10.1016/S0092-8674(00)81683-9)", "10.1016/S0092-8674(00)81683-9"),
        ("DOI: 10.1093/bioinformatics/btab1, p. 3", "10.1093/bioinformatics/btab1"),
    ],
)
def test_a_doi_becomes_a_link(reference: str, target: str) -> None:
    assert f'<a href="https://doi.org/{target}">' in linked(reference)
    assert "<a" not in linked("Chapter 10.1 of the book")


def test_features_that_were_not_selected_are_not_said_to_have_failed(usual: ReportData) -> None:
    html = render(replace(usual, n_unscored=10, reasons={"not selected": 8, "constant": 2}))
    assert "8 features were not selected. 2 features could not be scored." in html


def test_genes_are_links_when_asked_for(usual: ReportData, hostile: ReportData) -> None:
    assert not [a for a in Page(render(usual)).all("a") if "GENE" in str(a["href"])]
    for kind, host in (("symbol", "www.genecards.org"), ("ensembl", "www.ensembl.org")):
        links = [str(a["href"]) for a in Page(render(replace(usual, gene_links=kind))).all("a")]
        genes = [link for link in links if link.endswith("GENE7")]
        assert len(genes) == 1
        assert genes[0].startswith(f"https://{host}/")
    page = Page(render(replace(hostile, gene_links="symbol")))
    links = [str(a["href"]) for a in page.all("a") if "genecards" in str(a["href"])]
    assert len(links) == len(hostile.top)
    assert not [link for link in links if re.search(r"[<>\"' ]", link)]
    assert len(page.all("script")) == 1


def test_names_from_right_to_left_do_not_turn_the_sentence(usual: ReportData) -> None:
    names = ["A", "שלום", "x\u202ey", "B"]
    top = [{"rank": i + 1, "feature": name, "score": 1.0} for i, name in enumerate(names)]
    (summary,) = (w for w in Page(render(replace(usual, top=top))).words("p") if "best" in w)
    assert "A, \u2068שלום\u2069, \u2068x\u202ey\u2069 and B" in summary


def test_tables_are_shown_with_their_digits(usual: ReportData) -> None:
    table = Table(
        heading="How far the lists agree",
        note="Between -1 and 1.",
        columns=["", "one", "two"],
        rows=[["one", 1.0, -0.25], ["two", None, float("nan")]],
        digits=3,
    )
    page = Page(render(replace(usual, tables=[table])))
    assert "How far the lists agree" in page.words("h2")
    assert "Between -1 and 1." in page.words("p")
    assert {"one", "two"} <= set(page.words("bdi"))
    shown = page.words("td")
    assert {"1.00", "-0.250"} <= set(shown)
    assert shown.count("–") == 2
    assert not [a for a in page.all("td") if "style" in a]


def test_infinite_scores_are_sorted_by_the_script(usual: ReportData) -> None:
    """Its numbers are those of JavaScript."""
    top = [row | {"score": s} for row, s in zip(usual.top, (np.inf, 2.5, -np.inf, np.nan))]
    page = render(replace(usual, top=top))
    keys = re.findall(r'data-key="([^"]*)"', page)
    assert [key for key in keys if "nf" in key] == ["Infinity", "-Infinity"]
    assert "nan" not in keys
