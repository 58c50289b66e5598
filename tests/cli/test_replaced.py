"""No output replaces an input, whatever way it is named and whatever is forced."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sfs_cli.cli.app import run
from tests.making_commands import AB, USAGE, good, h5ad, labels, text
from tests.running import run_here, snapshot

CASES = {
    "a store is its matrix": ("convert x.csv x.csv", "MATRIX", "OUTPUT"),
    "a store is a link to its matrix": ("convert x.csv linked.csv", "MATRIX", "OUTPUT"),
    "a store is its matrix under a second name": ("convert x.csv same.csv", "MATRIX", "OUTPUT"),
    "a store holds its matrix": ("convert m.store/inside.csv m.store", "MATRIX", "OUTPUT"),
    "a store is that of the matrix": ("convert m.store m.store", "MATRIX", "OUTPUT"),
    "a copy is its matrix": (
        "rank x.h5ad --method variance --write-h5ad x.h5ad",
        "MATRIX",
        "--write-h5ad",
    ),
    "a fused similarity is the file of a source": (
        "fuse x.csv --source a=profile:other.csv --out other.csv",
        "--source",
        "--out",
    ),
    "a ranking is in the folder of the output": (
        "aggregate result/ranking.tsv result/ranking.tsv --out result --format csv",
        "RANKING",
        "--out",
    ),
    "a folder inside a store that is read": ("rank m.store --out m.store/out", "MATRIX", "--out"),
}


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a matrix under three names, a store, labels and a result; none is changed."""
    folder = tmp_path_factory.mktemp("study")
    for name in ("x.csv", "other.csv"):
        good(folder, name)
    h5ad(folder, "x.h5ad")
    (folder / "linked.csv").symlink_to("x.csv")
    (folder / "same.csv").hardlink_to(folder / "x.csv")
    text(folder, Path(labels(folder, AB)).read_text(), "labels.parquet")
    matrix = str(folder / "x.csv")
    assert run(["convert", matrix, str(folder / "m.store"), "-q"]) == 0
    assert run(["rank", matrix, "--method", "variance", "--out", str(folder / "result"), "-q"]) == 0
    good(folder / "m.store", "inside.csv")
    return folder


@pytest.mark.parametrize("case", CASES)
def test_output_that_is_an_input_is_refused(case, inputs, monkeypatch, capfd):
    monkeypatch.chdir(inputs)
    words, read, written = CASES[case]
    before = snapshot(inputs)
    done = run_here([*words.split(), "--force"], capfd)
    assert done.code == USAGE, done.err
    assert re.search("would (replace|change) an input", done.err)
    assert read in done.err
    assert written in done.err
    assert snapshot(inputs) == before


def test_two_outputs_of_one_name_are_refused(inputs, monkeypatch, capfd):
    monkeypatch.chdir(inputs)
    words = "rank x.h5ad --method variance --out one --write-h5ad one"
    done = run_here(words.split(), capfd)
    assert done.code == USAGE
    assert "--out" in done.err
    assert "--write-h5ad" in done.err


def test_output_beside_the_inputs_is_allowed(tmp_path, capfd):
    words = ["rank", good(tmp_path), "--method", "variance", "--out", str(tmp_path)]
    assert run_here(words, capfd).code == 0
    assert "up to date" in run_here(words, capfd).err


def test_the_matrix_of_a_plan_is_not_replaced(inputs, monkeypatch, capfd):
    monkeypatch.chdir(inputs)
    words = ["shard", "init", "plan", "x.h5ad", "--method", "variance", "--shards", "1"]
    assert run_here(words, capfd).code == 0
    before = (inputs / "x.h5ad").read_bytes()
    words = ["shard", "merge", "plan", "--out", "merged", "--write-h5ad", "x.h5ad"]
    done = run_here([*words, "--force"], capfd)
    assert done.code == USAGE
    assert "x.h5ad would replace an input" in done.err
    assert (inputs / "x.h5ad").read_bytes() == before
