"""`sfs plan`: what it says of the passes is what a run does."""

from __future__ import annotations

import json

import numpy as np
import pytest

from sfs_cli.config import RankConfig
from sfs_cli.errors import UsageError
from sfs_cli.jobs.plan_run import plan
from sfs_cli.jobs.planned import passes_of
from sfs_cli.logs import Messages


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
        ({"method": "mrsf", "select": 3}, ["gram", "solve"]),
    ],
)
def test_the_passes_are_told_with_their_bytes_and_time(table, options, kinds):
    facts = planned(table, **options)
    assert [row["kind"] for row in facts["passes"]] == kinds
    assert all(row["bytes"] == row["times"] * 60 * 12 * 4 for row in facts["passes"])
    seconds = facts["seconds"]
    assert seconds["total"] == pytest.approx(sum(v for k, v in seconds.items() if k != "total"))
    assert seconds["passes"] > 0
    assert facts["memory_needed"] == sum(facts["memory"].values())


def test_many_samples_are_searched_in_panels():
    config = RankConfig(matrix="x", similarity="knn")
    found = passes_of(config, 5000, "knn")
    assert [p.kind for p in found] == ["pairs", "numbers", "panels", "score"]
    assert found[2].times == 10


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
