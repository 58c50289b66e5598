"""Inputs through standard input, process substitution and named pipes."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import pty
import re
import signal
import subprocess
import threading
import time
from pathlib import Path

import pytest

from tests.cli.making import AB, BAD, SAMPLES, USAGE, good, h5ad, labels, parquet, text, values
from tests.cli.running import MODULE, Finished, run_apart, run_here

ROOT = Path(__file__).resolve().parents[2]
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
        pytest.param("-", False, marks=pytest.mark.slow),
        pytest.param("/dev/stdin", False, marks=pytest.mark.slow),
        pytest.param("/dev/fd/0", True, marks=pytest.mark.slow),
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


@pytest.mark.slow
def test_file_redirected_to_standard_input_is_read_from_where_it_stands(tmp_path, capfd):
    path = Path(good(tmp_path))
    text(tmp_path, "skipped\n" + path.read_text(), "led.csv")
    done = in_shell("(read -r _; sfs rank - -q) < led.csv", tmp_path)
    assert done.code == 0, done.err
    assert done.out == run_here(["rank", str(path), "-q"], capfd).out


@pytest.mark.slow
def test_every_kind_of_text_comes_through_a_shell(tmp_path, capfd, monkeypatch):
    monkeypatch.chdir(tmp_path)
    good(tmp_path)
    labels(tmp_path, AB)
    text(tmp_path, "".join(f"{s}\t{i}\n" for i, s in enumerate(["id", *SAMPLES])), "w.tsv")
    text(tmp_path, "gene1\ngene2\ngene3\ngene9\n", "genes.txt")
    text(tmp_path, "S1\tna\tgene1\tgene2\tgene3\nS2\tna\tgene4\tgene5\n", "sets.gmt")
    header = "!gaf-version: 2.2\n"
    gaf = [
        f"DB\tid{i}\tgene{i}\t\tGO:{i % 2}\tREF\tIDA\t\tP\t\t\tprotein\ttaxon:1\t20200101\tX\t\t\n"
        for i in range(1, 6)
    ]
    text(tmp_path, header + "".join(gaf), "terms.gaf")
    spec = "--method spec"
    lines = {
        "labels": "--method fisher --labels {labels.tsv}",
        "labels with a column": "--method fisher --labels {labels.tsv}:class",
        "a list": f"{spec} --include {{genes.txt}}",
        "a source of genes": f"{spec} --source g=genes:{{genes.txt}}",
        "gene sets": f"{spec} --source g=genes:{{sets.gmt}}",
        "one set": f"{spec} --source g=genes:{{sets.gmt}}:S1",
        "terms": f"{spec} --source g=terms:{{sets.gmt}}",
        "a profile": f"{spec} --source g=profile:{{good.csv}}",
        "annotations": f"{spec} --source g=genes:{{terms.gaf}}",
    }
    column = (tmp_path / "labels.tsv").read_text().splitlines()[0].split("\t")[1]
    for what, line in lines.items():
        line = line.replace(":class", f":{column}")
        by_file = run_here(["rank", "good.csv", "-q", *re.sub(r"[{}]", "", line).split()], capfd)
        piped_in = re.sub(r"{(.*?)}", r"<(cat \1)", line)
        done = in_shell(f"sfs rank <(cat good.csv) -q {piped_in}", tmp_path)
        assert by_file.code == done.code == 0, (what, by_file.err, done.err)
        assert done.out == by_file.out, what


def test_results_go_from_one_command_to_the_next(tmp_path):
    good(tmp_path)
    done = in_shell("sfs rank good.csv -q | sfs select - --top 3 -q", tmp_path)
    assert (done.code, len(done.out.split())) == (0, 3), done.err


@pytest.mark.slow
def test_every_command_reads_from_pipes(tmp_path):
    good(tmp_path)
    both = "sfs aggregate <(sfs rank good.csv -q) <(sfs rank good.csv -q --method variance) -q"
    done = in_shell(both, tmp_path)
    assert done.code == 0, done.err
    done = in_shell("cat good.csv | sfs convert - m.store -q && sfs inspect m.store -q", tmp_path)
    assert done.code == 0, done.err
    assert SCRATCH.search((tmp_path / "m.store" / "manifest.json").read_text()) is None
    for line in ("evaluate good.csv --list -", "compare good.csv --method spec --list a=-"):
        done = in_shell(f"sfs rank good.csv -q | sfs {line} -q", tmp_path)
        assert done.code == 0, done.err


@pytest.mark.slow
@pytest.mark.parametrize("make", [h5ad, lambda folder: parquet(folder, values())])
def test_formats_that_are_read_in_any_order_are_copied_too(make, tmp_path, capfd):
    path = make(tmp_path)
    done = piped(Path(path).read_bytes(), ["rank", "-", "--method", "spec", "-q"])
    assert done.code == 0, done.err
    assert done.out == run_here(["rank", path, "--method", "spec", "-q"], capfd).out


@pytest.mark.slow
def test_named_pipe_waits_for_its_writer(tmp_path):
    path, pipe = Path(good(tmp_path)), tmp_path / "pipe"
    os.mkfifo(pipe)

    def write() -> None:
        time.sleep(0.5)
        with pipe.open("wb") as file:
            file.write(path.read_bytes())

    writer = threading.Thread(target=write)
    writer.start()
    out = tmp_path / "out"
    done = run_apart(["rank", str(pipe), "--out", str(out), "--method", "spec"])
    writer.join()
    assert done.code == 0, done.err
    assert json.loads((out / "run.json").read_text())["inputs"][0]["path"] == str(pipe)


def waiting(folder: Path, *options: str) -> subprocess.Popen[str]:
    os.mkfifo(folder / "pipe")
    command = [*MODULE, "rank", str(folder / "pipe"), "--scratch", str(folder / "s"), *options]
    return subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


@pytest.mark.slow
def test_pipe_that_nobody_writes_to_is_said_and_can_be_ended(tmp_path):
    run = waiting(tmp_path)
    assert run.stderr is not None
    assert "nothing has come through this pipe" in run.stderr.readline()
    run.send_signal(signal.SIGINT)
    assert run.wait(30) == 130
    assert not list((tmp_path / "s").iterdir())


@pytest.mark.slow
def test_time_limit_counts_while_a_pipe_is_waited_for(tmp_path):
    run = waiting(tmp_path, "--time-limit", "1s")
    assert run.wait(30) == 143
    assert not list((tmp_path / "s").iterdir())


def test_standard_input_that_is_a_terminal_is_said(tmp_path):
    master, slave = pty.openpty()
    try:
        done = subprocess.run(
            [*MODULE, "rank", "-"], stdin=slave, capture_output=True, text=True, timeout=60
        )
    finally:
        os.close(master)
        os.close(slave)
    assert done.returncode == USAGE
    assert "terminal" in done.stderr


@pytest.mark.parametrize("words", [["rank", "-"], ["inspect", "-"], ["rank", "-", "--out", "o"]])
def test_an_error_in_what_came_through_a_pipe_names_the_pipe(words, tmp_path):
    done = piped(b"gene,a,b,c\nx,1,2,3\ny,1,oops,3\n", words, cwd=tmp_path)
    assert done.code == BAD, done.err
    assert "where: -, line 3, column 'b'" in done.err
    assert not SCRATCH.search(done.err)


@pytest.mark.slow
def test_what_cannot_come_through_a_pipe_is_refused_by_name(tmp_path):
    path = good(tmp_path)
    refused = [
        (["rank", "-", "--labels", "-"], path, USAGE, "--labels"),
        (["rank", "-", "--labels", "/dev/stdin:class"], path, USAGE, "--labels"),
        (["shard", "init", str(tmp_path / "plan"), "-", "--shards", "2"], path, USAGE, "MATRIX -"),
        (["rank", "--config", "-"], path, USAGE, "--config -"),
        (["rank", "-"], "/dev/null", BAD, "MATRIX -"),
        (["rank", "-"], "/dev/zero", BAD, "binary data"),
        (["rank", path, "--labels", "-"], "/dev/null", BAD, "--labels -"),
    ]
    for words, source, code, name in refused:
        with Path(source).open("rb") as file:
            done = subprocess.run(
                [*MODULE, *words], stdin=file, capture_output=True, text=True, timeout=60
            )
        assert done.returncode == code, (words, done.stderr)
        assert name in done.stderr
        assert "Traceback" not in done.stderr
    done = run_apart(["rank", "/dev/fd/63"])  # that no shell has opened
    assert done.code == BAD, done.err
    assert "/dev/fd/63" in done.err


@pytest.mark.slow
def test_record_of_a_pipe_is_no_configuration_without_another_one(tmp_path):
    path, out = Path(good(tmp_path)), tmp_path / "out"
    assert piped(path.read_bytes(), ["rank", "-", "--out", str(out)]).code == 0
    again = ["rank", "--config", str(out / "run.json")]
    done = piped(path.read_bytes(), again)
    assert done.code == BAD
    assert "MATRIX -" in done.err
    assert "run.json" in done.err
    for matrix in ("-", str(path)):
        done = piped(path.read_bytes(), [*again, matrix, "-q"])
        assert done.code == 0, done.err
        assert done.out == (out / "ranking.tsv").read_text()


@pytest.mark.slow
def test_same_content_through_a_pipe_is_up_to_date_and_resumes(tmp_path):
    content, out = Path(good(tmp_path)).read_bytes(), tmp_path / "out"
    words = ["rank", "-", "--out", str(out), "--resume"]
    assert piped(content, words).code == 0
    assert "up to date" in piped(content, words).err
    other = piped(content.replace(b"1", b"2"), words)
    assert other.code == 4, other.err


def test_disk_that_is_full_is_said(tmp_path, monkeypatch):
    from sfs_cli.errors import InputError
    from sfs_cli.logs import Messages
    from sfs_cli.options.fields import options_of
    from sfs_cli.options.rank import RankConfig
    from sfs_cli.run import pipes

    os.mkfifo(tmp_path / "pipe")
    monkeypatch.setattr(pipes, "SPARE_PART", 1)
    monkeypatch.setattr(pipes, "SPARE", 1 << 60)
    writer = threading.Thread(target=lambda: (tmp_path / "pipe").write_text("id,a\ng,1\n"))
    writer.start()
    taken = [o for o in options_of(RankConfig) if o.name == "matrix"]
    given = {"matrix": str(tmp_path / "pipe"), "scratch": str(tmp_path / "s")}
    with (
        pytest.raises(InputError, match="space"),
        pipes.spooled(taken, given, Messages(verbosity=-1)),
    ):
        pass
    writer.join()
    assert not list((tmp_path / "s").iterdir())
