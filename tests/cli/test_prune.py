"""``--max-correlation`` on the command line: the greedy filter of what was scored, in any way."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.cli.shard_study import make_study, sfs
from tests.oracles import prune as oracle
from tests.running import run_here

Rows = list[dict[str, str]]

CASES: dict[str, list[str]] = {
    "transform": ["counts.h5ad", "--transform", "cpm,log1p,zscore"],
    "filled": ["gaps.csv", "--missing", "mean", "--transform", "clr"],
    "samples": [
        *("m.csv", "--method", "fisher", "--labels", "some.tsv:tissue"),
        *("--samples", "intersect"),
    ],
    "path": ["m.csv", "--method", "mrsf", "--select", "20"],
    "kogs": ["m.csv", "--method", "kogs,members=variance,spec"],
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


@pytest.mark.parametrize("keep", [30, 1000])
def test_the_table_is_the_pruned_one_of_all_features(rank, keep, monkeypatch):
    monkeypatch.setattr("sfs_cli.parts.pruning.KEEP", keep)
    names, X = values("m.csv")
    plain = [row["feature"] for row in rank("m.csv") if row["status"] == "ok"]
    names[-1] = next(name for name in plain if name not in names)  # the second g3
    rows = rank("m.csv", "--max-correlation", 0.4)
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


def test_the_report_says_what_was_pruned(tmp_path, capfd, monkeypatch):
    monkeypatch.setattr("sfs_cli.parts.pruning.KEEP", 20)
    out = tmp_path / "out"
    done = run_here(["rank", "m.csv", "--max-correlation", "0.4", "--out", str(out)], capfd)
    assert "kept 20 of" in done.err
    page = (out / "report.html").read_text()
    assert "Max correlation" in page
    assert "that pruning kept" in page
