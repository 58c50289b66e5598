"""`sfs rank --top`: the table is cut, and what reads it knows that it is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import sfs_cli
from sfs_cli.cli.app import run
from tests.making_commands import BAD
from tests.running import run_here

N, M, TOP = 40, 60, 12
NOTE = f"wrote the first {TOP} of {M} features; without --top all are written"


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a matrix, two columns of labels and sets; two features have no score."""
    folder = tmp_path_factory.mktemp("study")
    rng = np.random.default_rng(5)
    X = rng.normal(size=(N, M))
    X[: N // 2, :20] += np.linspace(2, 0.1, 20)
    X[:, [30, 31]] = 1
    samples, features = [f"s{i}" for i in range(N)], [f"g{j}" for j in range(M)]
    pd.DataFrame(X, samples, features).T.to_csv(folder / "x.csv")
    labels = {"tissue": ["a"] * (N // 2) + ["b"] * (N // 2), "sex": ["f", "m"] * (N // 2)}
    pd.DataFrame(labels, samples).to_csv(folder / "y.tsv", sep="\t", index_label="sample")
    (folder / "sets.gmt").write_text("\t".join(["first", "", *features[:20]]) + "\n")
    return folder


def ranked(study: Path, capfd, *more: str, labels: str = "tissue") -> Any:
    words = ["rank", str(study / "x.csv"), "--method", "f-test"]
    done = run_here([*words, "--labels", f"{study}/y.tsv:{labels}", *more], capfd)
    assert done.code == 0, done.err
    return done


def cut_and_whole(study: Path, folder: Path, *more: str, labels: str = "tissue") -> None:
    for name, top in (("cut", ("--top", str(TOP))), ("whole", ())):
        words = ["rank", str(study / "x.csv"), "--method", "f-test"]
        words += ["--labels", f"{study}/y.tsv:{labels}", "--out", str(folder / f"{name}-{labels}")]
        assert run([*words, *top, *more, "-q"]) == 0


@pytest.fixture(scope="module")
def both(study: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the cut and the whole ranking of each column of labels; none is changed."""
    folder = tmp_path_factory.mktemp("both")
    for labels in ("tissue", "sex"):
        cut_and_whole(study, folder, labels=labels)
    return folder


def refused(words: list[str], capfd, *texts: str) -> None:
    done = run_here(words, capfd)
    assert done.code == BAD, done.err
    assert all(text in done.err for text in texts), done.err


def table(path: Path) -> pd.DataFrame:
    return pd.read_csv(path, sep="\t", index_col="feature")


@pytest.mark.parametrize("form", ["csv", "json", "parquet"])
def test_each_format_has_the_first_features(form, study, tmp_path):
    cut_and_whole(study, tmp_path, "--format", form)
    cut, whole = (tmp_path / f"{name}-tissue/ranking.{form}" for name in ("cut", "whole"))
    if form == "parquet":
        pd.testing.assert_frame_equal(pd.read_parquet(cut), pd.read_parquet(whole)[:TOP])
    elif form == "json":
        assert json.loads(cut.read_text()) == json.loads(whole.read_text())[:TOP]
    else:
        lines = whole.read_bytes().splitlines(keepends=True)
        assert cut.read_bytes() == b"".join(lines[: TOP + 1])


def test_a_signed_metric_is_of_the_best_of_both_directions(study, tmp_path):
    cut_and_whole(study, tmp_path, "--format", "rnk")
    cut, whole = (
        pd.read_csv(tmp_path / f"{name}-tissue/ranking.rnk", sep="\t", header=None, index_col=0)[1]
        for name in ("cut", "whole")
    )
    best = whole.loc[whole.abs().sort_values(ascending=False).index[:TOP]]
    assert cut.to_dict() == best.to_dict()
    assert cut.is_monotonic_decreasing


def test_the_record_and_a_note_say_so_and_nothing_else_changes(study, both, capfd):
    done = ranked(study, capfd, "--top", str(TOP))
    assert NOTE in done.err
    assert done.out.encode() == (both / "cut-tissue/ranking.tsv").read_bytes()
    facts = json.loads((both / "cut-tissue/run.json").read_text())
    whole = json.loads((both / "whole-tissue/run.json").read_text())
    assert facts["config"]["top"] == TOP
    assert facts["result"].pop("n_written") == TOP
    assert facts["result"] == whole["result"]
    assert facts["result"]["n_scored"] == M - 2


def test_select_takes_a_shorter_list_and_refuses_what_needs_the_rest(study, both, tmp_path, capfd):
    cut, whole = str(both / "cut-tissue"), str(both / "whole-tissue")
    for more in ([], ["--write-matrix", str(tmp_path / "m.csv")]):
        words = ["--top", "5", *more]
        shorter = run_here(["select", cut, *words], capfd)
        assert shorter.code == 0, shorter.err
        assert f"selected 5 of {M - 2} ranked features" in shorter.err
        assert shorter.out == run_here(["select", whole, *words, "--force"], capfd).out
    refused(["select", cut, "--top", "13"], capfd, "--top 13", "rank again without --top")
    sets = ["--top", "5", "--sets", str(study / "sets.gmt")]
    for rule in (["--fdr", "0.05"], ["--cv"], ["--stable", "0.5"], sets):
        refused(
            ["select", cut, *rule], capfd, f"first {TOP} of {M - 2} ranked features", rule[-2:][0]
        )


def test_sets_are_not_tested_in_a_part(both, study, capfd):
    words = ["report", str(both / "cut-tissue"), "--force"]
    assert run_here(words, capfd).code == 0
    refused([*words, "--sets", str(study / "sets.gmt")], capfd, "without --top")


def test_an_aggregate_of_cut_rankings_is_that_of_the_best_of_whole_ones(both, tmp_path, capfd):
    found = {}
    for name, top in (("cut", []), ("whole", ["--top", str(TOP)])):
        lists = [str(both / f"{name}-{labels}") for labels in ("tissue", "sex")]
        done = run_here(
            ["aggregate", *lists, "--how", "rra", *top, "--out", str(tmp_path / name)], capfd
        )
        assert done.code == 0, done.err
        assert (f"beginning of a ranking of {M - 2} features" in done.err) == (name == "cut")
        found[name] = table(tmp_path / name / "ranking.tsv")
    columns = [name for name in ("score", "p_value", "q_value", "n_lists") if name in found["cut"]]
    of_both = found["whole"][columns].dropna()
    cut = found["cut"][columns].dropna().loc[of_both.index]
    pd.testing.assert_frame_equal(cut, of_both, check_dtype=False)
    assert len(of_both) == len(found["cut"])


def test_lists_are_judged_as_far_as_they_are_there(study, both, capfd):
    values = []
    for name in ("cut", "whole"):
        words = ["evaluate", str(study / "x.csv"), "--labels", f"{study}/y.tsv:tissue", "--list"]
        words += [
            str(both / f"{name}-tissue"),
            "--repeats",
            "1",
            "--splits",
            "2",
            "--lengths",
            "5,12",
        ]
        done = run_here(words, capfd)
        assert done.code == 0, done.err
        assert ("beginning of a ranking" in done.err) == (name == "cut")
        values.append(done.out.replace(f"{name}-tissue", ""))
    assert values[0] == values[1]
    words = [word if word != "5,12" else "5,13" for word in words]
    words[words.index(str(both / "whole-tissue"))] = str(both / "cut-tissue")
    refused(words, capfd, "ranks 12 features")


def test_python_cuts_the_table_and_keeps_the_ranking(study, both):
    X = pd.read_csv(study / "x.csv", index_col=0).T
    labels = pd.read_csv(study / "y.tsv", sep="\t", index_col=0)["tissue"]
    found = sfs_cli.rank(X, labels=labels, method="f-test", top=TOP)
    whole = sfs_cli.rank(X, labels=labels, method="f-test")
    pd.testing.assert_frame_equal(found.table, whole.table[:TOP])
    assert len(found) == M
    assert len(found.order) == M
    assert found.top(20) == whole.top(20)
    assert sfs_cli.select(found, fdr=0.2) == sfs_cli.select(whole, fdr=0.2)
    made = [sfs_cli.aggregate({"one": each, "other": whole}) for each in (found, whole)]
    pd.testing.assert_frame_equal(made[0], made[1])
    assert len(sfs_cli.rank(study / "x.csv", method="variance", top=3).table) == 3
    with pytest.raises(ValueError, match="top=0"):
        sfs_cli.rank(X, top=0)
