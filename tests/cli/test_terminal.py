"""A terminal gets the first rows of a table; files and pipes get all."""

from __future__ import annotations

import os
import pty
import subprocess
from pathlib import Path

import numpy as np
import pytest

from tests.running import MODULE, run_apart, shown_on

M = 60


pytestmark = pytest.mark.nightly  # of a pseudo terminal


def matrix(folder: Path, m: int = M, first: str = "gene0") -> str:
    X = np.random.default_rng(0).normal(size=(m, 8))
    genes = [first, *(f"gene{j}" for j in range(1, m))]
    lines = ["id," + ",".join(f"s{i}" for i in range(8))]
    lines += [f"{gene}," + ",".join(map(str, row)) for gene, row in zip(genes, X)]
    (folder / "x.csv").write_text("\n".join(lines) + "\n")
    return str(folder / "x.csv")


def on_terminal(*words: str) -> tuple[int, list[str], str]:
    """Run a command whose stdout is a terminal; return its code, its lines and its messages."""
    main, side = pty.openpty()
    process = subprocess.Popen([*MODULE, *words], stdout=side, stderr=subprocess.PIPE, text=True)
    os.close(side)
    said = shown_on(main)
    err = process.communicate(timeout=120)[1]
    return process.returncode, said.replace("\r\n", "\n").splitlines(), err


RANK = ("rank", "--method", "variance")


@pytest.mark.parametrize(
    "form", ["tsv", *(pytest.param(name, marks=pytest.mark.nightly) for name in ("csv", "rnk"))]
)
def test_a_terminal_gets_the_first_rows_and_is_told_how_to_get_all(form, tmp_path):
    path = matrix(tmp_path)
    whole = run_apart([*RANK, path, "--format", form]).out.splitlines()
    header = 0 if form == "rnk" else 1
    assert len(whole) == M + header
    code, lines, err = on_terminal(*RANK, path, "--format", form)
    assert code == 0
    assert lines == whole[: 20 + header]
    assert f"first 20 of {M} rows" in err
    assert "--out" in err


@pytest.mark.nightly
def test_other_commands_do_so_too(tmp_path):
    path = matrix(tmp_path)
    assert run_apart([*RANK, path, "--out", str(tmp_path / "o")]).code == 0
    table = str(tmp_path / "o" / "ranking.tsv")
    code, lines, err = on_terminal("aggregate", table, table)
    assert (code, len(lines)) == (0, 21)
    assert f"first 20 of {M} rows" in err


@pytest.mark.nightly
def test_a_short_table_is_whole(tmp_path):
    code, lines, err = on_terminal(*RANK, matrix(tmp_path, 20))
    assert (code, len(lines)) == (0, 21)
    assert "rows" not in err.replace("rows are", "")


@pytest.mark.nightly
def test_quiet_and_json_are_whole(tmp_path):
    path = matrix(tmp_path)
    code, lines, err = on_terminal(*RANK, path, "-q")
    assert (code, len(lines), err) == (0, M + 1, "")
    _, lines, _ = on_terminal(*RANK, path, "--format", "json")
    assert "\n".join(lines) == run_apart([*RANK, path, "--format", "json"]).out.rstrip("\n")
    _, lines, _ = on_terminal(*RANK, path, "--out", str(tmp_path / "o"), "--json")
    assert lines[0] == "{"
    assert lines[-1] == "}"


@pytest.mark.nightly
def test_control_characters_of_names_do_not_reach_the_terminal(tmp_path):
    path = matrix(tmp_path, first="\x1b[31mred")
    lines = on_terminal("rank", "--method", "variance", path, "--include", "red|gene")[1]
    assert "\x1b" not in "\n".join(lines)
