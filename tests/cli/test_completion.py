"""What a shell completes: words, files, and names inside of files, silently and lazily."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import anndata as ad
import numpy as np
import pandas as pd
import pytest
from click.shell_completion import ShellComplete

from sfs_cli.catalog import METHODS
from sfs_cli.cli.app import COMPLETE, VERBS, app
from sfs_cli.cli.help import TOPICS
from tests.cli.running import MODULE, run_apart, run_here


def completed(*words: str) -> list[str]:
    """Return the completions of the last word."""
    *args, last = words
    found = ShellComplete(app, {}, "sfs", COMPLETE).get_completions(args, last)
    return [item.value for item in found if item.type == "plain"]


def kinds(*words: str) -> set[str]:
    *args, last = words
    found = ShellComplete(app, {}, "sfs", COMPLETE).get_completions(args, last)
    return {item.type for item in found}


def made() -> ad.AnnData:
    rng = np.random.default_rng(0)
    obs = pd.DataFrame({"cell type": pd.Categorical(["a", "b"] * 3), "age": range(6)})
    obs.index = [f"c{i}" for i in range(6)]
    graph = np.eye(6)
    return ad.AnnData(
        rng.random((6, 4)),
        obs=obs,
        obsp={"connectivities": graph, "distances": graph},
        obsm={"X_pca": rng.random((6, 2)), "spatial": rng.random((6, 2))},
        layers={"counts": rng.random((6, 4))},
    )


@pytest.fixture
def cells(tmp_path: Path) -> str:
    made().write_h5ad(tmp_path / "cells.h5ad")
    return str(tmp_path / "cells.h5ad")


@pytest.fixture
def table(tmp_path: Path) -> str:
    (tmp_path / "labels.tsv").write_text("sample\ttissue\tstage\ns1\ta\t1\ns2\tb\t2\n")
    return str(tmp_path / "labels.tsv")


def test_commands_and_options(capfd):
    assert completed("") == list(VERBS)
    assert completed("config", "") == ["check", "reference", "schema"]
    assert "".join(capfd.readouterr()) == ""
    assert completed("d") == ["doctor"]
    assert "--method" in completed("rank", "--me")
    assert set(completed("help", "")) == {*TOPICS, *VERBS}
    assert completed("methods", "ree") == []
    assert completed("methods", "rel") == ["relieff"]


def test_words_of_options():
    assert completed("rank", "x.csv", "--method", "fi") == ["fisher"]
    assert completed("rank", "x.csv", "--method", "") == list(METHODS)
    assert completed("rank", "x.csv", "--method=fi") == ["fisher"]
    assert completed("shard", "init", "plan", "x.csv", "--method", "fi") == ["fisher"]
    assert completed("compare", "x.csv", "--method", "fi") == ["fisher"]
    assert completed("rank", "x.csv", "--format", "p") == ["parquet"]
    assert completed("rank", "x.csv", "--ranking", "phi") == ["phi1", "phi2", "phi3"]
    assert "obsp:" in completed("rank", "x.csv", "--similarity", "o")
    assert "knn" in completed("rank", "x.csv", "--similarity", "kn")
    assert completed("rank", "x.csv", "--label-type", "or") == ["ordered"]


def test_the_last_item_of_a_list():
    assert completed("rank", "x.csv", "--members", "spec,fi") == ["spec,fisher"]
    assert "spec,spec" not in completed("rank", "x.csv", "--members", "spec,")


@pytest.mark.parametrize("form", ["h5ad", "zarr", "old"])
def test_names_inside_of_the_matrix(form, cells, tmp_path):
    path = cells
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if form == "zarr":
            path = str(tmp_path / "cells.zarr")
            made().write_zarr(path)
    if form == "old":
        import h5py

        records = np.array([(b"c1", 1, 2.0)], [("index", "S2"), ("cell type", "i1"), ("age", "f4")])
        with h5py.File(path, "r+") as file:
            del file["obs"]
            file["obs"] = records
    names = ["obs:cell type", "obs:age"]
    assert completed("rank", path, "--labels", "obs:") == names
    assert completed("rank", path, "--labels", "obs:ce") == names[:1]
    assert completed("rank", path, "--labels=obs:a") == names[1:]
    assert completed("rank", path, "--labels", "") == ["obs:"]
    assert completed("rank", path, "--adjust", "obs:age,obs:") == ["obs:age,obs:cell type"]
    assert completed("plan", path, "--batch", "obs:a") == ["obs:age"]
    assert completed("rank", path, "--layer", "") == ["counts"]
    assert completed("rank", path, "--similarity", "obsp:c") == ["obsp:connectivities"]
    assert completed("rank", path, "--similarity", "obsm:") == ["obsm:X_pca", "obsm:spatial"]
    assert completed("rank", path, "--coordinates", "obsm:s") == ["obsm:spatial"]
    assert completed("shard", "init", "p", path, "--labels", "obs:a") == ["obs:age"]


def test_modalities_and_what_they_have(tmp_path):
    mudata = pytest.importorskip("mudata")
    path = str(tmp_path / "both.h5mu")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mudata.MuData({"rna": made(), "prot": made()}).write_h5mu(path)
    assert set(completed("rank", path)) == {f"{path}:rna", f"{path}:prot"}
    assert completed("rank", f"{path}:r") == [f"{path}:rna"]
    assert completed("rank", f"{path}:rna", "--labels", "obs:a") == ["obs:age"]


def test_columns_of_tables(table, tmp_path):
    names = [f"{table}:tissue", f"{table}:stage"]
    assert completed("rank", "x.csv", "--labels", f"{table}:") == names
    assert completed("rank", "x.csv", "--labels", f"{table}:st") == names[1:]
    assert completed("rank", "--labels", f"{table}:st") == names[1:]
    assert completed("rank", "x.csv", "--sample-weights", f"{table}:t") == names[:1]
    parquet = str(tmp_path / "labels.parquet")
    pd.read_table(table).to_parquet(parquet)
    assert completed("rank", "x.csv", "--labels", f"{parquet}:t") == [f"{parquet}:tissue"]


def test_files_and_folders():
    assert kinds("rank", "exp") == {"file"}
    assert kinds("rank", "x.csv", "--labels", "lab") == {"file"}
    assert kinds("rank", "x.csv", "--config", "r") == {"file"}
    assert kinds("rank", "x.csv", "--out", "r") == {"dir"}
    assert kinds("config", "check", "r") == {"file"}
    assert kinds("rank", "x.csv", "--seed", "") == set()


@pytest.mark.parametrize("content", [b"", b"\x89HDF\r\n\x1a\n" + bytes(600), b"\xff" * 100])
def test_whatever_is_wrong_with_a_file_there_is_silence(content, tmp_path, capfd):
    path = tmp_path / "cells.h5ad"
    path.write_bytes(content)
    for words in (["--labels", "obs:"], ["--layer", ""], ["--similarity", "obsp:"]):
        assert completed("rank", str(path), *words) == []
    assert completed("rank", "x.csv", "--labels", f"{path}:") == []
    assert completed("rank", str(tmp_path / "no.h5ad"), "--labels", "obs:") == []
    assert "".join(capfd.readouterr()) == ""


def test_words_import_no_numeric_library():
    script = (
        "import sys; from click.shell_completion import ShellComplete as C;"
        "from sfs_cli.cli.app import app; c = C(app, {}, 'sfs', '_SFS_COMPLETE');"
        "print([i.value for i in c.get_completions(['rank', 'x.csv', '--method'], 'fi')]);"
        "print([m for m in ('numpy', 'h5py', 'pandas', 'pyarrow', 'rich') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout.splitlines() == ["['fisher']", "[]"], done.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_scripts_are_printed(shell, capfd):
    done = run_here(["completion", shell], capfd)
    assert done.code == 0
    assert f"{COMPLETE}={shell}_complete" in done.out
    assert run_here(["completion", "tcsh"], capfd).code == 2
    missing = run_here(["completion"], capfd)
    assert missing.code == 2
    assert "bash, zsh, fish" in missing.err
    assert "\\n" not in missing.err


# ---- bash itself ---------------------------------------------------------------------------------

PRESS = """
eval "$(sfs completion bash)"
COMP_LINE=$1 COMP_POINT=${#1} COMP_TYPE=9
# as readline divides the line: signs that break words are words of their own
read -r -a COMP_WORDS <<< "$(sed 's/\\([:=]\\)/ \\1 /g' <<< "$1")"
[[ $1 == *[[:space:]] ]] && COMP_WORDS+=("")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
compopt() { echo "option $*"; }
_sfs_completion sfs
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture
def in_bash(tmp_path: Path):
    if shutil.which("bash") is None:
        pytest.skip("there is no bash here")
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    (bin_folder / "sfs").write_text(f'#!/bin/sh\nexec "{MODULE[0]}" -m sfs_cli "$@"\n')
    (bin_folder / "sfs").chmod(0o755)

    def press(line: str) -> list[str]:
        done = subprocess.run(
            ["bash", "--norc", "-c", PRESS, "bash", line],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env=os.environ | {"PATH": f"{bin_folder}:{os.environ['PATH']}"},
        )
        assert done.stderr == ""
        return done.stdout.split("\n")[:-1]

    return press


@pytest.mark.slow
def test_bash_completes(in_bash, cells, table):
    assert in_bash("sfs rank x.csv --method fi") == ["fisher"]
    assert in_bash("sfs rank x.csv --method=fi") == ["fisher"]
    # bash keeps what is before the colon, and needs a blank to be escaped
    assert in_bash("sfs rank cells.h5ad --labels obs:ce") == ["cell\\ type"]
    assert in_bash("sfs rank cells.h5ad --labels obs:") == ["cell\\ type", "age"]
    assert in_bash("sfs rank cells.h5ad --labels ") == ["option -o nospace", "obs:"]
    assert in_bash("sfs rank cells.h5ad --similarity obsp:c") == ["connectivities"]
    assert in_bash("sfs rank x.csv --labels labels.tsv:t") == ["tissue"]
    assert in_bash("sfs rank x.csv --labels lab") == ["option -o default", ""]
    assert in_bash("sfs rank x.csv --out re") == ["option -o dirnames", ""]
    assert in_bash("sfs rnk x.csv --out re") == [""]


def test_bash_inserts_a_completion_into_the_line(in_bash, cells, tmp_path):
    """A terminal with readline: what is typed, a tab, and a return."""
    import pty
    import select
    import time

    main, side = pty.openpty()
    environment = os.environ | {"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}", "TERM": "dumb"}
    shell = subprocess.Popen(
        ["bash", "--norc", "--noprofile", "-i"],
        stdin=side,
        stdout=side,
        stderr=side,
        cwd=tmp_path,
        env=environment | {"PS1": "ready> ", "HISTFILE": "/dev/null"},
        start_new_session=True,
    )
    os.close(side)
    said = b""

    def until(words: bytes, seconds: float = 60) -> None:
        nonlocal said
        end = time.monotonic() + seconds
        while words not in said and time.monotonic() < end:
            if select.select([main], [], [], 0.2)[0]:
                said += os.read(main, 4096)
        assert words in said, said

    try:
        until(b"ready> ")
        os.write(main, b'eval "$(sfs completion bash)"; echo loa""ded\n')
        until(b"loaded")
        said = b""
        os.write(main, b"sfs rank cells.h5ad --labels obs:ce\t")
        until(b"obs:cell\\ type")
    finally:
        shell.kill()
        shell.wait()
        os.close(main)


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("asked", "words"),
    [
        *(("", ""), ("1", ""), ("bash", ""), ("bash_nothing", ""), ("tcsh_complete", "sfs ")),
        *(("_", ""), ("bash_complete", ""), ("bash_complete", "sfs rank "), ("zsh_source", "")),
    ],
)
def test_a_variable_that_no_shell_has_set_is_ignored(asked, words):
    """A command line with words, or a value that no script of ours gives, is a command to run."""
    variables = {COMPLETE: asked} | ({"COMP_WORDS": words} if words else {})
    done = run_apart(["methods", "variance"], **variables)
    assert done.code == 0
    assert "variance" in done.out
    if not asked.startswith(("bash_complete", "zsh_source")):
        done = run_apart([], **variables)
        assert done.code == 2
        assert "Commands:" in done.err


def test_commands_in_a_process_ignore_the_variable(monkeypatch, capfd):
    """Where it would be for click to answer a shell."""
    monkeypatch.setenv(COMPLETE, "nonsense")
    assert run_here(["methods", "variance"], capfd).code == 0
