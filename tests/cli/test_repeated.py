"""Options that are given twice: refused, unless all of the values have a meaning together."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.making_commands import AB, good, labels
from tests.running import run_here


@pytest.mark.parametrize(
    ("verb", "flag"), [("rank", "--seed"), ("rank", "--out"), ("shard init", "--shards")]
)
def test_a_value_given_twice_is_refused(verb, flag, capfd):
    done = run_here([*verb.split(), flag, "31", f"{flag}=32"], capfd)
    assert done.code == 2
    assert f"{flag} is given twice: '31' and '32'" in done.err


def test_a_list_of_words_is_a_parameter(tmp_path, capfd):
    given = ["--method", "kogs,members=variance,f-test,fisher"]
    given += ["--labels", labels(tmp_path, AB), "--out", str(tmp_path / "out")]
    done = run_here(["rank", good(tmp_path), *given], capfd)
    assert done.code == 0, done.err
    asked = json.loads((tmp_path / "out" / "run.json").read_text())["config"]
    assert asked["method"]["members"] == ["variance", "f-test", "fisher"]


def test_sets_of_several_files_are_tested_together(tmp_path, capfd):
    one, other, third = (str(tmp_path / f"{name}.gmt") for name in ("one", "other", "third"))
    Path(one).write_text("A\t\tgene1\tgene2\n")
    Path(other).write_text("B\t\tgene3\tgene4\nA\t\tgene2\tgene1\n")
    Path(third).write_text("A\t\tgene1\tgene3\n")
    out = tmp_path / "out"
    command = ["evaluate", good(tmp_path), "--method", "variance", "--lengths", "3"]
    command += ["--out", str(out), "--sets", one, "--sets"]
    done = run_here([*command, other], capfd)
    assert done.code == 0, done.err
    lines = [row.split("\t") for row in (out / "enrichment.tsv").read_text().splitlines()]
    assert {row[lines[0].index("set")] for row in lines[1:]} == {"A", "B"}
    inputs = json.loads((out / "run.json").read_text())["inputs"]
    assert [Path(each["path"]).name for each in inputs if each["role"] == "sets"] == [
        *("one.gmt", "other.gmt")
    ]
    done = run_here([*command, third, "--force"], capfd)
    assert done.code == 3
    assert "the set 'A' has other features than in" in done.err
