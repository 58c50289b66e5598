"""`sfs plan`: what it says of the passes is what a run does."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from sfs_cli.compute import passes
from sfs_cli.compute.principal import ARRAYS, reads
from sfs_cli.config import RankConfig, parse_source
from sfs_cli.errors import OutOfMemoryError, UsageError
from sfs_cli.jobs import calibration
from sfs_cli.jobs import planned as planned_passes
from sfs_cli.jobs.plan_run import plan
from sfs_cli.jobs.planned import passes_of
from sfs_cli.jobs.work import plan_shape
from sfs_cli.logs import Messages
from sfs_cli.sources import neighbours


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "x.csv"
    values = np.random.default_rng(0).random((60, 12))
    rows = [",".join([f"g{i}", *map(str, row)]) for i, row in enumerate(values)]
    path.write_text("\n".join([",".join(["id", *[f"s{j}" for j in range(12)]]), *rows]) + "\n")
    return path


def planned(path, wall_time=None, **options):
    config = RankConfig(matrix=str(path), **options)
    return json.loads(plan(config, Messages(verbosity=-1), wall_time, True))


@pytest.mark.parametrize(
    ("options", "kinds"),
    [
        ({}, ["gram", "score"]),
        ({"transform": "cpm,log1p"}, ["numbers", "gram", "score"]),
        ({"method": "variance"}, ["score"]),
        ({"similarity": "knn", "neighbors": 3}, ["gram", "score"]),
        (
            {"similarity": "knn", "neighbors": 3, "components": 2},
            ["numbers", "components", "score"],
        ),
        (
            {"similarity": "knn", "neighbors": 3, "components": 2, "variable_genes": 30},
            ["numbers", "numbers", "components", "score"],
        ),
        ({"method": "mrsf", "select": 3}, ["gram", "solve"]),
    ],
)
def test_the_passes_are_told_with_their_bytes_and_time(table, options, kinds):
    facts = planned(table, **options)
    assert [row["kind"] for row in facts["passes"]] == kinds
    for row in facts["passes"]:
        assert row["bytes"] == row["times"] * row["part"] * 60 * 12 * 4
    seconds = facts["seconds"]
    assert seconds["total"] == pytest.approx(sum(v for k, v in seconds.items() if k != "total"))
    assert seconds["passes"] > 0
    assert facts["memory_needed"] == sum(facts["memory"].values())


def test_many_samples_are_searched_in_panels():
    config = RankConfig(matrix="x", similarity="knn")
    found = passes_of(config, 5000, 900, "knn")
    assert [p.kind for p in found] == ["pairs", "numbers", "panels", "score"]
    assert found[2].times == 10


@pytest.mark.parametrize("installed", [True, False])
def test_many_samples_are_searched_among_components(installed, monkeypatch):
    monkeypatch.setattr(neighbours, "_is_installed", lambda: installed)
    config = RankConfig(matrix="x", similarity="knn")
    found = passes_of(config, 60_000, 8000, "knn")
    search = [] if installed else [("panels", 50 / 8000)]
    kinds = [("numbers", 1), ("numbers", 0.25), ("components", 0.25), *search, ("score", 1)]
    assert [(p.kind, p.part) for p in found] == kinds
    assert found[2].times == reads(60_000, 2000, 50)
    whole = replace(config, components="none")
    among_all = ["numbers", "pairs"] if installed else ["pairs", "numbers", "panels"]
    assert [p.kind for p in passes_of(whole, 60_000, 8000, "knn")] == [*among_all, "score"]


def test_components_of_a_source_are_planned():
    source = parse_source("x=target:,similarity=knn,components=9,variable-genes=100")
    config = RankConfig(matrix="x", method="msfs", source=(source, parse_source("y=target:")))
    found = passes_of(config, 3000, 400, "sources")
    kinds = ["numbers", "numbers", "components", "gram", "score", "score"]
    assert [p.kind for p in found] == kinds
    assert found[2].purpose == "9 principal components of the samples for source x"
    assert [p.part for p in found[:3]] == [1, 0.25, 0.25]


def test_a_plan_of_many_samples_is_made_without_their_inner_products(tmp_path, monkeypatch):
    monkeypatch.setattr(calibration, "DENSE_DISTANCES", 20)
    monkeypatch.setattr(planned_passes, "DENSE_DISTANCES", 20)
    monkeypatch.setattr(neighbours, "APPROXIMATE_ABOVE", 30)
    monkeypatch.setattr(neighbours, "_is_installed", lambda: True)
    monkeypatch.setattr(passes, "gram", None)
    path = tmp_path / "x.csv"
    rows = [",".join([f"g{i}", *map(str, range(i, i + 40))]) for i in range(60)]
    path.write_text("\n".join([",".join(["id", *[f"s{j}" for j in range(40)]]), *rows]) + "\n")
    facts = planned(path, similarity="knn", neighbors=3, components=4)
    assert [row["kind"] for row in facts["passes"]] == ["numbers", "components", "score"]
    assert all(row["seconds"] > 0 for row in facts["passes"])
    assert facts["seconds"]["graph"] > 0


def test_components_take_memory_for_every_worker(monkeypatch):
    monkeypatch.setattr(neighbours, "_is_installed", lambda: True)
    config = RankConfig(matrix="x", similarity="knn", threads=4)
    stored = np.dtype(np.float32)

    def shape(memory, **options):
        asked = replace(config, **options)
        return plan_shape(asked, 1_000_000, 3000, stored, (), memory)

    sums = 8 * 1_000_000 * 60
    much = shape(1 << 40)
    assert much.parts["graph"] == ARRAYS * sums
    assert much.parts["threads"] >= 4 * ARRAYS * sums
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
    said = plan(RankConfig(matrix=str(table)), Messages(verbosity=-1), None, False)
    assert "12 samples x 60 features" in said
    assert "inner products of the samples" in said
    assert "memory" in said
