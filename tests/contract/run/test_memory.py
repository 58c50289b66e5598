"""A run is fitted into memory before it starts."""

from __future__ import annotations

import os
from dataclasses import replace

import numpy as np
import pytest

from sfs_cli.compute.matrix import FLOAT64_BELOW, arithmetic_dtype
from sfs_cli.errors import OutOfMemoryError
from sfs_cli.methods.significance.judge import TOGETHER
from sfs_cli.options import RankConfig
from sfs_cli.run import needs as run_memory
from sfs_cli.run.needs import Shape, memory_plan, thread_count
from sfs_cli.run.together import held_at_once

FLOAT32 = np.dtype(np.float32)


def plan(n=200, m=100_000, *, dense=True, threads=8, memory=1 << 32):
    how = {"method": "spec", "similarity": "rbf"} if dense else {"method": "variance"}
    config = RankConfig(matrix="x", threads=threads, **how)
    return memory_plan(config, Shape(n, m, FLOAT32, memory))


def test_what_is_needed_fits_with_as_many_workers_as_fit():
    seen = []
    for memory in range(80 << 20, 600 << 20, 20 << 20):
        made = plan(memory=memory)
        assert made.needed <= memory
        assert 1 <= made.workers <= 8
        seen.append(made.workers)
    assert seen == sorted(seen), "more memory never means fewer workers"
    assert seen[0] < 8
    assert seen[-1] == 8


def test_nothing_of_the_arithmetic_depends_on_memory_or_threads():
    made = [plan(memory=memory, threads=t) for memory in (100 << 20, 1 << 33) for t in (1, 16)]
    assert len({(p.block_size, p.dtype) for p in made}) == 1


def test_what_cannot_fit_is_refused_with_a_way_out():
    with pytest.raises(OutOfMemoryError, match=r"20,000 samples .* beside the matrix") as caught:
        plan(n=20_000, memory=1 << 30)
    assert "--similarity knn" in caught.value.hint
    assert "1,024 MiB" in caught.value.where
    with pytest.raises(OutOfMemoryError) as caught:
        plan(n=1000, m=10**9, dense=False, memory=1 << 30)
    assert "knn" not in caught.value.hint
    plan(n=20_000, m=1000, dense=False, memory=1 << 30)


def test_neighbors_in_all_features_may_be_searched_among_components():
    shape = Shape(20_000, 20_000, FLOAT32, 1 << 30)
    config = RankConfig(matrix="x", threads=1, method="spec", similarity="knn")
    with pytest.raises(OutOfMemoryError) as caught:
        memory_plan(config, shape)
    assert "components=50" in caught.value.hint
    memory_plan(replace(config, components="50"), shape)


def test_subsets_that_are_scored_together_and_sums_that_are_sent_are_counted():
    """The scores of 100 subsets take 8 bytes of each feature, or a quarter of the memory."""
    config = RankConfig(matrix="x", threads=4, method="spec", similarity="rbf")
    n, m, memory = 300, 200_000, 270 << 20
    alone = memory_plan(config, shape := Shape(n, m, FLOAT32, memory))
    both = replace(config, stability="half")
    at_once = held_at_once(both, n, m, memory)
    assert memory // 5 < at_once <= memory // 4
    assert held_at_once(config, n, m, memory) == 0
    assert memory_plan(both, shape, of_subsets=at_once).workers < alone.workers
    shape = Shape(3000, m, FLOAT32, 800 << 20)
    sent = memory_plan(replace(config, dask="local", threads=2), shape)
    assert sent.workers < memory_plan(replace(config, threads=2), shape).workers


def test_arithmetic_is_in_float64_while_that_is_cheap():
    assert arithmetic_dtype(100, 20_000, FLOAT32) == np.float64
    assert arithmetic_dtype(2000, int(FLOAT64_BELOW), FLOAT32) == np.float32
    assert arithmetic_dtype(2000, int(FLOAT64_BELOW), np.dtype(np.float64)) == np.float64


@pytest.fixture
def environment(monkeypatch):
    for name in ("OMP_NUM_THREADS", "SLURM_CPUS_PER_TASK"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(run_memory, "processor_limits", lambda: [])
    return monkeypatch


def test_threads_are_those_of_the_flag_then_omp_then_slurm_then_allowed(environment):
    if hasattr(os, "sched_getaffinity"):
        environment.setattr(os, "sched_getaffinity", lambda _pid: {0, 2, 5})
        assert thread_count() == 3
    environment.setenv("SLURM_CPUS_PER_TASK", "7")
    assert thread_count() == 7
    environment.setenv("OMP_NUM_THREADS", "5")
    assert thread_count() == 5
    environment.setenv("OMP_NUM_THREADS", "4,2")
    assert thread_count() == 4
    assert thread_count(2) == 2


def test_a_container_may_have_less_than_the_processors_of_the_machine(environment):
    environment.setattr(run_memory, "processor_limits", lambda: [1])
    assert thread_count() == 1
    assert thread_count(3) == 3


@pytest.mark.parametrize("nonsense", ["", "-4", "many"])
def test_a_variable_that_is_no_number_is_passed_over(environment, nonsense):
    environment.setenv("OMP_NUM_THREADS", nonsense)
    environment.setenv("SLURM_CPUS_PER_TASK", "7")
    assert thread_count() == 7


def test_permuted_ratios_of_each_worker_are_planned():
    config = RankConfig(matrix="x", threads=1, method="spec", similarity="rbf")
    shape = Shape(200, 100_000, FLOAT32, 1 << 32)
    without, with_ = (memory_plan(replace(config, pvalues=p), shape) for p in (None, "moments"))
    assert with_.needed - without.needed == 3 * 8 * TOGETHER
