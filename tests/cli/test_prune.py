"""``--max-correlation`` on the command line: the greedy filter of what was scored, in any way."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from sfs_cli.features.pruning import step as module
from tests.cli.shard_study import make_study, sfs
from tests.oracles import prune as oracle
from tests.results import result
from tests.running import run_here

Rows = list[dict[str, str]]

CASES: dict[str, list[str]] = {
    "spec": ["m.csv"],
    "transform": ["counts.h5ad", "--transform", "cpm,log1p,zscore"],
    "sparse": ["counts.h5ad", "--method", "variance"],
    "missing": ["gaps.csv", "--missing", "drop", "--method", "variance"],
    "filled": ["gaps.csv", "--missing", "mean", "--transform", "clr"],
    "samples": [
        *("m.csv", "--method", "fisher", "--labels", "some.tsv:tissue"),
        *("--samples", "intersect"),
    ],
    "path": ["m.csv", "--method", "mrsf", "--select", "20"],
    "msfs": ["m.csv", "--method", "msfs", "--source", "a=profile:mirna.csv"],
    "kogs": ["m.csv", "--method", "kogs", "--members", "variance,spec"],
}


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_study(tmp_path_factory.mktemp("study"))


@pytest.fixture(autouse=True)
def here(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(study)


@pytest.fixture
def rank(tmp_path: Path) -> Callable[..., Rows]:
    def ranked(*arguments: object) -> Rows:
        sfs("rank", *arguments, "--out", tmp_path / "out", "--force")
        with (tmp_path / "out" / "ranking.tsv").open() as file:
            return list(csv.DictReader(file, delimiter="\t"))

    return ranked


def values(name: str) -> tuple[list[str], np.ndarray]:
    """Return ids and values, samples x features, of a plain case."""
    with Path(name).open() as file:
        _, *rows = csv.reader(file)
    return [row[0] for row in rows], np.array([row[1:] for row in rows], float).T


@pytest.mark.parametrize("keep", [3, 30, 1000])
def test_the_table_is_the_pruned_one_of_all_features(rank, keep):
    names, X = values("m.csv")
    plain = [row["feature"] for row in rank("m.csv") if row["status"] == "ok"]
    names[-1] = next(name for name in plain if name not in names)  # the second g3
    rows = rank("m.csv", "--max-correlation", 0.4, "--keep", keep)
    order = [names.index(name) for name in plain]
    kept, moved, rest = oracle.prune(X, order, 0.4, keep)
    found = [(row["feature"], row["representative"]) for row in rows if row["status"] == "ok"]
    assert found == [
        *((names[i], "") for i in kept),
        *((names[i], names[k]) for i, k in moved),
        *((names[i], "") for i in rest),
    ]
    assert [int(row["rank"]) for row in rows] == list(range(1, len(rows) + 1))
    assert rows[-1]["status"] == "constant"


@pytest.mark.parametrize("case", CASES)
def test_every_ranking_can_be_pruned(case, rank, tmp_path):
    plain = rank(*CASES[case])
    rows = rank(*CASES[case], "--max-correlation", 0.3)
    scores = {row["feature"]: row["score"] for row in plain}
    assert {row["feature"]: row["score"] for row in rows} == scores
    named = [row["representative"] for row in rows]
    scored = sum(row["status"] == "ok" for row in plain)
    facts = json.loads((tmp_path / "out" / "run.json").read_text())["pruning"]
    assert facts["kept"] + facts["moved"] == facts["examined"] == scored
    kept = [row["feature"] for row in rows[: facts["kept"]]]
    assert not any(named[: facts["kept"]])
    assert set(named[facts["kept"] : scored]) <= set(kept)
    assert all(named[facts["kept"] : scored])
    places = {row["feature"]: i for i, row in enumerate(plain)}
    for some in (rows[: facts["kept"]], rows[facts["kept"] : scored], rows[scored:]):
        order = [places[row["feature"]] for row in some]
        assert order == sorted(order)
    for row in rows[facts["kept"] : scored]:
        assert places[row["representative"]] < places[row["feature"]]


@pytest.mark.parametrize("case", ["spec", "transform"])
def test_memory_threads_blocks_and_a_store_change_no_byte(case, tmp_path, monkeypatch):
    matrix, *options = CASES[case]
    options += ["--max-correlation", "0.3", "--keep", "60"]
    sfs("rank", matrix, *options, "--out", tmp_path / "a", "--threads", 1)
    expected = (tmp_path / "a" / "ranking.tsv").read_bytes()
    monkeypatch.setattr(module, "READ_AT_ONCE", 5)
    sfs("convert", matrix, tmp_path / "store")
    asked = (
        [matrix, "--threads", 3],
        [matrix, "--block-size", 11],
        [matrix, "--memory", "16M"],
        [tmp_path / "store", "--threads", 2],
    )
    for i, how in enumerate(asked):
        sfs("rank", *how, *options, "--out", tmp_path / f"b{i}")
        assert (tmp_path / f"b{i}" / "ranking.tsv").read_bytes() == expected


def test_kept_features_that_memory_does_not_hold_are_in_a_file(tmp_path, monkeypatch):
    options = ["m.csv", "--max-correlation", "0.3", "--scratch", tmp_path]
    sfs("rank", *options, "--out", tmp_path / "a")
    made: list[np.ndarray] = []
    whole = module.prune

    def watched(take, count, most, room, *rest):
        made.append(room)
        return whole(take, count, most, room, *rest)

    monkeypatch.setattr(module, "prune", watched)
    monkeypatch.setattr(module, "HELD_SHARE", 1 << 40)
    sfs("rank", *options, "--out", tmp_path / "b")
    assert isinstance(made[0], np.memmap)
    assert result(tmp_path / "a") == result(tmp_path / "b")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]


def test_the_report_says_what_was_pruned(tmp_path, capfd):
    out = tmp_path / "out"
    done = run_here(
        ["rank", "m.csv", "--max-correlation", "0.4", "--keep", "20", "--out", str(out)], capfd
    )
    assert "kept 20 of" in done.err
    page = (out / "report.html").read_text()
    assert "Max correlation" in page
    assert "that pruning kept" in page
    record = json.loads((out / "run.json").read_text())
    assert record["result"]["elbow"] is None or record["result"]["elbow"] < 20


@pytest.mark.parametrize("form", ["csv", "parquet", "json", "rnk"])
def test_every_format_has_the_pruned_order(form, tmp_path):
    options = ["m.csv", "--max-correlation", "0.4"]
    sfs("rank", *options, "--out", tmp_path / "tsv")
    sfs("rank", *options, "--format", form, "--out", tmp_path / form)
    with (tmp_path / "tsv" / "ranking.tsv").open() as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    path = tmp_path / form / f"ranking.{form}"
    if form == "rnk":
        names = [line.split("\t")[0] for line in path.read_text().splitlines()]
        assert names == [row["feature"] for row in rows if row["status"] == "ok"]
        return
    if form == "csv":
        with path.open() as file:
            found = list(csv.DictReader(file))
    elif form == "json":
        found = json.loads(path.read_text())
    else:
        import pyarrow.parquet as pq

        found = pq.read_table(path).to_pylist()
    keys = ("feature", "representative")
    assert [[r[k] for k in keys] for r in found] == [[r[k] for k in keys] for r in rows]


@pytest.mark.parametrize("value", ["0", "1", "1.5", "-0.2", "nan", "high"])
def test_a_bound_outside_0_to_1_is_refused(value, capfd):
    done = run_here(["rank", "m.csv", "--max-correlation", value], capfd)
    assert done.code == 2
    assert "--max-correlation" in done.err


def test_where_there_is_no_matrix_there_is_no_pruning(tmp_path, capfd):
    for name, method in (("a", "spec"), ("b", "variance")):
        sfs("rank", "m.csv", "--method", method, "--out", tmp_path / name)
    tables = [str(tmp_path / name / "ranking.tsv") for name in "ab"]
    done = run_here(["aggregate", *tables, "--max-correlation", "0.5"], capfd)
    assert done.code == 2
    assert "--max-correlation" in done.err
