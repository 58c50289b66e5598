"""One file of options for several commands, and the records of `sfs evaluate` and `sfs fuse`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.making_commands import AB, good, labels, text
from tests.places import SAMPLE_DATA
from tests.running import run_here


def test_one_file_serves_both(tmp_path, capfd):
    file = tmp_path / "run.yaml"
    file.write_text(
        f"matrix: {SAMPLE_DATA / 'expression.csv'}\n"
        f"labels: {SAMPLE_DATA / 'labels.tsv'}:tissue\n"
        "method: {name: mrsf, response: lda}\n"
        "select: 20\n"
        "stability: {name: half, subsets: 2}  # which evaluate does not have\n"
        "lengths: 5  # which rank does not have\n"
        "repeats: 1\n"
    )
    ranked = run_here(["rank", "--config", str(file), "--top", "3"], capfd)
    assert ranked.code == 0, ranked.err
    judged = run_here(["evaluate", "--config", str(file)], capfd)
    assert judged.code == 0, judged.err
    words = [
        str(SAMPLE_DATA / "expression.csv"),
        "--labels",
        f"{SAMPLE_DATA / 'labels.tsv'}:tissue",
    ]
    words += ["--method", "mrsf,response=lda", "--select", "20", "--lengths", "5", "--repeats", "1"]
    assert judged.out == run_here(["evaluate", *words], capfd).out
    file.write_text(file.read_text() + "lenghts: 5\n")
    done = run_here(["evaluate", "--config", str(file)], capfd)
    assert done.code == 3
    assert "did you mean lengths" in done.err


OF_OTHERS = """
matrix: good.csv
source: {own: 'target:', same: 'profile:good.csv'}
method: msfs
lengths: 5
title: of report
fdr: 0.05
ranking-of: of compare
list-weights: of aggregate
shards: of shard init
key: of fuse
"""
COMMANDS = [
    ("rank", "--out", "out"),
    ("evaluate", "--out", "out"),
    ("fuse", "--out", "out.npz"),
    ("shard", "init", "out", "--shards", "2"),
]


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: words[0])
def test_keys_of_other_commands_are_ignored_and_unknown_ones_refused(
    words, tmp_path, monkeypatch, capfd
):
    monkeypatch.chdir(tmp_path)
    good(tmp_path)
    text(tmp_path, OF_OTHERS, "run.yaml")
    text(tmp_path, f"{OF_OTHERS}sourse: 1\n", "wrong.yaml")
    done = run_here([*words, "--config", "wrong.yaml"], capfd)
    assert done.code == 3
    assert "did you mean source" in done.err
    done = run_here([*words, "--config", "run.yaml"], capfd)
    assert done.code == 0, done.err


@pytest.mark.parametrize(
    ("words", "outs", "record"),
    [
        (
            (
                *("evaluate", "good.csv", "--labels", "labels.tsv", "--lengths", "3"),
                *("--splits", "2", "--repeats", "1", "--method", "spec,ranking=phi1"),
                *("--similarity", "rbf,bandwidth=2", "--list", "list.tsv:rank"),
            ),
            ("one", "two"),
            "one/run.json",
        ),
        (
            (
                *("fuse", "good.csv", "--source", "own=target:"),
                *("--source", "same=profile:good.csv,transform=zscore"),
                *("--weights", "snf,neighbors=2,normalize=frobenius"),
            ),
            ("one.npz", "two.npz"),
            "one.npz.run.json",
        ),
    ],
    ids=["evaluate", "fuse"],
)
def test_a_record_repeats_the_run(words, outs, record, tmp_path, monkeypatch, capfd):
    """With parameters in mappings, and from another folder."""
    good(tmp_path)
    labels(tmp_path, AB)
    text(tmp_path, "feature\trank\ngene1\t1\ngene2\t2\ngene3\t3\n", "list.tsv")
    monkeypatch.chdir(tmp_path)
    done = run_here([*words, "--out", outs[0]], capfd)
    assert done.code == 0, done.err
    again = [words[0], "--config", record, "--out"]
    assert "up to date" in run_here([*again, outs[0]], capfd).err
    monkeypatch.chdir("/")
    again[2] = str(tmp_path / record)
    done = run_here([*again, str(tmp_path / outs[1])], capfd)
    assert done.code == 0, done.err
    one, two = (tmp_path / out for out in outs)
    files = [path / "evaluation.tsv" if path.is_dir() else path for path in (one, two)]
    assert files[0].read_bytes() == files[1].read_bytes()


@pytest.mark.parametrize("first", ["rank", "evaluate"])
def test_a_record_keeps_what_was_given_apart_from_defaults(first, tmp_path, monkeypatch, capfd):
    good(tmp_path)
    labels(tmp_path, AB)
    monkeypatch.chdir(tmp_path)
    how = ["--lengths", "3", "--splits", "2", "--repeats", "1"]
    words = [first, "good.csv", "--labels", "labels.tsv", *(how if first == "evaluate" else ())]
    asked = [*words, "--method", "spec", "--similarity", "rbf", "--out", "one"]
    assert run_here(asked, capfd).code == 0
    again = ["evaluate", "--config", "one/run.json", *how, "--out"]
    assert run_here([*again, "two"], capfd).code == 0
    assert run_here(["evaluate", "--config", "two/run.json", "--out", "three"], capfd).code == 0
    one, two, three = (
        json.loads(Path(name, "run.json").read_text()) for name in ("one", "two", "three")
    )
    assert (two["config"], two["defaults"]) == (three["config"], three["defaults"])
    assert two["config"]["method"] == "spec"
    assert two["defaults"]["method"] == one["defaults"]["method"]
    assert two["defaults"]["method"]["ranking"] == "phi2"
    assert {each["name"] for each in two["lists"]} == {"spec"}
    assert (
        "up to date"
        in run_here(["evaluate", "--config", "two/run.json", "--out", "two"], capfd).err
    )
