"""Arrays of Slurm, played by scripts."""

from __future__ import annotations

import shutil
import sys

import pytest

from tests.docs.workflows import test_slurm_scripts as plain
from tests.docs.workflows.commands import (
    MATRIX,
    WORKFLOWS,
    contents,
    environment,
    ranked,
    run,
    tool,
)
from tests.docs.workflows.test_slurm_scripts import SUBMIT

env = plain.env


def test_arrays_make_the_bytes_of_one_run_and_a_result_is_not_made_again(env, tmp_path):
    command = [SUBMIT, "ranked", "2", str(MATRIX)]
    done = run(command, tmp_path, env | {"SLURM_ARRAY_TASK_ID": "2"})  # a task may submit
    assert done.returncode == 0, done.stderr
    assert done.stdout == "1 2 3 4\n"
    assert (tmp_path / "jobs").read_text() == "ok\n" * 4
    assert contents(tmp_path / "ranked") == ranked(tmp_path / "plain", [], env)

    assert run(command, tmp_path, env).returncode == 4
    assert (tmp_path / "jobs").read_text() == "ok\n" * 4


def test_the_same_command_goes_on_with_the_parts_that_are_there(env, tmp_path):
    command = [SUBMIT, "ranked", "2", str(MATRIX)]
    assert run(command, tmp_path, env).returncode == 0
    shutil.rmtree(tmp_path / "ranked")
    lost, kept, *_ = sorted((tmp_path / "ranked.plan" / "parts").glob("*/pass-*.npz"))
    lost.unlink()
    made = kept.stat().st_mtime_ns
    done = run(command, tmp_path, env)
    assert done.returncode == 0, done.stderr
    assert contents(tmp_path / "ranked") == ranked(tmp_path / "plain", [], env)
    assert lost.exists()
    assert kept.stat().st_mtime_ns == made


def test_another_result_is_replaced_by_force(env, tmp_path):
    command = [SUBMIT, "ranked", "2", str(MATRIX)]
    assert run(command, tmp_path, env).returncode == 0
    done = run([*command, "--method", "variance", "--force"], tmp_path, env)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "jobs").read_text() == "ok\n" * 8
    whole = ranked(tmp_path / "plain", ["--method", "variance"], env)
    assert contents(tmp_path / "ranked") == whole


def test_nothing_is_merged_after_a_failure(env, tmp_path):
    labels = tmp_path / "labels.tsv"
    labels.write_text("sample\ttissue\nnobody\tliver\n")  # which only a job finds out
    words = ["--method", "fisher", "--labels", f"{labels}:tissue"]
    done = run([SUBMIT, "ranked", "2", str(MATRIX), *words], tmp_path, env)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "jobs").read_text() == "failed\n" * 4
    assert not (tmp_path / "ranked").exists()


def test_a_real_slurm_makes_the_bytes_of_one_run(tmp_path):
    """On any cluster whose nodes see the folder of temporary files, such as one of one host."""
    tool("sbatch", "SFS_SBATCH")
    env = environment(tmp_path / "bin")
    if run(["sinfo", "--noheader"], tmp_path, env).stdout.strip() == "":
        pytest.skip("no Slurm answers (SLURM_CONF says where it is)")
    done = run([SUBMIT, "ranked", "2", str(MATRIX)], tmp_path, env)
    assert done.returncode == 0, done.stderr
    last = done.stdout.split()[-1]
    wait = ["srun", "--quiet", f"--dependency=afterany:{last}", "--ntasks=1", "true"]
    assert run(wait, tmp_path, env).returncode == 0
    assert contents(tmp_path / "ranked") == ranked(tmp_path / "plain", [], env)


def test_workers_of_dask_that_slurm_starts_make_the_bytes_of_one_run(tmp_path):
    pytest.importorskip("dask_jobqueue")
    env = environment(tmp_path / "bin", INTERFACE="lo", WORKER_MEMORY="1GiB")
    if run(["sinfo", "--noheader"], tmp_path, env).stdout.strip() == "":
        pytest.skip("no Slurm answers (SLURM_CONF says where it is)")
    script = str(WORKFLOWS / "dask" / "rank_on_slurm.py")
    assert run([sys.executable, script, "0", str(MATRIX)], tmp_path, env).returncode == 2
    done = run([sys.executable, script, "2", str(MATRIX), "--out", "ranked"], tmp_path, env)
    assert done.returncode == 0, done.stderr
    assert contents(tmp_path / "ranked") == ranked(tmp_path / "plain", [], env)
    assert "sfs-dask" not in run(["squeue", "--format=%j"], tmp_path, env).stdout
