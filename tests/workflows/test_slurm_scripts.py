"""The Slurm scripts, with a `sbatch` that runs what it is given at once, in the order of ids."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.workflows.commands import (
    BLOCKS,
    MATRIX,
    WORKFLOWS,
    contents,
    environment,
    ranked,
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


@pytest.mark.slow
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


@pytest.mark.slow
def test_another_result_is_refused_before_anything_is_submitted(env, tmp_path):
    jobs = tmp_path / "jobs"
    command = [SUBMIT, "ranked", "2", str(MATRIX), *BLOCKS]
    assert run(command, tmp_path, env).returncode == 0
    (tmp_path / "ranked.plan").rename(tmp_path / "kept")
    refused = run(command, tmp_path, env)
    assert refused.returncode == 4
    assert "--force" in refused.stderr
    assert len(jobs.read_text().split()) == 4

    other = [*command, "--method", "variance"]
    done = run([*other, "--force"], tmp_path, env)
    assert done.returncode == 0, done.stderr
    assert jobs.read_text() == "ok\n" * 8
    whole = ranked(tmp_path / "plain", [*BLOCKS, "--method", "variance"], env)
    assert contents(tmp_path / "ranked") == whole
    (tmp_path / "ranked.plan" / "plan.json").write_bytes(
        (tmp_path / "kept" / "plan.json").read_bytes()
    )
    assert run(command, tmp_path, env).returncode == 4


def test_nothing_is_merged_after_a_failure(env, tmp_path):
    done = run([SUBMIT, "ranked", "2", str(MATRIX), "--method", "nonsense"], tmp_path, env)
    assert done.returncode == 0
    assert (tmp_path / "jobs").read_text() == "failed\n" * 4
    assert not (tmp_path / "ranked").exists()


@pytest.mark.parametrize(
    "words", [[], *([n, "m.csv"] for n in ("0", "two", "-1", "2.5", "1,3", "10001", "9" * 30))]
)
def test_usage_is_said(words, env, tmp_path):
    done = run([SUBMIT, "ranked", *words], tmp_path, env)
    assert not (tmp_path / "jobs").exists()
    assert done.returncode == 2
    assert "usage: submit.sh OUT SHARDS MATRIX" in done.stderr
