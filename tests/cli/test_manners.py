"""How the command line behaves in a shell, a pipe and a workflow."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from sfs_cli import provenance
from tests.making_commands import EXISTS, SAMPLES, good, parquet, table, text, values
from tests.running import MODULE, run_here, snapshot


def imported_by(arguments: list[str]) -> set[str]:
    """Return the packages that a command has imported when it ends."""
    program = (
        "import sys; from sfs_cli.cli.app import run; code = run(sys.argv[1:]); "
        "print(code, *{name.partition('.')[0] for name in sys.modules}, file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=True
    )
    code, *packages = done.stderr.splitlines()[-1].split()
    assert code == "0", done.stderr
    return set(packages)


@pytest.mark.parametrize("arguments", [["--help"], ["rank", "--help"]])
def test_help_imports_no_numeric_library(arguments):
    heavy = {"numpy", "pandas", "pyarrow", "scipy", "anndata", "sklearn", "h5py"}
    assert not imported_by(arguments) & heavy


def test_ranking_imports_neither_pandas_nor_anndata_nor_sklearn(tmp_path):
    matrix = parquet(tmp_path, values())
    classes = "".join(f"{name}\tc{i % 2}\n" for i, name in enumerate(SAMPLES))
    labels = text(tmp_path, f"sample\tclass\n{classes}", "labels.tsv")
    out = str(tmp_path / "out")
    words = ["--method", "f-test", "--labels", labels]
    packages = imported_by(["rank", matrix, *words, "--out", out])
    assert {"numpy", "matplotlib"} <= packages
    assert not packages & {"pandas", "anndata", "sklearn", "h5py"}
    assert "matplotlib" not in imported_by(["rank", matrix, *words])  # which makes no page


def test_stdout_holds_the_table_and_stderr_the_messages(tmp_path, capfd):
    done = run_here(["rank", good(tmp_path)], capfd)
    header, *rows = done.out.splitlines()
    assert done.code == 0
    assert header.split("\t")[:4] == ["rank", "feature", "score", "status"]
    assert len(rows) == 9
    assert all(len(row.split("\t")) == len(header.split("\t")) for row in rows)
    assert "ranked 9 of 9 features" in done.err


def test_quiet_says_nothing_but_errors(tmp_path, capfd):
    words = ["rank", good(tmp_path), "--method", "msfs", "--source", "own=target:"]
    table_alone = run_here([*words, "-q"], capfd)
    assert table_alone.err == ""
    assert table_alone.out != ""
    done = run_here([*words, "-q", "--out", str(tmp_path / "out")], capfd)
    assert (done.code, done.out, done.err) == (0, "", "")
    done = run_here(["rank", str(tmp_path / "no.csv"), "-q"], capfd)
    assert done.err.startswith("error: ")


@pytest.fixture
def ranked(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> list[str]:
    """Rank into a folder; return the command."""
    command = ["rank", good(tmp_path), "--out", str(tmp_path / "out")]
    assert run_here(command, capfd).code == 0
    return command


def test_second_run_is_up_to_date_and_writes_nothing(ranked, tmp_path, capfd):
    def written() -> dict[str, int]:  # a file that is written again has another number
        return {path.name: path.stat().st_ino for path in (tmp_path / "out").iterdir()}

    before = written()
    done = run_here([*ranked, "--threads", "1"], capfd)  # an option that changes no result
    assert done.code == 0
    assert "up to date" in done.err
    assert written() == before


def test_other_option_is_refused_and_forced(ranked, tmp_path, capfd):
    before = snapshot(tmp_path / "out")
    other = [*ranked, "--method", "spec,ranking=phi1"]
    assert run_here(other, capfd).code == EXISTS
    assert snapshot(tmp_path / "out") == before
    assert run_here([*other, "--force"], capfd).code == 0
    assert snapshot(tmp_path / "out")["ranking.tsv"] != before["ranking.tsv"]
    # of a method that has some; the other leaves none behind
    assert set(before) - set(snapshot(tmp_path / "out")) == {"coefficients.tsv"}


def test_an_input_of_another_time_is_the_same_if_it_holds_the_same(ranked, tmp_path, capfd):
    path = tmp_path / "good.csv"
    os.utime(path, ns=(1, 1))
    assert "up to date" in run_here(ranked, capfd).err
    content = path.read_text()
    path.write_text(content[:-2] + ("1" if content[-2] != "1" else "2") + content[-1])
    done = run_here(ranked, capfd)
    assert done.code == EXISTS
    assert "good.csv had another content" in done.err


def test_an_input_of_the_same_size_and_time_is_not_read(ranked, capfd, monkeypatch):
    monkeypatch.setattr(provenance, "describe_input", None)
    assert "up to date" in run_here(ranked, capfd).err


def test_a_file_of_the_same_size_and_time_is_another_one_elsewhere(ranked, tmp_path, capfd):
    """Archives may give all their files one time."""
    seen = (tmp_path / "good.csv").stat()
    other = text(tmp_path, table(values()[::-1]), "twin.csv")
    os.utime(other, ns=(seen.st_atime_ns, seen.st_mtime_ns))
    assert Path(other).stat().st_size == seen.st_size
    assert run_here([ranked[0], other, *ranked[2:]], capfd).code == EXISTS


def test_an_option_that_is_left_out_is_another_run(ranked, capfd):
    words = [*ranked, "--method", "spec,ranking=phi1", "--force"]
    assert run_here(words, capfd).code == 0
    done = run_here(ranked, capfd)
    assert done.code == EXISTS
    assert "there --method is spec" in done.err
    done = run_here([*ranked, "--method", "spec"], capfd)
    assert done.code == EXISTS
    assert "there ranking= of --method is phi1" in done.err


def test_what_differs_of_a_store_is_named(tmp_path, capfd):
    words = ["convert", good(tmp_path), str(tmp_path / "x.store")]
    assert run_here(words, capfd).code == 0
    assert "up to date" in run_here(words, capfd).err
    done = run_here([*words, "--dtype", "float64"], capfd)
    assert done.code == EXISTS
    assert "there --dtype is not given" in done.err
    assert run_here([*words, "--dtype", "float64", "--force"], capfd).code == 0


def test_the_result_of_another_version_is_up_to_date(ranked, tmp_path, capfd):
    path = tmp_path / "out" / "run.json"
    record = json.loads(path.read_text())
    record["versions"]["sfs"] = "0.0.9"
    path.write_text(json.dumps(record))
    done = run_here(ranked, capfd)
    assert done.code == 0
    assert "up to date (made by sfs 0.0.9; --force makes it again)" in done.err


def test_a_result_without_one_of_its_files_is_not_up_to_date(ranked, tmp_path, capfd):
    (tmp_path / "out" / "report.html").unlink()
    done = run_here(ranked, capfd)
    assert done.code == EXISTS
    assert "files of it are gone" in done.err
    assert "report.html" in done.err


@pytest.mark.parametrize(
    "damage",
    [{"config": None}, {"inputs": None}, {"defaults": []}, {"beside": []}, {"outputs": None}],
    ids=lambda each: next(iter(each)),
)
def test_a_result_whose_record_is_damaged_is_told(damage, ranked, tmp_path, capfd):
    path = tmp_path / "out" / "run.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | damage))
    done = run_here(ranked, capfd)
    assert done.code == EXISTS
    assert "holds a result whose record is damaged" in done.err


def test_a_store_is_up_to_date_by_whatever_path_its_matrix_is_named(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    matrix = good(tmp_path)
    assert run_here(["convert", matrix, "s.store"], capfd).code == 0
    assert "up to date" in run_here(["convert", Path(matrix).name, "s.store"], capfd).err


def test_force_removes_the_files_of_the_old_result_alone(ranked, tmp_path, capfd):
    out = tmp_path / "out"
    outside = tmp_path / "kept.txt"
    for path in (outside, out / "old.tsv", out / "own.txt"):
        path.write_text("x")
    record = json.loads((out / "run.json").read_text())
    record["outputs"].append("old.tsv")
    (out / "run.json").write_text(json.dumps(record))
    assert run_here([*ranked, "--force"], capfd).code == 0
    assert not (out / "old.tsv").exists()
    assert (out / "own.txt").exists()
    record["outputs"].append("../kept.txt")  # a record that was changed by hand
    (out / "run.json").write_text(json.dumps(record))
    assert run_here([*ranked, "--force"], capfd).code == 0
    assert outside.exists()


def test_a_record_of_another_program_is_no_result(tmp_path, capfd):
    out = tmp_path / "out"
    out.mkdir()
    (out / "run.json").write_text('{"outputs": ["data.csv"]}')
    (out / "data.csv").write_text("x")
    words = ["rank", good(tmp_path), "--out", str(out)]
    assert run_here(words, capfd).code == EXISTS
    assert run_here([*words, "--force"], capfd).code == 0
    assert (out / "data.csv").exists()


def test_reader_that_closes_the_pipe_ends_the_run_quietly(tmp_path):
    features = [f"gene{i}" for i in range(20_000)]  # more than a pipe holds
    path = text(tmp_path, table(values(20_000), features))
    command = subprocess.Popen(
        [*MODULE, "rank", path, "-q"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert command.stdout is not None
    assert command.stderr is not None
    assert command.stdout.readline().startswith("rank\tfeature")
    command.stdout.close()
    said = command.stderr.read()
    assert command.wait(60) == 0
    assert said == ""


@pytest.mark.parametrize("asked", [[], ["-W", "default"]])
def test_warnings_of_libraries_are_shown_if_asked_for(asked):
    code = "import warnings; from sfs_cli.cli import app; "
    code += "app.run = lambda _: warnings.warn('soon', RuntimeWarning); app.main([])"
    done = subprocess.run([sys.executable, *asked, "-c", code], capture_output=True, check=True)
    assert (b"soon" in done.stderr) == bool(asked)


def test_bug_of_ours_is_told_from_an_error_of_the_user(tmp_path, capfd, monkeypatch):
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("the cat sat on the keyboard")

    monkeypatch.setattr("sfs_cli.workflow.rank.run", broken)
    done = run_here(["rank", good(tmp_path)], capfd)
    assert done.code == 1
    assert done.out == ""
    assert "RuntimeError: the cat sat on the keyboard" in done.err
    assert "please report" in done.err.splitlines()[-1]


def test_traceback_of_a_user_error_is_for_verbose(tmp_path, capfd):
    command = ["rank", str(tmp_path / "no.csv")]
    assert "Traceback" not in run_here(command, capfd).err
    assert "Traceback" in run_here([*command, "-v"], capfd).err


def test_lack_of_memory_has_its_own_code(tmp_path, capfd, monkeypatch):
    def greedy(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr("sfs_cli.workflow.rank.run", greedy)
    done = run_here(["rank", good(tmp_path)], capfd)
    assert done.code == 137
    assert "--memory" in done.err
    assert "Traceback" not in done.err


def test_version_is_that_of_the_package(capfd):
    from importlib.metadata import version

    done = run_here(["--version"], capfd)
    assert (done.code, done.out) == (0, f"sfs {version('sfs-cli')}\n")


def test_no_verb_shows_the_help(capfd):
    done = run_here([], capfd)
    assert (done.code, done.out) == (2, "")
    assert "Commands:" in done.err
