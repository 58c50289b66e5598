"""What the comparison of two versions takes for the same, and what not."""

from __future__ import annotations

import sys

import pandas as pd
import pytest

from tools.compare.commands import Command, read_commands
from tools.compare.documents import compare_documents
from tools.compare.options import not_taken
from tools.compare.outputs import compare_printed
from tools.compare.running import Program
from tools.compare.tables import Level, Tolerance, compare_tables

pytestmark = pytest.mark.any_python

NEAR = Tolerance(1e-9)


def ranking(features: str, scores: list[float], status: str = "ok") -> pd.DataFrame:
    names = list(features)
    ranks = [float(i + 1) for i in range(len(names))]
    return pd.DataFrame({"rank": ranks, "feature": names, "score": scores, "status": status})


@pytest.mark.parametrize(
    ("after", "level"),
    [
        (ranking("abc", [3, 2, 1 + 1e-11]), Level.WITHIN),
        (ranking("abc", [3, 2, 1 + 1e-7]), Level.DIFFERENT),
        (ranking("acb", [3, 1, 2]), Level.DIFFERENT),
        (ranking("abd", [3, 2, 1]), Level.DIFFERENT),
        (ranking("ab", [3, 2]), Level.DIFFERENT),
        (ranking("abc", [3, 2, 1], "constant"), Level.DIFFERENT),
        (ranking("abc", [3, 2, float("nan")]), Level.DIFFERENT),
    ],
)
def test_rankings(after, level):
    assert compare_tables(ranking("abc", [3, 2, 1]), after, NEAR).level == level


def test_only_tied_features_may_change_places():
    tied = ranking("abc", [3.0, 2.0, 2.0])
    assert compare_tables(tied, ranking("acb", [3, 2 + 1e-12, 2]), NEAR).level == Level.WITHIN
    assert compare_tables(tied, ranking("bac", [2, 3, 2]), NEAR).level == Level.DIFFERENT


def test_what_is_printed_is_compared_by_its_kind():
    one, other = "rank\tfeature\tscore\n1\ta\t2.5\n", "rank\tfeature\tscore\n1\ta\t2.6\n"
    assert compare_printed(one, other, "rank m.csv", NEAR).level == Level.DIFFERENT
    assert compare_printed("a table", "a list", "methods", NEAR).level == Level.BYTES
    assert compare_printed('{"n": 1}', '{"n": 2}', "inspect m.csv", NEAR).level == Level.DIFFERENT
    assert compare_printed('{"n": 1}', "n is 1", "inspect m.csv", NEAR).level == Level.DIFFERENT


def test_documents():
    one = {"n": 3, "kind": "csr", "told": "as it is", "seconds": 2, "in": "a/m.csv"}
    same = {
        "n": 3.0000001,
        "kind": "csr",
        "told": "in other words",
        "seconds": 9,
        "more": 1,
        "in": "./m.csv",
    }
    found = compare_documents(one, same, strict=True)
    assert not found.differences
    assert found.notes == [".told has other words", ".more is new"]
    found = compare_documents(one, {"n": 4, "told": "as it is", "in": "m.csv"}, strict=True)
    assert sorted(found.differences) == [".kind is gone", ".n: 3, now 4"]


def test_the_catalogue_is_large_and_names_no_command_twice():
    commands = read_commands()
    assert sum(not c.fails for c in commands) >= 260
    assert sum(c.fails for c in commands) >= 50
    assert len({c.name for c in commands}) == len(commands)
    assert Command("x", "? rank a ; @cut b").steps[0].free


@pytest.fixture
def program(tmp_path):
    """Return what writes a program that ranks by a formula."""

    def write(name: str, score: str, help: str = "  --out DIR  Where.") -> str:
        text = (
            "import sys\n"
            f"if '--help' in sys.argv: sys.exit(print('''Options:\\n{help}'''))\n"
            "if '--old' in sys.argv: sys.exit('there is no option --old')\n"
            f"print('rank\\tfeature\\tscore\\n1\\ta\\t' + str({score}))\n"
        )
        (tmp_path / f"{name}.py").write_text(text)
        return f"{sys.executable} {tmp_path / name}.py"

    return write


def test_options_that_are_gone_are_found(program, tmp_path):
    new = Program.of(program("new", "1"))
    assert not_taken(new, {"": ["--out", "--old", "--hidden"]}) == ["sfs --old"]
