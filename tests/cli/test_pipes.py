"""Inputs through standard input."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
from pathlib import Path

import pandas as pd
import pytest
from anndata import AnnData

from sfs_cli import SfsError, rank
from sfs_cli.io.files.atomic import check_writable
from tests.making_commands import AB, BAD, good, labels
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
    assert (matrix["path"], matrix["bytes"]) == ("standard input", len(content))
    assert not list(temporary.iterdir())
    for file in out.iterdir():
        assert str(temporary) not in file.read_text(encoding="utf-8")
    again = ["rank", "--config", str(out / "run.json"), "--out", str(tmp_path / "again")]
    assert piped(content, again).code == 0
    assert (tmp_path / "again" / "ranking.tsv").read_bytes() == same


def test_paths_beside_standard_input_are_recorded_whatever_their_bytes(tmp_path):
    folder = tmp_path / os.fsdecode(b"caf\xe9")
    try:
        folder.mkdir()
    except OSError:
        pytest.skip("this file system takes UTF-8 alone")
    words = ["rank", good(folder), "--labels", "-", "--out", str(folder / "out")]
    done = piped(Path(labels(folder, AB)).read_bytes(), words)
    assert done.code == 0, done.err
    record = json.loads((folder / "out" / "run.json").read_text())
    assert (record["config"]["matrix"], record["config"]["labels"]) == ("../good.csv", "-")


def test_results_go_from_one_command_to_the_next(tmp_path, capfd):
    ranked = run_here(["rank", good(tmp_path), "-q"], capfd).out
    done = piped(ranked.encode(), ["select", "-", "--top", "3", "-q"])
    assert (done.code, len(done.out.split())) == (0, 3), done.err


def test_an_error_in_what_came_through_a_pipe_names_the_pipe(tmp_path):
    content = b"gene,a,b,c\nx,1,2,3\ny,1,oops,3\n"
    done = piped(content, ["rank", "-", "--out", "o"], cwd=tmp_path)
    assert done.code == BAD, done.err
    assert "where: standard input, line 3, column 'b'" in done.err


def test_what_cannot_be_read_from_standard_input(tmp_path):
    matrix = good(tmp_path)
    done = piped(b"", ["rank", "-"])
    assert (done.code, "nothing came through standard input" in done.err) == (BAD, True)
    twice = ["rank", "-", "--labels", "/dev/stdin:group", "--method", "f-test"]
    done = piped(b"gene,a,b\n", twice)
    assert (done.code, "can be read once only" in done.err) == (2, True)
    with Path(matrix).open("rb") as file:
        done = subprocess.run([*MODULE, "inspect", "/dev/stdin"], stdin=file, capture_output=True)
    assert done.returncode == 0
    assert done.stdout.splitlines()[-1].startswith(b"next: sfs rank - ")


def test_a_table_from_standard_input_is_proposed_for_its_labels_alone(tmp_path, capfd):
    matrix = good(tmp_path)
    samples = pd.read_csv(matrix, index_col=0, nrows=0).columns
    groups = {"group": AB, "patient": [f"p{i // 2}" for i in range(len(AB))]}
    table = pd.DataFrame(groups, samples).to_csv(sep="\t", index_label="sample")
    path = tmp_path / "labels.tsv"
    path.write_text(table)
    done = run_here(["inspect", str(matrix), "--labels", f"{path}:group"], capfd)
    assert "--block" in done.out
    done = piped(table.encode(), ["inspect", str(matrix), "--labels", "-:group"])
    assert done.out.splitlines()[-1].endswith(" --labels -:group --out results")


def test_a_named_pipe_is_an_error_and_not_waited_for(tmp_path, capfd):
    matrix, pipe = good(tmp_path), str(tmp_path / "pipe")
    os.mkfifo(pipe)
    for words in (
        ["rank", pipe],
        ["rank", matrix, "--labels", f"{pipe}:group"],
        ["rank", "--config", pipe],
        ["rank", matrix, "--source", f"e=profile:{pipe}"],
        ["select", pipe, "--top", "3"],
        ["report", pipe],
    ):
        done = run_here(words, capfd)
        assert done.code == 3, words
        assert " is a pipe" in done.err
        assert ("write the options to a file" if "--config" in words else "give -, and") in done.err
    with pytest.raises(SfsError, match="is a pipe"):
        rank(pipe)
    done = subprocess.run(
        ["bash", "-c", f"{' '.join(MODULE)} rank <(cat {matrix})"], capture_output=True, text=True
    )
    assert (done.returncode, "is a pipe" in done.stderr) == (BAD, True)


def test_no_output_takes_the_place_of_a_pipe(tmp_path, capfd):
    matrix, out = good(tmp_path), str(tmp_path / "out")
    assert run_here(["rank", matrix, "--method", "variance", "--out", out], capfd).code == 0
    pipe, store = tmp_path / "pipe.npz", tmp_path / "store"
    os.mkfifo(pipe)
    os.mkfifo(store)
    for words in (
        ["convert", matrix, str(store)],
        ["fuse", matrix, "--source", "e=target:", "--out", str(pipe)],
    ):
        done = run_here([*words, "--force"], capfd)
        assert (done.code, "it is a device or a pipe" in done.err) == (BAD, True), words
    assert pipe.is_fifo()
    assert store.is_fifo()
    if Path("/dev/shm").is_dir():  # a folder in memory, below that of devices
        check_writable(Path("/dev/shm/new"), "--out")
    page = [*MODULE, "report", out, "--out", "/dev/stdout"]
    with (tmp_path / "page.html").open("wb") as file:  # the link leads to a file here
        done = subprocess.run(page, stdout=file, stderr=subprocess.PIPE, text=True)
    assert (done.returncode, "it is a device or a pipe" in done.stderr) == (BAD, True)


def test_the_formats_that_standard_input_may_have(tmp_path, capfd):
    table = pd.read_csv(good(tmp_path), index_col=0)
    table.to_csv(tmp_path / "x.tsv", sep="\t")
    table.reset_index().to_parquet(tmp_path / "x.parquet")
    AnnData(table.T).write_h5ad(tmp_path / "x.h5ad")
    for name in ("x.tsv", "x.parquet", "x.h5ad"):
        expected = run_here(["rank", str(tmp_path / name), "-q"], capfd).out
        done = piped((tmp_path / name).read_bytes(), ["rank", "-", "-q"])
        assert done.out == expected, done.err
    scored = str(tmp_path / "scored.h5ad")
    done = piped((tmp_path / "x.h5ad").read_bytes(), ["rank", "-", "-q", "--write-h5ad", scored])
    assert done.code == 0, done.err
    assert Path(scored).exists()


def test_a_terminal_as_standard_input_is_told_of():
    ours, theirs = os.openpty()
    try:
        done = subprocess.run(
            [*MODULE, "rank", "-"], stdin=theirs, capture_output=True, text=True, timeout=60
        )
    finally:
        os.close(ours)
        os.close(theirs)
    assert (done.returncode, "standard input is a terminal" in done.stderr) == (2, True)
