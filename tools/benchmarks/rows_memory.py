"""Anonymous memory against ``--memory``."""

from __future__ import annotations

from functools import partial

from tools.benchmarks.processes import sfs
from tools.benchmarks.table import RBF_PHI2, Bench, Found, Note, Part, Row, job, seconds

LARGE = 3e9
"""Bytes of a store that is removed at once."""
SIZES = {"512M": 512 << 20, "1G": 1 << 30, "4G": 4 << 30}


@job("memory", "Anonymous memory within --memory")
def memory(bench: Bench) -> Found:
    cases = [(500, 1_000_000, "512M 1G 4G"), (100, 10_000_000, "4G")]
    for n, m, names in [(60, 3000, "512M"), (20, 9000, "512M")] if bench.small else cases:
        for name in names.split():
            yield Part(f"{n} x {m:,}, --memory {name}", partial(one, bench, n, m, name))
        if 4 * n * m > LARGE:
            bench.forget(bench.store(n, m))
    yield Note(
        "Ours is the largest sum of RssAnon over the process and its children, sampled every "
        "10 ms; the ratio is that to `--memory`. VmHWM has the pages of libraries as well."
    )


def one(bench: Bench, n: int, m: int, name: str) -> Found:
    """Yield the row of one run."""
    store, out = bench.store(n, m), bench.scratch / "memory"
    used = sfs(
        "rank", store, *RBF_PHI2, "--memory", name, "--out", out, "--force", "-q", watch=True
    )
    yield Row(
        f"rbf + phi2, {n} x {m:,} float32 ({4 * n * m / 1e9:.1f} GB), --memory {name}, "
        f"{seconds(used.seconds)}",
        f"{used.anonymous / (1 << 20):.0f} MiB, VmHWM {used.resident / (1 << 20):.0f} MiB",
        name,
        used.anonymous / SIZES[name],
        1.0,
    )
