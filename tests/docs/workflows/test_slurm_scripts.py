"""The Slurm scripts, with a `sbatch` that runs what it is given at once, in the order of ids."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.workflows.commands import (
    MATRIX,
    WORKFLOWS,
    environment,
    run,
    write_script,
)

pytestmark = pytest.mark.any_python

SUBMIT = str(WORKFLOWS / "slurm" / "submit.sh")
SBATCH = """#!{python}
# sbatch for one machine: runs each task of an array, and nothing whose dependency has failed
import os, subprocess, sys
from pathlib import Path
log = Path({log!r})
words = sys.argv[1:]
if "--test-only" in words:  # a node has 8 GiB
    sys.exit("not available" if os.environ.get("SBATCH_MEM_PER_NODE", "4G") > "8G" else 0)
at = next(i for i, word in enumerate(words) if not word.startswith("-"))
given = dict(word[2:].partition("=")[::2] for word in words[:at])
ids = log.read_text().split() if log.exists() else []
number, failed = len(ids) + 1, "ok"
needed = given.get("dependency")
if needed and ids[int(needed.removeprefix("afterok:")) - 1] != "ok":
    failed = "failed"
else:
    first, _, last = given.get("array", "").partition("-")
    tasks = [str(i) for i in range(int(first), int(last) + 1)] if first else [None]
    for task in tasks:
        env = dict(os.environ, SLURM_CPUS_PER_TASK="1", SLURM_MEM_PER_NODE="1000")
        env |= {{"SLURM_ARRAY_TASK_ID": task}} if task else {{}}
        if subprocess.run(["bash", *words[at:]], env=env, stdout=subprocess.DEVNULL).returncode:
            failed = "failed"
log.open("a").write(failed + "\\n")
print(number)
"""


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    write_script(tmp_path / "bin" / "sbatch", SBATCH, log=str(tmp_path / "jobs"))
    return environment(tmp_path / "bin")


def test_an_option_of_the_script_is_refused_before_anything_is_submitted(env, tmp_path):
    done = run([SUBMIT, "ranked", "2", str(MATRIX), "--out", "elsewhere"], tmp_path, env)
    assert done.returncode == 2
    assert "the option --out is not one of MATRIX here" in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bin"]


@pytest.mark.parametrize("name", ["run.json", "ranking.csv"])
def test_a_result_is_replaced_by_force_alone(name, env, tmp_path):
    (tmp_path / "ranked").mkdir()
    (tmp_path / "ranked" / name).write_text("{}")
    done = run([SUBMIT, "ranked", "2", str(MATRIX)], tmp_path, env)
    assert done.returncode == 4
    assert "ranked holds a result" in done.stderr
    assert not (tmp_path / "jobs").exists()


def test_a_file_is_no_folder_for_a_result(env, tmp_path):
    (tmp_path / "ranked").write_text("")
    done = run([SUBMIT, "ranked", "2", str(MATRIX), "--force"], tmp_path, env)
    assert done.returncode == 3
    assert "ranked is a file, not a folder" in done.stderr
    assert not (tmp_path / "jobs").exists()


def test_the_plan_of_another_ranking_is_refused_before_anything_is_submitted(env, tmp_path):
    made = ["sfs", "shard", "init", "ranked.plan", str(MATRIX), "--shards", "2"]
    assert run(made, tmp_path, env).returncode == 0
    done = run([SUBMIT, "ranked", "2", str(MATRIX), "--method", "variance"], tmp_path, env)
    assert done.returncode == 4
    assert "is not the plan of this ranking: there --method is not given" in done.stderr
    assert not (tmp_path / "jobs").exists()


def test_help_submits_nothing_beside_a_plan(env, tmp_path):
    made = ["sfs", "shard", "init", "ranked.plan", str(MATRIX), "--shards", "2"]
    assert run(made, tmp_path, env).returncode == 0
    done = run([SUBMIT, "ranked", "2", str(MATRIX), "--help"], tmp_path, env)
    assert (done.returncode, "--method" in done.stdout) == (0, True)
    assert not (tmp_path / "jobs").exists()


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ([str(MATRIX), "--methd", "spec"], 2, "did you mean --method?"),
        ([str(MATRIX), "--method", "spek", "--force"], 2, "unknown value 'spek' of --method"),
        ([str(MATRIX), "--method", "fisher"], 2, "--method fisher needs --labels"),
        ([str(MATRIX), "--method", "spca"], 2, "--method spca cannot be split into shards"),
        ([str(MATRIX), "--memory", "4"], 2, "--memory 4 is too little"),
        ([str(MATRIX), "--labels", "no labels.tsv:tissue"], 3, "no labels.tsv cannot be used"),
        (["none.csv"], 3, "none.csv cannot be used"),
    ],
)
def test_what_sfs_refuses_is_refused_before_anything_is_submitted(words, code, said, env, tmp_path):
    done = run([SUBMIT, "ranked", "2", *words], tmp_path, env)
    assert (done.returncode, done.stdout) == (code, "")
    assert said in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bin"]


def test_a_task_that_no_node_can_run_is_refused(env, tmp_path):
    command = [SUBMIT, "ranked", "1", str(MATRIX)]
    done = run(command, tmp_path, env | {"SBATCH_MEM_PER_NODE": "9G"})
    assert done.returncode == 1
    assert "not available" in done.stderr
    assert "SBATCH_MEM_PER_NODE=2G" in done.stderr
    assert not (tmp_path / "jobs").exists()


@pytest.mark.parametrize(
    "words", [[], *([n, "m.csv"] for n in ("0", "two", "-1", "2.5", "1,3", "10001", "9" * 30))]
)
def test_usage_is_said(words, env, tmp_path):
    done = run([SUBMIT, "ranked", *words], tmp_path, env)
    assert not (tmp_path / "jobs").exists()
    assert done.returncode == 2
    assert "usage: submit.sh OUT SHARDS MATRIX" in done.stderr
