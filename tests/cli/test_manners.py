"""How the command line behaves in a shell, a pipe and a workflow."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.making_commands import EXISTS, good, parquet, table, text, values
from tests.running import MODULE, run_apart, run_here, shown_on, snapshot

ESCAPE = "\x1b"


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


@pytest.mark.parametrize(
    "arguments", [["--help"], ["rank", "--help"], ["convert", "--help"], ["select", "--help"]]
)
def test_help_imports_no_numeric_library(arguments):
    heavy = {"numpy", "pandas", "pyarrow", "scipy", "anndata", "sklearn", "h5py"}
    assert not imported_by(arguments) & heavy


@pytest.mark.parametrize("kind", ["parquet", "store"])
def test_ranking_imports_neither_pandas_nor_anndata_nor_sklearn(tmp_path, kind):
    matrix = parquet(tmp_path, values())
    if kind == "store":
        imported_by(["convert", matrix, str(tmp_path / "store")])
        matrix = str(tmp_path / "store")
    packages = imported_by(["rank", matrix, "--out", str(tmp_path / "out")])
    assert "numpy" in packages
    assert not packages & {"pandas", "anndata", "sklearn", "h5py", "matplotlib"}


def test_stdout_holds_the_table_and_stderr_the_messages(tmp_path, capfd):
    done = run_here(["rank", good(tmp_path)], capfd)
    header, *rows = done.out.splitlines()
    assert done.code == 0
    assert header.split("\t")[:4] == ["rank", "feature", "score", "status"]
    assert len(rows) == 9
    assert all(len(row.split("\t")) == len(header.split("\t")) for row in rows)
    assert "ranked 9 of 9 features" in done.err


def test_quiet_says_nothing(tmp_path, capfd):
    table_alone = run_here(["rank", good(tmp_path), "-q"], capfd)
    assert table_alone.err == ""
    assert table_alone.out != ""
    done = run_here(["rank", good(tmp_path), "-q", "--out", str(tmp_path / "out")], capfd)
    assert (done.code, done.out, done.err) == (0, "", "")


def test_quiet_still_says_errors(tmp_path, capfd):
    done = run_here(["rank", str(tmp_path / "no.csv"), "-q"], capfd)
    assert done.err.startswith("error: ")


@pytest.mark.nightly
def test_a_pipe_gets_no_escape_codes(tmp_path):
    for arguments in (["rank", good(tmp_path)], ["rank", "no.csv"], ["--help"]):
        done = run_apart(arguments)
        assert ESCAPE not in done.out + done.err


def test_json_prints_json_and_nothing_else(tmp_path, capfd):
    done = run_here(["rank", good(tmp_path), "--out", str(tmp_path / "out"), "--json"], capfd)
    record = json.loads(done.out)
    assert record["result"]["n_features"] == 9
    assert record == json.loads((tmp_path / "out" / "run.json").read_text())


def ranked(folder: Path, capfd: pytest.CaptureFixture[str], *options: str) -> list[str]:
    command = ["rank", good(folder), "--out", str(folder / "out"), *options]
    assert run_here(command, capfd).code == 0
    return command


def written(folder: Path) -> dict[str, int]:
    """Return what tells whether a file was written again: a new one has another number."""
    return {path.name: path.stat().st_ino for path in folder.iterdir()}


def test_second_run_is_up_to_date_and_writes_nothing(tmp_path, capfd):
    command = ranked(tmp_path, capfd)
    before = written(tmp_path / "out")
    done = run_here([*command, "--threads", "1"], capfd)  # an option that changes no result
    assert done.code == 0
    assert "up to date" in done.err
    assert written(tmp_path / "out") == before
    again = run_here([*command, "--json"], capfd)
    assert json.loads(again.out)["result"]["n_features"] == 9


def test_damaged_result_is_not_up_to_date(tmp_path, capfd):
    command = ranked(tmp_path, capfd)
    text(tmp_path / "out", "rank\tfeature\n", "ranking.tsv")
    assert run_here(command, capfd).code == EXISTS


def test_other_option_is_refused_and_forced(tmp_path, capfd):
    command = ranked(tmp_path, capfd)
    before = snapshot(tmp_path / "out")
    other = [*command, "--ranking", "phi1"]
    assert run_here(other, capfd).code == EXISTS
    assert snapshot(tmp_path / "out") == before
    assert run_here([*other, "--force"], capfd).code == 0
    assert snapshot(tmp_path / "out")["ranking.tsv"] != before["ranking.tsv"]
    assert set(snapshot(tmp_path / "out")) == set(before)


def test_other_input_is_refused_and_forced(tmp_path, capfd):
    command = ranked(tmp_path, capfd)
    text(tmp_path, table(values()[::-1]), "good.csv")
    assert run_here(command, capfd).code == EXISTS
    assert run_here([*command, "--force"], capfd).code == 0
    assert "up to date" in run_here(command, capfd).err


@pytest.mark.nightly
@pytest.mark.parametrize("unbuffered", ["", pytest.param("1", marks=pytest.mark.nightly)])
def test_reader_that_closes_the_pipe_ends_the_run_quietly(tmp_path, unbuffered):
    features = [f"gene{i}" for i in range(20_000)]  # more than a pipe holds
    path = text(tmp_path, table(values(20_000), features))
    command = subprocess.Popen(
        [*MODULE, "rank", path, "-q"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONUNBUFFERED": unbuffered},
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

    monkeypatch.setattr("sfs_cli.run.rank.run", broken)
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

    monkeypatch.setattr("sfs_cli.run.rank.run", greedy)
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


def on_a_terminal(arguments: list[str], **variables: str) -> tuple[int, str]:
    """Run the command line with stderr on a pseudo terminal; return what was shown there."""
    master, slave = pty.openpty()
    environment = {k: v for k, v in os.environ.items() if k != "NO_COLOR"} | variables
    command = subprocess.Popen(
        [*MODULE, *arguments], stdout=subprocess.DEVNULL, stderr=slave, env=environment
    )
    os.close(slave)
    shown = shown_on(master)
    return command.wait(60), shown


@pytest.mark.nightly
def test_terminal_gets_a_progress_bar_and_colours(tmp_path):
    X = np.random.default_rng(0).normal(size=(2000, 6))
    path = text(tmp_path, table(X, [f"gene{i}" for i in range(2000)]))
    code, shown = on_a_terminal(["rank", path], TERM="xterm-256color")
    assert code == 0
    assert "ranking" in shown
    assert ESCAPE in shown
    assert "ranked 2,000 of 2,000 features" in shown


@pytest.mark.nightly
def test_quiet_shows_nothing_on_a_terminal(tmp_path):
    code, shown = on_a_terminal(["rank", good(tmp_path), "-q"], TERM="xterm-256color")
    assert (code, shown) == (0, "")


@pytest.mark.nightly
def test_colours_of_an_error_heed_no_color(tmp_path):
    red = f"{ESCAPE}[1;31m"
    command = ["rank", str(tmp_path / "no.csv")]
    assert red in on_a_terminal(command, TERM="xterm-256color")[1]
    assert ESCAPE not in on_a_terminal(command, TERM="xterm-256color", NO_COLOR="1")[1]
