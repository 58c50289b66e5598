"""Time Dask workers of this machine: two of one thread each against one, and threads beside them.

usage: python tools/benchmarks/bench_dask.py [--scratch DIR] [--repeat 5] [--features 400000]

Prints a Markdown table of medians, and of median ratios of runs made in turn, of three things: the
passes alone on a cluster that runs; a ranking with the start and the end of a cluster; and the
whole command ``sfs rank --executor dask``, from the shell and back, with its files. CPU seconds
are those of all processes. What does not divide among workers (Python, imports, the table) weighs
less the larger the matrix is. Every ranking is checked to have the same bytes.
"""

from __future__ import annotations

import argparse
import os
import platform
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

BLAS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
SAMPLES = 500
HERE = Path(__file__).parent
Times = dict[str, tuple[float, float]]
"""Wall and CPU seconds of several things."""
PASSES, RANKING, COMMAND = "Dask, passes alone", "Dask, cluster and ranking", "Dask, whole command"
THREADS, THREADS_COMMAND = "threads, ranking", "threads, whole command"


def cpu() -> float:
    """Return the CPU seconds of this process and of those that it started and that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def own_cpu() -> float:
    """Return the CPU seconds of this process; called on the workers."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def on_cluster(store: Path, workers: int, scratch: Path, seen: set[bytes]) -> Times:
    """Rank a store twice on a new cluster: the first time with its start, the second on it."""
    from sfs_cli import RankConfig
    from sfs_cli.compute.dask_cluster import starting_cluster
    from sfs_cli.io.results.writers import ranking_bytes
    from sfs_cli.run.rank import rank

    config = RankConfig(str(store))
    begun, cpu_begun = time.perf_counter(), cpu()
    with starting_cluster(workers, scratch) as connect:
        client = connect()
        rank(config, client=client)

        def used() -> float:
            return own_cpu() + sum(client.run(own_cpu).values())

        cpu_started, started = used(), time.perf_counter()
        found = rank(config, client=client)
        inside, cpu_inside = time.perf_counter() - started, used() - cpu_started
    outside = time.perf_counter() - begun - inside
    cpu_outside = cpu() - cpu_begun - cpu_inside
    seen.add(ranking_bytes(found.ranking, "tsv", 17))
    return {PASSES: (inside, cpu_inside), RANKING: (outside, cpu_outside)}


def with_threads(store: Path, workers: int, seen: set[bytes]) -> Times:
    """Rank a store by threads of this process."""
    from sfs_cli import RankConfig
    from sfs_cli.io.results.writers import ranking_bytes
    from sfs_cli.run.rank import rank

    started, cpu_started = time.perf_counter(), cpu()
    found = rank(RankConfig(str(store), threads=workers))
    times = time.perf_counter() - started, cpu() - cpu_started
    seen.add(ranking_bytes(found.ranking, "tsv", 17))
    return {THREADS: times}


def command(store: Path, workers: int, scratch: Path, seen: set[bytes], *, dask: bool) -> Times:
    """Run the whole command."""
    out = scratch / "out"
    shutil.rmtree(out, ignore_errors=True)
    words = [sys.executable, "-m", "sfs_cli", "rank", str(store), "--threads", str(workers), "-q"]
    words += ["--digits", "17", "--scratch", str(scratch), "--out", str(out)]
    words += ["--executor", "dask"] if dask else []
    started, cpu_started = time.perf_counter(), cpu()
    subprocess.run(words, check=True)
    times = time.perf_counter() - started, cpu() - cpu_started
    seen.add((out / "ranking.tsv").read_bytes())
    return {COMMAND if dask else THREADS_COMMAND: times}


def timings(store: Path, scratch: Path, repeat: int) -> dict[str, list[list[tuple[float, float]]]]:
    """Run everything in turn; return wall and CPU seconds of one worker and of two, run by run."""
    seen: set[bytes] = set()
    found: dict[str, list[list[tuple[float, float]]]] = defaultdict(list)
    for _ in range(repeat):
        both: dict[str, list[tuple[float, float]]] = defaultdict(list)
        for workers in (1, 2):
            for times in (
                on_cluster(store, workers, scratch, seen),
                command(store, workers, scratch, seen, dask=True),
                with_threads(store, workers, seen),
                command(store, workers, scratch, seen, dask=False),
            ):
                for name, seconds in times.items():
                    both[name].append(seconds)
        for name, pair in both.items():
            found[name].append(pair)
    if len(seen) != 1:
        raise SystemExit(f"{len(seen)} different rankings")
    return found


def measure(store: Path, scratch: Path, repeat: int) -> list[str]:
    """Return the rows of the table."""
    found, rows = timings(store, scratch, repeat), []
    for name in (PASSES, RANKING, COMMAND, THREADS, THREADS_COMMAND):
        one, two = zip(*found[name])
        wall = [statistics.median(times[0] for times in which) for which in (one, two)]
        used = [statistics.median(times[1] for times in which) for which in (one, two)]
        ratio = statistics.median(a[0] / b[0] for a, b in found[name])
        rows.append(
            f"| {name} | {wall[0]:.2f} s | {wall[1]:.2f} s | {ratio:.2f} | {used[0]:.2f} s "
            f"| {used[1]:.2f} s |"
        )
    return rows


def main() -> None:
    from make_store import make_store

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scratch", type=Path)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--features", type=int, default=400_000)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.scratch) as folder:
        store = Path(folder) / "big.store"
        make_store(store, SAMPLES, given.features)
        rows = measure(store, Path(folder), given.repeat)
    import dask
    import numpy as np

    print(
        f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, NumPy "
        f"{np.__version__}, Dask {dask.__version__}; {SAMPLES} samples x {given.features:,} "
        "features, rbf + phi2, float32\n"
    )
    print("| executor | one worker | two workers | ratio | CPU of one | CPU of two |")
    print("|---|---|---|---|---|---|")
    print("\n".join(rows))


if __name__ == "__main__":
    for name in BLAS:  # before NumPy is loaded
        os.environ[name] = "1"
    sys.path.insert(0, str(HERE))
    main()
