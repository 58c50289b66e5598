"""A short series of kills, whose list of failures must be empty."""

from __future__ import annotations

import random
import sys

import pytest

from tools.kills.jobs import JOBS
from tools.kills.killing import Series

pytestmark = pytest.mark.any_python

linux = pytest.mark.skipif(sys.platform != "linux", reason="processes are looked up in /proc")


def test_every_command_that_writes_is_killed():
    from sfs_cli.cli.app import VERBS

    killed = {job.words[0] for job in JOBS}
    no_results = {"plan", "inspect", "methods", "config", "completion", "doctor", "help"}
    assert set(VERBS) - killed == no_results
    shard = {job.words[1] for job in JOBS if job.words[0] == "shard"}
    assert shard == {"init", "run", "merge"}


@linux
@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_killed_commands_leave_nothing_and_their_next_run_gives_the_same_bytes(tmp_path):
    rng = random.Random(0)
    series = Series(tmp_path, rng)
    code = series.run(rng.sample(JOBS, 8), kills=8, looping=0)
    assert (code, series.faults) == (0, [])


@linux
@pytest.mark.slow
@pytest.mark.timeout(600)
def test_commands_that_are_killed_while_a_file_loops_leave_nothing(tmp_path):
    rng = random.Random(0)
    series = Series(tmp_path, rng)
    code = series.run([job for job in JOBS if job.reads][:2], kills=2, looping=2)
    assert (code, series.faults) == (0, [])
