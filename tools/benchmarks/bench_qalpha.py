"""Time Q-alpha on a large store, as a whole command, and report the memory it takes.

usage: python tools/benchmarks/bench_qalpha.py [--samples N] [--features M] [--clusters K]
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
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tools.benchmarks.make_store import make_store
from tools.benchmarks.processes import Usage, sfs


@dataclass(frozen=True)
class Measured:
    """What a run took, and what it says of itself."""

    used: Usage
    facts: dict

    def cells(self) -> str:
        """Return the cells of the table."""
        passes, cycles = self.facts["passes"], self.facts["cycles"]
        return (
            f"{self.used.seconds:.1f} s | {self.used.anonymous / (1 << 20):.0f} MiB | {passes} | "
            f"{cycles} | {self.facts['relative_residual']:.0e}"
        )


def measure(store: Path, out: Path, variant: str, clusters: int, threads: int) -> Measured:
    """Run the command."""
    command = ["rank", str(store), "--method", "qalpha"]
    command += ["--variant", variant, "--clusters", str(clusters), "--threads", str(threads)]
    command += ["--memory", "1G", "--out", str(out), "--force", "-q"]
    used = sfs(*command, watch=True)
    return Measured(used, find_facts(json.loads((out / "run.json").read_text())))


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
    with tempfile.TemporaryDirectory(dir=given.scratch) as folder:
        store = Path(folder) / "big.store"
        make_store(store, given.samples, given.features)
        size = f"{given.samples} x {given.features:,}"
        print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}")
        print(f"\n| Q-alpha, {size}, k = {given.clusters} | time | memory | passes | ", end="")
        print("cycles | residual |\n|---|---|---|---|---|---|")
        for variant in given.variants.split(","):
            found = measure(store, Path(folder) / "out", variant, given.clusters, given.threads)
            print(f"| {variant} | {found.cells()} |", flush=True)


if __name__ == "__main__":
    main()
