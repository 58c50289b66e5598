"""The pages of the documentation: up to date, complete, with links that lead somewhere."""

from __future__ import annotations

import json
import re
import struct
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import sfs_cli
from sfs_cli.catalog import METHODS
from sfs_cli.options.graph import SIMILARITIES
from sfs_cli.options.source import KINDS, WEIGHTINGS
from tests.docs.pages import DOCS, PAGES, text_of
from tests.places import ROOT

pytestmark = pytest.mark.any_python

OF_ROOT = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CODE_OF_CONDUCT.md")]
ALL = [*OF_ROOT, *sorted(DOCS.rglob("*.md"))]


def test_the_reference_is_up_to_date():
    done = subprocess.run(
        [sys.executable, str(DOCS / "make_reference.py"), "--check"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def anchor(title: str) -> str:
    """The anchor of a title, as GitHub and MyST make it."""
    kept = re.sub(r"[^\w\- ]", "", title.replace("`", "").lower())
    return kept.strip().replace(" ", "-")


@pytest.mark.parametrize("page", ALL, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path):
    text = re.sub(r"^```.*?^```", "", text_of(page), flags=re.DOTALL | re.MULTILINE)
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if link.startswith(("http://", "https://")):
            continue
        name, _, place = link.partition("#")
        target = page.parent / name if name else page
        assert target.exists(), f"{page.name}: {link}"
        if place:
            titles = re.findall(r"^#+ (.*)$", text_of(target), re.MULTILINE)
            assert place in map(anchor, titles), f"{page.name}: {link}"


def test_every_page_is_in_the_table_of_contents():
    listed = re.findall(r"^([\w/-]+)$", text_of(DOCS / "index.md"), re.MULTILINE)
    made = {str(p.relative_to(DOCS).with_suffix("")) for p in DOCS.rglob("*.md")} - {"index"}
    assert made <= set(listed)


def test_guides_name_every_method_graph_source_and_weighting():
    guide = text_of(DOCS / "guides" / "which-method.md")
    for name in (*METHODS, *SIMILARITIES):
        assert f"`{name}" in guide, name
    sources = text_of(DOCS / "guides" / "bulk.md")
    for name in (*KINDS, *WEIGHTINGS):
        assert f"`{name}`" in sources, name


def test_the_theory_has_every_graph_and_method():
    page = text_of(DOCS / "theory.md")
    for name in (*METHODS, *SIMILARITIES):
        assert f"`{name}`" in page, name


def test_the_python_reference_has_what_is_exported():
    page = text_of(DOCS / "reference" / "python.md")
    for name in sfs_cli.__all__:
        assert f"sfs_cli.{name}" in page, name


PICTURE = DOCS / "pictures" / "report.png"


def size_of(picture: Path) -> tuple[int, int]:
    """Width and height of a PNG, in pixels."""
    content = picture.read_bytes()
    assert content[:8] == b"\x89PNG\r\n\x1a\n"
    return struct.unpack(">II", content[16:24])


def test_the_picture_is_small():
    assert PICTURE.stat().st_size < 150_000
    assert size_of(PICTURE)[0] == 1000


CHANGES = text_of(ROOT / "CHANGELOG.md")


def test_the_version_to_cite_is_that_of_the_package():
    found = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert found["version"] == sfs_cli.__version__
    assert found["cff-version"] == "1.2.0"
    (dated,) = re.findall(rf"^## \[{sfs_cli.__version__}\] - (\S+)$", CHANGES, re.MULTILINE)
    assert str(found["date-released"]) == dated
    for field in ("message", "title", "authors", "license"):
        assert found[field], field


def test_workflows_name_the_version_of_the_package():
    pinned = r"sfs-cli ?(?:==|:)(\d[\w.]*)|^ *(?:{% set )?version += ['\"](\d[\w.]*)"
    ends = {".yml", ".yaml", ".nf", ".config", ".md", ""}
    files = [path for path in (ROOT / "workflows").rglob("*") if path.suffix in ends]
    named = [
        (path.name, *found)
        for path in files
        if path.is_file() and path.name != "CHANGELOG.md"
        for found in re.findall(pinned, text_of(path), re.MULTILINE)
    ]
    assert {name for name, *_ in named} >= {"Containerfile", "meta.yaml", "nextflow.config"}
    assert {pin or version for _, pin, version in named} == {sfs_cli.__version__}, named


def test_pages_have_no_code_blocks_without_a_language():
    for page in [*OF_ROOT, *PAGES]:
        opened = re.findall(r"^```(.*)$", text_of(page), re.MULTILINE)[::2]
        assert all(opened), page


def test_sphinx_reads_the_version_of_the_package():
    names: dict[str, object] = {}
    exec((DOCS / "conf.py").read_text(encoding="utf-8"), names)
    assert names["release"] == sfs_cli.__version__
    assert json.dumps(names["extensions"])


def test_promises_name_tests_that_exist():
    pages = text_of(DOCS / "promises.md") + text_of(DOCS / "reference" / "formats.md")
    named = re.findall(r"`(\w[\w/]*/test_\w+\.py)`", pages)
    assert len(named) > 12
    assert [name for name in named if not (ROOT / "tests" / name).is_file()] == []
