"""The Slurm scripts, with a `sbatch` that runs what it is given at once, in the order of ids."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.docs.workflows.commands import (
    BLOCKS,
    MATRIX,
    WORKFLOWS,
    contents,
    environment,
    ranked,
    run,
    tool,
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
if "--test-only" in words:  # the largest node has two processors
    cpus = [int(word.partition("=")[2]) for word in words if word.startswith("--cpus-per-task=")]
    sys.exit("not available" if cpus != [2] else 0)
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


SINFO = """#!/bin/sh
printf '1\\n2+\\n'
"""


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    write_script(tmp_path / "bin" / "sbatch", SBATCH, log=str(tmp_path / "jobs"))
    write_script(tmp_path / "bin" / "sinfo", SINFO)
    return environment(tmp_path / "bin")


@pytest.mark.nightly
def test_arrays_make_the_bytes_of_one_run_and_no_more_when_submitted_again(env, tmp_path):
    command = [SUBMIT, "ranked", "2", str(MATRIX), *BLOCKS]
    done = run(command, tmp_path, env | {"SLURM_ARRAY_TASK_ID": "2"})  # a task may submit
    assert done.returncode == 0, done.stderr
    assert done.stdout == "1 2 3 4\n"
    assert (tmp_path / "jobs").read_text() == "ok\n" * 4
    assert contents(tmp_path / "ranked") == ranked(tmp_path / "plain", BLOCKS, env)

    made = (tmp_path / "ranked" / "ranking.tsv").stat().st_ino
    again = run(command, tmp_path, env | {"PASSES": "1"})
    assert (tmp_path / "jobs").read_text() == "ok\n" * 7, again.stderr
    assert (tmp_path / "ranked" / "ranking.tsv").stat().st_ino == made


@pytest.mark.nightly
def test_another_result_is_refused_before_anything_is_submitted(env, tmp_path):
    jobs = tmp_path / "jobs"
    command = [SUBMIT, "ranked", "2", str(MATRIX), *BLOCKS]
    assert run(command, tmp_path, env).returncode == 0
    other = [*command, "--method", "variance"]
    for _ in ("with the plan of the result", "without"):
        refused = run(other, tmp_path, env)
        assert refused.returncode == 4
        assert "--force" in refused.stderr
        assert len(jobs.read_text().split()) == 4
        if (tmp_path / "ranked.plan").exists():
            (tmp_path / "ranked.plan").rename(tmp_path / "kept")
    assert not (tmp_path / "ranked.plan").exists()
    assert run(command, tmp_path, env).returncode == 0  # its own result needs no plan
    assert jobs.read_text() == "ok\n" * 8

    done = run([*other, "--force"], tmp_path, env)
    assert done.returncode == 0, done.stderr
    assert jobs.read_text() == "ok\n" * 12
    whole = ranked(tmp_path / "plain", [*BLOCKS, "--method", "variance"], env)
    assert contents(tmp_path / "ranked") == whole
    assert run(command, tmp_path, env).returncode == 4


@pytest.mark.nightly
def test_nothing_is_merged_after_a_failure(env, tmp_path):
    labels = tmp_path / "labels.tsv"
    labels.write_text("sample\ttissue\nnobody\tliver\n")  # which only a job finds out
    words = ["--method", "fisher", "--labels", f"{labels}:tissue"]
    done = run([SUBMIT, "ranked", "2", str(MATRIX), *words], tmp_path, env)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "jobs").read_text() == "failed\n" * 4
    assert not (tmp_path / "ranked").exists()


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--method", "nonsense"], 2, "unknown value 'nonsense' of --method"),
        (["--labels", "nothing.tsv:x"], 3, "nothing.tsv"),
        (["--out", "elsewhere"], 2, "the option --out is not one of MATRIX here"),
    ],
)
def test_wrong_options_are_refused_before_anything_is_submitted(words, code, said, env, tmp_path):
    done = run([SUBMIT, "ranked", "2", str(MATRIX), *words], tmp_path, env)
    assert done.returncode == code
    assert said in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bin"]


@pytest.mark.nightly
def test_a_task_that_no_node_can_run_is_refused_and_cpus_are_those_of_the_nodes(env, tmp_path):
    command = [SUBMIT, "ranked", "1", str(MATRIX), "--method", "variance"]
    done = run(command, tmp_path, env | {"CPUS": "8"})
    assert done.returncode == 1
    assert "CPUS=2" in done.stderr
    assert not (tmp_path / "jobs").exists()
    done = run(command, tmp_path, env)
    assert done.returncode == 0, done.stderr
    assert "the largest node has 2 CPUs: tasks get these, not 4" in done.stderr
    assert (tmp_path / "jobs").read_text() == "ok\n" * 4


@pytest.mark.nightly
def test_a_real_slurm_makes_the_bytes_of_one_run(tmp_path):
    """On any cluster whose nodes see the folder of temporary files, such as one of one host."""
    tool("sbatch", "SFS_SBATCH")
    env = environment(tmp_path / "bin")
    if run(["sinfo", "--noheader"], tmp_path, env).stdout.strip() == "":
        pytest.skip("no Slurm answers (SLURM_CONF says where it is)")
    done = run([SUBMIT, "ranked", "2", str(MATRIX), *BLOCKS], tmp_path, env)
    assert done.returncode == 0, done.stderr
    last = done.stdout.split()[-1]
    wait = ["srun", "--quiet", f"--dependency=afterany:{last}", "--ntasks=1", "true"]
    assert run(wait, tmp_path, env).returncode == 0
    assert contents(tmp_path / "ranked") == ranked(tmp_path / "plain", BLOCKS, env)


@pytest.mark.nightly
def test_workers_of_dask_that_slurm_starts_make_the_bytes_of_one_run(tmp_path):
    pytest.importorskip("dask_jobqueue")
    env = environment(tmp_path / "bin", INTERFACE="lo", WORKER_MEMORY="1GiB")
    if run(["sinfo", "--noheader"], tmp_path, env).stdout.strip() == "":
        pytest.skip("no Slurm answers (SLURM_CONF says where it is)")
    script = str(WORKFLOWS / "dask" / "rank_on_slurm.py")
    assert run([sys.executable, script, "0", str(MATRIX)], tmp_path, env).returncode == 2
    done = run(
        [sys.executable, script, "2", str(MATRIX), *BLOCKS, "--out", "ranked"], tmp_path, env
    )
    assert done.returncode == 0, done.stderr
    assert contents(tmp_path / "ranked") == ranked(tmp_path / "plain", BLOCKS, env)
    assert "sfs-dask" not in run(["squeue", "--format=%j"], tmp_path, env).stdout


@pytest.mark.parametrize(
    "words", [[], *([n, "m.csv"] for n in ("0", "two", "-1", "2.5", "1,3", "10001", "9" * 30))]
)
def test_usage_is_said(words, env, tmp_path):
    done = run([SUBMIT, "ranked", *words], tmp_path, env)
    assert not (tmp_path / "jobs").exists()
    assert done.returncode == 2
    assert "usage: submit.sh OUT SHARDS MATRIX" in done.stderr
