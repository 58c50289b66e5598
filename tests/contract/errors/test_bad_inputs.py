"""What is wrong, where, and what to do: every bad input through the real entry point."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from tests.contract.errors.bad_inputs import CASES
from tests.making_commands import Bad
from tests.running import Finished, run_apart, run_here, snapshot

MAX_LINES = 15
APART = [
    *{case.code: case for case in CASES}.values(),
    *(pytest.param(case, marks=pytest.mark.nightly) for case in CASES[::40]),
]
"""A case of each exit code and a sample of the others, run in a process of their own."""


def complete(case: Bad, folder: Path) -> list[str]:
    """Build the files of a case; add an output and a scratch folder where the verb takes them."""
    (folder / "files").mkdir()
    verb, *rest = case.make(folder / "files")
    flags = {"rank": ["--out", "--scratch"], "convert": ["--scratch"]}.get(verb, [])
    if "--json" in rest and verb == "rank":
        flags.remove("--out")
    added = [(flag, str(folder / flag[2:])) for flag in flags if flag not in rest]
    return [verb, *(word for pair in added for word in pair), *rest]


def check(case: Bad, done: Finished, folder: Path) -> None:
    """Assert that a command failed as it should, and said so as it should."""
    said = done.err.replace(str(folder), "").lower()  # the path itself may hold any digit
    assert done.code == case.code, done.err
    assert done.out == ""
    assert "traceback" not in said, done.err
    assert len(done.err.splitlines()) <= MAX_LINES, done.err
    assert said.count("error:") == 1, done.err
    assert "to do:" in said, done.err
    assert case.name.lower() in said, done.err
    for word in case.words:
        assert any(part in said for part in word.lower().split("|")), f"{word!r} not in\n{done.err}"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, beside another one for temporary files in which nothing may be left."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    monkeypatch.setenv("TMPDIR", str(temporary))
    monkeypatch.setenv("COLUMNS", "80")
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    return work


@pytest.mark.one_in(3)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_bad_input_is_refused_with_what_where_and_what_to_do(case, folder, capfd):
    arguments = complete(case, folder)
    before = snapshot(folder.parent)
    check(case, run_here(arguments, capfd), folder)
    assert_nothing_left(folder.parent, before)


@pytest.mark.parametrize("case", APART, ids=lambda case: case.id)
def test_bad_input_is_refused_by_a_process_of_its_own(case, folder):
    arguments = complete(case, folder)
    before = snapshot(folder.parent)
    check(case, run_apart(arguments), folder)
    assert_nothing_left(folder.parent, before)


def assert_nothing_left(folder: Path, before: dict[str, bytes | None]) -> None:
    """Assert that no file is new, changed or gone; an empty scratch folder may be new."""
    after = snapshot(folder)
    after.pop("work/scratch", None)
    assert after == before
