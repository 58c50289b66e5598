"""Paths that lead nowhere good end with a message; files may have any name and contents UTF-8."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from sfs_cli.cli.app import run
from tests.making_commands import AB, good, h5ad, labels, table, text, values
from tests.running import run_here

LATIN = os.fsdecode(b"caf\xe9")
REFUSED = (2, 3, 4)
RANK = "rank m.csv --method spec"

READ = """\
rank PATH.csv
rank m.csv PATH.csv
rank --config PATH.yaml
rank m.csv --labels PATH
rank m.csv --labels labels.tsv --event PATH:tissue
rank m.csv --labels labels.tsv --censored PATH:tissue
rank m.csv --labels labels.tsv --donors PATH
rank m.csv --block PATH
rank m.csv --adjust PATH
rank m.csv --batch PATH
rank m.csv --sample-weights PATH
rank m.csv --coordinates PATH
rank m.csv --similarity file:PATH.csv
rank m.csv --source a=profile:PATH
rank m.csv --collapse mean --id-map PATH
rank m.csv --method mrsf --given PATH
rank m.csv --modules --module-traits PATH --out out
rank m.csv --sets PATH.gmt --out out
select PATH --top 2
aggregate PATH result/ranking.tsv
report PATH
shard merge PATH --out out
evaluate m.csv --list PATH
evaluate m.csv --drivers PATH
compare m.csv --ranking-of "a=--method spec --source b=profile:PATH"
""".splitlines()
PATTERN = ["rank m.csv --include PATH", "rank m.csv --exclude PATH"]
"""What is no file is a pattern."""
WRITTEN = [
    f"{RANK} --out PATH",
    "rank m.h5ad --write-h5ad PATH.h5ad",
    "fuse m.csv --source x=profile:profile.csv --out PATH.npz",
    "convert m.csv PATH",
    "shard init PATH m.csv --shards 1",
    "select result --top 2 --write-matrix PATH.csv --force",
]


def study(folder: Path) -> Path:
    """Make good files of every kind in a folder."""
    m = good(folder, "m.csv")
    h5ad(folder)
    labels(folder, AB)
    text(folder, table(values(5), [f"p{i}" for i in range(5)]), "profile.csv")
    text(folder, "matrix: m.csv\nmethod: spec\n", "run.yaml")
    plan = str(folder / "plan")
    for words in (
        ["convert", m, str(folder / "m.store")],
        ["rank", m, "--method", "spec", "--out", str(folder / "result")],
        ["shard", "init", plan, m, "--method", "spec", "--shards", "1"],
        ["shard", "run", plan, "1"],
    ):
        assert run([*words, "-q"]) == 0
    return folder


def hostile(folder: Path, suffix: str) -> Iterator[tuple[str, str]]:
    """Yield paths that cannot be what a command wants, with names."""
    (folder / f"loop{suffix}").symlink_to(f"loop{suffix}")
    (folder / f"folder{suffix}").mkdir()
    (folder / "file").write_text("x\n")
    yield "a link to itself", str(folder / f"loop{suffix}")
    yield "a folder", str(folder / f"folder{suffix}")
    yield "below a file", str(folder / "file" / f"deep{suffix}")
    yield "a name that is too long", str(folder / ("x" * 300 + suffix))
    yield "not UTF-8", str(folder / f"{LATIN}{suffix}")
    yield "in /proc", f"/proc/nothing{suffix}"


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> Path:
    return study(tmp_path_factory.mktemp("study"))


@pytest.mark.parametrize("command", [*READ, *PATTERN, *WRITTEN])
def test_path_ends_with_a_message(command: str, files: Path, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(files)
    (suffix,) = re.findall(r"PATH(\.\w+|)", command)
    for kind, path in hostile(tmp_path, suffix):
        words = [word.replace(f"PATH{suffix}", path) for word in command.split()]
        done = run_here(
            [word.replace("_", " ") if "=--" in word else word for word in words], capfd
        )
        assert done.code in REFUSED or (done.code == 0 and command not in READ), (kind, done.err)
        assert "Traceback" not in done.err, kind
        if done.code:
            assert "error: " in done.err, kind
            assert "to do: " in done.err, kind
        if command.startswith(RANK):
            assert (done.code == 0) == (kind in ("a folder", "not UTF-8")), done.err
        if kind in ("below a file", "a name that is too long") and command in WRITTEN:
            assert done.code, kind


def test_files_whose_names_are_no_utf8_are_read_and_written(tmp_path, capfd):
    """And every result is valid UTF-8, with the bytes that are none written as escapes."""
    latin = tmp_path / LATIN
    try:
        latin.mkdir()
    except OSError:
        pytest.skip("this file system takes UTF-8 alone")
    study(latin)
    m, result, profile = latin / "m.csv", latin / "result/ranking.tsv", latin / "profile.csv"
    for words in (
        ["rank", latin / "m.h5ad", "--write-h5ad", latin / "c.h5ad", "--out", latin / "o"],
        ["rank", latin / "m.store", "--format", "parquet", "--out", latin / "o2"],
        ["rank", m, "--method", "mrsf", "--out", latin / "o3"],
        ["fuse", m, "--source", f"x=profile:{profile}", "--out", latin / "f.parquet"],
        ["rank", m, "--similarity", f"file:{latin / 'f.parquet'}"],
        ["shard", "merge", latin / "plan", "--out", latin / "merged"],
        ["select", latin / "result", "--top", "2", "--write-matrix", latin / "w.csv"],
        ["compare", m, "--method", "spec", "--list", result, "--out", latin / "compared"],
        ["rank", "--config", latin / "run.yaml"],
    ):
        done = run_here([str(word) for word in words], capfd)
        assert done.code == 0, (words, done.err)
    texts = [p for p in latin.rglob("*") if p.suffix in (".json", ".html", ".tsv", ".txt")]
    assert len(texts) > 10
    for path in texts:
        content = path.read_bytes().decode("utf-8")
        if path.suffix == ".json":
            json.loads(content)
    assert "caf\\xe9" in json.loads((latin / "o3" / "run.json").read_text())["inputs"][0]["path"]
