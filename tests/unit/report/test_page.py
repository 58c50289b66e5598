"""The page: well-formed, escaped, self-contained, and the same after its JSON."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

from sfs_cli.report.model import Page as Contents
from sfs_cli.report.model import Table, significant, table_part
from sfs_cli.report.page import from_json, linked, render
from sfs_cli.workflow.outputs import to_json
from tests.unit.report.conftest import HOSTILE, best

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
    usual: Contents, hostile: Contents
) -> None:
    html = render(hostile)
    page = Page(html)
    assert len(page.all("script")) == len(Page(render(usual)).all("script")) == 1
    assert not page.all("b")
    assert {*HOSTILE} <= {*page.words("bdi")}
    assert "7 * 7" in html
    assert not [a for _, a in page.tags if any(key.startswith("on") for key in a)]


def test_links_are_relative_or_to_a_doi(usual: Contents, hostile: Contents) -> None:
    targets = [a["href"] for a in Page(render(usual)).all("a")]
    assert targets == ["https://doi.org/10.1145/1273496.1273641", "ranking.tsv", "run.json"]
    for anchor in Page(render(hostile)).all("a"):
        assert not str(anchor["href"]).startswith("javascript:")


def test_nothing_is_loaded_from_elsewhere(usual: Contents) -> None:
    html = render(usual)
    page = Page(html)
    assert all(not LOADS & set(attributes) for _, attributes in page.tags)
    assert [link["href"] for link in page.all("link")] == ["data:,"]
    assert set(re.findall(r"https?://[^/\"]*", html)) == {"https://doi.org"}
    assert "@import" not in html
    assert "url(" not in html


def test_the_table_aligns_numbers_and_keeps_six_digits(usual: Contents) -> None:
    page = Page(render(usual))
    cells = [a for a in page.all("td") if a.get("data-key")]
    assert len(cells) == 50 * 3
    assert {a["class"] for a in cells} == {"number"}
    shown = page.words("td")
    assert "1.00000e-60" in shown
    assert significant(2.5) == "2.50000"


def test_numbers_that_are_missing_or_infinite_are_sorted_by_the_script(usual: Contents) -> None:
    """Its numbers are those of JavaScript."""
    rows = [(1, "a", np.inf, 0.5), (2, "b", 2.5, None), (3, "c", -np.inf, np.nan)]
    page = Page(render(replace(usual, parts=[best(*rows)])))
    keys = [a["data-key"] for a in page.all("td") if a.get("class") == "number"]
    assert keys == ["1", "Infinity", "0.5", "2", "2.5", "", "3", "-Infinity", ""]
    assert page.words("td").count("–") == 2


def test_warnings_come_before_the_charts(usual: Contents) -> None:
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


def test_genes_are_links_when_asked_for(usual: Contents, hostile: Contents) -> None:
    assert not [a for a in Page(render(usual)).all("a") if "GENE" in str(a["href"])]
    for kind, host in (("symbol", "www.genecards.org"), ("ensembl", "www.ensembl.org")):
        links = [str(a["href"]) for a in Page(render(usual, kind)).all("a")]
        genes = [link for link in links if link.endswith("GENE7")]
        assert len(genes) == 1
        assert genes[0].startswith(f"https://{host}/")
    page = Page(render(hostile, "symbol"))
    links = [str(a["href"]) for a in page.all("a") if "genecards" in str(a["href"])]
    assert len(links) == len(HOSTILE)
    assert not [link for link in links if re.search(r"[<>\"' ]", link)]
    assert len(page.all("script")) == 1


def test_tables_are_shown_with_their_digits(usual: Contents) -> None:
    table = Table(
        heading="How far the lists agree",
        note="Between -1 and 1.",
        columns=["", "one", "two"],
        rows=[["one", 1.0, -0.25], ["two", None, float("nan")]],
        digits=3,
    )
    page = Page(render(replace(usual, parts=[table_part(table)])))
    assert "How far the lists agree" in page.words("h2")
    assert "Between -1 and 1." in page.words("p")
    assert {"one", "two"} <= set(page.words("bdi"))
    shown = page.words("td")
    assert {"1.00", "-0.250"} <= set(shown)
    assert shown.count("–") == 2
    assert not [a for a in page.all("td") if "style" in a]


def test_a_page_comes_back_from_its_json(usual: Contents, hostile: Contents) -> None:
    for page in (
        usual,
        hostile,
        replace(usual, title="a\udce9\u05d0", parts=[best((1, "x", np.nan, 1.0))]),
    ):
        text = to_json(page)
        assert text.isascii()
        json.loads(text, parse_constant=pytest.fail)  # NaN and Infinity are no JSON
        assert to_json(from_json(text)) == text
        assert render(from_json(text)) == render(page).replace(
            "\udce9", "\\xe9"
        )  # as people see it
