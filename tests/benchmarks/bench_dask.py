"""Time Dask workers of this machine: two of one thread each against one, and threads beside them.

usage: python tests/benchmarks/bench_dask.py [--scratch DIR] [--repeat 5] [--features 200000]

Prints a Markdown table of medians, and of median ratios of runs made in turn; two workers are to
be 1.6 times as fast as one on a machine with two idle cores.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import sys
import tempfile
import time
from pathlib import Path

BLAS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
SAMPLES = 500
HERE = Path(__file__).parent


def one_run(store: Path, workers: int, scratch: Path) -> tuple[float, float]:
    """Rank a store on a new cluster; return the seconds without and with its start and end."""
    from sfs_cli import RankConfig, rank
    from sfs_cli.compute.dask_cluster import local_cluster

    config = RankConfig(str(store))
    begun = time.perf_counter()
    with local_cluster(workers, scratch) as client:
        rank(config, client=client)  # imports, opens the store, warms the page cache
        started = time.perf_counter()
        rank(config, client=client)
        inside = time.perf_counter() - started
    return inside, time.perf_counter() - begun - inside


def with_threads(store: Path, workers: int) -> float:
    """Rank a store by threads; return the seconds."""
    from sfs_cli import RankConfig, rank

    started = time.perf_counter()
    rank(RankConfig(str(store), threads=workers))
    return time.perf_counter() - started


def measure(store: Path, scratch: Path, repeat: int) -> list[str]:
    """Return the rows of the table."""
    one, two, threads = [], [], []
    for _ in range(repeat):
        one.append(one_run(store, 1, scratch))
        two.append(one_run(store, 2, scratch))
        threads.append((with_threads(store, 1), with_threads(store, 2)))
    kinds = {
        "Dask, start-up excluded": [(a[0], b[0]) for a, b in zip(one, two)],
        "Dask, start-up included": [(a[1], b[1]) for a, b in zip(one, two)],
        "threads": threads,
    }
    rows = []
    for name, pairs in kinds.items():
        a, b = (statistics.median(pair[k] for pair in pairs) for k in (0, 1))
        ratio = statistics.median(x / y for x, y in pairs)
        rows.append(f"| {name} | {a:.2f} s | {b:.2f} s | {ratio:.2f} |")
    return rows


def main() -> None:
    from make_store import make_store

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scratch", type=Path)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--features", type=int, default=200_000)
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
    print("| executor | one worker | two workers | ratio |\n|---|---|---|---|")
    print("\n".join(rows))


if __name__ == "__main__":
    for name in BLAS:  # before NumPy is loaded
        os.environ[name] = "1"
    sys.path.insert(0, str(HERE))
    main()
