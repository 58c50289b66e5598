"""Time whole commands against what the machine and others can do, in one run.

usage: python tests/benchmarks/bench_rank.py [--scratch DIR] [--repeat N] [--features M]

Prints a Markdown table. Each row is the median of several runs, with the ratio to its reference,
which is measured in turn with it: absolute times differ between machines and hours, ratios less.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent


def sfs(*words: str | Path) -> float:
    """Run a command line as a process; return its wall time."""
    start = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "sfs_cli", *map(str, words)],
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    return time.perf_counter() - start


def python(code: str) -> float:
    """Run Python code as a process; return its wall time."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def timed_inside(code: str) -> float:
    """Run Python code that prints a time; return that."""
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return float(done.stdout)


def arithmetic_limit(n: int, m: int) -> float:
    """Return the time of the two products of a dense run at this machine's own rates."""
    code = f"""
import time, numpy as np
from scipy.linalg import blas
F = np.random.default_rng(0).standard_normal((16384, {n})).astype("f4")
S = np.random.default_rng(1).standard_normal(({n}, {n})).astype("f4")
out = np.empty_like(F)
def best(f):
    times = []
    for _ in range(5):
        start = time.perf_counter(); f(); times.append(time.perf_counter() - start)
    return min(times)
print((best(lambda: blas.ssyrk(1.0, F.T)) + best(lambda: np.dot(F, S, out=out))) * {m} / 16384)
"""
    return timed_inside(code)


def paired(ours: Callable[[], float], theirs: Callable[[], float], repeat: int) -> str:
    """Run two things in turn; return medians and the median ratio as cells of the table."""
    pairs = [(ours(), theirs()) for _ in range(repeat)]
    a, b = (statistics.median(p[i] for p in pairs) for i in (0, 1))
    ratio = statistics.median(x / y for x, y in pairs)
    return f"{a:.2f} s | {b:.2f} s | {ratio:.2f}"


def write_csv(path: Path) -> None:
    """Write a 20,000 x 500 matrix as text."""
    import pyarrow as pa
    import pyarrow.csv as pc

    X = np.random.default_rng(0).normal(8, 2, (20_000, 500)).round(6)
    columns = {f"s{j}": X[:, j] for j in range(500)}
    pc.write_csv(pa.table({"gene": [f"g{i}" for i in range(20_000)], **columns}), str(path))


def rows(scratch: Path, repeat: int, features: int) -> list[str]:
    """Measure everything; return the rows of the table."""
    from make_store import make_store

    store, csv, out = scratch / "big.store", scratch / "wide.csv", scratch / "out"
    if not store.exists():
        make_store(store, 500, features)
    write_csv(csv)
    read_csv = (
        "import time, pyarrow.csv as c; s = time.perf_counter(); "
        f"c.read_csv({str(csv)!r}); print(time.perf_counter() - s)"
    )
    sfs("rank", store, "--out", out, "--force")  # warms the page cache
    cases = {
        f"rank, 500 x {features:,} float32 store, rbf + phi2 | arithmetic limit": (
            lambda: sfs("rank", store, "--out", out, "--force"),
            lambda: arithmetic_limit(500, features),
        ),
        "rank, 20,000 x 500 CSV | pyarrow.csv.read_csv": (
            lambda: sfs("rank", csv, "--out", out, "--force"),
            lambda: timed_inside(read_csv),
        ),
        "--help | import click, rich": (
            lambda: sfs("--help"),
            lambda: python("import click, rich"),
        ),
        "rank --help | import click, rich": (
            lambda: sfs("rank", "--help"),
            lambda: python("import click, rich"),
        ),
    }
    return [f"| {name} | {paired(*pair, repeat)} |" for name, pair in cases.items()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scratch", type=Path)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--features", type=int, default=1_000_000)
    given = parser.parse_args()
    sys.path.insert(0, str(HERE))
    with tempfile.TemporaryDirectory(dir=given.scratch) as folder:
        table = rows(Path(folder), given.repeat, given.features)
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}")
    print("\n| job | reference | time | reference's | ratio |\n|---|---|---|---|---|")
    print("\n".join(table))


if __name__ == "__main__":
    main()
