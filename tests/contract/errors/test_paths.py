"""Paths that lead nowhere good end with a message; files may have any name and contents UTF-8."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from sfs_cli.options.paths import FILLS, OPENS, READS
from tests.contract.errors.path_cases import TAKEN, Taken, command, study
from tests.running import run_here

REFUSED = (2, 3, 4)
SUFFIX = {
    **{"matrix": ".csv", "target": ".npz", "config_file": ".yaml", "write_h5ad": ".h5ad"},
    **{"write_matrix": ".csv", "similarity_file": ".csv", "sets": ".gmt"},
}
"""How a path has to end to come as far as it can."""
PATTERNS = ("include", "exclude")  # what is no file is a pattern
LEFT_OUT = ("figures",)  # charts are slow to draw
EACH = [
    taken for name, taken in {t.name: t for t in reversed(TAKEN)}.items() if name not in LEFT_OUT
]
"""A command, mostly `sfs rank`, for the path of each name: those of the others share its code."""
LATIN = os.fsdecode(b"caf\xe9")


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
def files(tmp_path_factory) -> dict[str, str]:
    return study(tmp_path_factory.mktemp("study"))


@pytest.mark.parametrize("taken", EACH, ids=lambda taken: taken.label)
def test_path_ends_with_a_message(taken: Taken, files, tmp_path, capfd):
    read = taken.use in (READS, OPENS)
    may_work = taken.name in PATTERNS if read else True  # many names can be made
    for at, (kind, path) in enumerate(hostile(tmp_path, SUFFIX.get(taken.name, ""))):
        done = run_here(command(taken, path, files, tmp_path / f"work{at}"), capfd)
        assert done.code in REFUSED or (done.code == 0 and may_work), (kind, done.err)
        assert "Traceback" not in done.err, kind
        if done.code:
            assert "error: " in done.err, kind
            assert "to do: " in done.err, kind
        if kind == "a folder" and taken.use == FILLS:
            assert done.code == 0, done.err
        if kind in ("below a file", "a name that is too long") and not read:
            assert done.code, kind


def test_files_whose_names_are_no_utf8_are_read_and_written(tmp_path, capfd):
    """And every result is valid UTF-8, with the bytes that are none written as escapes."""
    latin = tmp_path / LATIN
    try:
        latin.mkdir()
    except OSError:
        pytest.skip("this file system takes UTF-8 alone")
    files = study(latin)
    m, result = files["matrix"], f"{files['result']}/ranking.tsv"
    for words in (
        ["rank", files["h5ad"], "--write-h5ad", str(latin / "c.h5ad"), "--out", str(latin / "o")],
        ["rank", files["store"], "--format", "parquet", "--out", str(latin / "o2")],
        ["rank", m, "--method", "mrsf", "--out", str(latin / "o3")],
        ["fuse", m, "--source", f"x=profile:{files['profile']}", "--out", str(latin / "f.parquet")],
        ["rank", m, "--similarity", f"file:{latin / 'f.parquet'}"],
        ["shard", "merge", files["plan"], "--out", str(latin / "merged")],
        ["select", files["result"], "--top", "2", "--write-matrix", str(latin / "w.csv")],
        ["compare", m, "--method", "spec", "--list", result, "--out", str(latin / "compared")],
        ["rank", "--config", files["config"]],
    ):
        done = run_here(words, capfd)
        assert done.code == 0, (words, done.err)
    texts = [p for p in latin.rglob("*") if p.suffix in (".json", ".html", ".tsv", ".txt")]
    assert len(texts) > 10
    for path in texts:
        content = path.read_bytes().decode("utf-8")
        if path.suffix == ".json":
            json.loads(content)
    assert "caf\\xe9" in json.loads((latin / "o3" / "run.json").read_text())["inputs"][0]["path"]
