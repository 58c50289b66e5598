"""`sfs plan`: what it says of the passes is what a run does."""

from __future__ import annotations

import json
from dataclasses import replace

import anndata as ad
import numpy as np
import pytest
from scipy.sparse import csr_matrix

from sfs_cli.errors import OutOfMemoryError, UsageError
from sfs_cli.graph import neighbors
from sfs_cli.graph.pca import ARRAYS, reads
from sfs_cli.logs import Messages
from sfs_cli.options import RankConfig, parse_source
from sfs_cli.run import estimate as estimate_of
from sfs_cli.run.estimate import estimate
from sfs_cli.run.memory import memory_plan
from sfs_cli.run.passes import Shape, pass_list
from tests.making import write_table


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "x.csv"
    write_table(path, np.random.default_rng(0).random((60, 12)))
    return path


def passes_of(config, n, m):
    float32 = np.dtype(np.float32)
    return list(pass_list(config, Shape(n, m, float32, 1 << 30)))


def planned(path, wall_time=None, **options):
    config = RankConfig(matrix=str(path), **options)
    return json.loads(estimate(config, Messages(verbosity=-1), wall_time, True))


@pytest.mark.parametrize(
    ("options", "kinds"),
    [
        ({}, ["gram", "solve"]),
        ({"similarity": "rbf"}, ["gram", "score"]),
        ({"transform": "cpm,log1p"}, ["sums", "gram", "solve"]),
        ({"method": "variance"}, ["score"]),
        ({"similarity": "knn", "neighbors": 3}, ["gram", "score"]),
        (
            {"similarity": "knn", "neighbors": 3, "components": 2},
            ["components", "components", "gram", "score"],
        ),
        (
            {"similarity": "knn", "neighbors": 3, "components": 2, "variable_genes": 30},
            ["sums", "components", "components", "gram", "score"],
        ),
        ({"method": "mrsf", "select": 3}, ["gram", "solve"]),
        ({"method": "kogs", "members": ("variance", "spec")}, ["score", "gram", "score"]),
    ],
)
def test_the_passes_are_told_with_their_bytes_and_time(table, options, kinds):
    facts = planned(table, **options)
    assert [row["kind"] for row in facts["passes"]] == kinds
    for row in facts["passes"]:
        assert row["bytes"] == row["times"] * row["fraction"] * row["of_matrix"] * 60 * 12 * 4
    seconds = facts["seconds"]
    assert seconds["total"] == pytest.approx(sum(v for k, v in seconds.items() if k != "total"))
    assert seconds["passes"] > 0
    assert facts["memory_needed"] == sum(facts["memory"].values())


def test_many_samples_are_searched_in_panels():
    config = RankConfig(matrix="x", similarity="knn")
    found = passes_of(config, 5000, 900)
    assert [p.kind for p in found] == ["pairs", "sums", "pairs", "panels", "score"]
    assert [p.times for p in found] == [1, 1, 0, 1, 1]
    assert found[3].fraction == 10


@pytest.mark.parametrize("installed", [True, False])
def test_many_samples_are_searched_among_components(installed, monkeypatch):
    monkeypatch.setattr(neighbors, "is_descent_installed", lambda: installed)
    config = RankConfig(matrix="x", similarity="knn")
    found = passes_of(config, 60_000, 8000)
    among_all = ["sums", "pairs"] if installed else ["pairs", "sums", "pairs", "panels"]
    search = [(kind, 50 / 8000 * (118 if kind == "panels" else 1)) for kind in among_all]
    passes, times = reads(60_000, 2000, 50)
    part = pytest.approx((times + 1) / (passes + 1) * 0.25)
    kinds = [("sums", 1), ("components", part), ("components", 1), *search, ("score", 1)]
    assert [(p.kind, p.fraction) for p in found] == kinds
    assert found[1].times == passes + 1
    assert not any(p.of_matrix for p in found[3:-1])
    whole = replace(config, components="none")
    assert [p.kind for p in passes_of(whole, 60_000, 8000)] == [*among_all, "score"]


def test_components_of_a_source_are_planned():
    source = parse_source("x=target:,similarity=knn,components=9,variable-genes=100")
    config = RankConfig(matrix="x", method="msfs", source=(source, parse_source("y=target:")))
    found = passes_of(config, 3000, 400)
    kinds = ["sums", "components", "gram", "gram", "score"]
    assert [p.kind for p in found if p.exact] == kinds
    assert found[1].purpose == "9 principal components of the samples for source x"
    assert [p.fraction for p in found[:2]] == [1, 0.25]


