"""A run from the record of another one: inputs that have changed since are said, or refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.making import AB, BAD, USAGE, good, labels, table, text, values
from tests.cli.running import run_here


@pytest.fixture
def recorded(tmp_path, capfd) -> Path:
    """Rank with labels and a source; return the record."""
    profile = text(tmp_path, table(values(5), [f"p{i}" for i in range(5)]), "profile.csv")
    words = ["rank", good(tmp_path), "--labels", labels(tmp_path, AB), "--method", "spec"]
    words += ["--source", f"a=profile:{profile}", "--source", "b=labels:"]
    done = run_here([*words, "--out", str(tmp_path / "out")], capfd)
    assert done.code == 0, done.err
    return tmp_path / "out" / "run.json"


def change(path: Path) -> None:
    """Change one value, and not the size of the file."""
    content = path.read_text()
    last = content[-2]  # before the end of the line: a digit, or a class
    path.write_text(content[:-2] + {"a": "b", "b": "a", "7": "8"}.get(last, "7") + "\n")


def facts(record: Path, role: str) -> tuple[int, str]:
    found = next(i for i in json.loads(record.read_text())["inputs"] if i["role"] == role)
    return found["bytes"], found["sha256"]


@pytest.mark.parametrize(
    ("name", "role"),
    [("good.csv", "matrix"), ("labels.tsv", "labels"), ("profile.csv", "source.a.path")],
)
@pytest.mark.parametrize("verb", ["rank", "plan", "config check"])
def test_changed_input_is_said_with_both_digests(verb, name, role, recorded, tmp_path, capfd):
    path = tmp_path / name
    before, digest = facts(recorded, role)
    words = [*verb.split(), *([] if verb == "config check" else ["--config"]), str(recorded)]
    same = run_here(words, capfd)
    assert same.code == 0, same.err
    assert "has changed" not in same.err
    change(path)
    done = run_here(words, capfd)
    assert done.code == 0, done.err
    warning = next(line for line in done.err.splitlines() if "has changed" in line)
    for word in (name, "run.json", f"{before:,}", digest[:12]):
        assert word in warning
    strict = run_here([*words, "--strict-inputs"], capfd)
    assert strict.code == BAD
    assert strict.out == ""
    for word in (name, f"{before:,}", digest[:12], "--strict-inputs"):
        assert word in strict.err


def test_warning_is_in_the_new_record(recorded, tmp_path, capfd):
    path = tmp_path / "good.csv"
    path.write_text(table(values()[::-1]))
    done = run_here(["rank", "--config", str(recorded), "--out", str(tmp_path / "new")], capfd)
    assert done.code == 0, done.err
    warnings = json.loads((tmp_path / "new" / "run.json").read_text())["warnings"]
    assert any("has changed" in warning for warning in warnings)


def test_input_that_the_command_line_names_is_another(recorded, tmp_path, capfd):
    other = text(tmp_path, table(values()[::-1]), "other.csv")
    words = ["rank", other, "--config", str(recorded), "--strict-inputs", "-q"]
    assert run_here(words, capfd).code == 0
    text(tmp_path, table(values(4), list("abcd")), "profile.csv")  # that of source a
    assert run_here(words, capfd).code == BAD
    again = [*words, "--source", f"a=profile:{other}"]
    assert run_here(again, capfd).code == 0


def test_strict_inputs_needs_a_record(tmp_path, capfd):
    config = text(tmp_path, f"matrix: {good(tmp_path)}\n", "run.yaml")
    for words in (["rank", good(tmp_path)], ["rank", "--config", config]):
        done = run_here([*words, "--strict-inputs"], capfd)
        assert done.code == USAGE
        assert "--strict-inputs" in done.err


@pytest.mark.parametrize("version", ["0.0.9", None])
def test_another_version_is_said(version, recorded, capfd):
    record = json.loads(recorded.read_text())
    record["versions"] = {} if version is None else {"sfs": version}
    recorded.write_text(json.dumps(record))
    done = run_here(["rank", "--config", str(recorded)], capfd)
    assert done.code == 0, done.err
    assert (f"was written by sfs {version}" in done.err) is (version is not None)
