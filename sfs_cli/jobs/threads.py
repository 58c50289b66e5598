"""How many threads a run may use."""

from __future__ import annotations

import os


def thread_count(asked: int | None = None) -> int:
    """Return the number of threads: what was asked for, else what the environment says.

    In order: the argument, OMP_NUM_THREADS, SLURM_CPUS_PER_TASK, the processors that this process
    may use.
    """
    if asked:
        return asked
    for name in ("OMP_NUM_THREADS", "SLURM_CPUS_PER_TASK"):
        value = os.environ.get(name, "")
        if value.isdigit() and int(value) > 0:
            return int(value)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