def test_a_search_among_components_takes_time(tmp_path, set_limits, monkeypatch):
    set_limits(dense_distances=20, approximate_above=30)
    monkeypatch.setattr(neighbors, "is_descent_installed", lambda: True)
    rates = estimate_of.Rates((2.0, 1.0), 2.0, 1.0, 0.0, 1e9, cached=True)  # of any machine
    monkeypatch.setattr(estimate_of, "_rates", lambda run: rates)
    path = tmp_path / "x.csv"
    rows = [",".join([f"g{i}", *map(str, range(i, i + 40))]) for i in range(60)]
    path.write_text("\n".join([",".join(["id", *[f"s{j}" for j in range(40)]]), *rows]) + "\n")
    facts = planned(path, similarity="knn", neighbors=3, components=4)
    assert [row["kind"] for row in facts["passes"]] == [
        *("components", "components", "sums", "pairs", "score")
    ]
    assert all(row["seconds"] > 0 for row in facts["passes"] if row["times"])
    assert facts["seconds"]["graph"] > 0


def test_p_values_of_permutations_take_longer():
    def columns(**options):
        config = RankConfig("x", method="spec", similarity="knn", neighbors=3, **options)
        return passes_of(config, 12, 60)[-1].columns

    assert columns(pvalues="permutation:9999") > 10 * columns()


def test_permutations_cost_alike_on_graphs_of_few_samples():
    """Most of their time is the shuffling of a feature, which the graph has no part in."""

    def columns(similarity, n):
        config = RankConfig("x", method="spec", similarity=similarity, pvalues="permutation:1000")
        return passes_of(config, n, 900)[-1].columns

    assert 1 < columns("rbf", 400) / columns("knn", 400) < 2
    assert columns("knn", 400) == columns("knn", 100)


def test_components_take_memory_for_every_worker(monkeypatch):
    monkeypatch.setattr(neighbors, "is_descent_installed", lambda: True)
    config = RankConfig(matrix="x", similarity="knn", threads=4)
    stored = np.dtype(np.float32)

    def shape(memory, **options):
        asked = replace(config, **options)
        size = Shape(1_000_000, 3000, stored, memory)
        return memory_plan(asked, size, pass_list(asked, size))

    sums = 8 * 1_000_000 * 60
    much = shape(1 << 40)
    assert much.bytes_by_use["graph"] == ARRAYS * sums
    assert much.bytes_by_use["threads"] >= 4 * ARRAYS * sums
    assert shape(much.needed).workers == 4
    assert shape(much.needed - 1).workers == 3
    assert shape(1 << 40, components=10).needed < much.needed
    with pytest.raises(OutOfMemoryError):
        shape(2 * ARRAYS * sums)


def test_a_wall_time_gives_shards_and_the_commands(table):
    shards = planned(table, "2h", method="spec")["shards"]
    assert shards["fits"]
    assert shards["shards"] == 1
    assert shards["commands"][0].startswith(f"sfs shard init PLAN {table}")
    assert not planned(table, "1s")["shards"]["fits"]
    with pytest.raises(UsageError, match="--wall-time 'soon'"):
        planned(table, "soon")


def test_the_text_says_what_json_does(table):
    said = estimate(RankConfig(matrix=str(table)), Messages(verbosity=-1), None, False)
    assert "12 samples x 60 features" in said
    assert "inner products of the samples" in said
    assert "memory" in said


def test_what_a_block_takes_beside_its_products_is_counted_once(table, monkeypatch):
    """A product with many columns that takes no longer than one with one costs nothing more."""

    def fixed(work):
        work()
        return 10.0

    monkeypatch.setattr(estimate_of, "_seconds", fixed)
    facts = planned(table, method="spec", similarity="knn", neighbors=3, components=2)
    assert facts["seconds"]["graph"] == 0
    for row in facts["passes"]:
        assert row["seconds"] == pytest.approx(10 * row["times"] * row["fraction"] * row["work"])


def test_a_sparse_file_is_timed_on_values_as_sparse_as_its_own(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    counts = csr_matrix(rng.poisson(0.1, (400, 300)).astype(np.float32))
    ad.AnnData(counts).write_h5ad(tmp_path / "x.h5ad")
    samples = []

    def sample(run):
        samples.append(made(run))
        return samples[-1]

    made = estimate_of._sample
    monkeypatch.setattr(estimate_of, "_sample", sample)
    options = {"similarity": "knn", "components": 5, "transform": "cpm,log1p"}
    planned(tmp_path / "x.h5ad", **options)
    (found,) = samples
    assert found.sparse
    share = found.values[1:].nnz / np.prod(found.values[1:].shape)
    assert share == pytest.approx(counts.nnz / (400 * 300), rel=0.1)
