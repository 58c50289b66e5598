"""The metric for GSEA: order statistics, and a set at the top that wins by the running sum."""

from __future__ import annotations

import numpy as np
import pytest

from sfs_cli.ranking.evidence import exponential_scores
from sfs_cli.ranking.table import Ranking, rank_features
from tests.cli.shard_study import make_study, sfs
from tests.oracles.gsea import enrichment_score

M, SIZE = 400, 20


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


@pytest.mark.parametrize("p", [0.5, 1, 2])
@pytest.mark.parametrize("kind", ["near 1", "from 0", "negative", "heavy", "p-values"])
def test_a_set_at_the_top_wins(kind, p):
    rng = np.random.default_rng(4)
    larger = kind in ("negative", "heavy")
    score = {
        "near 1": 1 - 1e-3 * rng.random(M),  # as phi2
        "from 0": 2 * rng.random(M),  # where minus the score gives the best ones no weight
        "negative": -(rng.random(M) ** 2),  # as ReliefF
        "heavy": np.exp(3 * rng.normal(size=M)),  # as F statistics
        "p-values": 10.0 ** (-8 * rng.random(M)),
    }[kind]
    ranking = ranked(score, larger)
    metric = exponential_scores(ranking)
    assert (np.diff(metric) < 0).all()
    assert metric[-1] > 0
    pairs = list(zip(ranking.feature, metric.tolist()))
    # some of the best ones, and others anywhere
    top, rest = rng.permutation(25), 25 + rng.permutation(M - 25)
    planted = {ranking.feature[int(i)] for i in [*top[:12], *rest[: SIZE - 12]]}
    others = [{f"g{i}" for i in rng.choice(M, SIZE, replace=False)} for _ in range(100)]
    best = max(enrichment_score(pairs, some, p) for some in others)
    assert enrichment_score(pairs, planted, p) > best


@pytest.mark.parametrize(
    "options",
    [
        ("--method", "fisher"),
        ("--similarity", "label"),
        ("--similarity", "label", "--ranking", "phi3", "--clusters", "3"),
        ("--method", "mrmr", "--select", "60"),
        ("--method", "f-test", "--max-correlation", "0.9"),
    ],
    ids=lambda options: options[1],
)
def test_planted_genes_win_in_the_file(options, tmp_path, monkeypatch):
    monkeypatch.chdir(make_study(tmp_path))
    labels = ("--labels", "labels.tsv:tissue")
    sfs("rank", "m.csv", *labels, *options, "--format", "rnk", "--out", "out")
    lines = [line.split("\t") for line in (tmp_path / "out" / "ranking.rnk").open()]
    pairs = [(name, float(value)) for name, value in lines]
    planted = {f"g{i}" for i in range(30)}
    rng = np.random.default_rng(0)
    names = [name for name, _ in pairs]
    others = [set(rng.choice(names, 30, replace=False)) for _ in range(60)]
    best = max(enrichment_score(pairs, some) for some in others)
    assert enrichment_score(pairs, planted) > best
