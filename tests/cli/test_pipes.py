"""Inputs through standard input."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
from pathlib import Path

from tests.making_commands import BAD, good
from tests.running import MODULE, Finished, run_here


def piped(content: bytes, arguments: list[str], **more: object) -> Finished:
    """Run the command line with something on standard input."""
    done = subprocess.run(
        [*MODULE, *arguments], input=content, capture_output=True, timeout=120, **more
    )
    return Finished(done.returncode, done.stdout.decode(), done.stderr.decode())


def test_standard_input_gives_the_bytes_of_the_file(tmp_path, capfd):
    path = Path(good(tmp_path))
    content = gzip.compress(path.read_bytes())
    out, temporary = tmp_path / "out", tmp_path / "temporary"
    temporary.mkdir()
    words = ["rank", "-", "--out", str(out)]
    done = piped(content, words, env=os.environ | {"TMPDIR": str(temporary)})
    assert done.code == 0, done.err
    assert run_here(["rank", str(path), "--out", str(tmp_path / "same")], capfd).code == 0
    same = (tmp_path / "same" / "ranking.tsv").read_bytes()
    assert (out / "ranking.tsv").read_bytes() == same
    record = json.loads((out / "run.json").read_text())
    assert record["config"]["matrix"] == "-"
    (matrix,) = record["inputs"]
    assert (matrix["path"], matrix["bytes"]) == ("-", len(content))
    assert not list(temporary.iterdir())
    for file in out.iterdir():
        assert str(temporary) not in file.read_text(encoding="utf-8")


def test_results_go_from_one_command_to_the_next(tmp_path, capfd):
    ranked = run_here(["rank", good(tmp_path), "-q"], capfd).out
    done = piped(ranked.encode(), ["select", "-", "--top", "3", "-q"])
    assert (done.code, len(done.out.split())) == (0, 3), done.err


def test_an_error_in_what_came_through_a_pipe_names_the_pipe(tmp_path):
    content = b"gene,a,b,c\nx,1,2,3\ny,1,oops,3\n"
    done = piped(content, ["rank", "-", "--out", "o"], cwd=tmp_path)
    assert done.code == BAD, done.err
    assert "where: -, line 3, column 'b'" in done.err
