"""`sfs help`: topics, whose commands are run, and commands."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from sfs_cli.cli.app import VERBS
from sfs_cli.cli.help import TOPICS
from sfs_cli.ranking.aggregations import AGGREGATIONS
from tests.cli.making import USAGE
from tests.cli.running import run_apart, run_here

SAMPLE_DATA = Path(__file__).parents[2] / "sample_data"


def test_methods_say_what_they_need(capfd):
    said = run_here(["methods", "mrsf"], capfd).out
    assert "needs     a sample graph (--response similarity), labels (--response lda)" in said
    assert "p-values" not in said
    assert "p-values  --pvalues\n" in run_here(["methods", "spec"], capfd).out
    (record,) = json.loads(run_here(["methods", "mrsf", "--json"], capfd).out)
    assert record["needs_by"]["--response"]["lda"] == ["labels"]
    everything = run_here(["methods"], capfd).out
    for name in AGGREGATIONS:
        assert f"\n  {name} " in everything


def commands(topic: str) -> list[list[str]]:
    text = TOPICS[topic].answer.replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line.startswith("    ")]
    assert all(line.startswith("    sfs ") for line in lines)
    return [shlex.split(line)[1:] for line in lines]


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files that the texts name, of a hundred genes."""
    folder = tmp_path_factory.mktemp("study")
    for name in ("labels.tsv", "mirna.csv"):
        shutil.copy(SAMPLE_DATA / name, folder)
    lines = (SAMPLE_DATA / "expression.csv").read_text().splitlines()
    (folder / "expression.csv").write_text("\n".join(lines[:401]) + "\n")
    rng = np.random.default_rng(1)
    n = len(lines[0].split(",")) - 1
    genes = ["MT-CO1", "RPS6", "RPL11", *(row.split(",")[0] for row in lines[1:121])]
    rows = [f"{gene},{','.join(map(str, rng.poisson(25, n)))}" for gene in genes]
    (folder / "counts.csv").write_text("\n".join([lines[0], *rows]) + "\n")
    make = [sys.executable, SAMPLE_DATA / "make_h5ad.py", folder / "cells.h5ad"]
    subprocess.run(make, check=True, capture_output=True)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("topic", TOPICS)
def test_the_commands_of_a_topic_work(topic, study, tmp_path, capfd, monkeypatch):
    for path in study.iterdir():
        (tmp_path / path.name).symlink_to(path)
    monkeypatch.chdir(tmp_path)
    assert commands(topic)
    for words in commands(topic):
        done = run_here(words, capfd)
        assert done.code == 0, (words, done.err)


@pytest.mark.parametrize("topic", TOPICS)
def test_topics_are_short_and_printed_as_they_are(topic, capfd):
    done = run_here(["help", topic], capfd)
    assert done.code == 0
    assert TOPICS[topic].question in done.out
    assert TOPICS[topic].answer in done.out
    assert max(map(len, done.out.splitlines())) <= 100
    assert len(done.out.splitlines()) <= 60
    guides = re.findall(r"docs/guides/[\w-]+\.md", done.out)
    assert guides
    assert all((SAMPLE_DATA.parent / guide).is_file() for guide in guides)


def test_topics_are_listed(capfd):
    done = run_here(["help"], capfd)
    assert done.code == 0
    assert all(name in done.out and topic.question in done.out for name, topic in TOPICS.items())
    assert not set(TOPICS) & set(VERBS)


@pytest.mark.parametrize("words", [["rank"], ["shard", "run"], ["shard"], ["config", "check"]])
def test_help_of_a_command_is_its_help(words, capfd):
    assert run_here(["help", *words], capfd).out == run_here([*words, "--help"], capfd).out


@pytest.mark.parametrize("words", [["rnak"], ["shard", "rnu"], ["rank", "x"], ["p-values", "x"]])
def test_what_is_not_there_is_refused_with_what_is(words, capfd):
    done = run_here(["help", *words], capfd)
    assert done.code == USAGE
    assert " ".join(words) in done.err
    assert "sfs help" in done.err


def test_a_topic_imports_no_numeric_library():
    script = (
        "import sys; from sfs_cli.cli.app import run; run(['help', 'counts']);"
        "print([m for m in ('numpy', 'scipy', 'pandas', 'rich') if m in sys.modules])"
    )
    done = run_apart(["-c", script], launcher=(sys.executable,))
    assert done.out.splitlines()[-1] == "[]"
