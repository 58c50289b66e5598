"""Time Q-alpha on a large store, as a whole command, and report the memory it takes.

usage: python tests/benchmarks/bench_qalpha.py [--samples N] [--features M] [--clusters K]
           [--variants basic,power] [--threads T] [--scratch DIR]

Prints a Markdown table: the wall time of `sfs rank STORE --method qalpha`, the passes over the
matrix and the cycles from its `run.json`, and the largest anonymous memory (the store is mapped,
and its pages belong to the page cache).
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).parent


def anonymous(pid: int) -> int:
    """Return the bytes of anonymous memory of a process now (0 where it cannot be told)."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0  # not Linux, or it has ended
    return sum(int(line.split()[1]) << 10 for line in lines if line.startswith("RssAnon:"))


def measure(store: Path, out: Path, variant: str, clusters: int, threads: int) -> str:
    """Run the command; return the cells of the table."""
    command = [sys.executable, "-m", "sfs_cli", "rank", str(store), "--method", "qalpha"]
    command += ["--variant", variant, "--clusters", str(clusters), "--threads", str(threads)]
    command += ["--memory", "1G", "--out", str(out), "--force", "-q"]
    start, peak = time.perf_counter(), 0
    process = subprocess.Popen(command)
    while process.poll() is None:
        peak = max(peak, anonymous(process.pid))
        time.sleep(0.02)
    seconds = time.perf_counter() - start
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} failed")
    facts = find_facts(json.loads((out / "run.json").read_text()))
    return (
        f"{seconds:.1f} s | {peak / (1 << 20):.0f} MiB | {facts['passes']} | {facts['cycles']} | "
        f"{facts['relative_residual']:.0e}"
    )


def find_facts(record: object) -> dict:
    """Return the facts of the method, wherever the record keeps them."""
    if isinstance(record, dict):
        if "cycles" in record:
            return record
        for value in record.values():
            found = find_facts(value)
            if found:
                return found
    return {}


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=100)
    parser.add_argument("--features", type=int, default=1_000_000)
    parser.add_argument("--clusters", type=int, default=6)
    parser.add_argument("--variants", default="basic,power")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--scratch", type=Path)
    given = parser.parse_args()
    sys.path.insert(0, str(HERE))
    from make_store import make_store

    with tempfile.TemporaryDirectory(dir=given.scratch) as folder:
        store = Path(folder) / "big.store"
        make_store(store, given.samples, given.features)
        size = f"{given.samples} x {given.features:,}"
        print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}")
        print(f"\n| Q-alpha, {size}, k = {given.clusters} | time | memory | passes | ", end="")
        print("cycles | residual |\n|---|---|---|---|---|---|")
        for variant in given.variants.split(","):
            cells = measure(store, Path(folder) / "out", variant, given.clusters, given.threads)
            print(f"| {variant} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
