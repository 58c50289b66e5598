"""What the comparison of two checkouts takes for the same, and what not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from anndata import AnnData
from scipy.sparse import csr_matrix

from tools.compare import (
    Found,
    compare_contents,
    compare_facts,
    compare_part,
    compare_tables,
    main,
    read_commands,
)

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
        (ranking("abc", [3, 2, 1]).drop(columns="rank"), "gone: column rank"),
        (ranking("abc", [3, 2, 1]).assign(rank=[3, 2, 1]), "rank of a"),
        (ranking("abc", [3, 2, 1]).assign(rank=[0, 1, 2]), "rank of a"),
        (ranking("abc", [3, 2, float("inf")]), "score of c"),
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


@pytest.mark.parametrize("name", ["p_value", "q_value_10", "sfs_p_value", "p_adjusted"])
def test_small_probabilities_are_worth_as_much_as_large_ones(name: str) -> None:
    old, new = (ranking("abc", [3, 2, 1], **{name: [p, 0.5, 0.9]}) for p in (1e-40, 1e-39))
    assert differences(old, new) == [f"{name} of a: 1e-40, now 1e-39 (1 of 3 rows)"]


def test_documents() -> None:
    found = Found()
    old = {"n": 3, "kind": "csr", "seconds": 2, "values": [1.0, 2.0], "row_norm": 1, "l": 2}
    new = {"n": 3, "kind": "csc", "seconds": 9, "values": [2.5], "row_norm": None, "k": 2}
    old |= {"part": {"a": 1}, "seed": 12345678901234}
    new |= {"part": None, "seed": 12345678901235}
    compare_facts(old, new, found)
    assert found.differences == [
        "gone: key .l",
        ".part: {'a': 1}, now None",
        ".row_norm: 1, now None",
        ".seed: 12345678901234, now 12345678901235",
        ".values: 2 items, now 1",
        ".values[0]: 1.0, now 2.5",
    ]
    assert found.notes == ["new: key .k", ".kind: 'csr', now 'csc'"]


def test_a_name_with_parameters_is_the_name() -> None:
    found = Found()
    old, new = {"method": "spec"}, {"method": {"name": "spec", "ranking": "phi3"}}
    compare_facts(old, new, found)
    assert not found.differences
    compare_facts(old, {"method": {"name": "hsic"}}, found)
    assert len(found.differences) == 1


def test_numbers_that_are_written_in_another_way_are_the_same() -> None:
    old, new = b"feature\tscore\na\t0.00001\nb\tNaN\n", b"feature\tscore\na\t1e-05\nb\tNaN\n"
    assert contents_apart(old, new, ".tsv") == []


def contents_apart(old: bytes, new: bytes, suffix: str) -> list[str]:
    found = Found()
    compare_contents(old, new, suffix, found)
    return found.differences


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"X": np.zeros((2, 2))}, "X: 4 of 4 values"),
        ({"obsm": {"X_pca": np.ones((2, 1))}}, "obsm X_pca: 2 of 2 values"),
        ({"obsm": {}}, "gone: obsm X_pca"),
        ({"layers": {"l": csr_matrix(np.ones((2, 2)))}}, "layers l: 2 of 4 values"),
        ({"uns": {"sfs": {"n": 3.5}}}, ".sfs.n: 2.5, now 3.5"),
        ({"uns": {"sfs": {}}}, "gone: key .sfs.n"),
    ],
)
def test_every_part_of_an_h5ad_is_compared(
    change: dict[str, object], told: str, tmp_path: Path
) -> None:
    usual = {
        "X": np.ones((2, 2)),
        "obsm": {"X_pca": np.zeros((2, 1))},
        "layers": {"l": csr_matrix(np.eye(2))},
        "uns": {"sfs": {"n": 2.5}},
    }
    contents = []
    for parts in (usual, usual | change):
        AnnData(**parts).write_h5ad(tmp_path / "m.h5ad")
        contents.append((tmp_path / "m.h5ad").read_bytes())
    assert contents_apart(*contents, ".h5ad") == [told]


def test_arrays_and_what_cannot_be_read(tmp_path: Path) -> None:
    contents = []
    for last in (1.0, np.inf):
        np.savez(tmp_path / "s.npz", S=np.array([2.0, last]), n=np.array(3))
        contents.append((tmp_path / "s.npz").read_bytes())
    assert contents_apart(*contents, ".npz") == ["array S: 1 of 2 values"]
    found = Found()
    compare_part("s.npz", contents[0], contents[1][:50], ".npz", found)
    assert "s.npz: cannot be compared: BadZipFile" in found.differences[0]


def test_files(tmp_path: Path) -> None:
    contents = []
    for score in (1.0, 2.0):
        var = pd.DataFrame({"score": [3.0, score]}, index=["a", "b"])
        data = AnnData(np.ones((2, 2)), var=var, uns={"sfs": {"n": 2, "seconds": score}})
        data.write_h5ad(tmp_path / "m.h5ad")
        contents.append((tmp_path / "m.h5ad").read_bytes())
    assert contents_apart(*contents, ".h5ad") == ["score of b: 1.0, now 2.0 (1 of 2 rows)"]
    found = Found()
    compare_contents(b"<p>", b"<b>", ".html", found)
    assert found.notes == ["other bytes, not compared"]


def test_there_are_many_commands_and_none_twice() -> None:
    names = [command.name for command in read_commands()]
    assert len(names) >= 150
    assert len(set(names)) == len(names)
    assert all(c.old.startswith("rank in/m.csv") for c in read_commands("^gdcov:"))


@pytest.fixture
def checkouts(tmp_path: Path) -> dict[str, str]:
    """Projects whose program prints a ranking with one score, or ends with another code."""
    made = {}
    lasts = {"old": "2.5", "same": "2.5", "other": "2.6", "refuses": "{}[0]", "never": "1 / 0"}
    for name, last in lasts.items():
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
    code = main([checkouts["old"], checkouts[new], "--only", "gamma=heat"])
    assert told in capsys.readouterr().out
    assert code == int(new != "same")


def test_a_command_that_fails_on_both_sides_is_no_comparison(
    checkouts: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([checkouts["never"], checkouts["never"], "--only", "gamma=heat"]) == 1
    assert "both end with 1: Traceback" in capsys.readouterr().out


def test_what_is_meant_to_be_gone_is_a_note(
    tmp_path: Path, checkouts: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    program = Path(checkouts["same"], "sfs_cli", "__main__.py")
    program.write_text(program.read_text().replace("\\tscore", "").replace("\\t' + str(2.5)", "'"))
    words = [checkouts["old"], checkouts["same"], "--only", "gamma=heat"]
    assert main(words) == 1
    assert "gone: column score" in capsys.readouterr().out
    assert main([*words, "--gone", "score"]) == 0
    assert main([*words, "--gone", "core"]) == 1
    for wrong in (["--gone", "a("], ["--only", "no such command"]):
        with pytest.raises(SystemExit):
            main([*words, *wrong])
