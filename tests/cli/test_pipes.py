"""Inputs through standard input, process substitution and named pipes."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.making_commands import BAD, good
from tests.places import ROOT
from tests.running import MODULE, Finished, run_here

SCRATCH = re.compile(r"sfs-\d+-[0-9a-f]{12}")


def piped(content: bytes, arguments: list[str], **more: object) -> Finished:
    """Run the command line with something on standard input."""
    done = subprocess.run(
        [*MODULE, *arguments], input=content, capture_output=True, timeout=120, **more
    )
    return Finished(done.returncode, done.stdout.decode(), done.stderr.decode())


def in_shell(line: str, folder: Path) -> Finished:
    done = subprocess.run(
        ["bash", "-c", line.replace("sfs ", f"{' '.join(MODULE)} ")],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    return Finished(done.returncode, done.stdout, done.stderr)


def no_trace(folder: Path, scratch: Path) -> None:
    """Check that no name of a copy is in the results, and no copy is left."""
    assert not list(scratch.glob("sfs-*"))
    for path in folder.rglob("*"):
        if path.is_file():
            assert not SCRATCH.search(path.read_text(encoding="utf-8")), path


@pytest.mark.parametrize(
    ("name", "packed"),
    [
        ("-", True),
        pytest.param("-", False, marks=pytest.mark.nightly),
        pytest.param("/dev/stdin", False, marks=pytest.mark.nightly),
        pytest.param("/dev/fd/0", True, marks=pytest.mark.nightly),
    ],
)
def test_standard_input_gives_the_bytes_of_the_file(name, packed, tmp_path, capfd):
    path = Path(good(tmp_path))
    content = gzip.compress(path.read_bytes()) if packed else path.read_bytes()
    out, scratch = tmp_path / "out", tmp_path / "scratch"
    done = piped(content, ["rank", name, "--out", str(out), "--scratch", str(scratch)])
    assert done.code == 0, done.err
    assert run_here(["rank", str(path), "--out", str(tmp_path / "same")], capfd).code == 0
    same = (tmp_path / "same" / "ranking.tsv").read_bytes()
    assert (out / "ranking.tsv").read_bytes() == same
    record = json.loads((out / "run.json").read_text())
    assert record["config"]["matrix"] == name
    (matrix,) = record["inputs"]
    digest = hashlib.sha256(content).hexdigest()
    assert (matrix["path"], matrix["bytes"], matrix["sha256"]) == (name, len(content), digest)
    no_trace(out, scratch)


def test_results_go_from_one_command_to_the_next(tmp_path):
    good(tmp_path)
    done = in_shell("sfs rank good.csv -q | sfs select - --top 3 -q", tmp_path)
    assert (done.code, len(done.out.split())) == (0, 3), done.err


@pytest.mark.parametrize("words", [["rank", "-"], ["inspect", "-"], ["rank", "-", "--out", "o"]])
def test_an_error_in_what_came_through_a_pipe_names_the_pipe(words, tmp_path):
    done = piped(b"gene,a,b,c\nx,1,2,3\ny,1,oops,3\n", words, cwd=tmp_path)
    assert done.code == BAD, done.err
    assert "where: -, line 3, column 'b'" in done.err
    assert not SCRATCH.search(done.err)
