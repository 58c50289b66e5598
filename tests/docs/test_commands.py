"""The commands and programs of the documentation do what they say, page by page."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import click
import pytest

from sfs_cli.catalog import METHODS
from sfs_cli.cli.app import app
from sfs_cli.store.transforms import before_fitting, parse
from sfs_cli.tables import FILES, RANKING
from tests.docs.pages import (
    ENGINES,
    PAGES,
    ROOT,
    SET_UP,
    Reader,
    console_blocks,
    runnable,
    text_of,
)

pytestmark = pytest.mark.any_python

OUTPUTS = r"(?:--out|--write-h5ad|--write-matrix|sfs convert \S+|shard init) (\S+)"
ALL = [ROOT / "README.md", *PAGES, ROOT / "workflows" / "README.md"]
LONG = ("bulk", "cluster", "evaluate", "single-cell", "start", "stories")
"""Pages that take a quarter of a minute and more, or start workers of Dask: tests/nightly."""


def commands_of(page: Path) -> list[str]:
    """The commands of the console blocks of a page, and of the rows of `start.md`."""
    blocks = [command for block in console_blocks(text_of(page)) for command in block]
    if page.stem != "start":
        return blocks
    return [*blocks, *re.findall(r"^\|.*\| `(sfs [^`]+)` \|$", text_of(page), re.MULTILINE)]


def check_columns(table: Path) -> None:
    """The columns of a table are those that are declared for it."""
    columns = table.read_text(encoding="utf-8").split("\n", 1)[0].split("\t")
    if table.name in ("ranking.tsv", "selected.tsv"):
        of_methods = {name for method in METHODS.values() for name in method.columns}
        record = json.loads((table.parent / "run.json").read_text(encoding="utf-8"))
        of_methods.update(record.get("input", {}).get("annotations", ()))
        for column in columns:
            known = column in RANKING or column in of_methods
            assert known or column.startswith(("mean_", "rank_", "p_value_")), f"{table}: {column}"
        return
    for column, declared in zip(columns, FILES[table.name].columns):
        assert column == declared or declared != declared.lower(), f"{table}: {column}"


def test_pages_can_be_followed_one_after_another_in_one_folder() -> None:
    asked: dict[str, str] = {}
    for page in ALL:
        for command in map(" ".join, map(str.split, commands_of(page))):
            for output in re.findall(OUTPUTS, command):
                assert asked.setdefault(output, command) == command, f"{page.name}: {output}"


@pytest.mark.parametrize("page", ALL, ids=lambda page: f"{page.parent.name}-{page.stem}")
def test_commands_have_the_options_that_they_are_given(page: Path) -> None:
    for command in commands_of(page):
        words = re.split(r" [|>] ", command)[0]
        if not words.startswith("sfs "):
            continue
        verbs = shlex.split(words)[1:]
        group, context = app, click.Context(app, info_name="sfs", **app.context_settings)
        while isinstance(group, click.Group):  # sfs, then such as sfs shard
            name, found, verbs = group.resolve_command(context, verbs)
            context, group = click.Context(found, context, name), found
        group.make_context(name, verbs, context.parent).close()


@pytest.mark.parametrize("page", ALL, ids=lambda page: page.stem)
def test_lists_are_not_judged_by_the_values_before_a_transformation(page: Path) -> None:
    words = [shlex.split(c) for c in commands_of(page) if re.match("sfs (evaluate|compare) ", c)]
    for each in words:
        assert "--voom" not in each
        if "--transform" in each:
            steps = parse(each[each.index("--transform") + 1])
            assert before_fitting(steps) == steps


def follow(page: Path, folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Run the commands and the program of a page, and look at the tables that they write."""
    reader = Reader(folder)
    for command in commands_of(page):
        if not command.startswith(SET_UP) and not any(name in command for name in ENGINES):
            reader.follow_here(command, capfd)
    if program := runnable(text_of(page)):
        reader.follow_python(program)
    for table in sorted(reader.folder.rglob("*.tsv")):
        if "sample_data" not in table.parts and (table.name in FILES or table.stem == "ranking"):
            check_columns(table)


@pytest.mark.parametrize(
    "page", [page for page in PAGES if page.stem not in LONG], ids=lambda page: page.stem
)
def test_a_reader_can_follow_the_page(
    page: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    follow(page, tmp_path, capfd)
