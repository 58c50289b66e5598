"""What is wrong, where, and what to do: every bad input through the real entry point.

A row of the tables names the case, builds its files in an empty folder and returns the arguments,
and says which exit code and which words the user must be given.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path

import pytest

from tests.contract.errors.bad_knowledge import KNOWLEDGE
from tests.contract.errors.bad_matrices import MATRICES
from tests.contract.errors.bad_options import OPTIONS
from tests.contract.errors.bad_results import RESULTS
from tests.contract.errors.bad_samples import SAMPLES_OF_A_MATRIX
from tests.making_commands import Bad
from tests.running import Finished, run_apart, run_here, snapshot

CASES = [*MATRICES, *SAMPLES_OF_A_MATRIX, *KNOWLEDGE, *OPTIONS, *RESULTS]
APART = list({case.code: case for case in CASES}.values())
"""A case of each exit code, which is run in a process of its own."""
MAX_LINES = 15


def complete(case: Bad, folder: Path) -> list[str]:
    """Build the files of a case; add an output where a ranking has none."""
    (folder / "files").mkdir()
    verb, *rest = case.make(folder / "files")
    out = [] if verb != "rank" or "--out" in rest else ["--out", str(folder / "out")]
    return [verb, *out, *rest]


def check(case: Bad, done: Finished, folder: Path) -> None:
    """Assert that a command failed as it should, and said so as it should."""
    said = done.err.replace(str(folder), "").lower()  # the path itself may hold any digit
    assert done.code == case.code, done.err
    assert done.out == ""
    assert "traceback" not in said, done.err
    assert len(done.err.splitlines()) <= MAX_LINES, done.err
    assert said.count("error:") == 1, done.err
    assert "to do:" in said, done.err
    said = said[said.index("error:") :]  # lines before it tell of the reading
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


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_bad_input_is_refused_with_what_where_and_what_to_do(case, folder, capfd):
    arguments = complete(case, folder)
    before = snapshot(folder.parent)
    check(case, run_here(arguments, capfd), folder)
    assert snapshot(folder.parent) == before


@pytest.mark.parametrize("case", APART, ids=lambda case: case.id)
def test_bad_input_is_refused_by_a_process_of_its_own(case, folder):
    arguments = complete(case, folder)
    before = snapshot(folder.parent)
    check(case, run_apart(arguments), folder)
    assert snapshot(folder.parent) == before


def test_no_two_cases_have_one_name():
    assert Counter(case.id for case in CASES).most_common(1)[0][1] == 1
