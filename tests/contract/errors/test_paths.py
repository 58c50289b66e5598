"""Paths that lead nowhere good: for every path of every command they end with a message."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from sfs_cli.options.paths import FILLS, OPENS, READS, SCRATCH
from tests.contract.errors.path_cases import TAKEN, Taken, command, study
from tests.making_commands import BAD, good
from tests.running import MODULE, run_apart, run_here

REFUSED = (2, 3, 4)
SUFFIX = {
    **{"matrix": ".csv", "target": ".npz", "config_file": ".yaml", "write_h5ad": ".h5ad"},
    **{"write_matrix": ".csv", "file": ".yaml", "similarity_file": ".csv", "sets": ".gmt"},
}
"""How a path has to end to come as far as it can."""
PATTERNS = ("include", "exclude")  # what is no file is a pattern
LATIN = os.fsdecode(b"caf\xe9")
FEW = ("rank", "aggregate", "shard run", "convert")


def hostile(folder: Path, suffix: str) -> Iterator[tuple[str, str]]:
    """Yield paths that cannot be what a command wants, with names."""
    (folder / f"loop{suffix}").symlink_to(f"loop{suffix}")
    (folder / f"folder{suffix}").mkdir()
    (folder / "file").write_text("x\n")
    yield "a link to itself", str(folder / f"loop{suffix}")
    yield "a folder", str(folder / f"folder{suffix}")
    yield "below a file", str(folder / "file" / f"deep{suffix}")
    yield "a name that is too long", str(folder / ("x" * 300 + suffix))
    yield "a long name", str(folder / ("x" * (240 - len(suffix)) + suffix))
    yield "a path that is too long", "/".join([str(folder), *["y" * 200] * 30, f"z{suffix}"])
    yield "not UTF-8", str(folder / f"{LATIN}{suffix}")
    yield "in /proc", f"/proc/nothing{suffix}"
    yield "in /sys", f"/sys/nothing{suffix}"
    yield "a folder with a slash", f"{folder}/"


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> dict[str, str]:
    return study(tmp_path_factory.mktemp("study"))


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    "taken",
    [
        pytest.param(each, id=each.label, marks=() if each.verb in FEW else pytest.mark.nightly)
        for each in TAKEN
    ],
)
def test_path_ends_with_a_message(taken: Taken, files, tmp_path, capfd):
    for at, (kind, path) in enumerate(hostile(tmp_path, SUFFIX.get(taken.name, ""))):
        done = run_here(command(taken, path, files, tmp_path / f"work{at}"), capfd)
        may_work = (
            taken.use not in (READS, OPENS)  # many names can be made
            or taken.verb == "plan"  # which reads little
            or taken.name in PATTERNS
        )
        assert done.code in REFUSED or (done.code == 0 and may_work), (kind, done.err)
        assert "Traceback" not in done.err, kind
        if done.code:
            assert "error: " in done.err, kind
            assert "to do: " in done.err, kind
        if kind == "a folder" and taken.use in (FILLS, SCRATCH):
            assert done.code == 0, done.err
        if kind in ("below a file", "a name that is too long", "a path that is too long"):
            unused = taken.use == SCRATCH and taken.verb in ("convert", "plan", "select")
            assert done.code or unused or (may_work and taken.use in (READS, OPENS)), kind


@pytest.fixture
def latin(tmp_path) -> Path:
    folder = tmp_path / LATIN
    try:
        folder.mkdir()
    except OSError:
        pytest.skip("this file system takes UTF-8 alone")
    return folder


def test_files_whose_names_are_no_utf8_are_read_and_written(latin, capfd):
    """And every result is valid UTF-8, with the bytes that are none written as escapes."""
    files = study(latin)
    m, result = files["matrix"], f"{files['result']}/ranking.tsv"
    for words in (
        ["rank", files["h5ad"], "--write-h5ad", str(latin / "c.h5ad"), "--out", str(latin / "o")],
        ["rank", files["store"], "--format", "parquet", "--out", str(latin / "o2")],
        [
            *["rank", m, "--method", "mrsf", "--weights-out", str(latin / "w.parquet")],
            *["--out", str(latin / "o3"), "--log-file", str(latin / "log.txt")],
        ],
        ["fuse", m, "--source", f"x=profile:{files['profile']}", "--out", str(latin / "f.parquet")],
        ["rank", m, "--similarity-file", str(latin / "f.parquet")],
        ["shard", "merge", files["plan"], "--out", str(latin / "merged")],
        ["select", files["result"], "--top", "2", "--write-matrix", str(latin / "w.csv")],
        ["compare", m, "--method", "spec", "--list", result, "--out", str(latin / "compared")],
        ["config", "check", files["config"]],
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


@pytest.mark.nightly
@pytest.mark.parametrize(
    "locale",
    [
        {"LC_ALL": "POSIX"},
        pytest.param(
            {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
            marks=pytest.mark.nightly,
        ),
    ],
    ids=["POSIX", "ASCII"],
)
def test_other_locales_change_nothing(locale, tmp_path):
    matrix = Path(good(tmp_path, "é.csv"))
    out, log = tmp_path / "ö", tmp_path / "log.txt"
    words = ["rank", str(matrix), "--out", str(out), "--log-file", str(log)]
    done = run_apart(words, **locale)
    assert done.code == 0, done.err
    assert json.loads((out / "run.json").read_bytes())["inputs"][0]["path"] == str(matrix)
    assert "é.csv" in log.read_bytes().decode()
    (tmp_path / "run.yaml").write_text("matrix: é.csv\nlabels: ü.tsv\n", encoding="utf-8")
    for arguments in (["config", "check", str(tmp_path / "run.yaml")], ["rank", "ü.csv"]):
        done = run_apart(arguments, **locale)
        assert done.code == BAD, done.err
        assert "Traceback" not in done.err


@pytest.mark.nightly
def test_read_only_file_system_is_said(tmp_path):
    """Where one can be made without being root, in a namespace of its own."""
    script = f'mount --bind -o ro {tmp_path} {tmp_path} && exec "$0" "$@"'
    launcher = ("unshare", "--mount", "--map-root-user", "sh", "-c", script)
    try:
        probe = run_apart(["-c", "true"], launcher=(*launcher, "sh"))
    except FileNotFoundError:
        pytest.skip("there is no unshare here")
    if probe.code:
        pytest.skip("nothing can be mounted here")
    matrix = good(tmp_path)
    for option in ("--out", "--log-file", "--scratch"):
        words = ["rank", matrix, "--method", "spec", option, str(tmp_path / "new")]
        done = run_apart(words, launcher=(*launcher, *MODULE))
        assert done.code == BAD, done.err
        assert option in done.err
        assert "Traceback" not in done.err
