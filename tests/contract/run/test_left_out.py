"""Options that have no effect with the others: one warning, and the run goes on without them."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np
import pytest

import sfs_cli
from sfs_cli.sklearn import Selector
from tests.making_commands import AB, good, labels, text
from tests.running import Finished, run_here

SHARED = """labels: labels.tsv
method: {}
select: 4
similarity: knn,neighbors=2
splits: 3
top: 2
"""
COMPARE = ("compare", "good.csv", "--splits", "3", "--lengths", "2")


@pytest.fixture
def sfs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]):
    monkeypatch.chdir(tmp_path)
    good(tmp_path)
    labels(tmp_path, AB)

    def command(*words: str) -> Finished:
        done = run_here([*words], capfd)
        assert done.code == 0, done.err
        return done

    return command


@pytest.mark.parametrize("command", ["rank", "shard init plan --shards 2", "evaluate"])
@pytest.mark.parametrize("method", ["spec", "f-test"])
def test_one_file_of_options_serves_commands_and_methods(sfs, tmp_path, command, method):
    text(tmp_path, SHARED.format(method), "run.yaml")
    done = sfs(*command.split(), "good.csv", "--config", "run.yaml")
    assert f"no effect with --method {method}" in done.err


def test_merged_shards_say_what_was_left_out(sfs):
    words = ("--labels", "labels.tsv", "--method", "f-test", "--similarity", "rbf")
    sfs("shard", "init", "plan", "good.csv", *words, "--shards", "1")
    sfs("shard", "merge", "plan", "--out", "out")
    told = json.loads(Path("out/run.json").read_text())["warnings"]
    assert "--similarity has no effect with --method f-test: it is left out" in told


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ("rank", "good.csv", "--modules", "--module-traits", "labels.tsv", "--sets", "s.gmt"),
            "--sets, --modules and --module-traits have no effect without --out: they are left out",
        ),
        (
            ("evaluate", "good.csv", "--list", "list.txt", "--select", "3", "--splits", "2"),
            "--select has no effect with --list alone; --splits has no effect without --labels: "
            "they are left out",
        ),
        (
            (*COMPARE, "--list", "list.txt", "--leaky", "--labels", "labels.tsv"),
            "--leaky has no effect with --list alone: it is left out",
        ),
        (
            (*COMPARE, "--method", "spec", "--ranking-of", "v=--method variance --select 3"),
            "--splits has no effect without --labels; --select of ranking v has no effect with "
            "--method variance: they are left out",
        ),
        (
            ("select", "list.txt", "--top", "2", "--splits", "2"),
            "--splits has no effect without --cv: it is left out",
        ),
    ],
)
def test_each_command_says_what_it_leaves_out(sfs, tmp_path, words, said):
    text(tmp_path, "gene1\ngene2\ngene3\n", "list.txt")
    assert f"warning: {said}\n" in sfs(*words).err


def test_python_warns_of_arguments_that_it_leaves_out():
    X = np.random.default_rng(2).normal(size=(12, 8))
    with pytest.warns(sfs_cli.SfsWarning, match='^select has no effect with method="variance"'):
        found = sfs_cli.rank(X, method="variance", select=3)
    assert found.config.select is None
    with pytest.warns(sfs_cli.SfsWarning, match="sample_weights has no effect with"):
        Selector(2, method="mrmr").fit(X, [*"ab"] * 6, sample_weight=np.ones(12))
    with warnings.catch_warnings():
        warnings.simplefilter("error", sfs_cli.SfsWarning)
        Selector(2, method="variance").fit(X)
