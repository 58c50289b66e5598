"""The metric for GSEA: order statistics, and a set at the top that wins by the running sum."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from sfs_cli.ranking.evidence import exponential_scores
from sfs_cli.ranking.table import Ranking, rank_features
from tests.cli.shard_study import make_study, sfs
from tests.making import write_labels, write_table
from tests.oracles.gsea import signed_enrichment_score
from tests.running import run_here


def ranked(score: np.ndarray, larger: bool) -> Ranking:
    names = [f"g{i}" for i in range(len(score))]
    status = np.isnan(score).astype(int)
    return rank_features(names, score, status, ["ok", "constant"], larger_is_better=larger)


def test_it_is_the_mean_of_sorted_exponential_variables():
    made = exponential_scores(ranked(np.arange(9.0), True))
    drawn = np.random.default_rng(0).exponential(size=(20_000, 9))
    np.testing.assert_allclose(made, np.sort(drawn)[:, ::-1].mean(axis=0), rtol=0.03)


def test_nothing_is_made_of_no_score():
    assert not len(exponential_scores(ranked(np.full(3, np.nan), True)))


TWO = ("t-test", "f-test")


@pytest.fixture
def two_classes(tmp_path, monkeypatch):
    """Genes 0 to 19 are higher in the class "case", 20 to 39 lower, of 300 in 30 samples."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(2)
    case = rng.permutation(30) < 14
    X = rng.normal(6, 1, (300, 30))
    X[:20] += 1.2 * case
    X[20:40] -= 1.2 * case
    names, samples = [f"g{i}" for i in range(300)], [f"s{i}" for i in range(30)]
    write_table(tmp_path / "x.csv", X, names, samples)
    write_labels(tmp_path / "labels.tsv", ["case" if c else "base" for c in case], samples)
    return X[:, case].mean(axis=1) - X[:, ~case].mean(axis=1)


def rnk(path: Path) -> list[tuple[str, float]]:
    lines = [line.rstrip("\n").split("\t") for line in path.open()]
    return [(name, float(value)) for name, value in lines]


@pytest.mark.parametrize("method", TWO)
def test_two_classes_have_a_sign_and_both_sets_win(method, two_classes, tmp_path, capfd):
    words = ["--method", method, "--labels", "labels.tsv:tissue"]
    out = ["--format", "rnk", "--out", "out"]
    done = run_here(["rank", "x.csv", *words, *out], capfd)
    assert done.code == 0, done.err
    assert "higher in case than in base" in done.err
    pairs = rnk(tmp_path / "out" / "ranking.rnk")
    values = [value for _, value in pairs]
    assert values == sorted(values, reverse=True)
    for name, value in pairs:
        assert (value > 0) == (two_classes[int(name[1:])] > 0)
    sfs("rank", "x.csv", *words, "--out", "table")
    with (tmp_path / "table" / "ranking.tsv").open() as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    by_size = sorted(pairs, key=lambda pair: -abs(pair[1]))
    assert [name for name, _ in by_size] == [row["feature"] for row in rows]
    up, down = ({f"g{i}" for i in some} for some in (range(20), range(20, 40)))
    rng = np.random.default_rng(0)
    others = [{f"g{i}" for i in rng.choice(300, 20, replace=False)} for _ in range(100)]
    chance = [signed_enrichment_score(pairs, some) for some in others]
    assert signed_enrichment_score(pairs, up) > max(chance)
    assert signed_enrichment_score(pairs, down) < min(chance)
    record = json.loads((tmp_path / "out" / "run.json").read_text())
    assert record["method"]["direction"] == "case - base"
    assert "case - base" in (tmp_path / "out" / "report.html").read_text()


def test_the_sign_follows_pruning_given_features_threads_and_shards(
    two_classes, tmp_path, set_blocks
):
    set_blocks(16)
    (tmp_path / "panel.txt").write_text("g3\ng25\n")
    words = ["x.csv", "--method", "t-test", "--labels", "labels.tsv:tissue", "--format", "rnk"]
    words += ["--max-correlation", "0.4", "--given", "panel.txt"]
    sfs("rank", *words, "--out", "a", "--threads", 1)
    pairs = rnk(tmp_path / "a" / "ranking.rnk")
    assert len(pairs) == 298
    for name, value in pairs:
        assert (value > 0) == (two_classes[int(name[1:])] > 0)
    sfs("rank", *words, "--out", "b", "--threads", 3, "--memory", "16M")
    sfs("shard", "init", "plan", *words, "--shards", 2)
    for i in (1, 2):
        sfs("shard", "run", "plan", i)
    sfs("shard", "merge", "plan", "--out", "c")
    made = {(tmp_path / name / "ranking.rnk").read_bytes() for name in "abc"}
    assert len(made) == 1


def test_many_classes_and_other_methods_have_no_sign(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(make_study(tmp_path))
    words = ["--labels", "labels.tsv:tissue", "--format", "rnk"]
    done = run_here(["rank", "m.csv", "--method", "fisher", *words, "--out", "out"], capfd)
    assert done.code == 0
    assert "higher in" not in done.err
    assert "direction" not in json.loads((tmp_path / "out" / "run.json").read_text())["method"]
    assert min(value for _, value in rnk(tmp_path / "out" / "ranking.rnk")) > 0
