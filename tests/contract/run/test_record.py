"""``run.json`` is what its schema says, for every method and with every kind of source."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sfs_cli import parts
from sfs_cli.catalog import METHODS
from sfs_cli.logs import Messages
from sfs_cli.options import RankConfig, parse_source
from sfs_cli.provenance import KEYS
from sfs_cli.workflow.rank import run
from tests.making_commands import EXISTS
from tests.running import run_here

CASES: list[dict[str, Any]] = [
    {},
    {"method": "fisher", "labels": "labels.tsv:status"},
    {"method": "spec", "similarity": "rbf", "batch": "labels.tsv:status"},
    {"method": "variance", "stability": "bootstrap", "stability_subsets": 2}
    | {"donors": "labels.tsv:tissue"},
    {"method": "variance", "modules": True},
    {"method": "msfs", "source": ["m=profile:mirna.csv", "t=target:,similarity=knn"]},
    {"method": "kogs", "members": ("spec", "variance"), "similarity": "knn", "components": "5"},
]


def check(record: dict[str, Any], verb: str) -> None:
    """Check that a record of a command has the keys that are documented."""
    known = {**KEYS["all"], **KEYS[verb], **(parts.FACTS if verb == "rank" else {})}
    assert set(record) <= set(known), set(record) - set(known)
    assert set(KEYS["all"]) - {"beside"} <= set(record)


@pytest.mark.parametrize("options", CASES)
def test_run_json_is_what_its_schema_says(
    options: dict[str, Any], sample_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(sample_data)
    sources = tuple(parse_source(text) for text in options.get("source", ()))
    out = tmp_path / "out"
    config = RankConfig("expression.csv", **options | {"source": sources, "out": str(out)})
    run(config, Messages(-1))
    record = json.loads((out / "run.json").read_text())
    check(record, "rank")
    assert {*KEYS["rank"], *parts.FACTS} <= set(record)


@pytest.fixture
def study(sample_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("expression.csv", "labels.tsv"):
        (tmp_path / name).symlink_to(sample_data / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("method", "name", "other"),
    [
        ("spec", "ranking", "phi1"),
        ("mrsf", "select", 7),
    ],
)
def test_a_later_version_with_other_defaults_repeats_a_run(
    method: str, name: str, other: Any, study: Path, capfd, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["rank", "expression.csv", "--method", method, "--labels", "labels.tsv:tissue"]
    assert run_here([*words, "--out", "first"], capfd).code == 0
    known = METHODS[method].parameters
    changed = {**known, name: known[name]._replace(default=other)}
    monkeypatch.setitem(METHODS, method, METHODS[method]._replace(parameters=changed))
    again = ["rank", "--config", "first/run.json"]
    assert run_here([*again, "--out", "again"], capfd).code == 0
    assert run_here([*words, "--out", "now"], capfd).code == 0
    assert run_here([*again, "--format", "csv", "--out", "other"], capfd).code == 0
    written = Path("other/ranking.csv").read_text().replace(",", "\t")
    assert written == Path("first/ranking.tsv").read_text()
    told = run_here([*again, "--seed", "3", "--out", "another"], capfd)
    assert "what this version takes" in told.err
    first, same, now, another = (
        Path(out, "ranking.tsv").read_bytes() for out in ("first", "again", "now", "another")
    )
    assert same == first
    assert now == another != first


@pytest.mark.parametrize(
    ("method", "key", "absent"),
    [("relieff", "neighbors", "relieff_neighbors"), ("l21,budget=2", "lambda", "lambda_")],
)
def test_a_parameter_is_told_once_by_its_key(
    method: str, key: str, absent: str, study: Path, sfs
) -> None:
    words = ["rank", "expression.csv", "--method", method, "--labels", "labels.tsv:tissue"]
    sfs(*words, "--out", "out")
    facts = json.loads(Path("out/run.json").read_text())["method"]
    assert facts[key]
    assert absent not in facts


@pytest.mark.parametrize("words", ["spec,gamma=exp", "mrsf --select 5"])
def test_what_has_no_effect_is_not_recorded(study, sfs, words: str) -> None:
    command = ["rank", "expression.csv", "--method", *words.split()]
    sfs(*command, "--out", "first")
    sfs("rank", "--config", "first/run.json", "--out", "again")
    assert Path("again/ranking.tsv").read_bytes() == Path("first/ranking.tsv").read_bytes()


def test_the_default_method_is_repeated_where_another_one_is_asked_for(study, capfd) -> None:
    assert run_here(["rank", "expression.csv", "--out", "first"], capfd).code == 0
    record = json.loads(Path("first/run.json").read_text())
    assert record["defaults"]["method"]["name"] == "mrsf-rounds"
    again = ["rank", "--config", "first/run.json"]
    assert "up to date" in run_here([*again, "--out", "first"], capfd).err
    assert run_here([*again, "--out", "again"], capfd).code == 0
    repeated = json.loads(Path("again/run.json").read_text())
    assert [repeated[key] for key in ("config", "defaults")] == [
        record[key] for key in ("config", "defaults")
    ]
    plain = run_here(["rank", "expression.csv", "--out", "again"], capfd)
    assert "up to date" in plain.err
    alone = run_here(["rank", "expression.csv", "--method", "mrsf-rounds", "--out", "first"], capfd)
    assert alone.code == EXISTS  # with other defaults of its own, perhaps
    assert "there --method is not given" in alone.err
    assert run_here([*again, "--method", "spec", "--out", "spec"], capfd).code == 0
    defaults = json.loads(Path("spec/run.json").read_text())["defaults"]
    assert defaults["method"]["ranking"] == "phi2"
    assert "chance" not in defaults["method"]


def test_the_order_of_sources_is_of_the_run(study, capfd) -> None:
    one, other = "--source=a=target:", "--source=b=target:,transform=zscore"
    asked = ["rank", "expression.csv", "--method", "msfs", "--weights", "2,1", "--out", "out"]
    assert run_here([*asked, one, other], capfd).code == 0
    assert "up to date" in run_here([*asked, one, other], capfd).err
    turned = run_here([*asked, other, one], capfd)
    assert turned.code == EXISTS
    assert "there --source is a,b" in turned.err
