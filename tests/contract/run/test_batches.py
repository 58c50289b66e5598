"""``--batch``: the rankings of the batches by themselves, made one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sfs_cli import RankConfig
from sfs_cli.logs import Messages
from sfs_cli.ranking.aggregate import aggregate, midranks
from sfs_cli.workflow.rank import rank
from tests.making import table_text
from tests.oracles import covariates as oracle

N, M = 44, 60
SAMPLES = [f"s{i}" for i in range(N)]
BATCH = ["4" if i > 40 else str(1 + i % 3) for i in range(N)]
KIND = ["xyy"[(i // 3) % 3] for i in range(N)]
GENES = [f"g{i}" for i in range(M)]


def values() -> np.ndarray:
    """Counts of features x samples, with gaps; one gene is in one batch only."""
    rng = np.random.default_rng(2)
    X = rng.poisson(20, (M, N)) + 15.0 * rng.integers(0, 4, (M, 4))[:, [int(b) - 1 for b in BATCH]]
    X[:9] += 12.0 * (np.array(KIND) == "x")
    X[20] = rng.poisson(5, N) * (np.array(BATCH) == "2")
    return X


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    X = values()
    (tmp_path / "x.csv").write_text(table_text(X, GENES, SAMPLES))
    for name in ("1", "2", "3"):
        own = [i for i in range(N) if BATCH[i] == name]
        part = table_text(X[:, own], GENES, [SAMPLES[i] for i in own])
        (tmp_path / f"{name}.csv").write_text(part)
    age = np.random.default_rng(0).normal(50, 9, N).round(1)
    rows = [f"{s}\t{b}\t{k}\t{a}\n" for s, b, k, a in zip(SAMPLES, BATCH, KIND, age)]
    (tmp_path / "c.tsv").write_text("id\tbatch\tkind\tage\n" + "".join(rows))
    return tmp_path


LABELS: dict[str, Any] = {"labels": "c.tsv:kind"}
CASES: dict[str, dict[str, Any]] = {
    "variance": {"method": "variance"},
    "spec": {"method": "spec", "similarity": "rbf", "transform": "cpm,log1p"},
    "mrsf": {"method": "mrsf", "similarity": "knn", "neighbors": 4, "select": 10},
    "fisher": {"method": "fisher", "min_samples": 3} | LABELS,
    "adjusted": {"method": "spec", "similarity": "rbf", "adjust": ("c.tsv:age",)},
}


def ranks_of(ranking: Any) -> np.ndarray:
    """Return the ranks (m,) in the order of the genes; equal scores share theirs."""
    scores = dict(zip(ranking.feature, ranking.score))
    found = np.array([scores[gene] for gene in GENES], float)
    return midranks(found, larger_is_better=ranking.larger_is_better)


@pytest.mark.parametrize("name", CASES)
def test_a_ranking_is_that_of_each_batch_alone_aggregated(name, study):
    options = CASES[name] | {"dtype": "float64"}
    alone = [rank(RankConfig(f"{b}.csv", **options)).ranking for b in ("1", "2", "3")]
    messages = Messages(-1)
    result = rank(RankConfig("x.csv", batch="c.tsv:batch", **options), messages)
    found = result.ranking
    place = {gene: i for i, gene in enumerate(found.feature)}
    at = [place[gene] for gene in GENES]
    columns = found.columns(0, len(found))
    for b, each in zip("123", alone):
        own = np.array(columns[f"rank_{b}"], float)[at]
        if name == "mrsf":  # by the path, which has no scores
            assert [GENES[i] for i in np.argsort(own)[:10]] == list(each.feature[:10])
        else:
            np.testing.assert_array_equal(own, ranks_of(each))
    ranks = np.column_stack([np.array(columns[f"rank_{b}"], float)[at] for b in "123"])
    np.testing.assert_array_equal(np.array(found.score)[at], aggregate("borda", ranks).score)
    assert result.facts["batches"]["left_out"] == {"4": "3 samples"}
    assert any("4 (3 samples)" in text for text in messages.warnings)
    assert result.facts["input"]["n_samples"] == N - 3


def test_a_batch_of_one_class_cannot_be_ranked_by_classes(study):
    rows = [f"{s}\t{'x' if b == '2' else k}\n" for s, b, k in zip(SAMPLES, BATCH, KIND)]
    (study / "d.tsv").write_text("id\tkind\n" + "".join(rows))
    messages = Messages(-1)
    config = RankConfig("x.csv", method="fisher", labels="d.tsv", batch="c.tsv:batch")
    facts = rank(config, messages).facts["batches"]
    assert facts["left_out"] == {"2": "all of class x", "4": "3 samples"}
    assert facts["ranked"][0]["classes"] == {"x": 5, "y": 9}


def test_what_the_batches_explain_is_told_of_the_values_before(study, sfs):
    words = ["--method", "variance", "--dtype", "float64", "--batch", "c.tsv:batch"]
    done = sfs("rank", "x.csv", *words, "--out", "out")
    record = json.loads((study / "out" / "run.json").read_text())
    used = [i for i in range(N) if BATCH[i] != "4"]
    D = oracle.design([BATCH[i] for i in used])
    order = [
        row.split("\t")[1] for row in (study / "out/ranking.tsv").read_text().split("\n")[1:51]
    ]
    X = values()[:, used]
    before = np.mean([oracle.r_squared(X[int(name[1:])], D) for name in order])
    explained = record["batches"]["explained"]
    assert explained["before"] == pytest.approx(before, rel=1e-9)
    assert "after" not in explained
    assert f"the batches explain {before:.1%}" in done.err
    page = (study / "out" / "report.html").read_text()
    for words_there in ("Batches", "left out: 3 samples", "Agreement of the rankings"):
        assert words_there in page


def test_pruning_and_warnings_do_not_see_the_means_of_the_batches(study):
    """Genes that only share the differences of batches do not repeat each other."""
    rng = np.random.default_rng(1)
    X = rng.normal(0, 1, (M, N)) + 20 * np.array([int(b) for b in BATCH])
    (study / "y.csv").write_text(table_text(X, GENES, SAMPLES))
    config: dict[str, Any] = {"method": "variance", "max_correlation": 0.9}
    whole, messages = rank(RankConfig("y.csv", **config)), Messages(-1)
    within = rank(RankConfig("y.csv", batch="c.tsv:batch", **config), messages)
    assert whole.facts["pruning"]["kept"] == 1
    assert within.facts["pruning"]["kept"] == M
    assert not any("repeat each other" in text for text in messages.warnings)


def test_an_error_names_the_batch(study, sfs):
    X = values()
    X[:, [i for i in range(N) if BATCH[i] == "3"]] = 7
    (study / "y.csv").write_text(table_text(X, GENES, SAMPLES))
    words = ["rank", "y.csv", "--method", "variance", "--batch", "c.tsv:batch"]
    done = sfs(*words, code=3)
    assert "batch 3" in done.err
