"""The benchmarks of single methods and of the executors, as rows."""

from __future__ import annotations

import os
import shutil
import statistics
from functools import partial
from importlib.util import find_spec

from tools.benchmarks import bench_dask, bench_gdcov, bench_msfs, bench_qalpha
from tools.benchmarks.table import (
    Bench,
    Found,
    MissingError,
    Note,
    Part,
    Row,
    compared,
    job,
    seconds,
)


@job("gdcov", "GDCOV and HSIC against phi2 in memory, one thread")
def gdcov(bench: Bench) -> Found:
    n, m = (60, 3000) if bench.small else (500, 100_000)
    for name, case, phi2 in bench_gdcov.cases(bench_gdcov.make_engine(n, m)):
        yield compared(f"{name}, {n} x {m:,}; phi2", case, phi2, bench.repeat)


@job("qalpha", "Q-alpha on a large store")
def qalpha(bench: Bench) -> Found:
    n, m = (40, 2000) if bench.small else (100, 1_000_000)
    threads = os.cpu_count() or 1
    store, out = bench.store(n, m), bench.scratch / "qalpha"

    def variant(name: str) -> Found:
        found = bench_qalpha.measure(store, out, name, 6, threads)
        yield Row(
            f"Q-alpha {name}, {n} x {m:,}, 6 clusters, whole command",
            f"{seconds(found.used.seconds)}, {found.used.anonymous / (1 << 20):.0f} MiB",
            f"{found.facts['passes']} passes, residual {found.facts['relative_residual']:.0e}",
        )

    for name in ("basic", "power"):
        yield Part(f"Q-alpha {name}", partial(variant, name))


@job("msfs", "Rankings on five knowledge sources")
def msfs(bench: Bench) -> Found:
    folder = bench.scratch / "msfs"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    jobs = bench_msfs.commands(bench.data_set("tcga_brca").parent, folder)
    if bench.small:
        jobs = dict(list(jobs.items())[:1])
    weights = bench_msfs.WEIGHTS[:1] if bench.small else bench_msfs.WEIGHTS
    found, stages = bench_msfs.timings(jobs, folder, bench.repeat, weights)
    for name, (_, asked) in jobs.items():
        mine = statistics.median(wall for wall, _ in found[name])
        peak = max(memory for _, memory in found[name])
        ratio = None if asked is None else mine / asked
        limit = "" if asked is None else seconds(asked)
        yield Row(
            name, f"{seconds(mine)}, {peak:.0f} MiB", limit, ratio, asked and bench.asked(1.0)
        )
    for name, runs in stages.items():
        mine = statistics.median(similarities + mixing for _, _, similarities, mixing, _ in runs)
        yield Row(f"fusion alone, --weights {name}", seconds(mine), "1 s", mine, bench.asked(1.0))


@job("dask", "Dask workers and threads on this machine")
def dask(bench: Bench) -> Found:
    if find_spec("distributed") is None:
        raise MissingError("dask: not installed in this environment (extra `dask`)")
    n, m = (60, 3000) if bench.small else (500, 400_000)
    runs_of = bench_dask.timings(bench.store(n, m), bench.scratch, bench.repeat)
    for name, runs in runs_of.items():
        one, two = (statistics.median(run[k][0] for run in runs) for k in (0, 1))
        ratio = statistics.median(a[0] / b[0] for a, b in runs)
        asked = bench.asked(1.6) if name == bench_dask.PASSES else None
        times = f"two workers: {seconds(two)}", f"one: {seconds(one)}"
        yield Row(f"{name}, rbf + phi2, {n} x {m:,}", *times, ratio, asked, least=True)
    yield Note(
        "The ratio is the time of one worker by that of two, of one thread each; medians of runs "
        "made in turn. It needs two idle cores."
    )
