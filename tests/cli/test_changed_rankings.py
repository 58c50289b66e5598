"""A ranking that was changed after it was written is used with a warning, or refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.making import AB, good, labels
from tests.cli.running import run_here

BAD = 3
CHANGED = "was changed after sfs wrote it"
READING = {
    "select": "select ranked --top 3",
    "aggregate": "aggregate ranked other.tsv",
    "evaluate": "evaluate x.csv --list ranked --labels labels.csv --lengths 3 --splits 2 "
    "--repeats 1",
    "compare": "compare x.csv --method variance --list mine=ranked --lengths 3",
}


@pytest.fixture
def ranked(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    good(tmp_path, "x.csv")
    Path(labels(tmp_path, AB)).rename("labels.csv")
    rank = "rank x.csv --method f-test --labels labels.csv --out ranked"
    assert run_here(rank.split(), capfd).code == 0
    Path("other.tsv").write_bytes(Path("ranked/ranking.tsv").read_bytes())
    return Path("ranked/ranking.tsv")


def change(ranking: Path) -> None:
    """Exchange the first two features."""
    text = ranking.read_text()
    first, second = (line.split("\t")[1] for line in text.splitlines()[1:3])
    ranking.write_text(text.replace(first, "X").replace(second, first).replace("X", second))


def warnings(command: str, capfd: pytest.CaptureFixture[str]) -> tuple[str, list[str]]:
    done = run_here([*command.split(), "--out", "out"], capfd)
    assert done.code == 0, done.err
    return done.err, json.loads(Path("out/run.json").read_text())["warnings"]


@pytest.mark.parametrize("command", READING.values(), ids=READING)
def test_a_ranking_that_was_changed_is_warned_of(command, ranked, capfd):
    change(ranked)
    said, recorded = warnings(command, capfd)
    assert " ".join(said.split()).count(CHANGED) == 1
    assert len([each for each in recorded if CHANGED in each]) == 1
    assert str(ranked) in "".join(recorded)


@pytest.mark.parametrize("command", READING.values(), ids=READING)
def test_one_that_was_not_or_whose_record_has_no_digest_is_not(command, ranked, capfd):
    said, recorded = warnings(f"{command} --force", capfd)
    assert CHANGED not in " ".join(said.split())
    change(ranked)
    record = ranked.with_name("run.json")
    content = json.loads(record.read_text())
    del content["outputs"]
    record.write_text(json.dumps(content))
    said, recorded = warnings(f"{command} --force", capfd)
    assert CHANGED not in " ".join([said, *recorded])


@pytest.mark.parametrize("command", ["report ranked --out page.html", "select ranked --artificial"])
def test_what_ranks_again_or_shows_how_it_was_made_refuses_it(command, ranked, capfd):
    change(ranked)
    done = run_here(command.split(), capfd)
    assert done.code == BAD
    assert "not the one that run.json beside it describes" in " ".join(done.err.split())
    assert not Path("page.html").exists()
