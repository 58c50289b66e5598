"""Configuration files through the command line: the same runs as by flags, from anywhere."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.making_commands import AB, good, labels, text
from tests.running import run_here

RUN = """
matrix: good.csv
labels: labels.tsv
similarity: knn,neighbors=2
out: results
dtype: float64
"""
SOURCES = """
matrix: good.csv
source:
  all: {kind: target}
  other: {kind: profile, path: other.csv, similarity: knn, neighbors: 2}
out: results
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a matrix, labels and another profile, which is not the current one."""
    where = tmp_path / "study"
    where.mkdir()
    good(where)
    labels(where, AB)
    shutil.copy(where / "good.csv", where / "other.csv")
    return where


@pytest.fixture
def sfs(capfd, monkeypatch, tmp_path):
    """What runs the command line in a folder and gives what it printed."""
    monkeypatch.chdir(tmp_path)

    def run(*words: object, at: Path | None = None, code: int = 0):
        if at is not None:
            monkeypatch.chdir(at)
        done = run_here([str(word) for word in words], capfd)
        assert done.code == code, done.err
        return done

    return run


def ranking(out: Path) -> bytes:
    return (out / "ranking.tsv").read_bytes()


@pytest.mark.parametrize("content", [RUN, SOURCES], ids=["labels", "sources"])
def test_run_json_makes_the_same_ranking_from_any_folder(sfs, folder, content, tmp_path):
    text(folder, content, "run.yaml")
    sfs("rank", "--config", "study/run.yaml")
    record = folder / "results" / "run.json"
    for at in (tmp_path, folder / "results", Path("/")):
        out = tmp_path / "again" / str(len(at.parts))
        sfs("rank", "--config", record, "--out", out, at=at)
        assert ranking(out) == ranking(folder / "results")
    done = sfs("rank", "--config", "run.json", "--out", ".", at=folder / "results")
    assert "up to date" in done.err


def test_an_input_that_has_changed_is_told_of(sfs, folder):
    text(folder, SOURCES, "run.yaml")
    sfs("rank", "--config", "study/run.yaml")
    again = ["rank", "--config", folder / "results" / "run.json", "--out", "again"]
    assert "changed" not in sfs(*again).err
    path = folder / "other.csv"
    lines = path.read_text().splitlines()
    path.write_text("\n".join([lines[0], *lines[:0:-1]]) + "\n")  # of the same size
    done = sfs(*again, "--force")
    assert "source.other.path" in done.err
    assert f"has changed since {folder}/results/run.json was written" in done.err
    done = sfs(*again, "--source", f"other=profile:{path}", "--force")
    assert "has changed" not in done.err


def test_flags_and_the_matrix_of_the_command_line_win(sfs, folder):
    text(folder, RUN + "format: csv\n", "run.yaml")
    text(folder, (folder / "good.csv").read_text(), "mine.csv")
    words = ("--similarity", "knn,neighbors=3", "--format", "tsv", "--out", "mine")
    sfs("rank", "mine.csv", "--config", "run.yaml", *words, at=folder)
    config = json.loads((folder / "mine" / "run.json").read_text())["config"]
    assert (config["matrix"], config["format"]) == ("../mine.csv", "tsv")
    assert config["similarity"] == {"name": "knn", "neighbors": 3}
    assert config["dtype"] == "float64"
    assert not (folder / "results").exists()


def test_the_sample_file_ranks_as_the_flags_of_its_sources(sfs, sample_data, tmp_path):
    sfs("rank", "--config", sample_data / "run.yaml", "--out", "by-file")
    words: list[object] = ["rank", sample_data / "expression.csv", "--method", "msfs"]
    sets = "SIMPATH03,SIMPATH06,SIMPATH07,SIMPATH13,SIMPATH18"
    for source in (
        "expression=target:",
        f"mirna=profile:{sample_data}/mirna.csv",
        f"go=terms:{sample_data}/go_terms.csv",
        f"pathway=genes:{sample_data}/pathways.gmt:{sets}",
        f"tissue=labels:{sample_data}/labels.tsv:tissue",
    ):
        words += ["--source", source]
    sfs(*words, "--out", "by-flags")
    assert ranking(tmp_path / "by-file") == ranking(tmp_path / "by-flags")
