"""Rank on Dask workers that Slurm starts, and give them back at the end.

usage: python rank_on_slurm.py WORKERS MATRIX [options of sfs rank, with --out]

It needs the packages ``sfs-cli[dask]`` and ``dask-jobqueue``, and runs in a folder that all nodes
see, best on a login node or in a small job: it starts the scheduler, and does what is not shared.
SBATCH_PARTITION and SBATCH_ACCOUNT say where the jobs of the workers go, WORKER_MEMORY (4GiB) and
WORKER_TIME (2:00:00) what each gets, INTERFACE the network interface that the nodes share, where
that is not the one of the host's name. The exit code is that of ``sfs rank``.
"""

from __future__ import annotations

import os
import subprocess
import sys

from dask_jobqueue import SLURMCluster
from distributed import Client

WAIT_SECONDS = 600
"""How long a queue may hold the first worker."""


def main(words: list[str]) -> int:
    """Start the workers, rank, end the workers; return the exit code."""
    if len(words) < 2 or not words[0].isdecimal() or int(words[0]) < 1:
        print(str(__doc__).split("\n")[2], file=sys.stderr)
        return 2
    workers, rest = int(words[0]), words[1:]
    with SLURMCluster(
        queue=os.environ.get("SBATCH_PARTITION"),
        account=os.environ.get("SBATCH_ACCOUNT"),
        cores=1,  # a worker has one thread, and so has its BLAS
        processes=1,
        memory=os.environ.get("WORKER_MEMORY", "4GiB"),
        walltime=os.environ.get("WORKER_TIME", "2:00:00"),
        interface=os.environ.get("INTERFACE"),
        job_name="sfs-dask",
    ) as cluster:
        cluster.scale(jobs=workers)
        with Client(cluster) as client:
            try:
                client.wait_for_workers(1, timeout=WAIT_SECONDS)
            except TimeoutError:
                print(f"no worker within {WAIT_SECONDS} s: see squeue", file=sys.stderr)
                return 1
        given = ["--dask", cluster.scheduler_address]
        return subprocess.run(["sfs", "rank", *rest, *given], check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
