"""What the comparison of two checkouts takes for the same, and what not."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from tools.compare import Found, compare_facts, compare_tables, main, read_commands

pytestmark = pytest.mark.any_python


def ranking(features: str, scores: list[float], **more: object) -> pd.DataFrame:
    names = list(features)
    return pd.DataFrame(
        {"rank": range(1, len(names) + 1), "feature": names, "score": scores} | more
    )


def differences(old: pd.DataFrame, new: pd.DataFrame) -> list[str]:
    found = Found()
    compare_tables(old, new, found)
    return found.differences


@pytest.mark.parametrize(
    ("new", "differs"),
    [
        (ranking("abc", [3, 2, 1 + 1e-12]), ""),
        (ranking("abc", [3, 2, 1 + 1e-8]), "score of c"),
        (ranking("acb", [3, 1, 2]), "the order: row 2 is b, now c"),
        (ranking("abd", [3, 2, 1]), "other ids"),
        (ranking("ab", [3, 2]), "3 rows, now 2"),
        (ranking("abc", [3, 2, float("nan")]), "score of c"),
        (ranking("abc", [3, 2, 1], status="ok"), ""),
    ],
)
def test_tables(new: pd.DataFrame, differs: str) -> None:
    found = differences(ranking("abc", [3, 2, 1]), new)
    assert bool(found) == bool(differs)
    assert not differs or differs in found[0]


def test_only_tied_features_may_change_places() -> None:
    tied = ranking("abc", [3, 2, 2])
    assert not differences(tied, ranking("acb", [3, 2, 2]))
    assert differences(tied, ranking("bac", [2, 3, 2]))


def test_documents() -> None:
    found = Found()
    old = {"n": 3, "kind": "csr", "seconds": 2, "values": [1.0, 2.0]}
    compare_facts(old, {"n": 3, "kind": "csc", "seconds": 9, "values": [1.0, 2.5]}, found)
    assert found.differences == [".values[1]: 2.0, now 2.5"]
    assert found.notes == [".kind: 'csr', now 'csc'"]


def test_there_are_many_commands_and_none_twice() -> None:
    names = [command.name for command in read_commands()]
    assert len(names) >= 150
    assert len(set(names)) == len(names)
    assert all(c.old.startswith("rank in/m.csv") for c in read_commands("^gdcov:"))


@pytest.fixture
def checkouts(tmp_path: Path) -> dict[str, str]:
    """Projects whose program prints a ranking with one score, or ends with another code."""
    made = {}
    for name, last in {"old": "2.5", "same": "2.5", "other": "2.6", "refuses": "{}[0]"}.items():
        package = tmp_path / name / "sfs_cli"
        package.mkdir(parents=True)
        (package / "__init__.py").touch()
        text = f"print('rank\\tfeature\\tscore\\n1\\ta\\t' + str({last}))\n"
        (package / "__main__.py").write_text(text)
        made[name] = str(tmp_path / name)
    return made


@pytest.mark.parametrize(
    ("new", "told"),
    [
        ("same", "| 1 | 0 | 0 |"),
        ("other", "stdout: score of a: 2.5, now 2.6 (1 of 1 rows)"),
        ("refuses", "exit code 0, now 1: Traceback"),
    ],
)
def test_checkouts_are_compared_by_what_they_do(
    new: str, told: str, checkouts: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    code = main([checkouts["old"], checkouts[new], "--only", "gamma heat"])
    assert told in capsys.readouterr().out
    assert code == int(new != "same")
